//! A language model's server in the shape of OpenAI's chat completions, which answers as a test has written down: in
//! pieces, with tool calls, with refusals, or not at all. It must not know the server under test.

use std::collections::{BTreeMap, VecDeque};
use std::io::Result;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::eventually;

/// How one request is answered.
#[derive(Debug, Clone)]
pub enum Turn {
    /// 200 and these chunks as server-sent events, then `[DONE]`.
    Stream(Vec<Value>),
    /// The same without `[DONE]`: the connection is closed in the middle.
    Cut(Vec<Value>),
    /// The same, and then nothing more, on a connection that stays open.
    Hang(Vec<Value>),
    /// These bytes as the body of a 200 that calls itself an event stream.
    Raw(Vec<u8>),
    /// A status, further headers, and a JSON body.
    Status(u16, Vec<(String, String)>, Value),
    /// Nothing at all.
    Silence,
}

impl Turn {
    /// An answer in these pieces of text.
    pub fn says(pieces: &[&str]) -> Self {
        let mut chunks: Vec<_> = pieces.iter().map(|piece| delta(&json!({"content": piece}), None)).collect();
        chunks.push(delta(&json!({}), Some("stop")));
        Self::Stream(chunks)
    }

    /// A call of one tool, its arguments in these fragments.
    pub fn calls(id: &str, name: &str, fragments: &[&str]) -> Self {
        let call = |call: Value| delta(&json!({"tool_calls": [call]}), None);
        let function = json!({"name": name, "arguments": ""});
        let mut chunks = vec![call(json!({"index": 0, "id": id, "type": "function", "function": function}))];
        for fragment in fragments {
            chunks.push(call(json!({"index": 0, "function": {"arguments": fragment}})));
        }
        chunks.push(delta(&json!({}), Some("tool_calls")));
        Self::Stream(chunks)
    }

    /// A refusal in the shape of the API.
    pub fn refusal(status: u16, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let error = json!({"message": format!("scripted {status}"), "type": "scripted", "code": null});
        Self::Status(status, headers, json!({ "error": error }))
    }
}

/// One chunk of a streamed completion.
pub fn delta(delta: &Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// Method and path.
    pub line: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Value,
}

#[derive(Debug, Default)]
struct State {
    turns: VecDeque<Turn>,
    prompts: Vec<Prompt>,
    open_connections: usize,
}

/// A running model. Dropping it closes its port.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    listening: JoinHandle<()>,
}

impl Model {
    /// A model with these answers; behind the last one it answers 500.
    pub async fn start(turns: Vec<Turn>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let state = Arc::new(Mutex::new(State { turns: turns.into(), ..State::default() }));
        let listening = tokio::spawn(listen(listener, state.clone()));
        Self { address, state, listening }
    }

    /// The base URL, as clients are configured with it.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// One more answer.
    pub fn add_turn(&self, turn: Turn) {
        lock(&self.state).turns.push_back(turn);
    }

    /// Every request so far.
    pub fn prompts(&self) -> Vec<Prompt> {
        lock(&self.state).prompts.clone()
    }

    /// Waits for so many requests; all of them.
    pub async fn wait_for_prompts(&self, count: usize) -> Vec<Prompt> {
        eventually("the model is asked", || async {
            let prompts = self.prompts();
            (prompts.len() >= count).then_some(prompts)
        })
        .await
    }

    /// Waits until nobody is connected any more.
    pub async fn wait_until_idle(&self) {
        eventually("the model's connections are closed", || async {
            (lock(&self.state).open_connections == 0).then_some(())
        })
        .await;
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("nobody panics with it")
}

async fn listen(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            lock(&state).open_connections += 1;
            // A client may go at any time.
            let served = serve(stream, &state).await;
            drop(served);
            lock(&state).open_connections -= 1;
        });
    }
}

async fn serve(mut stream: TcpStream, state: &Mutex<State>) -> Result<()> {
    let mut bytes = Vec::new();
    while let Some(prompt) = read(&mut stream, &mut bytes).await? {
        let turn = {
            let mut state = lock(state);
            state.prompts.push(prompt);
            state.turns.pop_front().unwrap_or_else(|| Turn::refusal(500, &[]))
        };
        match turn {
            Turn::Stream(chunks) => {
                send(&mut stream, &chunks).await?;
                part(&mut stream, "data: [DONE]\n\n").await?;
                stream.write_all(b"0\r\n\r\n").await?;
            }
            Turn::Cut(chunks) => return send(&mut stream, &chunks).await,
            Turn::Hang(chunks) => {
                send(&mut stream, &chunks).await?;
                return wait_for_close(&mut stream).await;
            }
            Turn::Silence => return wait_for_close(&mut stream).await,
            Turn::Raw(bytes) => {
                let head = format!("{HEAD}content-length: {}\r\n\r\n", bytes.len());
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(&bytes).await?;
            }
            Turn::Status(status, headers, body) => {
                let body = body.to_string();
                let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n");
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
                stream.write_all(head.as_bytes()).await?;
            }
        }
    }
    Ok(())
}

/// The head of a streamed answer, without its end.
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

async fn send(stream: &mut TcpStream, chunks: &[Value]) -> Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(format!("{HEAD}transfer-encoding: chunked\r\n\r\n").as_bytes()).await?;
    for chunk in chunks {
        let event = format!("data: {chunk}\n\n");
        // Each event comes torn in two, as networks do it.
        let (first, second) = event.split_at(event.len() / 2);
        part(stream, first).await?;
        tokio::time::sleep(Duration::from_millis(2)).await;
        part(stream, second).await?;
    }
    Ok(())
}

async fn part(stream: &mut TcpStream, text: &str) -> Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await
}

/// Waits until the other side has closed.
async fn wait_for_close(stream: &mut TcpStream) -> Result<()> {
    let mut rest = [0_u8; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

/// The next request on a connection; nothing when it was closed.
async fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Result<Option<Prompt>> {
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < end + 4 + length {
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
    let body = serde_json::from_slice(&bytes[end + 4..end + 4 + length]).unwrap_or_default();
    bytes.drain(..end + 4 + length);
    Ok(Some(Prompt { line, headers, body }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Connection, render};

    /// The model against a client that is not the server under test.
    #[tokio::test]
    async fn the_model_answers_as_it_is_told() {
        let model =
            Model::start(vec![Turn::says(&["a", "b"]), Turn::refusal(429, &[("retry-after", "7")])]).await;
        let mut connection = Connection::open(model.address).await.unwrap();
        let body = br#"{"model":"m"}"#;
        let request = render("POST", "/v1/chat/completions", &[("Authorization", "Bearer k")], Some(body));
        let response = connection.round_trip(&request).await.unwrap();
        assert_eq!(response.status, 200);
        let events: Vec<_> = response.text().split("\n\n").map(str::to_owned).collect();
        assert_eq!(events.len(), 5, "two pieces, the end, [DONE], and nothing: {events:?}");
        assert_eq!(events[3], "data: [DONE]");
        let response = connection.round_trip(&request).await.unwrap();
        assert_eq!((response.status, response.header("retry-after")), (429, Some("7")));
        drop(connection);
        model.wait_until_idle().await;
        let prompts = model.wait_for_prompts(2).await;
        assert_eq!(
            (prompts[0].line.as_str(), &prompts[0].body["model"]),
            ("POST /v1/chat/completions", &json!("m"))
        );
        assert_eq!(prompts[1].headers["authorization"], "Bearer k");
    }
}
