//! Detects requests that a browser sends for a foreign page, by `Host` and `Origin`. A name that is made to point at
//! this machine (DNS rebinding) is not a name of the server.
//! Must not know: the operation, or the caller.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Uri, header};
use plenary_kernel::{Class, Refusal};

use crate::Origin;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// `Host` names another server.
    #[error("The name in Host is not a name of this server; its operator can set public_url.")]
    Host,
    /// `Origin` names a page of another server.
    #[error("Pages of this Origin may not send requests to this server.")]
    Origin,
}

impl Foreign {
    /// The refusal for the client.
    pub fn refusal(self) -> Refusal {
        let code = match self {
            Self::Host => "foreign_host",
            Self::Origin => "foreign_origin",
        };
        Refusal::new(Class::Forbidden, code, self.to_string())
    }
}

impl Origin {
    /// Checks `Host` and `Origin` against the names of this server: the URL that its operator
    /// configured, the listener's address, the loopback, and any IP address, which DNS can't redirect. A
    /// server that listens on a network without a configured URL has unknown names, so it accepts any
    /// `Host`.
    ///
    /// A request without `Host` does not come from a browser, and passes. Some paths accept pages of any
    /// `Origin`.
    ///
    /// # Errors
    /// The foreign one of the two.
    pub fn admits(&self, peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Result<(), Foreign> {
        let is_trusted = self.trusts(peer);
        let proxy_base = (is_trusted && !self.is_public_known()).then(|| self.base_url(peer, headers));
        let base = Site::parse(proxy_base.as_deref().unwrap_or_else(|| self.known()));
        let host = host(uri, headers)?;
        if let Some((host, _)) = host {
            let is_own_host = base.as_ref().is_some_and(|base| base.host.eq_ignore_ascii_case(host));
            let is_nameless = || {
                !self.is_public_known()
                    && Site::parse(self.listening()).is_none_or(|site| !is_loopback(site.host))
            };
            if !(is_own_host || is_trusted || is_address(host) || is_loopback(host) || is_nameless()) {
                return Err(Foreign::Host);
            }
        }
        if self.open.contains(&uri.path()) {
            return Ok(());
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(()) };
        let origin = origin.to_str().ok().and_then(Site::parse).ok_or(Foreign::Origin)?;
        let is_same = host.is_some_and(|(host, port)| {
            is_address(origin.host)
                && origin.host.eq_ignore_ascii_case(host)
                && origin.port() == port.or_else(|| port_of(origin.scheme))
        });
        let is_known = base.is_some_and(|base| base.is_same(&origin));
        if origins.next().is_none() && (is_known || is_same || is_loopback(origin.host)) {
            Ok(())
        } else {
            Err(Foreign::Origin)
        }
    }
}

impl Origin {
    /// Whether a page of this server sent the request: its single `Origin` is the server's URL, or has
    /// the host and port that the request was sent to. Unlike [`Origin::admits`], another port of the
    /// same machine does not count.
    pub(crate) fn is_own(&self, peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> bool {
        let proxy_base = (self.trusts(peer) && !self.is_public_known()).then(|| self.base_url(peer, headers));
        let base = Site::parse(proxy_base.as_deref().unwrap_or_else(|| self.known()));
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin = origins.next().and_then(|origin| origin.to_str().ok()).and_then(Site::parse);
        let Some(origin) = origin.filter(|_| origins.next().is_none()) else { return false };
        let is_same_host = host(uri, headers).ok().flatten().is_some_and(|(host, port)| {
            origin.host.eq_ignore_ascii_case(host) && origin.port() == port.or_else(|| port_of(origin.scheme))
        });
        is_same_host || base.is_some_and(|base| base.is_same(&origin))
    }
}

/// Scheme, host and port of a URL.
#[derive(Debug, PartialEq, Eq)]
struct Site<'a> {
    scheme: &'a str,
    host: &'a str,
    port: Option<u16>,
}

impl<'a> Site<'a> {
    fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        port_of(scheme)?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = split(authority)?;
        Some(Self { scheme, host, port })
    }

    fn port(&self) -> Option<u16> {
        self.port.or_else(|| port_of(self.scheme))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.scheme.eq_ignore_ascii_case(other.scheme)
            && self.host.eq_ignore_ascii_case(other.host)
            && self.port() == other.port()
    }
}

/// The port of a supported scheme; `None` for any other.
fn port_of(scheme: &str) -> Option<u16> {
    match scheme {
        _ if scheme.eq_ignore_ascii_case("http") => Some(80),
        _ if scheme.eq_ignore_ascii_case("https") => Some(443),
        _ => None,
    }
}

/// The host that the request names, if it names one.
fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Result<Option<(&'a str, Option<u16>)>, Foreign> {
    let authority = match (uri.authority(), headers.get(header::HOST)) {
        (Some(authority), _) => authority.as_str(),
        (None, Some(host)) => host.to_str().map_err(|_| Foreign::Host)?,
        (None, None) => return Ok(None),
    };
    if authority.is_empty() { Ok(None) } else { split(authority).map(Some).ok_or(Foreign::Host) }
}

/// Host and port of an authority, an IPv6 address without its brackets.
fn split(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(address) => address.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        Some("") => None,
        Some(port) => Some(port.parse().ok()?),
        None => return None,
    };
    (!host.is_empty() && !host.contains('@')).then_some((host, port))
}

fn is_address(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok()
}

