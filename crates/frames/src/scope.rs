//! Recipient scopes: a set of sessions by the shape of their identity (section 6 of the memo).
//! Must not know: connections, or permissions between agents.

use std::{str::FromStr, sync::Arc};

use plenary_accounts::org::state::Role;
use plenary_kernel::{OwnerName, SovereignHandle};
use serde::{Deserialize, Serialize};

use crate::{
    limits::SCOPE_BYTES_MAX,
    malformed::FrameFault,
    session::{Instrument, Session, SessionName},
};

/// A recipient scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// `~handle…`: sessions of one principal.
    Handle(SovereignHandle, Sessions),
    /// `org:<org>/members/…`: sessions of an organisation's members, optionally only of those with a
    /// role.
    Org(OwnerName, Option<Role>),
    /// `accord:<peer>/grant:<scope>`: sessions of a peer organisation, under a grant.
    Accord(OwnerName, Arc<str>),
}

/// A set of a principal's sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sessions {
    /// All of them.
    #[serde(rename = "all")]
    All,
    /// Those whose instrument has this prefix (FO-45).
    #[serde(rename = "prefix")]
    Prefix(String),
    /// The one with this instrument and id (FO-46).
    #[serde(rename = "one")]
    One(Instrument, SessionName),
}

impl Sessions {
    /// Whether the set contains a session.
    pub fn contain(&self, session: &Session) -> bool {
        match self {
            Self::All => true,
            Self::Prefix(prefix) => session.instrument.as_str().starts_with(prefix.as_str()),
            Self::One(instrument, id) => session.instrument == *instrument && session.id == *id,
        }
    }
}

/// The text has none of the forms of section 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a recipient scope")]
pub struct InvalidScope;

impl From<InvalidScope> for FrameFault {
    fn from(_: InvalidScope) -> Self {
        Self::parameter(
            "scope",
            "~handle, ~handle/*, ~handle/<prefix>*, ~handle/<instrument>@<session-id>, \
             org:<org>/members/*, org:<org>/members/<role>/* or accord:<peer>/grant:<scope>",
        )
    }
}

impl FromStr for Scope {
    type Err = InvalidScope;

    fn from_str(text: &str) -> Result<Self, InvalidScope> {
        if text.len() as u64 > SCOPE_BYTES_MAX {
            return Err(InvalidScope);
        }
        if let Some(rest) = text.strip_prefix("org:") {
            return org(rest).ok_or(InvalidScope);
        }
        if let Some(rest) = text.strip_prefix("accord:") {
            return accord(rest).ok_or(InvalidScope);
        }
        let (handle, sessions) = match text.split_once('/') {
            Some((handle, rest)) => (handle, sessions(rest).ok_or(InvalidScope)?),
            None => (text, Sessions::All),
        };
        Ok(Self::Handle(handle.parse().map_err(|_| InvalidScope)?, sessions))
    }
}

fn sessions(text: &str) -> Option<Sessions> {
    if text == "*" {
        return Some(Sessions::All);
    }
    if let Some((instrument, id)) = text.split_once('@') {
        return Some(Sessions::One(instrument.parse().ok()?, id.parse().ok()?));
    }
    let prefix = text.strip_suffix('*')?;
    is_prefix(prefix).then(|| Sessions::Prefix(prefix.to_owned()))
}

/// Whether the text is a valid prefix of an instrument: it may end anywhere, even with `-` or `_`.
fn is_prefix(text: &str) -> bool {
    let ends_open = text.ends_with(['-', '_']);
    let whole = if ends_open { format!("{text}0") } else { text.to_owned() };
    whole.parse::<Instrument>().is_ok() && (!ends_open || text.len() > 1)
}

fn org(text: &str) -> Option<Scope> {
    let (org, members) = text.split_once("/members/")?;
    let role = match members {
        "*" => None,
        _ => Some(members.strip_suffix("/*")?.parse().ok()?),
    };
    Some(Scope::Org(org.parse().ok()?, role))
}

fn accord(text: &str) -> Option<Scope> {
    let (peer, grant) = text.split_once("/grant:")?;
    let is_grant = !grant.is_empty() && grant.bytes().all(|byte| byte.is_ascii_graphic());
    if is_grant { Some(Scope::Accord(peer.parse().ok()?, grant.into())) } else { None }
}
