//! A client of gRPC over HTTP/2: messages in their frames, and the status behind them.
//! Must not know: what is asked.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use blackbox::{Caller, PATIENCE};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Incoming,
    client::conn::http2::{SendRequest, handshake},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::{net::TcpStream, time::timeout};

use super::messages::{ErrorInfo, RpcStatus};

/// Binary headers come with or without padding.
const BINARY: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// One connection of somebody.
pub(super) struct Client {
    sender: SendRequest<Full<Bytes>>,
    token: Option<String>,
    /// What it calls the server.
    pub(super) authority: &'static str,
}

/// How a call ended, where it did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) code: i32,
    pub(super) message: String,
    pub(super) reason: String,
}

/// An answer that goes on.
pub(super) struct Messages {
    head: HeaderMap,
    body: Incoming,
    read: BytesMut,
    trailers: Option<HeaderMap>,
}

/// A message in its frame: not compressed, its length, its bytes.
pub(super) fn framed(message: &impl Message) -> Bytes {
    let bytes = message.encode_to_vec();
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(bytes.len()).expect("a small message"));
    frame.extend_from_slice(&bytes);
    frame.freeze()
}

impl Client {
    pub(super) async fn connect(caller: &Caller, token: Option<&str>) -> Self {
        let stream = TcpStream::connect(caller.address().get()).await.expect("a connection");
        let (sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("HTTP/2");
        tokio::spawn(connection);
        Self { sender, token: token.map(str::to_owned), authority: "localhost" }
    }

    pub(super) async fn of(caller: &Caller) -> Self {
        Self::connect(caller, Some(caller.token())).await
    }

    /// Sends a body as it is, with these headers beside those of every call.
    pub(super) async fn send(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> (StatusCode, Messages) {
        let url = format!("http://{}{path}", self.authority);
        let mut request = Request::post(url).header("te", "trailers");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).expect("a request");
        let answer = timeout(PATIENCE, self.sender.send_request(request)).await.expect("an answer in time");
        let (head, body) = answer.expect("an answer").into_parts();
        let messages = Messages { head: head.headers, body, read: BytesMut::new(), trailers: None };
        (head.status, messages)
    }

    /// Calls a method of the service; what comes of it.
    pub(super) async fn open(&mut self, method: &str, message: &impl Message) -> Messages {
        let headers = [("content-type", "application/grpc"), ("a2a-version", "1.0")];
        let path = format!("/lf.a2a.v1.A2AService/{method}");
        let (status, messages) = self.send(&path, &headers, framed(message)).await;
        let kind = HeaderValue::from_static("application/grpc");
        assert_eq!((status, &messages.head["content-type"]), (StatusCode::OK, &kind));
        messages
    }

    /// Calls a method that has one message for an answer.
    pub(super) async fn ask<T: Message + Default>(
        &mut self,
        method: &str,
        message: &impl Message,
    ) -> Result<T, Refused> {
        let mut messages = self.open(method, message).await;
        let first = messages.next().await;
        let end = messages.end().await;
        end.map(|()| first.expect("a message before the good end"))
    }
}

impl Messages {
    /// The next message; `None` at the end.
    pub(super) async fn next<T: Message + Default>(&mut self) -> Option<T> {
        loop {
            if self.read.len() >= 5 {
                assert_eq!(self.read[0], 0, "it is not compressed");
                let length = u32::from_be_bytes(self.read[1..5].try_into().expect("four bytes")) as usize;
                if self.read.len() >= 5 + length {
                    self.read.advance(5);
                    return Some(T::decode(self.read.split_to(length)).expect("a message"));
                }
            }
            let frame =
                timeout(PATIENCE, self.body.frame()).await.expect("a frame in time")?.expect("a frame");
            match frame.into_data() {
                Ok(data) => self.read.extend_from_slice(&data),
                Err(frame) => self.trailers = frame.into_trailers().ok(),
            }
        }
    }

    /// All that is left.
    pub(super) async fn rest<T: Message + Default>(&mut self) -> Vec<T> {
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        rest
    }

    /// How it ended: the status is in the trailers, or in the head where there is nothing else.
    pub(super) async fn end(mut self) -> Result<(), Refused> {
        let left: Vec<()> = self.rest().await;
        assert!(left.is_empty(), "more messages than one");
        let status = self.trailers.as_ref().unwrap_or(&self.head);
        let text = |name: &str| status.get(name).map(|value| value.to_str().expect("text").to_owned());
        let code: i32 = text("grpc-status").expect("a status").parse().expect("a number");
        if code == 0 {
            return Ok(());
        }
        let details = BINARY.decode(text("grpc-status-details-bin").unwrap_or_default()).expect("base64");
        let details = RpcStatus::decode(&*details).expect("google.rpc.Status");
        let reason = details.details.first().map(|any| {
            assert_eq!(any.type_url, "type.googleapis.com/google.rpc.ErrorInfo");
            let info = ErrorInfo::decode(&*any.value).expect("an ErrorInfo");
            assert_eq!(info.domain, "a2a-protocol.org");
            info.reason
        });
        if reason.is_some() {
            assert_eq!(details.code, code, "the two say the same");
        }
        Err(Refused { code, message: details.message, reason: reason.unwrap_or_default() })
    }

    /// The body as text, of an answer that is not gRPC.
    pub(super) async fn text(self) -> String {
        let bytes = self.body.collect().await.expect("a body").to_bytes();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
