//! The base URL of the server for clients: configured, from a trusted proxy, or from the listener.
//! Must not know: the use of the URL.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::{HeaderMap, HeaderValue, header};

use crate::RefusalForm;

/// Longest host or prefix from a proxy, in bytes; a longer one is ignored.
const TOLD_BYTES_MAX: usize = 255;

/// A network whose hosts are trusted to describe their clients: `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedNet {
    address: IpAddr,
    bits: u8,
}

impl std::str::FromStr for TrustedNet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is neither an IP address nor a network such as 10.0.0.0/8");
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(bits_max), str::parse).map_err(|_| wrong())?;
        if bits > bits_max {
            return Err(wrong());
        }
        Ok(Self { address, bits })
    }
}

impl TrustedNet {
    fn contains(self, peer: IpAddr) -> bool {
        let wide = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
            IpAddr::V6(address) => u128::from(address),
        };
        let peer = peer.to_canonical();
        let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
        peer.is_ipv4() == self.address.is_ipv4() && (wide(peer) ^ wide(self.address)) & mask == 0
    }
}

/// Two headers of a proxy name different clients; one of them may be forged.
struct Contradiction;

/// The address of the server, as its clients see it.
#[derive(Debug, Clone)]
pub struct Origin {
    listening: String,
    public: Option<String>,
    trusted: Vec<TrustedNet>,
    /// The paths of operations that pages of any site may call.
    pub(crate) open: Vec<&'static str>,
    /// The first segments of paths whose refusals have the form of their protocol.
    pub(crate) forms: Vec<(&'static str, RefusalForm)>,
}

impl Origin {
    /// `listening` is the URL of the listener. `public`, if set, always has precedence.
    pub fn new(listening: &str, public: Option<&str>, trusted: Vec<TrustedNet>) -> Self {
        let plain = |url: &str| url.trim_end_matches('/').to_owned();
        Self {
            listening: plain(listening),
            public: public.map(plain),
            trusted,
            open: Vec::new(),
            forms: Vec::new(),
        }
    }

    /// The base URL for the sender of this request, without a slash at its end. `Forwarded` and
    /// `X-Forwarded-*` count only from a trusted proxy, only if they name one client, and only if they are
    /// a plain host, scheme and prefix.
    pub fn base_url(&self, peer: SocketAddr, headers: &HeaderMap) -> String {
        if let Some(public) = &self.public {
            return public.clone();
        }
        if !self.trusts(peer) || self.forwarded_for(headers).is_err() {
            return self.listening.clone();
        }
        forwarded(headers).unwrap_or_else(|| self.listening.clone())
    }

    /// The same for clients that compare the URL with the one that a person gave them (RFC 8414, RFC 9728): who asks a
    /// listener on the loopback by the name `localhost` is answered with this name.
    pub fn named_url(&self, peer: SocketAddr, headers: &HeaderMap) -> String {
        let base = self.base_url(peer, headers);
        let listener =
            self.listening.split_once("://").filter(|_| self.public.is_none() && base == self.listening);
        let listener =
            listener.and_then(|(scheme, address)| Some((scheme, address.parse::<SocketAddr>().ok()?)));
        let Some((scheme, address)) = listener.filter(|(_, address)| address.ip().is_loopback()) else {
            return base;
        };
        let name = format!("localhost:{}", address.port());
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        if host.is_some_and(|host| host.eq_ignore_ascii_case(&name)) {
            format!("{scheme}://{name}")
        } else {
            base
        }
    }

    /// The address whose budget a request uses: the peer's, or the client's according to a trusted
    /// proxy. `None` for the loopback or the proxy itself, which many clients share. An IPv6 host counts
    /// as its whole /64.
    pub fn client_address(&self, peer: SocketAddr, headers: &HeaderMap) -> Option<IpAddr> {
        let address = if self.trusts(peer) { self.forwarded_for(headers).ok()?? } else { peer.ip() };
        let address = network_block(address);
        (!address.is_loopback() && !address.is_unspecified()).then_some(address)
    }

    /// The client according to `Forwarded` or `X-Forwarded-For`. A proxy may set one of them and pass on
    /// what the client wrote in the other, so two that differ are a [`Contradiction`].
    fn forwarded_for(&self, headers: &HeaderMap) -> Result<Option<IpAddr>, Contradiction> {
        let forwarded = list(headers, "forwarded").into_iter().map(|element| {
            element.split(';').find_map(|pair| {
                let (name, value) = pair.split_once('=')?;
                name.trim().eq_ignore_ascii_case("for").then(|| value.trim().trim_matches('"'))
            })
        });
        let forwarded: Vec<Option<&str>> = forwarded.collect();
        let x_forwarded: Vec<_> = list(headers, "x-forwarded-for").into_iter().map(Some).collect();
        if forwarded.is_empty() {
            return Ok(self.client_of(x_forwarded));
        }
        let is_alone = x_forwarded.is_empty();
        let client = self.client_of(forwarded);
        if is_alone || client == self.client_of(x_forwarded) { Ok(client) } else { Err(Contradiction) }
    }

