//! The name of a network: the origin of its public URL. Pure.
//! Must not know: the requests to a network.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::limits::URL_BYTES_MAX;

/// The origin of a network's public URL, such as `https://plenary.example`: without a path or the scheme's default port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkUrl(Arc<str>);

/// The text is not the URL of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoNetwork;

impl fmt::Display for NoNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be https:// and a host, without a path")
    }
}

impl NetworkUrl {
    /// The text on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the connection would be unencrypted.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.starts_with("http:")
    }
}

impl FromStr for NetworkUrl {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Self, NoNetwork> {
        if text.len() > URL_BYTES_MAX {
            return Err(NoNetwork);
        }
        let url = Url::parse(text).map_err(|_| NoNetwork)?;
        let is_origin = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        if !(matches!(url.scheme(), "http" | "https") && is_origin && is_anonymous) {
            return Err(NoNetwork);
        }
        Ok(Self(url.origin().ascii_serialization().into()))
    }
}

impl TryFrom<String> for NetworkUrl {
    type Error = NoNetwork;

    fn try_from(text: String) -> Result<Self, NoNetwork> {
        text.parse()
    }
}

impl From<NetworkUrl> for String {
    fn from(url: NetworkUrl) -> Self {
        url.as_str().to_owned()
    }
}

impl fmt::Display for NetworkUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NetworkUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_has_one_name() {
        for (text, name) in [
            ("https://Plenary.Example", "https://plenary.example"),
            ("https://plenary.example:443/", "https://plenary.example"),
            ("http://127.0.0.1:7420", "http://127.0.0.1:7420"),
            ("https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443"),
        ] {
            assert_eq!(text.parse::<NetworkUrl>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn what_is_no_origin_names_no_network() {
        for text in [
            "",
            "plenary.example",
            "ftp://plenary.example",
            "https://",
            "https://plenary.example/path",
            "https://plenary.example/?q",
            "https://plenary.example/#f",
            "https://user@plenary.example",
            "https://:secret@plenary.example",
            &format!("https://{}.example", "x".repeat(URL_BYTES_MAX)),
        ] {
            assert_eq!(text.parse::<NetworkUrl>(), Err(NoNetwork), "{text}");
        }
    }
}
