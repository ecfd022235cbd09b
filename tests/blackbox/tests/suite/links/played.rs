//! A network that the suite plays: it shows a document at its URL, signs requests as RFC 9421 says, and counts what it is asked.
//! Must not know: how the server reads a signature.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use blackbox::{Response, Server, epoch_ms};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom as _, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::Network;

fn key() -> Ed25519KeyPair {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("a key")
}

fn jwk(key: &Ed25519KeyPair) -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(key.public_key())})
}

/// RFC 7638.
fn thumbprint(key: &Ed25519KeyPair) -> String {
    let x = URL_SAFE_NO_PAD.encode(key.public_key());
    let required = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(digest(&SHA256, required.as_bytes()))
}

type Answers = Arc<Mutex<HashMap<&'static str, String>>>;

/// The bodies that it was sent, by the last part of the path.
type Heard = Arc<Mutex<HashMap<String, Value>>>;

/// The network.
pub(super) struct Played {
    address: SocketAddr,
    key: Ed25519KeyPair,
    document: Arc<Mutex<Value>>,
    asked: Arc<AtomicUsize>,
    /// Whether it leaves what it is asked under an accord unanswered.
    stalls: Arc<AtomicBool>,
    /// What it answers to requests whose path ends so.
    answers: Answers,
    heard: Heard,
    task: JoinHandle<()>,
}

impl Drop for Played {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How a request is signed; as it should be unless changed.
pub(super) struct Signing {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) body: String,
    /// The network that it is for.
    pub(super) at: String,
    /// Seconds from now.
    pub(super) created: i64,
    pub(super) lasts: i64,
    pub(super) nonce: String,
    pub(super) tag: &'static str,
}

/// A signed request as it is sent.
#[derive(Clone)]
pub(super) struct Signed {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) body: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Signed {
    pub(super) async fn send(&self, server: &Server) -> Response {
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let body = Some(self.body.as_bytes()).filter(|body| !body.is_empty());
        let stranger = server.stranger();
        stranger.bytes(&stranger.request(self.method, &self.path, &headers, body)).await
    }
}

impl Played {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let key = key();
        let document = json!({"network": format!("http://{address}"), "keys": [jwk(&key)]});
        let (document, asked) = (Arc::new(Mutex::new(document)), Arc::new(AtomicUsize::new(0)));
        let stalls = Arc::new(AtomicBool::new(false));
        let (answers, heard) = (Answers::default(), Heard::default());
        let said = (Arc::clone(&document), Arc::clone(&answers), Arc::clone(&heard));
        let task = tokio::spawn(serve(listener, said, Arc::clone(&asked), Arc::clone(&stalls)));
        Self { address, key, document, asked, stalls, answers, heard, task }
    }

    /// The last body that it was sent to a path that ends so.
    pub(super) fn heard(&self, end: &str) -> Option<Value> {
        self.heard.lock().expect("nobody panics with it").get(end).cloned()
    }

    /// From now on it answers this where the path of a request ends so.
    pub(super) fn answer(&self, end: &'static str, body: &Value) {
        self.answers.lock().expect("nobody panics with it").insert(end, body.to_string());
    }

    /// From now on it answers such requests with 204 again.
    pub(super) fn agree(&self, end: &'static str) {
        self.answers.lock().expect("nobody panics with it").remove(end);
    }

    /// From now on it reads what it is asked under an accord, and says nothing.
    pub(super) fn stall(&self) {
        self.stalls.store(true, Ordering::SeqCst);
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often it was asked anything.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// From now on it says this of itself.
    pub(super) fn says(&self, document: Value) {
        *self.document.lock().expect("nobody panics with it") = document;
    }

    pub(super) fn document(&self) -> Value {
        self.document.lock().expect("nobody panics with it").clone()
    }

    pub(super) fn signing(to: &Network, method: &'static str, path: &str, body: &Value) -> Signing {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut nonce = [0; 16];
        SystemRandom::new().fill(&mut nonce).expect("randomness");
        let nonce = URL_SAFE_NO_PAD.encode(nonce);
        let (path, at) = (path.to_owned(), to.url());
        Signing { method, path, body, at, created: 0, lasts: 60, nonce, tag: "plenary-link" }
    }

    pub(super) fn sign(&self, signing: &Signing) -> Signed {
        sign(&self.key, signing)
    }

    /// Signed with a key that nobody knows.
    pub(super) fn sign_as_nobody(signing: &Signing) -> Signed {
        sign(&key(), signing)
    }

    pub(super) async fn call(
        &self,
        to: &Network,
        method: &'static str,
        path: &str,
        body: &Value,
    ) -> Response {
        self.sign(&Self::signing(to, method, path, body)).send(&to.server).await
    }

    /// Makes an accord with a network: the path of it.
    pub(super) async fn link(&self, to: &Network, peer: &str) -> String {
        let code = to.invite(&self.url(), peer).await;
        let said = json!({"code": code, "network": self.url(), "grants": ["support"]});
        let agreed = self.call(to, "POST", "/link/v1/accords", &said).await.ok(201);
        format!("/link/v1/accords/{}", agreed["accord_id"].as_str().expect("an id"))
    }
}

