//! Clients: their metadata, their redirect URIs, and the ids of registered ones. Such an id contains the registered
//! data, so nothing is stored, and nobody can fill a store with clients. It is not a secret and proves nothing:
//! anybody may register anything, and the page shows the redirect URI to the person. Pure.
//! Must not know: how a client's document is fetched.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use plenary_kernel::text;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::limits::{
    CLIENT_ID_BYTES_MAX, CLIENT_NAME_CHARS_MAX, REDIRECT_BYTES_MAX, REDIRECTS_BYTES_MAX, REDIRECTS_MAX,
};

/// The prefix of ids of registered clients.
const REGISTERED: &str = "plenary-client.";
/// Schemes that a browser handles itself, or that reach no program.
const NOT_CALLED: [&str; 12] = [
    "javascript",
    "data",
    "file",
    "blob",
    "about",
    "vbscript",
    "filesystem",
    "ws",
    "wss",
    "ftp",
    "view-source",
    "chrome",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) id: String,
    /// The name that it chose; it is not verified.
    pub(crate) name: String,
    pub(crate) redirects: Vec<String>,
    /// The host of its document, if its id is the URL of a document.
    pub(crate) host: Option<String>,
}

/// The content of the id of a registered client.
#[derive(Debug, Serialize, Deserialize)]
struct InId {
    n: String,
    r: Vec<String>,
}

/// The members of a registration or of a client's document that this server reads.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Metadata {
    #[serde(default)]
    pub(crate) client_id: Option<String>,
    #[serde(default)]
    pub(crate) client_name: Option<String>,
    #[serde(default)]
    pub(crate) redirect_uris: Vec<String>,
}

/// Why a client can't be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadRedirect;

impl Client {
    /// Registers a client.
    pub(crate) fn register(metadata: Metadata) -> Result<Self, BadRedirect> {
        let redirects = checked(metadata.redirect_uris)?;
        let name = display_name(metadata.client_name.as_deref().unwrap_or_default());
        let in_id = InId { n: name.clone(), r: redirects.clone() };
        let written = serde_json::to_vec(&in_id).unwrap_or_default();
        let id = format!("{REGISTERED}{}", URL_SAFE_NO_PAD.encode(written));
        if id.len() > CLIENT_ID_BYTES_MAX {
            return Err(BadRedirect);
        }
        Ok(Self { id, name, redirects, host: None })
    }

    /// The client with an id from a registration.
    pub(crate) fn registered(id: &str) -> Option<Self> {
        let coded = id.strip_prefix(REGISTERED).filter(|_| id.len() <= CLIENT_ID_BYTES_MAX)?;
        let InId { n, r } = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(coded).ok()?).ok()?;
        let client =
            Self::register(Metadata { client_name: Some(n), redirect_uris: r, client_id: None }).ok()?;
        // A client has one id only: an id that this server would write differently is refused.
        (client.id == id).then_some(client)
    }

    /// The client whose id is the URL of this document.
    pub(crate) fn documented(id: &Url, metadata: Metadata) -> Option<Self> {
        if metadata.client_id.as_deref() != Some(id.as_str()) {
            return None;
        }
        let name = display_name(metadata.client_name.as_deref().unwrap_or_default());
        let redirects = checked(metadata.redirect_uris).ok()?;
        Some(Self { id: id.to_string(), name, redirects, host: Some(id.host_str()?.to_owned()) })
    }

    /// Whether this redirect URI is allowed: it equals a registered one byte by byte, except for the port of a loopback address
    /// (RFC 8252,
    /// 7.3).
    pub(crate) fn may_be_called_at(&self, redirect: &str) -> bool {
        let any_port = |text: &str| {
            let mut url = Url::parse(text).ok().filter(is_loopback)?;
            url.set_port(None).ok()?;
            Some(url)
        };
        let is_it = |known: &String| {
            known == redirect || any_port(known).is_some_and(|known| any_port(redirect) == Some(known))
        };
        redirect.len() <= REDIRECT_BYTES_MAX && self.redirects.iter().any(is_it)
    }
}

/// The URL of a client's document (draft-ietf-oauth-client-id-metadata-document): `https`, with a path, without credentials or
/// fragment.
pub(crate) fn document_url(id: &str, plain_too: bool) -> Option<Url> {
    let url = Url::parse(id).ok().filter(|_| id.len() <= CLIENT_ID_BYTES_MAX)?;
    let has_scheme = url.scheme() == "https" || plain_too && url.scheme() == "http";
    let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    // Only the normal form is accepted, so that a client has one id.
    (has_scheme && is_plain && url.path() != "/" && url.as_str() == id).then_some(url)
}