    /// The last address in the chain that is not a trusted proxy: a client may have forged the earlier
    /// ones.
    fn client_of(&self, chain: Vec<Option<&str>>) -> Option<IpAddr> {
        for named in chain.into_iter().rev() {
            let address = address_of(named?)?;
            if !self.trusts(SocketAddr::new(address, 0)) {
                return Some(address);
            }
        }
        None
    }

    /// The URL for clients as far as known without a request: the public URL, or that of the listener;
    /// `/`, relative to the requested URL, if the listener accepts any address.
    pub fn stated_url(&self) -> &str {
        let is_any = |host: &str| host.starts_with("0.0.0.0") || host.starts_with("[::]");
        match (&self.public, self.listening.split_once("://")) {
            (Some(public), _) => public,
            (None, Some((_, host))) if !is_any(host) => &self.listening,
            (None, _) => "/",
        }
    }

    /// The URL for clients, unless a proxy reports another one.
    pub(crate) fn known(&self) -> &str {
        self.public.as_deref().unwrap_or(&self.listening)
    }

    /// The URL of the listener.
    pub(crate) fn listening(&self) -> &str {
        &self.listening
    }

    /// Whether the operator has set the URL for clients.
    pub(crate) const fn is_public_known(&self) -> bool {
        self.public.is_some()
    }

    /// Whether this peer is trusted to describe its clients.
    pub(crate) fn trusts(&self, peer: SocketAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(peer.ip()))
    }
}

/// The URL that the proxy reports. The first element is the one nearest to the client, and the default
/// scheme is `http`.
fn forwarded(headers: &HeaderMap) -> Option<String> {
    let (mut host, mut scheme) = (None, None);
    if let Some(first) = first(headers, "forwarded") {
        for pair in first.split(';') {
            let Some((name, value)) = pair.split_once('=') else { continue };
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "host" => host = Some(value),
                "proto" => scheme = Some(value),
                _ => {}
            }
        }
    }
    let host = host.or_else(|| first(headers, "x-forwarded-host"))?;
    let scheme =
        scheme.or_else(|| first(headers, "x-forwarded-proto")).unwrap_or("http").to_ascii_lowercase();
    let prefix = first(headers, "x-forwarded-prefix").unwrap_or_default().trim_end_matches('/');
    let plain = |text: &str, more: &str| {
        text.len() <= TOLD_BYTES_MAX && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let host_is_plain = !host.is_empty() && plain(host, ".-_:[]");
    let prefix_is_plain = prefix.is_empty() || prefix.starts_with('/') && plain(prefix, "/-_.~");
    let scheme_is_known = matches!(scheme.as_str(), "http" | "https");
    (host_is_plain && prefix_is_plain && scheme_is_known).then(|| format!("{scheme}://{host}{prefix}"))
}

/// The unit of an address: an IPv4 address, or the /64 of an IPv6 host.
pub(crate) fn network_block(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) if address.is_loopback() => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

/// An address as proxies write it: with or without a port, IPv6 in brackets or not.
fn address_of(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(address.ip());
    }
    text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// All elements of a header that is a list, in order, over all its lines.
fn list<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).collect()
}

