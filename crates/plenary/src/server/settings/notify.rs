//! `[notify]` in `plenary.toml`: how notifications of requests are sent.
//! Must not know: the recipients.

use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use plenary_hosts::time_text;
use plenary_notify::{Config, Smtp};
use serde::Deserialize;

use super::source::Source;
use crate::{duration::parse_duration, secrets};

/// The variable that replaces `smtp_url`, because the URL contains a password.
const SMTP_URL: &str = "PLENARY_SMTP_URL";

/// The table; an absent value has its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NotifyTable {
    /// Whether private addresses are allowed [default: false]
    private_addresses: bool,
    /// The pause after the first attempt; it doubles each time [default: 5s]
    #[serde(deserialize_with = "time_text")]
    retry_first: Option<String>,
    /// How long delivery is retried [default: 24h]
    #[serde(deserialize_with = "time_text")]
    retry_for: Option<String>,
    /// The SMTP server for mail [default: none]
    smtp_url: Option<String>,
    /// Sender address of mail
    smtp_from: Option<String>,
    /// Contact for push services: `mailto:…` or `https://…` [default: the public URL]
    contact: Option<String>,
    /// Certificate authorities instead of the system's
    ca_file: Option<PathBuf>,
}

fn time(name: &str, text: Option<&str>, default: Duration) -> anyhow::Result<Duration> {
    let Some(text) = text else { return Ok(default) };
    parse_duration(text).map_err(|why| anyhow::anyhow!("`{name}` in [notify]: {why}"))
}

impl NotifyTable {
    pub(super) fn config(self, source: &Source, public_url: Option<&str>) -> anyhow::Result<Config> {
        let default = Config::default();
        let smtp = match (secrets::variable(SMTP_URL).or(self.smtp_url), self.smtp_from) {
            (Some(url), Some(from)) => Some(Smtp { url, from }),
            (None, None) => None,
            _ => bail!("mail needs both `smtp_url` (or {SMTP_URL}) and `smtp_from` in [notify]"),
        };
        let is_contact = |text: &String| ["mailto:", "https://"].iter().any(|form| text.starts_with(form));
        if !self.contact.as_ref().is_none_or(is_contact) {
            bail!("`contact` in [notify] must begin with mailto: or https://");
        }
        let public_url = public_url.filter(|url| url.starts_with("https://")).map(str::to_owned);
        Ok(Config {
            private_addresses: self.private_addresses,
            retry_first: time("retry_first", self.retry_first.as_deref(), default.retry_first)?,
            retry_for: time("retry_for", self.retry_for.as_deref(), default.retry_for)?,
            smtp,
            contact: self.contact.or(public_url),
            ca_file: self.ca_file.map(|path| source.resolve(path)),
        })
    }
}
