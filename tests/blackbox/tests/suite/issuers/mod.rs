//! Issuers outside the server: people sign in at one, programs bring its tokens, and nothing that it did not sign opens anything.
//! Must not know: how anything of it is kept.

mod access;
mod exchange;
mod forged;
mod settings;
mod signing_in;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use blackbox::{Builder, Connection, Response, Server, TempDir, TestDependency, epoch_ms};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

const PROVIDER: &str = include_str!("../../../interop/openid.mjs");
const SECRET: &str = "a secret/with+signs";
/// For whom tokens are that agents bring.
const AUDIENCE: &str = "https://plenary.test/mcp";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// What an issuer signs with.
struct Signer {
    issuer: String,
    key: String,
    public: String,
    pair: EcdsaKeyPair,
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    fn read(issuer: &str, line: &Value) -> Self {
        let text = |name: &str| line[name].as_str().expect("a text").to_owned();
        let der = STANDARD.decode(text("pkcs8")).expect("base64");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &SystemRandom::new());
        Self {
            issuer: issuer.to_owned(),
            key: text("kid"),
            public: text("public"),
            pair: pair.expect("a key"),
        }
    }

    fn head(&self) -> Value {
        json!({"alg": "ES256", "typ": "JWT", "kid": self.key})
    }

    /// What the issuer would say of the CI, with these claims instead of or beside the usual ones; null takes one away.
    fn claims(&self, more: &Value) -> Value {
        let now = epoch_ms() / 1_000;
        let mut claims = json!({
            "iss": self.issuer, "sub": "ci", "aud": AUDIENCE, "exp": now + 300, "iat": now, "repository": "acme/app"
        });
        for (name, value) in more.as_object().expect("an object") {
            if value.is_null() {
                claims.as_object_mut().expect("an object").remove(name);
            } else {
                claims[name] = value.clone();
            }
        }
        claims
    }

    /// A token with this head and these claims, signed as the issuer signs.
    fn sign(&self, head: &Value, claims: &Value) -> String {
        let text = format!("{}.{}", encoded(head.to_string()), encoded(claims.to_string()));
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes()).expect("a signature");
        format!("{text}.{}", encoded(signature))
    }

    /// A good token with these claims.
    fn token(&self, more: &Value) -> String {
        self.sign(&self.head(), &self.claims(more))
    }
}

/// The same token with the other signature that ECDSA has for its text, (r, n - s) in place of (r, s): nobody needs the key for it.
fn with_the_other_signature(token: &str) -> String {
    let order: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa,
        0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ];
    let (signed, signature) = token.rsplit_once('.').expect("a signature");
    let mut signature = URL_SAFE_NO_PAD.decode(signature).expect("base64");
    let mut borrow = 0;
    for at in (0..32).rev() {
        let difference = i16::from(order[at]) - i16::from(signature[32 + at]) - borrow;
        borrow = i16::from(difference < 0);
        signature[32 + at] = u8::try_from(difference.rem_euclid(256)).expect("a byte");
    }
    format!("{signed}.{}", encoded(signature))
}

/// The certified provider, as a process of its own.
struct Provider {
    url: String,
    signer: Signer,
    process: Child,
    _home: TempDir,
}

impl Provider {
    async fn start() -> Option<Self> {
        let TestDependency::Available(packages) = TestDependency::openid() else { return None };
        let (home, packages) = (TempDir::new(), PathBuf::from(packages));
        std::os::unix::fs::symlink(packages.join("node_modules"), home.path().join("node_modules"))
            .expect("a link");
        std::fs::write(home.path().join("openid.mjs"), PROVIDER).expect("a script can be written");
        let mut command = Command::new(packages.join("node"));
        command.arg("openid.mjs").current_dir(home.path()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("node starts");
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().expect("its output"));
        out.read_line(&mut line).await.expect("a line");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let url = said["url"].as_str().expect("a URL").to_owned();
        let signer = Signer::read(&url, &said);
        Some(Self { url, signer, process, _home: home })
    }

    /// Asks it to do something below `/test/`.
    async fn test(&self, path: &str) -> Value {
        get(&format!("{}/test/{path}", self.url), None).await.ok(200)
    }

