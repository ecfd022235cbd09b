//! The address of a server: scheme, host, port and an optional path prefix.
//! Must not know: how connections are made.

use std::{fmt, str::FromStr};

use http::Uri;

use crate::{Error, Result};

/// A server's URL in its canonical form, without a slash at its end: `https://agents.example:8443/plenary`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaseUrl {
    secure: bool,
    host: String,
    port: u16,
    prefix: String,
}

impl BaseUrl {
    /// Whether the connection is TLS.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The host; an IPv6 address is in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether the host is this machine, judged by its name alone.
    pub fn is_loopback(&self) -> bool {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        bare == "localhost" || bare.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    }

    /// `host:port`, without the port if the scheme implies it.
    pub(crate) fn authority(&self) -> String {
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }

    fn join(&self, schemes: [&str; 2], path: &str) -> Result<Uri> {
        let scheme = schemes[usize::from(self.secure)];
        format!("{scheme}://{}{}{path}", self.authority(), self.prefix)
            .parse()
            .map_err(|_| Error::Invalid(format!("{self}{path} is not a URL")))
    }

    /// The path prefix of the server, without a slash at its end.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The URL of a path that begins with `/` and is already percent-encoded.
    pub(crate) fn http(&self, path: &str) -> Result<Uri> {
        self.join(["http", "https"], path)
    }

    /// The URL of a path with the scheme for WebSocket.
    pub(crate) fn ws(&self, path: &str) -> Result<Uri> {
        self.join(["ws", "wss"], path)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

impl FromStr for BaseUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |why: &str| {
            Error::Invalid(format!("`{text}` is not a server URL ({why}); write e.g. http://127.0.0.1:7420"))
        };
        let uri: Uri = text.parse().map_err(|_| bad("malformed"))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err(bad("it must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| bad("no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("it must not contain credentials"));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(bad("it must not contain a query or fragment"));
        }
        let rest = &authority.as_str()[authority.host().len()..];
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => {
                if secure {
                    443
                } else {
                    80
                }
            }
            Some(digits) => digits.parse().map_err(|_| bad("bad port"))?,
            None => return Err(bad("bad host")),
        };
        Ok(Self {
            secure,
            host: authority.host().to_ascii_lowercase(),
            port,
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_one_spelling() {
        for (text, canonical) in [
            ("http://127.0.0.1:7420", "http://127.0.0.1:7420"),
            ("http://127.0.0.1:7420/", "http://127.0.0.1:7420"),
            ("HTTP://LocalHost:80/", "http://localhost"),
            ("https://a.example:443/x/", "https://a.example/x"),
            ("http://[::1]:7420", "http://[::1]:7420"),
        ] {
            assert_eq!(text.parse::<BaseUrl>().unwrap().to_string(), canonical);
        }
        for bad in
            ["127.0.0.1:7420", "ftp://x", "http://", "http://u:p@h", "http://h?x=1", "http://h:99999", ""]
        {
            assert!(bad.parse::<BaseUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_are_joined_for_both_schemes() {
        let base: BaseUrl = "https://h/x".parse().unwrap();
        assert_eq!(base.http("/sessions").unwrap().to_string(), "https://h/x/sessions");
        assert_eq!(
            base.ws("/connect?events=envelope").unwrap().to_string(),
            "wss://h/x/connect?events=envelope"
        );
        assert!("http://[::1]:1".parse::<BaseUrl>().unwrap().is_loopback());
        assert!(!base.is_loopback());
    }
}
