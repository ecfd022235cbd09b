//! Requests that a browser sends for a page of somebody else: told by their `Host` and `Origin`. A name that is made
//! to point at this machine (DNS rebinding) is not among ours.
//! Must not know: what is asked, or who asks.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Uri, header};

use crate::Origin;

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// `Host` names another server.
    #[error("This server does not go by the name in Host; its operator may set public_url.")]
    Host,
    /// `Origin` names a page of another server.
    #[error("Pages of the origin in Origin may not ask this server.")]
    Origin,
}

impl Origin {
    /// Checks `Host` and `Origin` against the names of this server: the URL that its operator gave it, where it
    /// listens, the loopback, and any address, which no name server can turn. A server that listens on a network and
    /// was given no URL has names that it cannot know, so `Host` is free there.
    ///
    /// # Errors
    /// Which of the two is foreign.
    pub fn admits(&self, peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Result<(), Foreign> {
        let base = Site::parse(&self.base_url(peer, headers));
        let host = host(uri, headers).ok_or(Foreign::Host)?;
        let ours = base.as_ref().is_some_and(|base| base.host == host.host);
        let nameless = !self.is_public_known()
            && Site::parse(self.listening()).is_none_or(|site| !is_loopback(&site.host));
        if !(ours || is_address(&host.host) || is_loopback(&host.host) || nameless || self.trusts(peer)) {
            return Err(Foreign::Host);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(()) };
        let origin = origin.to_str().ok().and_then(Site::parse).ok_or(Foreign::Origin)?;
        let same =
            is_address(&origin.host) && origin.host == host.host && origin.port() == host.port_or(&origin);
        let known =
            base.is_some_and(|base| base.scheme == origin.scheme && base.authority() == origin.authority());
        if origins.next().is_none() && (known || same || is_loopback(&origin.host)) {
            Ok(())
        } else {
            Err(Foreign::Origin)
        }
    }
}

/// Scheme, host and port; the scheme is empty where only an authority was given.
#[derive(Debug, PartialEq, Eq)]
struct Site {
    scheme: String,
    host: String,
    port: Option<u16>,
}

impl Site {
    fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") {
            return None;
        }
        let authority = uri.authority()?;
        Some(Self { scheme, host: plain(authority.host()), port: authority.port_u16() })
    }

    fn port(&self) -> Option<u16> {
        self.port.or(match self.scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        })
    }

    /// The port of an authority, which has that of another site's scheme where it has none of its own.
    fn port_or(&self, site: &Self) -> Option<u16> {
        self.port.or_else(|| Self { port: None, host: String::new(), scheme: site.scheme.clone() }.port())
    }

    fn authority(&self) -> (&str, Option<u16>) {
        (&self.host, self.port())
    }
}

/// What the request says whom it is for.
fn host(uri: &Uri, headers: &HeaderMap) -> Option<Site> {
    let of_uri = uri.authority().cloned();
    let authority = match of_uri {
        Some(authority) => authority,
        None => headers.get(header::HOST)?.to_str().ok()?.parse().ok()?,
    };
    Some(Site { scheme: String::new(), host: plain(authority.host()), port: authority.port_u16() })
}

/// In lower case, an IPv6 address without its brackets.
fn plain(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
}

fn is_address(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "10.1.2.3:999";
    const STRANGER: &str = "192.0.2.1:999";

    fn asked(origin: &Origin, peer: &str, host: &str, page: Option<&str>) -> Result<(), Foreign> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(page) = page {
            headers.insert(header::ORIGIN, page.parse().unwrap());
        }
        origin.admits(peer.parse().unwrap(), &Uri::from_static("/mcp"), &headers)
    }

    fn local() -> Origin {
        Origin::new("http://127.0.0.1:7420", None, vec!["10.0.0.0/8".parse().unwrap()])
    }

    #[test]
    fn a_local_server_goes_by_the_names_of_the_loopback_and_by_addresses() {
        for host in
            ["127.0.0.1:7420", "localhost:7420", "LOCALHOST", "a.localhost:1", "[::1]:7420", "192.0.2.7"]
        {
            assert_eq!(asked(&local(), STRANGER, host, None), Ok(()), "{host}");
        }
        for host in ["evil.example", "evil.example:7420", "localhost.evil.example", "127.0.0.1.evil.example"]
        {
            assert_eq!(asked(&local(), STRANGER, host, None), Err(Foreign::Host), "{host}");
        }
        assert_eq!(
            asked(&local(), PROXY, "backend:7420", None),
            Ok(()),
            "a trusted proxy names it as it likes"
        );
    }

    #[test]
    fn its_public_name_is_known_and_other_names_are_not() {
        let public = Origin::new("http://0.0.0.0:7420", Some("https://agents.example/base"), vec![]);
        assert_eq!(asked(&public, STRANGER, "agents.example", Some("https://agents.example")), Ok(()));
        assert_eq!(asked(&public, STRANGER, "agents.example", Some("https://agents.example:443")), Ok(()));
        assert_eq!(asked(&public, STRANGER, "evil.example", None), Err(Foreign::Host));
        for page in ["http://agents.example", "https://agents.example:8443", "https://evil.example"] {
            assert_eq!(
                asked(&public, STRANGER, "agents.example", Some(page)),
                Err(Foreign::Origin),
                "{page}"
            );
        }
        let nameless = Origin::new("http://0.0.0.0:7420", None, vec![]);
        assert_eq!(asked(&nameless, STRANGER, "plenary:7420", None), Ok(()), "nobody said how it is reached");
    }

    #[test]
    fn pages_of_others_may_not_ask() {
        for page in
            ["http://localhost:6274", "http://127.0.0.1:7420", "https://[::1]:9", "http://192.0.2.7:7420"]
        {
            assert_eq!(asked(&local(), STRANGER, "192.0.2.7:7420", Some(page)), Ok(()), "{page}");
        }
        for page in
            ["http://evil.example", "null", "", "file://", "http://192.0.2.8:7420", "http://192.0.2.7"]
        {
            let refused = asked(&local(), STRANGER, "192.0.2.7:7420", Some(page));
            assert_eq!(refused, Err(Foreign::Origin), "{page}");
        }
    }
}
