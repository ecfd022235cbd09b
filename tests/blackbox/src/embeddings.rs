//! A server of embeddings in the OpenAI form, that behaves as well or as badly as a test wants. It knows a few things
//! by several names, and nothing else.

use std::collections::BTreeMap;
use std::io::Result;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Names of the same thing; one component each.
const THINGS: [&[&str]; 4] =
    [&["car", "automobile"], &["dog", "hound"], &["ship", "vessel"], &["rain", "downpour"]];

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// With vectors of so many components; texts with the word `forbidden` are refused.
    Vectors(usize),
    /// With this status.
    Status(u16),
    /// Never.
    Hang,
}

#[derive(Debug)]
struct Inner {
    mood: Mood,
    requests: Vec<(BTreeMap<String, String>, Value)>,
}

/// The server. Dropping it closes its port, at which connections are then refused.
#[derive(Debug)]
pub struct Embeddings {
    port: u16,
    inner: Arc<Mutex<Inner>>,
    task: Option<JoinHandle<()>>,
}

impl Embeddings {
    /// Starts it at a free port.
    pub async fn start(mood: Mood) -> Self {
        let inner = Arc::new(Mutex::new(Inner { mood, requests: Vec::new() }));
        let mut server = Self { port: 0, inner, task: None };
        server.listen().await;
        server
    }

    async fn listen(&mut self) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await.expect("the port is free");
        self.port = listener.local_addr().expect("it is bound").port();
        let inner = self.inner.clone();
        self.task = Some(tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, inner.clone()));
            }
        }));
    }

    /// Cuts every connection and refuses new ones.
    pub async fn kill(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            let _ended = task.await;
        }
    }

    /// Comes back at the same port.
    pub async fn restart(&mut self) {
        self.listen().await;
    }

    /// For `--embeddings`.
    pub fn source(&self) -> String {
        format!("openai:http://127.0.0.1:{}/v1?model=things", self.port)
    }

    /// For `--rerank`.
    pub fn reranker(&self) -> String {
        format!("openai:http://127.0.0.1:{}/v1?model=judge", self.port)
    }

    /// How it answers from now on.
    pub fn set(&self, mood: Mood) {
        self.locked().mood = mood;
    }

    /// The headers and bodies of all requests.
    pub fn requests(&self) -> Vec<(BTreeMap<String, String>, Value)> {
        self.locked().requests.clone()
    }

    fn locked(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no test panicked while it held this")
    }
}

impl Drop for Embeddings {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn serve(mut stream: TcpStream, inner: Arc<Mutex<Inner>>) {
    while let Ok(Some((headers, body))) = request(&mut stream).await {
        let mood = {
            let mut inner = inner.lock().expect("no test panicked while it held this");
            inner.requests.push((headers, body.clone()));
            inner.mood
        };
        let (status, answer) = match mood {
            Mood::Hang => std::future::pending().await,
            Mood::Status(status) => (status, json!({"error": {"message": "no"}})),
            Mood::Vectors(_) if body["documents"].is_array() => (200, relevance(&body)),
            Mood::Vectors(_) if body["input"].to_string().contains("forbidden") => {
                (400, json!({"error": {"message": "forbidden"}}))
            }
            Mood::Vectors(components) => (200, vectors(&body, components)),
        };
        let answer = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        if stream.write_all(format!("{head}{answer}").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// How many things of the query a text names: in the form that servers of rerankers have, the best first.
fn relevance(body: &Value) -> Value {
    let query = body["query"].as_str().unwrap_or_default().to_lowercase();
    let names = |text: &str, things: &[&str]| things.iter().any(|name| text.contains(name));
    let documents = body["documents"].as_array().map_or(&[][..], Vec::as_slice);
    let score =
        |text: &str| THINGS.iter().filter(|things| names(&query, things) && names(text, things)).count();
    let mut results: Vec<(usize, usize)> = documents
        .iter()
        .enumerate()
        .map(|(index, text)| (index, score(&text.as_str().unwrap_or_default().to_lowercase())))
        .collect();
    results.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
    let results: Vec<Value> =
        results.into_iter().map(|(index, score)| json!({"index": index, "relevance_score": score})).collect();
    json!({"results": results, "model": body["model"]})
}

fn vectors(body: &Value, components: usize) -> Value {
    let vector = |text: &str| {
        let text = text.to_lowercase();
        let has = |names: &[&str]| names.iter().any(|name| text.contains(name));
        let mut vector = vec![0.0; components];
        for (place, names) in THINGS.iter().enumerate() {
            vector[place] = if has(names) { 3.0 } else { 0.0 };
        }
        vector[components - 1] = 0.01;
        vector
    };
    let texts = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    let data: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"index": index, "embedding": vector(text.as_str().unwrap_or_default())}))
        .collect();
    json!({"object": "list", "data": data, "model": body["model"]})
}

async fn request(stream: &mut TcpStream) -> Result<Option<(BTreeMap<String, String>, Value)>> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut part).await?;
        if count == 0 {
            return Ok(None);
        }
        bytes.extend(&part[..count]);
        let Some(end) = bytes.windows(4).position(|found| found == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let headers: BTreeMap<String, String> = head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let length: usize = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        if bytes.len() >= end + 4 + length {
            let body = serde_json::from_slice(&bytes[end + 4..end + 4 + length])?;
            return Ok(Some((headers, body)));
        }
    }
}
