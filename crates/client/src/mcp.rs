//! Messages of the Model Context Protocol, passed to `/mcp` and back unchanged.
//! Must not know: methods, or the content of a message.

use std::collections::VecDeque;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

use crate::{
    Client, Error, FaultKind, NetworkFault, RawReply, Result,
    sse::{Item, Parser},
};

/// Largest message of the server that is accepted, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The answer to a message.
#[derive(Debug)]
pub enum Answer {
    /// A complete answer.
    Whole(RawReply),
    /// A stream of messages.
    Stream(Messages),
}

/// A stream of messages.
#[derive(Debug)]
pub struct Messages {
    /// The headers of the reply.
    pub headers: HeaderMap,
    server: String,
    body: Incoming,
    parser: Parser,
    items: VecDeque<Item>,
}

impl Messages {
    /// The next message; `None` at the end.
    ///
    /// # Errors
    /// When the connection breaks, or a message is over [`MESSAGE_BYTES_MAX`].
    pub async fn next(&mut self) -> Result<Option<String>> {
        loop {
            match self.items.pop_front() {
                // An event without data has only an id, for resuming.
                Some(Item::Event(event)) if !event.data.is_empty() => return Ok(Some(event.data)),
                Some(Item::Event(_) | Item::Comment(_)) => continue,
                None => {}
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| NetworkFault {
                kind: FaultKind::Lost,
                server: self.server.clone(),
                detail: error.to_string(),
                is_safe: false,
            })?;
            let Ok(bytes) = frame.into_data() else { continue };
            let mut items = Vec::new();
            self.parser.feed(&bytes, &mut items).map_err(|long| Error::Unreadable(long.to_string()))?;
            self.items.extend(items);
        }
    }
}

impl Client {
    /// Posts a message to `path` (`/mcp` with its query), with these additional headers. The answer may take as long as
    /// the requested work; dropping the call closes the connection, which the server treats as cancellation.
    ///
    /// # Errors
    /// [`Error::Network`], [`Error::Unreadable`], [`Error::Invalid`]; a reply with any status is an answer.
    pub async fn message(
        &self,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<Answer> {
        self.converse(Method::POST, path, headers, body).await
    }

    /// Opens the stream of the server's own messages in a session.
    ///
    /// # Errors
    /// As [`Client::message`].
    pub async fn listen(&self, path: &str, headers: &[(HeaderName, HeaderValue)]) -> Result<Answer> {
        self.converse(Method::GET, path, headers, Bytes::new()).await
    }

    /// Closes a session.
    ///
    /// # Errors
    /// As [`Client::message`].
    pub async fn close_mcp_session(
        &self,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<Answer> {
        self.converse(Method::DELETE, path, headers, Bytes::new()).await
    }

    async fn converse(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<Answer> {
        let request = self.prepare(method, path, headers)?;
        let request = request.header(header::ACCEPT, BOTH).header(header::CONTENT_TYPE, JSON);
        let request = request.body(Full::new(body)).map_err(|e| Error::Invalid(e.to_string()))?;
        let response = self.http().converse(self.base(), request).await?;
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Ok(Answer::Whole(self.http().whole(self.base(), response).await?));
        }
        let (head, body) = response.into_parts();
        Ok(Answer::Stream(Messages {
            headers: head.headers,
            server: self.base().to_string(),
            body,
            parser: Parser::holding(MESSAGE_BYTES_MAX),
            items: VecDeque::new(),
        }))
    }
}