    /// An access token for a client of its own, as the provider makes it.
    async fn access_token(&self, scope: &str) -> String {
        let form = crate::oauth::encoded(&[
            ("grant_type", "client_credentials"),
            ("scope", scope),
            ("resource", AUDIENCE),
        ]);
        let basic = STANDARD.encode("ci:a+secret%2Fwith%2Bsigns");
        let answer =
            asked("POST", &format!("{}/token", self.url), Some(&format!("Basic {basic}")), &form).await;
        answer.ok(200)["access_token"].as_str().expect("a token").to_owned()
    }

    /// The table of this provider, with these rules below.
    fn table(&self, rules: &str) -> String {
        format!(
            "[issuers.acme]\nurl = \"{}\"\ntitle = \"Acme <SSO>\"\nprivate_addresses = true\nclient_id = \"plenary\"\n\
             audience = [\"{AUDIENCE}\"]\n{rules}",
            self.url
        )
    }

    /// A server that knows this provider, with an owner and its agent.
    async fn server(&self, before: &str) -> Server {
        let config = format!("{before}{}", self.table(RULES));
        let server = configured(&config).start().await;
        server.agent("@nick.ci").await;
        server
    }
}

/// A server with this configuration and the client's secret.
fn configured(config: &str) -> Builder {
    Server::builder().config(config).env("PLENARY_ISSUER_ACME_SECRET", SECRET)
}

const RULES: &str = r#"
[[issuers.acme.people]]
claims = { groups = "admins", email = "*@acme.example" }
owner = "nick"
role = "owner"

[[issuers.acme.people]]
claims = { groups = "dev" }
owner = "nick"
role = "viewer"

[[issuers.acme.people]]
claims = { groups = "operators" }
role = "operator"

[[issuers.acme.agents]]
claims = { repository = "acme/*", sub = "ci" }
agent = "@nick.ci"
scope = "read sessions:write"
lasts = "10m"

[[issuers.acme.agents]]
claims = { sub = "second" }
agent = "@nick.ci"
scope = "read"

[[issuers.acme.agents]]
claims = { sub = "absent" }
agent = "@nick.absent"
scope = "read"
"#;

/// Sends one request to whatever URL of this machine, as a browser or a program does.
async fn asked(method: &str, url: &str, authorization: Option<&str>, form: &str) -> Response {
    let mut headers = vec![("Content-Type", "application/x-www-form-urlencoded".to_owned())];
    headers.extend(authorization.map(|value| ("Authorization", value.to_owned())));
    sent(method, url, &headers, form).await
}

async fn get(url: &str, cookie: Option<&str>) -> Response {
    let mut headers = vec![("Accept", "text/html".to_owned())];
    headers.extend(cookie.map(|cookie| ("Cookie", cookie.to_owned())));
    sent("GET", url, &headers, "").await
}

async fn sent(method: &str, url: &str, headers: &[(&str, String)], body: &str) -> Response {
    let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("{url}"));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut text = format!("{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if method == "POST" {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str(&format!("\r\n{body}"));
    let address: std::net::SocketAddr = host.parse().expect("an address");
    let mut connection = Connection::open(address).await.expect("somebody listens");
    connection.round_trip(text.as_bytes()).await.expect("an answer")
}

async fn exchange(server: &Server, token: &str, more: &[(&str, &str)]) -> Response {
    let usual = [("grant_type", GRANT), ("subject_token", token), ("subject_token_type", JWT)];
    let kept = usual.into_iter().filter(|(name, _)| more.iter().all(|(other, _)| name != other));
    let pairs: Vec<_> = kept.chain(more.iter().copied().filter(|(_, value)| !value.is_empty())).collect();
    asked("POST", &format!("{}/oauth/token", server.url()), None, &crate::oauth::encoded(&pairs)).await
}

/// The code with which a description begins.
fn flaw(answer: &Response) -> (u16, String, String) {
    let body = answer.json();
    let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    let why = text("error_description");
    (answer.status, text("error"), why.split(':').next().unwrap_or_default().to_owned())
}

/// The cookies of a browser, by name.
#[derive(Default)]
struct Jar(BTreeMap<String, String>);

impl Jar {
    fn keep(&mut self, answer: &Response) {
        for (name, value) in &answer.headers {
            if name.eq_ignore_ascii_case("set-cookie") {
                let pair = value.split(';').next().unwrap_or_default();
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                if value.is_empty() {
                    self.0.remove(name);
                } else {
                    self.0.insert(name.to_owned(), value.to_owned());
                }
            }
        }
    }

    fn line(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }
}