fn checked(redirects: Vec<String>) -> Result<Vec<String>, BadRedirect> {
    let together: usize = redirects.iter().map(String::len).sum();
    let fits = (1..=REDIRECTS_MAX).contains(&redirects.len()) && together <= REDIRECTS_BYTES_MAX;
    if fits && redirects.iter().all(|redirect| is_redirect(redirect)) {
        Ok(redirects)
    } else {
        Err(BadRedirect)
    }
}

/// Whether a redirect URI can be registered: `https`, `http` on a loopback address, or a scheme of an app.
fn is_redirect(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let is_written_plainly =
        text.len() <= REDIRECT_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
    let leads_somewhere = match url.scheme() {
        "https" => url.host_str().is_some(),
        "http" => is_loopback(&url),
        scheme => !NOT_CALLED.contains(&scheme),
    };
    is_plain && is_written_plainly && leads_somewhere
}

fn is_loopback(url: &Url) -> bool {
    url.scheme() == "http"
        && match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
}

/// A name for display: one line, without invisible characters.
fn display_name(name: &str) -> String {
    let visible = name.chars().filter(|character| !character.is_control() && !text::is_hidden(*character));
    visible.take(CLIENT_NAME_CHARS_MAX).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registered(redirects: &[&str]) -> Result<Client, BadRedirect> {
        let redirect_uris = redirects.iter().map(|redirect| (*redirect).to_owned()).collect();
        Client::register(Metadata {
            client_name: Some("Cl\u{202e}aude\n".into()),
            redirect_uris,
            client_id: None,
        })
    }

    #[test]
    fn an_id_has_in_it_what_was_registered() {
        let client = registered(&["https://claude.ai/api/mcp/auth_callback"]).unwrap();
        assert_eq!(client.name, "Claude");
        assert_eq!(Client::registered(&client.id), Some(client.clone()));
        let forged = InId { n: "x".into(), r: vec!["javascript:alert(1)".into()] };
        let forged = format!("{REGISTERED}{}", URL_SAFE_NO_PAD.encode(serde_json::to_vec(&forged).unwrap()));
        let padded = format!("{}A", client.id);
        for bad in ["", "plenary-client.", "x", &*forged, &*padded] {
            assert_eq!(Client::registered(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_safe_redirect_addresses_are_registered() {
        for good in [
            "https://chatgpt.com/connector_platform_oauth_redirect",
            "http://127.0.0.1:3118/callback",
            "http://[::1]/cb",
            "http://localhost:1/cb",
            "cursor://anysphere.cursor-retrieval/oauth/callback",
            "com.example.app:/cb",
        ] {
            assert!(registered(&[good]).is_ok(), "{good}");
        }
        for bad in [
            "http://example.org/cb",
            "https://u@example.org/",
            "https://example.org/#f",
            "javascript:alert(1)",
            "data:text/html,x",
            "/cb",
            "",
            "https://example.org/ b",
            "http://localhost.example.org/",
        ] {
            assert!(registered(&[bad]).is_err(), "{bad}");
        }
        assert!(registered(&[]).is_err() && registered(&["https://a.example/"; REDIRECTS_MAX + 1]).is_err());
        let long = format!("https://a.example/{}", "x".repeat(REDIRECT_BYTES_MAX));
        assert!(registered(&[&long]).is_err());
    }

    #[test]
    fn an_address_is_the_registered_one_to_the_byte_but_for_the_port_of_this_machine() {
        let client = registered(&["https://a.example/cb", "http://127.0.0.1/cb?x=1"]).unwrap();
        for (redirect, may) in [
            ("https://a.example/cb", true),
            ("https://a.example:444/cb", false),
            ("https://a.example/cb/", false),
            ("https://a.example/cb?x", false),
            ("http://127.0.0.1:9/cb?x=1", true),
            ("http://127.0.0.1:9/cb", false),
            ("http://localhost:9/cb?x=1", false),
            ("", false),
        ] {
            assert_eq!(client.may_be_called_at(redirect), may, "{redirect}");
        }
    }

    #[test]
    fn a_document_names_its_own_url() {
        let url = document_url("https://a.example/c.json", false).unwrap();
        let metadata = |id: &str| Metadata {
            client_id: Some(id.into()),
            client_name: None,
            redirect_uris: vec!["https://a.example/cb".into()],
        };
        let client = Client::documented(&url, metadata("https://a.example/c.json")).unwrap();
        assert_eq!(client.host.as_deref(), Some("a.example"));
        assert_eq!(Client::documented(&url, metadata("https://b.example/c.json")), None);
        for bad in [
            "http://a.example/c",
            "https://a.example/",
            "https://a.example",
            "https://u@a.example/c",
            "https://a.example/c#f",
            "https://a.example/x/../c",
            "https://A.example/c",
        ] {
            assert_eq!(document_url(bad, false), None, "{bad}");
        }
        assert!(document_url("http://127.0.0.1:1/c", true).is_some());
    }
}
