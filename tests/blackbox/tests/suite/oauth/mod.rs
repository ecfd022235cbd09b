//! The authorization server: what a client is told, what a person is asked, which codes and refresh tokens count, and that
//! nobody but the person decides.
//! Must not know: how anything of it is kept.

mod asking;
mod clients;
mod kinds;
mod tokens;

use std::collections::BTreeMap;

use blackbox::{Caller, Response, Server};
use serde_json::{Value, json};

/// The example of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const REDIRECT: &str = "https://client.example/cb";

/// The text of a form or a query.
pub(crate) fn encoded(pairs: &[(&str, &str)]) -> String {
    let escape = |text: &str| -> String {
        text.bytes()
            .map(|byte| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    (byte as char).to_string()
                }
                _ => format!("%{byte:02X}"),
            })
            .collect()
    };
    pairs
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(value)))
        .collect::<Vec<_>>()
        .join("&")
}

fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// The parameters of a URL.
fn query(url: &str) -> BTreeMap<String, String> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let plain = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            let pair = (byte == b'%').then(|| [rest.next(), rest.next()]);
            let code = pair.and_then(|pair| {
                let digits = [pair[0]?, pair[1]?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
            });
            bytes.push(code.unwrap_or(if byte == b'+' { b' ' } else { byte }));
        }
        String::from_utf8(bytes).expect("UTF-8")
    };
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (plain(name), plain(value))).collect()
}

/// A browser: it may have a cookie, and says where its forms come from.
#[derive(Clone)]
struct Browser {
    caller: Caller,
    origin: String,
    cookie: Option<String>,
}

impl Browser {
    fn new(server: &Server) -> Self {
        Self { caller: server.stranger(), origin: server.url(), cookie: None }
    }

    /// One that the owner's link has signed in.
    async fn signed_in(server: &Server, owner: &Caller, role: &str) -> Self {
        let made = owner.post("/console/links", json!({"role": role})).await.ok(201);
        let url = made["url"].as_str().expect("a URL").to_owned();
        let mut browser = Self::new(server);
        let answer = browser.form("/oauth/sign-in", &[("link", &url), ("request", "a=b")]).await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, Some("/oauth/authorize?a=b")),
            "{answer}"
        );
        let set = answer.header("set-cookie").expect("a cookie");
        for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(set.contains(part), "{set}");
        }
        browser.cookie = set.split(';').next().map(str::to_owned);
        browser
    }

    async fn get(&self, path: &str) -> Response {
        let cookie = self.cookie.as_deref().map(|cookie| ("Cookie", cookie));
        let headers: Vec<_> = [("Accept", "text/html")].into_iter().chain(cookie).collect();
        self.caller.bytes(&self.caller.request("GET", path, &headers, None)).await
    }

    async fn form(&self, path: &str, pairs: &[(&str, &str)]) -> Response {
        let mut headers =
            vec![("Content-Type", "application/x-www-form-urlencoded"), ("Origin", &*self.origin)];
        headers.extend(self.cookie.as_deref().map(|cookie| ("Cookie", cookie)));
        let body = encoded(pairs);
        self.caller.bytes(&self.caller.request("POST", path, &headers, Some(body.as_bytes()))).await
    }
}

/// What stands in a field of a page that is not shown.
fn hidden(page: &Response, name: &str) -> String {
    let text = page.text();
    let at =
        text.split_once(&format!("name={name} value=\"")).unwrap_or_else(|| panic!("{name} in {text}")).1;
    unescaped(at.split('"').next().expect("an end"))
}

/// A client that has registered: its id.
async fn registered(server: &Server, redirect: &str) -> String {
    let body =
        json!({"client_name": "Client", "redirect_uris": [redirect], "token_endpoint_auth_method": "none"});
    let made = server.stranger().post("/oauth/register", body).await.ok(201);
    made["client_id"].as_str().expect("an id").to_owned()
}

