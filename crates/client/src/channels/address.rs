//! A channel's address as people write it: its id, or its whole URL (CH-8, CH-29).
//! Must not know: the server, if only an id is given.

use std::{fmt, str::FromStr};

use crate::{BaseUrl, Error, Result};

/// The path between a server's URL and the id.
const PATH: &str = "/agent-channel/";

/// A channel, and its server if given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelAddress {
    /// The server, from a whole URL.
    pub server: Option<BaseUrl>,
    id: String,
    key: Option<String>,
}

impl ChannelAddress {
    /// The id, in upper case. The server checks whether it is valid.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key, if the link has one.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

impl fmt::Display for ChannelAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => write!(f, "{server}{PATH}{}", self.id),
            None => f.write_str(&self.id),
        }
    }
}

impl FromStr for ChannelAddress {
    type Err = Error;

    /// Ignores what follows the id in a URL, e.g. `?format=markdown` or `/state`, except the key.
    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::Invalid(format!(
                "`{text}` is not a channel; write its id, e.g. VHGC, or its URL, e.g. https://host{PATH}VHGC"
            ))
        };
        let text_only = text.trim();
        let (server, rest) = match text_only.split_once("://") {
            None => (None, text_only),
            Some(_) => {
                let path_start = text_only.rfind(PATH).ok_or_else(bad)?;
                let (server, rest) = text_only.split_at(path_start);
                (Some(server.parse()?), rest.strip_prefix(PATH).ok_or_else(bad)?)
            }
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.split('#').next().unwrap_or_default())),
            None => (rest, None),
        };
        let mut pairs = query.into_iter().flat_map(|query| query.split('&'));
        let key = pairs.find_map(|pair| pair.strip_prefix("key=")).filter(|key| is_alphanumeric(key));
        // An id alone may be followed by its key, as in a link.
        if server.is_none() && query.is_some() && key.is_none() {
            return Err(bad());
        }
        let id = if server.is_some() { rest.split(['/', '#']).next().unwrap_or_default() } else { rest };
        if !is_alphanumeric(id) {
            return Err(bad());
        }
        Ok(Self { server, id: id.to_ascii_uppercase(), key: key.map(str::to_owned) })
    }
}

fn is_alphanumeric(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_6_a_link_carries_its_key() {
        for (text, key) in [
            ("https://h/agent-channel/VHGC?key=0af7", Some("0af7")),
            ("https://h/agent-channel/VHGC/events?kind=log&key=0af7#x", Some("0af7")),
            ("VHGC?key=0af7", Some("0af7")),
            ("https://h/agent-channel/VHGC?key=", None),
            ("https://h/agent-channel/VHGC?monkey=0af7", None),
            ("VHGC", None),
        ] {
            let address: ChannelAddress = text.parse().unwrap();
            assert_eq!((address.key(), address.id()), (key, "VHGC"), "{text}");
            assert!(!address.to_string().contains("0af7"), "what is printed shows no key");
        }
    }

    #[test]
    fn ch_8_29_a_channel_is_named_by_its_id_in_any_case_or_by_its_url() {
        for (text, server, id) in [
            ("VHGC", None, "VHGC"),
            (" vhgc ", None, "VHGC"),
            ("http://127.0.0.1:7420/agent-channel/vhgc", Some("http://127.0.0.1:7420"), "VHGC"),
            ("https://h.example/agents/agent-channel/VHGC/", Some("https://h.example/agents"), "VHGC"),
            ("https://h/agent-channel/VHGC?format=yaml", Some("https://h"), "VHGC"),
            ("https://h/agent-channel/VHGC/state#x", Some("https://h"), "VHGC"),
        ] {
            let address: ChannelAddress = text.parse().unwrap();
            let named = address.server.as_ref().map(ToString::to_string);
            assert_eq!((named.as_deref(), address.id()), (server, id), "{text}");
        }
        let bad = [
            "",
            "V/C",
            "../x",
            "VHG?",
            "https://h/VHGC",
            "https://h/agent-channel/",
            "ftp://h/agent-channel/V",
        ];
        for text in bad {
            assert!(text.parse::<ChannelAddress>().is_err(), "{text}");
        }
    }
}
