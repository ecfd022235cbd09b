//! `GET /search/messages`.
//! Must not know: what a search reads.

use axum::{Json, extract::State, response::IntoResponse as _};
use http::Method;
use plenary_accounts::AgentCaller;
use plenary_edge::{Operation, OperationDoc, Parameters};
use plenary_kernel::{Class, Refusal};

use super::Answer;
use crate::{
    FOUND_DEFAULT, Sessions,
    refusals::Refused,
    request::SEARCH,
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
    .parameters(&SEARCH)
    .reply::<FoundMessages>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_query", "invalid_limit", "invalid_cursor", "invalid_handle"])
    .errors(Class::TooMany, &["too_many_searches"]);
    vec![Operation::new(doc, search)]
}

fn wanted(parameters: &Parameters) -> Result<Search, Refused> {
    let sent = parameters.read(&SEARCH)?;
    let place = sent.get("cursor").map(str::parse).transpose().map_err(|()| {
        Refusal::malformed("invalid_cursor", "`cursor` must be the `next_cursor` of the page before.")
    })?;
    Ok(Search {
        text: sent.needed("q").to_lowercase(),
        limit: sent.count("limit").unwrap_or(FOUND_DEFAULT),
        session: sent.parsed("session_id"),
        counterpart: sent.parsed("counterpart"),
        place,
    })
}

async fn search(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    parameters: Parameters,
) -> Answer {
    let search = wanted(&parameters)?;
    let _share = sessions.search_share(&handle)?;
    Ok(Json(sessions.search(&handle, &search).await?).into_response())
}