/// The first element of a header that is a list.
fn first<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok())?;
    value.split(',').next().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "10.1.2.3:999";
    const STRANGER: &str = "192.0.2.1:999";

    fn base(public: Option<&str>, peer: &str, headers: &[(&'static str, &str)]) -> String {
        let trusted = ["10.0.0.0/8", "::1"].map(|net| net.parse().unwrap()).to_vec();
        let headers = headers.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), value.parse::<HeaderValue>().unwrap())
        });
        let origin = Origin::new("http://127.0.0.1:7420", public, trusted);
        origin.base_url(peer.parse().unwrap(), &headers.collect())
    }

    #[test]
    fn the_public_url_is_always_the_answer() {
        let headers = [("x-forwarded-host", "elsewhere.example")];
        assert_eq!(base(Some("https://agents.example/p/"), PROXY, &headers), "https://agents.example/p");
        assert_eq!(base(None, STRANGER, &[]), "http://127.0.0.1:7420");
    }

    #[test]
    fn who_asks_for_localhost_is_answered_with_this_name() {
        let named = |listening: &str, public, host: &'static str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            Origin::new(listening, public, Vec::new()).named_url("127.0.0.1:9".parse().unwrap(), &headers)
        };
        let here = "http://127.0.0.1:7420";
        for (listening, public, host, url) in [
            (here, None, "localhost:7420", "http://localhost:7420"),
            ("https://[::1]:7420", None, "LOCALHOST:7420", "https://localhost:7420"),
            (here, None, "127.0.0.1:7420", here),
            (here, None, "localhost:7421", here),
            (here, None, "localhost.evil.example:7420", here),
            (here, Some("https://p.example"), "localhost:7420", "https://p.example"),
            ("http://192.0.2.1:7420", None, "localhost:7420", "http://192.0.2.1:7420"),
        ] {
            assert_eq!(named(listening, public, host), url, "{host}");
        }
    }

    #[test]
    fn a_proxy_is_believed_when_it_is_trusted() {
        let headers = [("forwarded", "for=1.2.3.4;proto=https;host=\"a.example:8443\", host=b.example")];
        assert_eq!(base(None, PROXY, &headers), "https://a.example:8443");
        assert_eq!(base(None, "[::1]:9", &headers), "https://a.example:8443");
        assert_eq!(base(None, "[::ffff:10.9.9.9]:9", &headers), "https://a.example:8443");
        assert_eq!(base(None, STRANGER, &headers), "http://127.0.0.1:7420");
        let headers = [
            ("x-forwarded-host", "a.example, b.example"),
            ("x-forwarded-proto", "HTTPS"),
            ("x-forwarded-prefix", "/agents/"),
        ];
        assert_eq!(base(None, PROXY, &headers), "https://a.example/agents");
    }

    #[test]
    fn what_could_be_more_than_a_host_is_not_believed() {
        let long = "a".repeat(TOLD_BYTES_MAX + 1);
        for host in ["a;rm -rf", "a/b", "a'b", "$(id)", "", "a b", "a@b", &long] {
            assert_eq!(base(None, PROXY, &[("x-forwarded-host", host)]), "http://127.0.0.1:7420", "{host}");
        }
        for (name, value) in [("x-forwarded-proto", "javascript"), ("x-forwarded-prefix", "/a?b")] {
            let headers = [("x-forwarded-host", "a.example"), (name, value)];
            assert_eq!(base(None, PROXY, &headers), "http://127.0.0.1:7420", "{value}");
        }
    }

    #[test]
    fn headers_that_contradict_each_other_are_not_believed() {
        let origin = Origin::new("http://127.0.0.1:1", None, vec!["10.0.0.0/8".parse().unwrap()]);
        let (forwarded, appended) = ("for=198.51.100.1;host=evil.example", "192.0.2.7");
        for (forwarded, appended, client, url) in [
            (forwarded, appended, None, "http://127.0.0.1:1"),
            ("for=192.0.2.7;host=a.example", appended, Some("192.0.2.7"), "http://a.example"),
        ] {
            let headers = HeaderMap::from_iter([
                (header::FORWARDED, forwarded.parse().unwrap()),
                (http::HeaderName::from_static("x-forwarded-for"), appended.parse().unwrap()),
            ]);
            let peer = PROXY.parse().unwrap();
            let named = origin.client_address(peer, &headers).map(|address| address.to_string());
            assert_eq!(named.as_deref(), client, "{forwarded}");
            assert_eq!(origin.base_url(peer, &headers), url, "{forwarded}");
        }
    }

    #[test]
    fn networks_are_read_strictly() {
        for bad in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "example.org", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(bad.parse::<TrustedNet>().is_err(), "{bad}");
        }
        let everyone: TrustedNet = "0.0.0.0/0".parse().unwrap();
        assert!(everyone.contains("8.8.8.8".parse().unwrap()) && !everyone.contains("::2".parse().unwrap()));
    }

    #[test]
    fn a_budget_belongs_to_the_client_of_trusted_proxies() {
        let origin = Origin::new("http://127.0.0.1:1", None, vec!["10.0.0.0/8".parse().unwrap()]);
        let client = |peer: &str, name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            origin.client_address(peer.parse().unwrap(), &headers).map(|address| address.to_string())
        };
        for (name, value, expected) in [
            ("x-forwarded-for", "192.0.2.7", Some("192.0.2.7")),
            ("x-forwarded-for", "203.0.113.9, 192.0.2.7, 10.0.0.3", Some("192.0.2.7")),
            ("x-forwarded-for", "192.0.2.7:4711", Some("192.0.2.7")),
            ("x-forwarded-for", "2001:db8:1:2:3::4", Some("2001:db8:1:2::")),
            (
                "forwarded",
                "for=203.0.113.9;proto=https, for=\"[2001:db8:1:2:3::4]:80\"",
                Some("2001:db8:1:2::"),
            ),
            ("forwarded", "for=unknown", None),
            ("x-forwarded-for", "10.0.0.3", None),
            ("x-other", "192.0.2.7", None),
        ] {
            assert_eq!(client(PROXY, name, value).as_deref(), expected, "{name}: {value}");
        }
        assert_eq!(client(STRANGER, "x-forwarded-for", "198.51.100.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(client("127.0.0.1:1", "x-forwarded-for", "198.51.100.1"), None, "loopback is nobody");
        assert_eq!(client("[::1]:1", "x-forwarded-for", "198.51.100.1"), None);
    }
}
