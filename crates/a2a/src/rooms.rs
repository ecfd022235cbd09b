//! Requests to the rooms of this server on behalf of one caller: with its own token, through the same router, without
//! a socket.
//! Must not know: any protocol of this room.

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_edge::{
    BodyLimit,
    operations::{Caller, Operations},
};
use serde_json::Value;

use crate::limits::{EVENT_BYTES_MAX, RUN_BODY_BYTES_MAX};

/// The characters of a path or query that must be encoded.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Sends requests to the rooms on behalf of one caller.
#[derive(Clone)]
pub(crate) struct RoomClient {
    pub(crate) operations: Operations,
    pub(crate) caller: Caller,
}

/// A room's refusal.
#[derive(Debug, Clone)]
pub(crate) struct RoomRefusal {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
}

/// A room's response.
#[derive(Debug)]
pub(crate) struct RoomReply {
    pub(crate) headers: HeaderMap,
    pub(crate) value: Value,
}

impl RoomRefusal {
    fn read(status: StatusCode, body: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        // Each room has its own error form.
        let code = text(&value["error"]["code"]).or_else(|| text(&value["code"])).unwrap_or_default();
        let message = text(&value["error"]["message"])
            .or_else(|| text(&value["detail"]))
            .or_else(|| text(&value["message"]))
            .unwrap_or_default();
        Self { status, code, message }
    }

    fn broken_off() -> Self {
        let message = "The answer broke off.".to_owned();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, code: "unavailable".into(), message }
    }
}

/// A text, encoded for a path or query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

impl RoomClient {
    /// The URL under which clients reach the server.
    pub(crate) fn base_url(&self) -> String {
        self.operations.base_url(&self.caller)
    }

    /// Sends a GET request.
    pub(crate) async fn get(&self, path: &str) -> Result<RoomReply, RoomRefusal> {
        self.ask(Method::GET, path, None, None).await
    }

    /// Sends a POST request; with a key it is carried out once.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Value,
        key: Option<&str>,
    ) -> Result<RoomReply, RoomRefusal> {
        self.ask(Method::POST, path, Some(body), key).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<RoomReply, RoomRefusal> {
        let response = self.open(method, path, body, key).await?;
        let (parts, body) = response.into_parts();
        let bytes = Limited::new(body, EVENT_BYTES_MAX)
            .collect()
            .await
            .map_err(|_| RoomRefusal::broken_off())?
            .to_bytes();
        Ok(RoomReply { headers: parts.headers, value: serde_json::from_slice(&bytes).unwrap_or_default() })
    }

    /// Sends a request and returns as soon as the response starts.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<Response<Body>, RoomRefusal> {
        let mut caller = self.caller.clone();
        if path.starts_with("/agent/") {
            caller = caller.known_as(BodyLimit(RUN_BODY_BYTES_MAX));
        }
        if let Some(value) = key.and_then(|key| HeaderValue::from_str(key).ok()) {
            caller = caller.with(HeaderName::from_static("idempotency-key"), value);
        }
        let response = self.operations.open(&caller, method, path, body).await;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let collected = Limited::new(response.into_body(), EVENT_BYTES_MAX).collect().await;
        Err(collected
            .map_or_else(|_| RoomRefusal::broken_off(), |body| RoomRefusal::read(status, &body.to_bytes())))
    }
}
