//! One WebSocket connection to `/connect`: the handshake, frames, and noticing that the other side is gone.
//! Must not know: events, or what happens after the connection.

use std::{pin::pin, time::Duration};

use futures_util::{SinkExt, StreamExt};
use http::HeaderMap;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message, Utf8Bytes,
        client::IntoClientRequest,
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

use crate::{Client, Error, FaultKind, NetworkFault, RawReply, Result, net::Stream};

/// Largest frame taken: an event with an inline message of the largest body, in its escaped form.
const FRAME_OCTETS_MAX: usize = 16 << 20;
/// Silence after which the server is asked whether it is there.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// How long it may take to answer; then the connection counts as lost.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);
/// Longest time the upgrade may take, and the good-bye.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);
const GOODBYE_TIME_MAX: Duration = Duration::from_secs(1);

/// An open connection.
pub(super) struct Socket {
    ws: WebSocketStream<Stream>,
    heard: Instant,
    asked: Option<Instant>,
}

impl Socket {
    /// Connects and upgrades. The envelope form is asked for: the flat members repeat what it says.
    pub(super) async fn open(client: &Client) -> Result<Self> {
        let uri = client.base().ws("/connect?events=envelope")?;
        let fault = |kind, detail: String| NetworkFault { kind, server: client.base().to_string(), detail };
        let mut request = (&uri).into_client_request().map_err(|e| Error::Invalid(e.to_string()))?;
        request.headers_mut().extend(client.credentials()?.into_iter().collect::<HeaderMap>());
        let stream = client.connector().connect(&uri).await.map_err(|e| fault(e.kind, e.detail))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(FRAME_OCTETS_MAX))
            .max_frame_size(Some(FRAME_OCTETS_MAX));
        let upgrade = pin!(client_async_with_config(request, stream, Some(config)));
        match timeout(HANDSHAKE_TIME_MAX, upgrade).await {
            Err(_) => Err(fault(FaultKind::TimedOut, "no answer to the upgrade".into()).into()),
            Ok(Ok((ws, _))) => Ok(Self { ws, heard: Instant::now(), asked: None }),
            Ok(Err(tungstenite::Error::Http(response))) => {
                let (head, body) = response.into_parts();
                let body = body.unwrap_or_default().into();
                let reply = RawReply { status: head.status.as_u16(), headers: head.headers, body };
                Err(reply.refusal().into())
            }
            Ok(Err(tungstenite::Error::Io(error))) => Err(fault(FaultKind::Lost, error.to_string()).into()),
            Ok(Err(tungstenite::Error::Protocol(tungstenite::error::ProtocolError::HandshakeIncomplete))) => {
                Err(fault(FaultKind::Lost, "closed during the upgrade".into()).into())
            }
            Ok(Err(other)) => Err(Error::Unreadable(format!("no WebSocket at /connect ({other})"))),
        }
    }

    /// The next text frame, or why there will be none. The pong that confirms delivery (wire.md D.4) leaves
    /// when this is called again after the ping was met, hence after the caller took what came before it.
    pub(super) async fn next(&mut self) -> std::result::Result<Utf8Bytes, String> {
        loop {
            let due = self.asked.map_or(self.heard + SILENCE_MAX, |asked| asked + ANSWER_TIME_MAX);
            let frame = tokio::select! {
                biased;
                frame = self.ws.next() => frame,
                () = tokio::time::sleep_until(due) => {
                    if self.asked.is_some() {
                        return Err("the server fell silent".into());
                    }
                    self.asked = Some(Instant::now());
                    self.ws.send(Message::Ping(Default::default())).await.map_err(|e| e.to_string())?;
                    continue;
                }
            };
            self.heard = Instant::now();
            self.asked = None;
            match frame {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Close(frame))) => return Err(self.farewell(frame).await),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Err(error.to_string()),
                None => return Err("the connection ended".into()),
            }
        }
    }

    /// Lets the close be answered, and says why it came.
    async fn farewell(&mut self, frame: Option<CloseFrame>) -> String {
        let rest = async { while self.ws.next().await.is_some_and(|frame| frame.is_ok()) {} };
        // A server that does not hang up after its close is left behind.
        let _late = timeout(GOODBYE_TIME_MAX, rest).await;
        match frame {
            None => "closed by the server".into(),
            Some(frame) if frame.reason.is_empty() => format!("closed by the server ({})", frame.code),
            Some(frame) => format!("closed by the server ({}: {})", frame.code, frame.reason),
        }
    }

    /// Says good-bye and waits a moment for the answer.
    pub(super) async fn close(mut self) {
        let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        let goodbye = async {
            if self.ws.send(Message::Close(Some(frame))).await.is_ok() {
                while self.ws.next().await.is_some_and(|frame| frame.is_ok()) {}
            }
        };
        // The connection is dropped either way.
        let _late = timeout(GOODBYE_TIME_MAX, goodbye).await;
    }
}