/// An authorization request, with these parameters instead of or beside the usual ones.
fn request(client: &str, other: &[(&str, &str)]) -> String {
    let usual = [
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", REDIRECT),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "s t&x"),
    ];
    let kept = usual.into_iter().filter(|(name, _)| other.iter().all(|(other, _)| name != other));
    let pairs: Vec<_> = kept.chain(other.iter().copied().filter(|(_, value)| !value.is_empty())).collect();
    encoded(&pairs)
}

/// The person decides; where the browser goes then.
async fn decide(browser: &Browser, request: &str, choices: &[(&str, &str)]) -> Response {
    let page = browser.get(&format!("/oauth/authorize?{request}")).await;
    assert_eq!(page.status, 200, "{page}");
    let (asked, csrf) = (hidden(&page, "request"), hidden(&page, "csrf"));
    let mut pairs = vec![("request", &*asked), ("csrf", &*csrf)];
    pairs.extend_from_slice(choices);
    browser.form("/oauth/authorize", &pairs).await
}

const ALLOW: &[(&str, &str)] =
    &[("agent", "@nick.bot"), ("scope", "write"), ("days", "30"), ("decision", "allow")];

/// The code that a client gets when the person allows it.
async fn code(browser: &Browser, client: &str) -> String {
    let answer = decide(browser, &request(client, &[]), ALLOW).await;
    assert_eq!(answer.status, 303, "{answer}");
    query(answer.header("location").expect("a place"))["code"].clone()
}

/// Asks for tokens.
async fn token(server: &Server, pairs: &[(&str, &str)]) -> Response {
    let caller = server.stranger();
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    caller.bytes(&caller.request("POST", "/oauth/token", &headers, Some(encoded(pairs).as_bytes()))).await
}

async fn redeemed(server: &Server, client: &str, code: &str) -> Response {
    let pairs = [
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", REDIRECT),
    ];
    token(server, &pairs).await
}

pub(crate) async fn renewed(server: &Server, client: &str, refresh: &str) -> Response {
    token(server, &[("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", refresh)]).await
}

/// A client and its tokens from a person with this cookie, for `@nick.bot`.
pub(crate) async fn granted(server: &Server, cookie: &str) -> (String, Value) {
    let browser = Browser { cookie: Some(cookie.to_owned()), ..Browser::new(server) };
    let client = registered(server, REDIRECT).await;
    let code = code(&browser, &client).await;
    let tokens = redeemed(server, &client, &code).await.ok(200);
    (client, tokens)
}

/// The same from a person who is signed in with a link of the owner.
pub(crate) async fn granted_by(server: &Server, owner: &Caller) -> (String, Value) {
    let browser = Browser::signed_in(server, owner, "owner").await;
    granted(server, &browser.cookie.expect("a cookie")).await
}

/// Gives a token back.
pub(crate) async fn given_back(server: &Server, token: &str) {
    let caller = server.stranger();
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    let body = encoded(&[("token", token)]);
    let request = caller.request("POST", "/oauth/revoke", &headers, Some(body.as_bytes()));
    let answer = caller.bytes(&request).await;
    assert_eq!(answer.status, 200, "{answer}");
}

fn no(answer: &Response, status: u16, error: &str) {
    assert_eq!((answer.status, &answer.json()["error"]), (status, &json!(error)), "{answer}");
}

fn part(tokens: &Value, name: &str) -> String {
    tokens[name].as_str().unwrap_or_else(|| panic!("{name} in {tokens}")).to_owned()
}

/// A server with an agent, its owner's browser, and a client.
async fn scene() -> (Server, Caller, Browser, String) {
    let server = Server::start().await;
    server.agent("@nick.bot").await;
    let owner = server.owner("nick").await;
    let browser = Browser::signed_in(&server, &owner, "owner").await;
    let client = registered(&server, REDIRECT).await;
    (server, owner, browser, client)
}
