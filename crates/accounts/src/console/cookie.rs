//! The cookie of a console session, and the CSRF token that a page sends with each write.
//! Must not know: whether a session is open.

use http::{HeaderMap, HeaderValue, header};
use plenary_kernel::json::digest;

use super::{keyring::Keyring, state::SessionClient};
use crate::{
    limits::{TOKEN_BYTES_MAX, USER_AGENT_CHARS_MAX},
    token::random_hex,
};

/// The name of the cookie.
const CONSOLE_COOKIE: &str = "plenary_console";
const COOKIE: &str = "plc_";
const LINK: &str = "plk_";

/// A secret that says whose sessions it is looked for among: `plc_<64 hex digits>.~owner`, or `….operator`.
fn new_secret(prefix: &str, keyring: &Keyring) -> String {
    format!("{prefix}{}.{keyring}", random_hex())
}

fn keyring(prefix: &str, secret: &str) -> Option<Keyring> {
    let (_, keyring) = secret.strip_prefix(prefix)?.split_once('.')?;
    (secret.len() <= TOKEN_BYTES_MAX).then(|| keyring.parse().ok())?
}

/// A cookie in clear: kept by the browser alone.
#[derive(Clone, PartialEq, Eq)]
pub struct ConsoleCookie(String);

impl ConsoleCookie {
    pub(crate) fn random(keyring: &Keyring) -> Self {
        Self(new_secret(COOKIE, keyring))
    }
    /// The cookie itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
    /// The `Set-Cookie` that gives it to a browser.
    pub fn set_header(&self, lasts_s: u64, is_tls: bool) -> HeaderValue {
        set(&self.0, lasts_s, is_tls)
    }
    /// The `Set-Cookie` that takes a browser's away.
    pub fn removal_header(is_tls: bool) -> HeaderValue {
        set("", 0, is_tls)
    }
    /// What a page sends with each write.
    pub fn csrf(&self) -> String {
        csrf_of(&self.0)
    }
}

impl std::fmt::Debug for ConsoleCookie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConsoleCookie(…)")
    }
}

/// For this host alone, out of reach of every script, and never sent with what another site begins.
fn set(value: &str, lasts_s: u64, is_tls: bool) -> HeaderValue {
    let secure = if is_tls { "; Secure" } else { "" };
    let text =
        format!("{CONSOLE_COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={lasts_s}{secure}");
    HeaderValue::try_from(text).expect("hex digits and the name of an owner are visible ASCII")
}

/// The secret of a new link.
pub(crate) fn link_of(keyring: &Keyring) -> String {
    new_secret(LINK, keyring)
}

/// Whose link it is, as far as it says.
pub(crate) fn keyring_of_link(secret: &str) -> Option<Keyring> {
    keyring(LINK, secret)
}

/// Whose cookie it is, as far as it says.
pub(crate) fn keyring_of_cookie(secret: &str) -> Option<Keyring> {
    keyring(COOKIE, secret)
}

/// What a page sends with each write: it follows from the cookie, which no page can read, and is kept nowhere.
pub fn csrf_of(cookie: &str) -> String {
    hex::encode(digest(&[b"a write of the console\0", cookie.as_bytes()].concat()))
}

/// The client of a request, at this address, as its session shows it.
pub fn client_of(address: String, headers: &HeaderMap) -> SessionClient {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let user_agent = agent.map(|agent| agent.chars().take(USER_AGENT_CHARS_MAX).collect());
    SessionClient { address: Some(address), user_agent }
}

/// The cookie of a request; `None` where there is none, or more than one.
pub fn cookie_of(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut cookies = pairs.filter(|(name, _)| *name == CONSOLE_COOKIE).map(|(_, value)| value);
    cookies.next().filter(|_| cookies.next().is_none())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(lines: &[&'static str]) -> HeaderMap {
        lines.iter().map(|line| (header::COOKIE, HeaderValue::from_static(line))).collect()
    }

    #[test]
    fn a_cookie_is_found_among_others_and_two_are_none() {
        assert_eq!(cookie_of(&headers(&["a=b; plenary_console=x.y; c"])), Some("x.y"));
        assert_eq!(cookie_of(&headers(&["a=b", "plenary_console=x"])), Some("x"));
        assert_eq!(cookie_of(&headers(&["plenary_console=x; plenary_console=y"])), None);
        assert_eq!(cookie_of(&headers(&["xplenary_console=x"])), None);
        assert_eq!(cookie_of(&headers(&[])), None);
    }

    #[test]
    fn a_secret_says_whose_sessions_it_is_among_and_is_not_printed() {
        let keyring: Keyring = "~nick".parse().unwrap();
        let (cookie, link) = (ConsoleCookie::random(&keyring), link_of(&keyring));
        assert_eq!(keyring_of_cookie(cookie.expose()), Some(keyring.clone()));
        assert_eq!(keyring_of_link(&link), Some(keyring));
        assert_eq!((keyring_of_link(cookie.expose()), keyring_of_cookie(&link)), (None, None));
        assert_eq!(format!("{cookie:?}"), "ConsoleCookie(…)");
        let (plain, secure) = (cookie.set_header(60, false), ConsoleCookie::removal_header(true));
        let expected =
            format!("plenary_console={}; HttpOnly; SameSite=Strict; Path=/; Max-Age=60", cookie.expose());
        assert_eq!(plain, expected);
        assert_eq!(secure, "plenary_console=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure");
        assert_ne!(csrf_of("a"), csrf_of("b"));
    }
}
