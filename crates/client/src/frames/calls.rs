//! The frame operations (wire.md D.2, D.4, D.5): submit, roster, retention.
//! Must not know: the transport of calls.

use http::{HeaderName, HeaderValue, Method};
use plenary_kernel::SovereignHandle;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Frame, Scope};
use crate::{
    Client, Error, Reply, Result,
    client::{json, segment},
    query::Query,
};

const INSTRUMENT: HeaderName = HeaderName::from_static("x-agent-instrument");
const SESSION: HeaderName = HeaderName::from_static("x-agent-session");
const TOOL: HeaderName = HeaderName::from_static("x-agent-tool");

/// The session of the principal that sends or listens; the server fills in absent members (wire.md D.5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seat {
    /// The instrument, e.g. `cc-laptop`; default: the agent's name.
    pub instrument: Option<String>,
    /// The session, 1 to 128 printable ASCII characters without `/ * @`.
    pub session_id: Option<String>,
    /// The tool class; default: the instrument up to its first hyphen.
    pub tool: Option<String>,
}

impl Seat {
    fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let parts = [(INSTRUMENT, &self.instrument), (SESSION, &self.session_id), (TOOL, &self.tool)];
        let present = parts.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        present
            .map(|(name, value)| {
                let value = HeaderValue::from_str(value)
                    .map_err(|_| Error::Invalid(format!("`{value}` is not valid in {name}")))?;
                Ok((name, value))
            })
            .collect()
    }

    /// The query with the members as parameters.
    pub(super) fn add_to(&self, query: Query) -> Query {
        let query = query.with("instrument", self.instrument.as_ref());
        query.with("session_id", self.session_id.as_ref()).with("tool", self.tool.as_ref())
    }
}

/// The result of submitting a frame (FO-56).
#[derive(Debug, Clone, Deserialize)]
pub struct FrameReceipt {
    /// The frame's own id.
    pub frame_id: String,
    /// Its id on the streams of the recipient's handle.
    pub event_id: Option<String>,
    /// The number of subscriptions that received it; 0 is not an error (FO-55).
    pub delivered_count: u64,
}

/// The sessions that are listening (FO-93).
#[derive(Debug, Clone, Deserialize)]
pub struct Roster {
    /// The handle.
    pub handle: SovereignHandle,
    /// One entry per subscription.
    pub roster: Vec<Member>,
}

/// One listening session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Member {
    /// The principal.
    pub handle: SovereignHandle,
    /// The agent whose token it uses.
    pub agent: Option<String>,
    /// Its instrument.
    pub instrument: String,
    /// Its tool class.
    pub tool: Option<String>,
    /// Its id.
    pub session_id: String,
    /// When it started to listen.
    #[serde(default)]
    pub started_at: Value,
}

/// How many frames of a handle the server retains for clients that reconnect (FO-60, FO-88).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Retention {
    /// Maximum number of frames.
    pub max_events: u64,
    /// Maximum age in milliseconds.
    pub max_age_ms: u64,
}

impl Client {
    /// `POST /frames?scope=…`. Retried on transient failures: receivers drop a duplicate by its `frame_id` (FO-83).
    /// Without a scope, the frame goes to every session of the recipient.
    ///
    /// # Errors
    /// Refusals carry the codes of FO-73.
    pub async fn submit_frame(
        &self,
        frame: &Frame,
        scope: Option<&Scope>,
        seat: &Seat,
    ) -> Result<Reply<FrameReceipt>> {
        let path = Query::of("/frames").with("scope", scope).path();
        let (body, headers) = (json(frame)?, seat.headers()?);
        self.retry()
            .run(|| async {
                let raw = self.raw_with(Method::POST, &path, &headers, Some(body.clone())).await?;
                Reply::read(raw.into_success()?)
            })
            .await
    }

    /// `GET /handles/{~handle}/roster`: for the token's own principal, or any for the operator.
    ///
    /// # Errors
    /// 403 `scope-unauthorised` for another principal's.
    pub async fn roster(&self, handle: &SovereignHandle) -> Result<Reply<Roster>> {
        self.get(&format!("/handles/{}/roster", segment(handle.as_str()))).await
    }

    /// `GET /handles/{~handle}/retention`.
    ///
    /// # Errors
    /// As [`Client::roster`].
    pub async fn retention(&self, handle: &SovereignHandle) -> Result<Reply<Retention>> {
        self.get(&format!("/handles/{}/retention", segment(handle.as_str()))).await
    }
}
