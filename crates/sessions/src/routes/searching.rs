//! `GET /search/messages`.
//! Must not know: what a search reads.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    response::IntoResponse as _,
};
use http::Method;
use plenary_accounts::{AgentCaller, searched_text};
use plenary_edge::{Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, ErrorCode, Refusal, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Answer,
    reading::{limit, read},
};
use crate::{
    FOUND_DEFAULT, FOUND_MAX, Sessions,
    refusals::Refused,
    searching::{FoundMessages, Search},
};

pub(super) fn operations() -> Vec<Operation<Sessions>> {
    let doc = OperationDoc::new(
        "search.messages",
        Method::GET,
        "/search/messages",
        "Search the messages that you may read",
    )
    .action("sessions", "session")
    .description("Messages whose text has this one, whatever its case; the newest session first.")
    .query::<MessagesQuery>()
    .reply::<FoundMessages>()
    .answers_page()
    .errors(
        Class::Malformed,
        &[
            ErrorCode::InvalidQuery,
            ErrorCode::InvalidLimit,
            ErrorCode::InvalidCursor,
            ErrorCode::InvalidHandle,
        ],
    )
    .errors(Class::TooMany, &[ErrorCode::TooManySearches]);
    vec![Operation::new(doc, search)]
}

/// The query of `GET /search/messages`.
#[derive(Debug, Deserialize, JsonSchema)]
struct MessagesQuery {
    /// What to search for, 2 to 100 characters.
    #[schemars(with = "String", length(min = 2, max = 100))]
    q: Option<String>,
    /// How many; 20 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = 100))]
    limit: Option<String>,
    /// Only in this session.
    #[schemars(with = "Option<SessionId>")]
    session_id: Option<String>,
    /// Only in sessions in which this agent takes or took part.
    #[schemars(with = "Option<AgentHandle>")]
    counterpart: Option<String>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

impl MessagesQuery {
    fn search(self) -> Result<Search, Refused> {
        let text = searched_text(self.q.as_deref())?;
        let limit = limit(self.limit.as_deref(), FOUND_DEFAULT, FOUND_MAX)?;
        let session = self.session_id.as_deref().map(str::parse).transpose().map_err(|_| {
            Refusal::malformed(ErrorCode::InvalidQuery, "`session_id` must be the id of a session, `sess_…`.")
        })?;
        let counterpart = self.counterpart.as_deref().map(str::parse).transpose().map_err(|wrong| {
            Refusal::malformed(ErrorCode::InvalidHandle, format!("`counterpart`: {wrong}."))
        })?;
        let place = self.cursor.as_deref().map(str::parse).transpose().map_err(|()| {
            Refusal::malformed(
                ErrorCode::InvalidCursor,
                "`cursor` must be the `next_cursor` of the page before.",
            )
        })?;
        Ok(Search { text, limit, session, counterpart, place })
    }
}

async fn search(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    query: Result<Query<MessagesQuery>, QueryRejection>,
) -> Answer {
    let search = read(query)?.search()?;
    let _share = sessions.search_share(&handle)?;
    Ok(Json(sessions.search(&handle, &search).await?).into_response())
}