fn sign(key: &Ed25519KeyPair, signing: &Signing) -> Signed {
    let Signing { method, path, body, at, created, lasts, nonce, tag } = signing;
    let created = epoch_ms() / 1_000 + created;
    let content_digest = format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, body.as_bytes())));
    let parameters = format!(
        "(\"@method\" \"@target-uri\" \"content-digest\");created={created};expires={};nonce=\"{nonce}\";alg=\"ed25519\";\
         keyid=\"{}\";tag=\"{tag}\"",
        created + lasts,
        thumbprint(key)
    );
    let base = format!(
        "\"@method\": {method}\n\"@target-uri\": {at}{path}\n\"content-digest\": {content_digest}\n\"@signature-params\": {parameters}"
    );
    let signature = STANDARD.encode(key.sign(base.as_bytes()));
    let headers = vec![
        ("Content-Digest".to_owned(), content_digest),
        ("Signature-Input".to_owned(), format!("sig={parameters}")),
        ("Signature".to_owned(), format!("sig=:{signature}:")),
    ];
    Signed { method, path: path.clone(), body: body.clone(), headers }
}

/// The body of a request, of which this was read.
async fn body_of(stream: &mut TcpStream, mut read: Vec<u8>) -> Option<Value> {
    let end = read.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
    let length: usize = head.split("content-length:").nth(1)?.split_whitespace().next()?.parse().ok()?;
    let mut piece = [0; 4096];
    while read.len() < end + length {
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        read.extend_from_slice(&piece[..count]);
    }
    serde_json::from_slice(&read[end..]).ok()
}

async fn serve(
    listener: TcpListener,
    said: (Arc<Mutex<Value>>, Answers, Heard),
    asked: Arc<AtomicUsize>,
    stalls: Arc<AtomicBool>,
) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let ((document, answers, heard), asked, stalls) =
            (said.clone(), Arc::clone(&asked), Arc::clone(&stalls));
        tokio::spawn(async move {
            asked.fetch_add(1, Ordering::SeqCst);
            let mut read = Vec::new();
            let mut piece = [0; 4096];
            while !read.windows(4).any(|window| window == b"\r\n\r\n") {
                match stream.read(&mut piece).await {
                    Ok(count) if count > 0 => read.extend_from_slice(&piece[..count]),
                    _ => return,
                }
            }
            let is_document = read.starts_with(b"GET /.well-known/plenary ");
            if !is_document && stalls.load(Ordering::SeqCst) {
                // Until the other side gives up.
                while stream.read(&mut piece).await.is_ok_and(|count| count > 0) {}
                return;
            }
            let body = document.lock().expect("nobody panics with it").to_string();
            let head = String::from_utf8_lossy(&read);
            let path = head.split_whitespace().nth(1).unwrap_or_default();
            if let Some(body) = body_of(&mut stream, read.clone()).await {
                let end = path.rsplit('/').next().unwrap_or_default().to_owned();
                heard.lock().expect("nobody panics with it").insert(end, body);
            }
            let answers = answers.lock().expect("nobody panics with it").clone();
            let answer = answers.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, body)| body);
            let (status, body) = match answer {
                _ if is_document => ("200 OK", body),
                Some(answer) => ("200 OK", answer),
                None => ("204 No Content", String::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            // The other side may be gone.
            let written = stream.write_all(format!("{head}{body}").as_bytes()).await;
            drop(written);
        });
    }
}
