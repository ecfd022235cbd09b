//! Sessions of work (section 5.5; AP-13 to AP-15).
//! Must not know: the terminal of a session.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::path::project;
use crate::{Client, Reply, Result, client::segment, query::Query};

/// A session to start; absent members come from the token.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NewSession {
    /// The actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// `human`, `agent` or `script`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_type: Option<String>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Session {
    /// Its id.
    pub session_id: String,
    /// The project.
    pub project_id: String,
    /// The actor.
    pub actor_id: String,
    /// The actor's type: `human`, `agent` or `script`.
    pub actor_type: String,
    /// An adjective and a noun.
    pub callsign: Option<String>,
    /// RFC 3339 UTC.
    pub started_at: String,
    /// RFC 3339 UTC; `None` while it is active.
    pub ended_at: Option<String>,
    /// The packages of the session.
    #[serde(default)]
    pub packages_deposited: Vec<String>,
}

/// Sessions, newest first.
#[derive(Debug, Clone, Deserialize)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<Session>,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
}

/// Selects sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    /// Only sessions with this callsign.
    pub callsign: Option<String>,
    /// Maximum number, up to 1,000; default 100.
    pub limit: Option<u32>,
    /// The `next_cursor` of an earlier page.
    pub cursor: Option<String>,
}

impl Client {
    /// `POST …/sessions`.
    pub async fn start_context_session(
        &self,
        project_id: &str,
        session: &NewSession,
    ) -> Result<Reply<Session>> {
        self.post(&project(project_id, "/sessions"), session).await
    }

    /// `GET …/sessions`.
    pub async fn context_sessions(
        &self,
        project_id: &str,
        query: &SessionQuery,
    ) -> Result<Reply<SessionPage>> {
        let SessionQuery { callsign, limit, cursor } = query;
        let query = Query::of(project(project_id, "/sessions"))
            .with("callsign", callsign.as_ref())
            .with("limit", *limit)
            .with("cursor", cursor.as_ref());
        self.get(&query.path()).await
    }

    /// `GET …/sessions/{id}`.
    pub async fn context_session(&self, project_id: &str, session_id: &str) -> Result<Reply<Session>> {
        self.get(&project(project_id, &format!("/sessions/{}", segment(session_id)))).await
    }

    /// `PATCH …/sessions/{id}`: ends it now.
    ///
    /// # Errors
    /// 409 `session_ended` if it has ended already.
    pub async fn end_context_session(&self, project_id: &str, session_id: &str) -> Result<Reply<Session>> {
        self.patch(&project(project_id, &format!("/sessions/{}", segment(session_id))), &json!({})).await
    }
}
