//! `GET /search/messages`.
//! Must not know: the content of a search.

use axum::{
    Json,
    extract::{Query as QueryString, State, rejection::QueryRejection},
    response::IntoResponse as _,
};
use http::Method;
use plenary_accounts::{AgentCaller, TokenOwner, searched_text};
use plenary_edge::{Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, Refusal, SessionId};
use plenary_retrieval::Query;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Answer,
    queries::{limit, read},
};
use crate::{
    RESULTS_DEFAULT, RESULTS_MAX, Sessions,
    message_search::{FoundMessages, Search, SearchCursor},
    refusals::SessionRefusal,
};

pub(super) fn operations() -> Vec<Operation<Sessions>> {
    let doc = OperationDoc::new(
        "search.messages",
        Method::GET,
        "/search/messages",
        "Search the messages that you may read",
    )
    .action("sessions", "session")
    .description(
        "Messages whose text has this one or all of its words, whatever their case and form; the newest session first.",
    )
    .query::<MessagesQuery>()
    .reply::<FoundMessages>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_query", "invalid_limit", "invalid_cursor", "invalid_handle"])
    .errors(Class::TooMany, &["too_many_searches"]);
    vec![doc.handled_by(search)]
}

/// The query of `GET /search/messages`.
#[derive(Debug, Deserialize, JsonSchema)]
struct MessagesQuery {
    /// What to search for, 2 to 100 characters.
    #[schemars(with = "String", length(min = 2, max = 100))]
    q: Option<String>,
    /// Maximum number; 20 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = RESULTS_MAX))]
    limit: Option<String>,
    /// Only in this session.
    #[schemars(with = "Option<SessionId>")]
    session_id: Option<String>,
    /// Only in sessions in which this agent participates or participated.
    #[schemars(with = "Option<AgentHandle>")]
    counterpart: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

impl MessagesQuery {
    fn search(self) -> Result<Search, SessionRefusal> {
        let text = searched_text(self.q.as_deref())?;
        let invalid = |_| Refusal::malformed("invalid_query", "q must be a text of 2 to 100 characters.");
        let query = Query::read(&text).map_err(invalid)?;
        let limit = limit(self.limit.as_deref(), RESULTS_DEFAULT, RESULTS_MAX)?;
        let session = self.session_id.as_deref().map(str::parse).transpose().map_err(|_| {
            Refusal::malformed("invalid_query", "`session_id` must be the id of a session, `sess_…`.")
        })?;
        let counterpart =
            self.counterpart.as_deref().map(str::parse).transpose().map_err(|reason| {
                Refusal::malformed("invalid_handle", format!("`counterpart`: {reason}."))
            })?;
        let invalid =
            || Refusal::malformed("invalid_cursor", "`cursor` must be the `next_cursor` of the page before.");
        let place =
            self.cursor.as_deref().map(str::parse::<SearchCursor>).transpose().map_err(|()| invalid())?;
        if let (Some(place), Some(session)) = (&place, &session)
            && !place.is_in(session)
        {
            return Err(invalid().into());
        }
        Ok(Search { text, query, limit, session, counterpart, place })
    }
}

async fn search(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    query: Result<QueryString<MessagesQuery>, QueryRejection>,
) -> Answer {
    let search = read(query)?.search()?;
    let _share = sessions.accounts().search_share(&TokenOwner::Agent(handle.clone()))?;
    Ok(Json(sessions.search(&handle, &search).await?).into_response())
}