fn is_loopback(host: &str) -> bool {
    const NAME: &str = "localhost";
    let is_name = host.len().checked_sub(NAME.len()).is_some_and(|before| {
        host.is_char_boundary(before)
            && host[before..].eq_ignore_ascii_case(NAME)
            && (before == 0 || host[..before].ends_with('.'))
    });
    is_name || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "10.1.2.3:999";
    const STRANGER: &str = "192.0.2.1:999";

    fn check(origin: &Origin, peer: &str, host: &str, page: Option<&str>) -> Result<(), Foreign> {
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
    fn a_local_server_has_the_names_of_the_loopback_and_its_addresses() {
        for host in
            ["127.0.0.1:7420", "localhost:7420", "LOCALHOST", "a.localhost:1", "[::1]:7420", "192.0.2.7"]
        {
            assert_eq!(check(&local(), STRANGER, host, None), Ok(()), "{host}");
        }
        for host in ["evil.example", "evil.example:7420", "localhost.evil.example", "127.0.0.1.evil.example"]
        {
            assert_eq!(check(&local(), STRANGER, host, None), Err(Foreign::Host), "{host}");
        }
        assert_eq!(
            check(&local(), PROXY, "backend:7420", None),
            Ok(()),
            "a trusted proxy names it as it likes"
        );
    }

    #[test]
    fn only_a_page_of_this_server_is_its_own() {
        let own = |origin: &Origin, host: &str, page: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            page.map(|page| headers.insert(header::ORIGIN, page.parse().unwrap()));
            origin.is_own(STRANGER.parse().unwrap(), &Uri::from_static("/"), &headers)
        };
        assert!(own(&local(), "127.0.0.1:7420", Some("http://127.0.0.1:7420")));
        assert!(own(&local(), "localhost:7420", Some("http://localhost:7420")));
        let strange = [None, Some("http://127.0.0.1:7421"), Some("http://localhost"), Some("null"), Some("")];
        for page in strange {
            assert!(!own(&local(), "localhost:7420", page), "{page:?}");
        }
        let public = Origin::new("http://0.0.0.0:7420", Some("https://agents.example"), vec![]);
        assert!(own(&public, "backend:7420", Some("https://agents.example")));
        assert!(!own(&public, "backend:7420", Some("https://evil.example")));
        let mut twice = HeaderMap::new();
        for page in ["https://agents.example", "https://agents.example"] {
            twice.append(header::ORIGIN, page.parse().unwrap());
        }
        assert!(!public.is_own(STRANGER.parse().unwrap(), &Uri::from_static("/"), &twice));
    }

    #[test]
    fn a_request_that_names_no_host_is_no_browsers() {
        let peer = STRANGER.parse().unwrap();
        assert_eq!(local().admits(peer, &Uri::from_static("/"), &HeaderMap::new()), Ok(()));
        assert_eq!(check(&local(), STRANGER, "", None), Ok(()));
        let foreign = Uri::from_static("http://evil.example/");
        assert_eq!(local().admits(peer, &foreign, &HeaderMap::new()), Err(Foreign::Host));
        for host in ["localhost:x", "[::1", "[::1]x", "a@localhost", ":80", "localhost:70000"] {
            assert_eq!(check(&local(), STRANGER, host, None), Err(Foreign::Host), "{host}");
        }
    }

    #[test]
    fn its_public_name_is_known_and_other_names_are_not() {
        let public = Origin::new("http://0.0.0.0:7420", Some("https://agents.example/base"), vec![]);
        assert_eq!(check(&public, STRANGER, "agents.example", Some("https://agents.example")), Ok(()));
        assert_eq!(check(&public, STRANGER, "agents.example", Some("https://agents.example:443")), Ok(()));
        assert_eq!(check(&public, STRANGER, "evil.example", None), Err(Foreign::Host));
        for page in ["http://agents.example", "https://agents.example:8443", "https://evil.example"] {
            assert_eq!(
                check(&public, STRANGER, "agents.example", Some(page)),
                Err(Foreign::Origin),
                "{page}"
            );
        }
        let nameless = Origin::new("http://0.0.0.0:7420", None, vec![]);
        assert_eq!(check(&nameless, STRANGER, "plenary:7420", None), Ok(()), "nobody said how it is reached");
    }

    #[test]
    fn what_is_open_to_any_page_is_open_under_names_of_this_server_alone() {
        let doc = crate::OperationDoc::new("a.b", http::Method::GET, "/open", "Open").for_pages();
        let open = local().opened_to_pages([&doc]);
        let check = |path: &'static str, host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            headers.insert(header::ORIGIN, "https://client.example".parse().unwrap());
            open.admits(STRANGER.parse().unwrap(), &Uri::from_static(path), &headers)
        };
        assert_eq!(check("/open", "localhost:7420"), Ok(()));
        assert_eq!(check("/open?a=b", "localhost:7420"), Ok(()));
        assert_eq!(check("/open", "evil.example"), Err(Foreign::Host));
        for path in ["/", "/mcp", "/open/", "/Open"] {
            assert_eq!(check(path, "localhost:7420"), Err(Foreign::Origin), "{path}");
        }
    }

    #[test]
    fn foreign_pages_are_refused() {
        for page in
            ["http://localhost:6274", "http://127.0.0.1:7420", "https://[::1]:9", "http://192.0.2.7:7420"]
        {
            assert_eq!(check(&local(), STRANGER, "192.0.2.7:7420", Some(page)), Ok(()), "{page}");
        }
        for page in
            ["http://evil.example", "null", "", "file://", "http://192.0.2.8:7420", "http://192.0.2.7"]
        {
            let refused = check(&local(), STRANGER, "192.0.2.7:7420", Some(page));
            assert_eq!(refused, Err(Foreign::Origin), "{page}");
        }
    }
}
