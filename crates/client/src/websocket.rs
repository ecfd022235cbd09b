//! The upgrade to a WebSocket, and its close: shared by the connections to `/connect` and of attached agents.
//! Must not know: the content of frames.

use std::{pin::pin, time::Duration};

use futures_util::{Sink, SinkExt, Stream as Frames, StreamExt};
use http::HeaderMap;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message,
        client::IntoClientRequest,
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

use crate::{Client, Error, FaultKind, NetworkFault, RawReply, Result, net::Stream};

/// Time limit of the upgrade, and of the close.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);
const GOODBYE_TIME_MAX: Duration = Duration::from_secs(1);

/// An open WebSocket.
pub(crate) type WebSocket = WebSocketStream<Stream>;

/// Connects and upgrades at a path, which is percent-encoded and may have a query.
pub(crate) async fn open(client: &Client, path: &str, frame_bytes_max: usize) -> Result<WebSocket> {
    let uri = client.base().ws(path)?;
    let fault = |kind, detail: String| {
        let server = client.base().to_string();
        NetworkFault { kind, server, detail, is_safe: true }
    };
    let mut request = (&uri).into_client_request().map_err(|e| Error::Invalid(e.to_string()))?;
    request.headers_mut().extend(client.credentials()?.into_iter().collect::<HeaderMap>());
    let stream = client.connector().connect(&uri).await.map_err(|e| fault(e.kind, e.detail))?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(frame_bytes_max))
        .max_frame_size(Some(frame_bytes_max));
    let upgrade = pin!(client_async_with_config(request, stream, Some(config)));
    match timeout(HANDSHAKE_TIME_MAX, upgrade).await {
        Err(_) => Err(fault(FaultKind::TimedOut, "no answer to the upgrade".into()).into()),
        Ok(Ok((ws, _))) => Ok(ws),
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
        Ok(Err(other)) => {
            let path = path.split('?').next().unwrap_or_default();
            Err(Error::Unreadable(format!("{path} is not a WebSocket ({other})")))
        }
    }
}

/// Answers the server's close, and returns its reason.
pub(crate) async fn answer_close<S>(socket: &mut S, frame: Option<CloseFrame>) -> String
where
    S: Frames<Item = std::result::Result<Message, tungstenite::Error>> + Unpin,
{
    let rest = async { while socket.next().await.is_some_and(|frame| frame.is_ok()) {} };
    // Gives up on a server that does not disconnect after its close.
    let _late = timeout(GOODBYE_TIME_MAX, rest).await;
    match frame {
        None => "closed by the server".into(),
        Some(frame) if frame.reason.is_empty() => format!("closed by the server ({})", frame.code),
        Some(frame) => format!("closed by the server ({}: {})", frame.code, frame.reason),
    }
}

/// Closes the connection, and waits briefly for the server's close. The caller must drop it either way.
pub(crate) async fn close<S>(socket: &mut S)
where
    S: Frames<Item = std::result::Result<Message, tungstenite::Error>>
        + Sink<Message, Error = tungstenite::Error>
        + Unpin,
{
    let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
    let goodbye = async {
        if socket.send(Message::Close(Some(frame))).await.is_ok() {
            while socket.next().await.is_some_and(|frame| frame.is_ok()) {}
        }
    };
    let _late = timeout(GOODBYE_TIME_MAX, goodbye).await;
}
