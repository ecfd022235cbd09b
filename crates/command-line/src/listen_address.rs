//! The listen address: its accepted forms, and its source.
//! Must not know: sockets.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use serde::{Deserialize, Deserializer, de::Error as _};

/// The value of `--data` for a store in memory.
pub const MEMORY: &str = ":memory:";
/// The default port.
const PORT: u16 = 7420;
/// The default address.
pub const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

/// Said of a value of another form.
const FORM: &str =
    "write an address and a port, e.g. 127.0.0.1:7420, localhost:7420, or 7420 for this machine only";

/// An address as people write it: `127.0.0.1:7420`, `localhost:7600`, or a port alone, which means this machine only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen(pub SocketAddr);

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let local = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        if let Ok(address) = text.parse() {
            return Ok(Self(address));
        }
        let port = text.strip_prefix("localhost:").unwrap_or(text);
        if let Ok(port) = port.parse() {
            return Ok(Self(local(port)));
        }
        if text == "localhost" {
            return Ok(Self(local(PORT)));
        }
        if let Ok(ip) = text.parse() {
            return Ok(Self(SocketAddr::new(ip, PORT)));
        }
        Err(FORM.into())
    }
}

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Setting {
            Port(u16),
            Text(String),
        }
        match Setting::deserialize(deserializer) {
            Ok(Setting::Port(port)) => port.to_string().parse(),
            Ok(Setting::Text(text)) => text.parse(),
            Err(_) => Err(FORM.to_owned()),
        }
        .map_err(D::Error::custom)
    }
}

/// The source of the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenSource {
    /// `--listen`.
    Flag,
    /// `PLENARY_LISTEN`.
    Environment,
    /// The configuration file.
    File(PathBuf),
    /// The default: no setting names an address.
    Default,
}

impl fmt::Display for ListenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("--listen"),
            Self::Environment => f.write_str("PLENARY_LISTEN"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("the default"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_people_write_it() {
        for (text, address) in [
            ("127.0.0.1:7600", "127.0.0.1:7600"),
            ("localhost:7600", "127.0.0.1:7600"),
            ("localhost", "127.0.0.1:7420"),
            ("7421", "127.0.0.1:7421"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("0.0.0.0", "0.0.0.0:7420"),
            ("[::1]:7420", "[::1]:7420"),
            ("::1", "[::1]:7420"),
        ] {
            assert_eq!(text.parse(), Ok(Listen(address.parse().unwrap())), "{text}");
        }
        for bad in ["", "host:1", "127.0.0.1:", "70000", "localhost:x", ":7420"] {
            assert!(bad.parse::<Listen>().is_err(), "{bad}");
        }
    }
}
