//! Requests to untrusted URLs (server-side request forgery): only public addresses are contacted, unless the operator
//! allows others. A name is resolved once, and its address is checked before the connection; no redirect is followed
//! and no proxy is used.
//! Must not know: the target, or the purpose.

use std::{
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{HttpConnector, dns::Name},
    },
    rt::{TokioExecutor, TokioTimer},
};
use rustls::ClientConfig;
use tower::Service;

use crate::deepest;

/// How long a connection may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// How long an unused connection is kept.
const IDLE_CONNECTION_TIME: Duration = Duration::from_secs(30);
/// The text for a forbidden address. It is the same for all, so that it reveals nothing about the
/// network.
const NOT_PUBLIC: &str = "the address is not public";
/// The text for a name, whether it resolves to forbidden addresses or not at all, so that it reveals no
/// names.
const NO_PUBLIC_ADDRESS: &str = "the name leads to no public address";

/// The allowed addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    private: bool,
}

impl Guard {
    /// Allows public addresses; with `private` all others too.
    pub const fn new(private: bool) -> Self {
        Self { private }
    }

    /// Whether an address is allowed.
    pub fn allows(self, address: IpAddr) -> bool {
        self.private || is_public(address)
    }

    /// The allowed addresses of a name.
    fn reached(self, found: io::Result<impl Iterator<Item = SocketAddr>>) -> io::Result<Vec<SocketAddr>> {
        let found = match found {
            Ok(found) => found.filter(|address| self.allows(address.ip())).collect(),
            // If every address is allowed, the resolver's error reveals nothing more.
            Err(error) if self.private => return Err(error),
            Err(_) => Vec::new(),
        };
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, NO_PUBLIC_ADDRESS));
        }
        Ok(found)
    }

    /// Checks a URL: `http` or `https`, a host, no user, and no forbidden address. The address of a name
    /// is checked when the connection is made.
    ///
    /// # Errors
    /// The reason of the refusal, for people.
    pub fn url(self, text: &str) -> Result<Uri, &'static str> {
        let uri: Uri = text.parse().map_err(|_| "is not a URL")?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("must begin with https:// or http://");
        }
        let authority = uri.authority().ok_or("must name a host")?;
        if authority.as_str().contains('@') {
            return Err("must not contain a user or password");
        }
        let after_host = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        if after_host.len() > 1 && authority.port_u16().is_none() {
            return Err("must name a port up to 65535");
        }
        match literal(authority.host()) {
            Some(address) if !self.allows(address) => Err("must name a public address"),
            None if authority.host().is_empty() => Err("must name a host"),
            Some(_) | None => Ok(uri),
        }
    }
}

/// The address in a host, if it is not a name.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether an address is publicly reachable, and not only from its own network.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_protocol = (a, b, c) == (192, 0, 0) || (a, b, c) == (192, 88, 99);
    let is_benchmark = a == 198 && (b & 0xfe) == 18;
    !(a == 0
        || a >= 224
        || is_shared
        || is_protocol
        || is_benchmark
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let s = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4 has an embedded address; Teredo, ORCHID, documentation and benchmark ranges lead to no
        // host.
        [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, b, ..] if b < 0x200 || b == 0xdb8 => false,
        [0x3fff, b, ..] if b < 0x1000 => false,
        // Outside 2000::/3 no addresses are assigned to the public.
        [a, ..] => (a & 0xe000) == 0x2000,
    }
}

/// Resolves names, without the forbidden addresses.
#[derive(Debug, Clone)]
struct Resolver(Guard);

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let guard = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            Ok(guard.reached(found)?.into_iter())
        })
    }
}

/// A pool of connections that obeys a [`Guard`]. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GuardedPool {
    guard: Guard,
    client: Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>,
}

impl GuardedPool {
    /// A pool with a TLS configuration of [`crate::client_config`].
    pub fn new(guard: Guard, tls: ClientConfig) -> Self {
        let mut http = HttpConnector::new_with_resolver(Resolver(guard));
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT_TIME_MAX));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTION_TIME)
            .build(connector);
        Self { guard, client }
    }

    /// Its allowed addresses.
    #[must_use]
    pub const fn guard(&self) -> Guard {
        self.guard
    }

    /// Sends a request; returns the head of the response, with its body still to be read. No time limit
    /// of its own.
    ///
    /// # Errors
    /// If the address is forbidden or there is no response, for people.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        // The connector checks only names.
        if let Some(address) = request.uri().host().and_then(literal)
            && !self.guard.allows(address)
        {
            return Err(NOT_PUBLIC.to_owned());
        }
        self.client.request(request).await.map_err(|error| deepest(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_reached() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "198.18.0.1",
            "198.19.255.255",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2001:10::1",
            "3fff::1",
            "100::1",
            "5f00::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "2002:101:101::",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        assert!(Guard::new(true).allows("127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn the_error_of_a_name_does_not_reveal_whether_it_exists() {
        let guard = Guard::new(false);
        let reached = |addresses: &[&str]| {
            let found: Vec<SocketAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
            guard.reached(Ok(found.into_iter())).map_err(|error| error.to_string())
        };
        let absent: io::Result<std::vec::IntoIter<SocketAddr>> = Err(io::Error::other("no such name"));
        let text = guard.reached(absent).unwrap_err().to_string();
        assert_eq!(reached(&["10.0.0.7:0"]).unwrap_err(), text);
        assert_eq!(reached(&["127.0.0.1:0", "[fd12::1]:0"]).unwrap_err(), text);
        assert_eq!(reached(&["10.0.0.7:0", "1.1.1.1:0"]).unwrap().len(), 1, "what is public is reached");
        let absent: io::Result<std::vec::IntoIter<SocketAddr>> = Err(io::Error::other("no such name"));
        assert_eq!(Guard::new(true).reached(absent).unwrap_err().to_string(), "no such name");
    }

    #[test]
    fn urls_of_odd_forms_are_refused() {
        let guard = Guard::new(false);
        for url in [
            "ftp://example.org/",
            "/path",
            "example.org",
            "http://",
            "https://user@example.org/",
            "http://127.0.0.1/",
            "http://[::1]:80/",
            "http://169.254.169.254/latest/meta-data",
            "",
            "http:///x",
            "http://example.org:99999/",
            "http://[2606:4700::1111]:65536/",
        ] {
            assert!(guard.url(url).is_err(), "{url}");
        }
        for url in [
            "https://example.org/hook?a=b",
            "http://example.org:65535/",
            "http://[2606:4700::1111]:80/",
            "http://example.org:/",
        ] {
            assert!(guard.url(url).is_ok(), "{url}");
        }
        assert!(Guard::new(true).url("http://127.0.0.1:9/").is_ok());
    }
}
