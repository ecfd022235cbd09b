//! A collector in the process of the test, plain or with TLS, with the answers that a test sets.
//! Must not know: what is tested with it.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value as AnyValue,
};
use prost::Message;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ServerConfig, crypto::ring};
use rustls_pki_types::PrivateKeyDer;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

/// What a request is answered with.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// A status, a body, and the seconds of `Retry-After`.
    Status(u16, Vec<u8>, Option<u64>),
    /// Nothing, ever.
    Hang,
}

impl Answer {
    pub(crate) fn take() -> Self {
        Self::Status(200, Vec::new(), None)
    }
}

/// A running collector.
pub(crate) struct Collector {
    address: SocketAddr,
    scheme: &'static str,
    authority: Option<tempfile::NamedTempFile>,
    state: Arc<Mutex<State>>,
    listening: JoinHandle<()>,
}

struct State {
    answer: Answer,
    bodies: Vec<(u16, Vec<u8>)>,
}

impl Collector {
    pub(crate) async fn plain() -> Self {
        Self::start(None, None).await
    }

    pub(crate) async fn secure() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), cert.pem()).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        Self::start(Some(TlsAcceptor::from(Arc::new(config))), Some(file)).await
    }

    async fn start(tls: Option<TlsAcceptor>, authority: Option<tempfile::NamedTempFile>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let state = Arc::new(Mutex::new(State { answer: Answer::take(), bodies: Vec::new() }));
        let shared = state.clone();
        let listening = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                let (tls, state) = (tls.clone(), shared.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(tcp, state).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(tcp).await {
                                serve(stream, state).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, scheme, authority, state, listening }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://localhost:{}", self.scheme, self.address.port())
    }

    /// The file of the authority that its certificate is signed by.
    pub(crate) fn authority(&self) -> &str {
        self.authority.as_ref().and_then(|file| file.path().to_str()).unwrap()
    }

    /// From the next request on.
    pub(crate) fn answer(&self, answer: Answer) {
        self.state().answer = answer;
    }

    pub(crate) fn requests(&self) -> usize {
        self.state().bodies.len()
    }

    pub(crate) fn largest_bytes(&self) -> usize {
        self.state().bodies.iter().map(|(_, body)| body.len()).max().unwrap_or_default()
    }

    /// The attribute `text` of each span that was answered with 200, in order.
    pub(crate) fn texts(&self) -> Vec<String> {
        let state = self.state();
        let accepted = state.bodies.iter().filter(|(status, _)| *status == 200);
        let requests = accepted.map(|(_, body)| ExportTraceServiceRequest::decode(body.as_slice()).unwrap());
        let scopes = requests.flat_map(|request| request.resource_spans).flat_map(|group| group.scope_spans);
        let pairs = scopes.flat_map(|scope| scope.spans).flat_map(|span| span.attributes);
        let texts = pairs.filter(|pair| pair.key == "text").map(|pair| {
            let Some(AnyValue::StringValue(text)) = pair.value.unwrap().value else { panic!("{}", pair.key) };
            text
        });
        texts.collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: Arc<Mutex<State>>) {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if !matches!(stream.read_buf(&mut buffer).await, Ok(1..)) {
                return;
            }
        };
        let head = String::from_utf8(buffer.drain(..end).collect()).unwrap().to_lowercase();
        assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let length: usize = length.parse().unwrap();
        while buffer.len() < length {
            if !matches!(stream.read_buf(&mut buffer).await, Ok(1..)) {
                return;
            }
        }
        let body = buffer.drain(..length).collect();
        let answer = {
            let mut state = state.lock().unwrap();
            let answer = state.answer.clone();
            let status = if let Answer::Status(status, ..) = &answer { *status } else { 0 };
            state.bodies.push((status, body));
            answer
        };
        let Answer::Status(status, body, retry_after) = answer else { return std::future::pending().await };
        let retry_after =
            retry_after.map(|seconds| format!("Retry-After: {seconds}\r\n")).unwrap_or_default();
        let head = format!("HTTP/1.1 {status} X\r\n{retry_after}Content-Length: {}\r\n\r\n", body.len());
        if stream.write_all(&[head.into_bytes(), body].concat()).await.is_err() {
            return;
        }
    }
}
