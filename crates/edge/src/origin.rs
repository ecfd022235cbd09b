//! How clients reach the server: its base URL, as it is configured, as a trusted proxy tells it, or as it listens.
//! Must not know: what the URL is used for.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderValue};

/// Longest host or prefix that a proxy may tell, in octets; a longer one is not believed.
const TOLD_OCTETS_MAX: usize = 255;

/// A network whose hosts are believed what they say about their clients: `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedNet {
    address: IpAddr,
    bits: u8,
}

impl std::str::FromStr for TrustedNet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no address and no network like 10.0.0.0/8");
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

/// Where the server is, as its clients see it.
#[derive(Debug, Clone)]
pub struct Origin {
    listening: String,
    public: Option<String>,
    trusted: Vec<TrustedNet>,
}

impl Origin {
    /// `listening` is the URL of the listener. `public`, where it is set, is always the answer.
    #[must_use]
    pub fn new(listening: &str, public: Option<&str>, trusted: Vec<TrustedNet>) -> Self {
        let plain = |url: &str| url.trim_end_matches('/').to_owned();
        Self { listening: plain(listening), public: public.map(plain), trusted }
    }

    /// The base URL for the sender of this request, without a slash at its end. `Forwarded` and `X-Forwarded-*` count
    /// only from a trusted proxy, and only where they are the plain host, scheme and prefix that they should be.
    #[must_use]
    pub fn base_url(&self, peer: SocketAddr, headers: &HeaderMap) -> String {
        if let Some(public) = &self.public {
            return public.clone();
        }
        if !self.trusts(peer) {
            return self.listening.clone();
        }
        forwarded(headers).unwrap_or_else(|| self.listening.clone())
    }

    /// The URL of the listener.
    pub(crate) fn listening(&self) -> &str {
        &self.listening
    }

    /// Whether the operator has said how clients reach the server.
    pub(crate) const fn is_public_known(&self) -> bool {
        self.public.is_some()
    }

    /// Whether this peer is believed what it says about its clients.
    pub(crate) fn trusts(&self, peer: SocketAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(peer.ip()))
    }
}

/// What the proxy tells. The first element is the one nearest to the client, and the scheme is `http` unless told.
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
        text.len() <= TOLD_OCTETS_MAX && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let host_is_plain = !host.is_empty() && plain(host, ".-_:[]");
    let prefix_is_plain = prefix.is_empty() || prefix.starts_with('/') && plain(prefix, "/-_.~");
    let scheme_is_known = matches!(scheme.as_str(), "http" | "https");
    (host_is_plain && prefix_is_plain && scheme_is_known).then(|| format!("{scheme}://{host}{prefix}"))
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
        let told = [("x-forwarded-host", "elsewhere.example")];
        assert_eq!(base(Some("https://agents.example/p/"), PROXY, &told), "https://agents.example/p");
        assert_eq!(base(None, STRANGER, &[]), "http://127.0.0.1:7420");
    }

    #[test]
    fn a_proxy_is_believed_when_it_is_trusted() {
        let told = [("forwarded", "for=1.2.3.4;proto=https;host=\"a.example:8443\", host=b.example")];
        assert_eq!(base(None, PROXY, &told), "https://a.example:8443");
        assert_eq!(base(None, "[::1]:9", &told), "https://a.example:8443");
        assert_eq!(base(None, "[::ffff:10.9.9.9]:9", &told), "https://a.example:8443");
        assert_eq!(base(None, STRANGER, &told), "http://127.0.0.1:7420");
        let told = [
            ("x-forwarded-host", "a.example, b.example"),
            ("x-forwarded-proto", "HTTPS"),
            ("x-forwarded-prefix", "/agents/"),
        ];
        assert_eq!(base(None, PROXY, &told), "https://a.example/agents");
    }

    #[test]
    fn what_could_be_more_than_a_host_is_not_believed() {
        let long = "a".repeat(TOLD_OCTETS_MAX + 1);
        for host in ["a;rm -rf", "a/b", "a'b", "$(id)", "", "a b", "a@b", &long] {
            assert_eq!(base(None, PROXY, &[("x-forwarded-host", host)]), "http://127.0.0.1:7420", "{host}");
        }
        for (name, value) in [("x-forwarded-proto", "javascript"), ("x-forwarded-prefix", "/a?b")] {
            let told = [("x-forwarded-host", "a.example"), (name, value)];
            assert_eq!(base(None, PROXY, &told), "http://127.0.0.1:7420", "{value}");
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
}
