//! A collector of spans, OTLP over HTTP with protobuf bodies, that behaves as well or as badly as a test wants.
//! It knows nothing of the server beyond what the protocol says.

use std::collections::BTreeMap;
use std::io::Result;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use prost::Message as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::eventually;

/// How a collector answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Takes every span.
    Take,
    /// Reads requests and never answers.
    Hang,
    /// Answers with this status and takes nothing.
    Answer(u16),
    /// Closes each connection once a request has come.
    HangUp,
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Export {
    /// The path, with its query.
    pub target: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub bytes: Vec<u8>,
    /// Whether it was answered with 200.
    pub accepted: bool,
}

/// One span that was taken.
#[derive(Debug, Clone)]
pub struct Span {
    /// Its name.
    pub name: String,
    /// 32 hexadecimal digits.
    pub trace: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The id of its parent; empty for a root.
    pub parent: String,
    /// `tracestate`.
    pub state: String,
    /// The number of OTLP: 1 internal, 2 server.
    pub kind: i32,
    /// Nanoseconds since the epoch.
    pub times: (u64, u64),
    /// The ids of the spans that it links to.
    pub links: Vec<String>,
    /// Its attributes.
    pub attributes: BTreeMap<String, Value>,
    /// The attributes of what it came from.
    pub resource: BTreeMap<String, Value>,
    /// Whether it ended with an error.
    pub failed: bool,
}

/// A running collector. Dropping it closes its port, at which connections are then refused.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    listening: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    behaviour: Behaviour,
    exports: Vec<Export>,
}

impl Collector {
    /// A collector that takes everything.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let state = Arc::new(Mutex::new(State { behaviour: Behaviour::Take, exports: Vec::new() }));
        let listening = tokio::spawn(listen(listener, state.clone()));
        Self { address, state, listening }
    }

    /// The value of `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From the next request on.
    pub fn behave(&self, behaviour: Behaviour) {
        self.state().behaviour = behaviour;
    }

    /// Every request so far.
    pub fn exports(&self) -> Vec<Export> {
        self.state().exports.clone()
    }

    /// Every span that was taken so far, in the order of arrival.
    pub fn spans(&self) -> Vec<Span> {
        self.state().exports.iter().filter(|export| export.accepted).flat_map(spans_of).collect()
    }

    /// Waits for so many spans of that name.
    pub async fn wait_for_spans(&self, name: &str, count: usize) -> Vec<Span> {
        eventually(&format!("{count} spans {name} arrive"), || async {
            let mut spans = self.spans();
            spans.retain(|span| span.name == name);
            (spans.len() >= count).then_some(spans)
        })
        .await
    }

    /// Waits for one span of that name, the only one.
    pub async fn wait_for_span(&self, name: &str) -> Span {
        let mut spans = self.wait_for_spans(name, 1).await;
        assert_eq!(spans.len(), 1, "{spans:?}");
        spans.remove(0)
    }

    /// Waits until a request has arrived, answered or not.
    pub async fn wait_for_request(&self) {
        eventually("spans are sent", || async { (!self.exports().is_empty()).then_some(()) }).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, state: Arc<Mutex<State>>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, state.clone()));
    }
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut buffer = Vec::new();
    while let Ok(Some(mut export)) = request(&mut stream, &mut buffer).await {
        let behaviour = {
            let mut state = state.lock().expect("nobody panics with it");
            export.accepted = state.behaviour == Behaviour::Take;
            state.exports.push(export);
            state.behaviour
        };
        let status = match behaviour {
            Behaviour::Take => 200,
            Behaviour::Answer(status) => status,
            Behaviour::Hang => std::future::pending().await,
            Behaviour::HangUp => return,
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n"
        );
        if stream.write_all(head.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The next request of a connection; `None` at its end.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<Export>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end + 4);
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let target = line.strip_prefix("POST ").and_then(|rest| rest.strip_suffix(" HTTP/1.1"));
    let target = target.unwrap_or_else(|| panic!("spans are posted over HTTP/1.1, not: {line}")).to_owned();
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers["content-length"].parse().expect("a length");
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(Export { target, headers, bytes: buffer.drain(..length).collect(), accepted: false }))
}

fn spans_of(export: &Export) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(export.bytes.as_slice()).expect("the body is OTLP");
    let mut spans = Vec::new();
    for group in request.resource_spans {
        let resource = attributes(&group.resource.expect("spans come from something").attributes);
        for span in group.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            spans.push(Span {
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                state: span.trace_state,
                kind: span.kind,
                times: (span.start_time_unix_nano, span.end_time_unix_nano),
                links: span.links.iter().map(|link| hex(&link.span_id)).collect(),
                attributes: attributes(&span.attributes),
                resource: resource.clone(),
                failed: span.status.is_some_and(|status| status.code == 2),
                name: span.name,
            });
        }
    }
    spans
}

fn attributes(pairs: &[KeyValue]) -> BTreeMap<String, Value> {
    let value = |pair: &KeyValue| match pair.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => json!(text),
        Some(any_value::Value::IntValue(number)) => json!(number),
        Some(any_value::Value::BoolValue(flag)) => json!(flag),
        Some(any_value::Value::DoubleValue(number)) => json!(number),
        other => panic!("{}: an attribute that no span here has: {other:?}", pair.key),
    };
    pairs.iter().map(|pair| (pair.key.clone(), value(pair))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
