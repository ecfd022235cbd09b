//! `GET /agents/{owner}/{name}` and its card: an agent's profile, for whoever sees it; to others there is no such agent.
//! Must not know: who sees what; `viewer.rs` decides that.

use axum::{
    Json,
    extract::{FromRef, Path, State},
    response::IntoResponse,
};
use http::header;
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, ErrorCode, OwnerName, Refusal};
use plenary_wire::accounts::{AGENT_CARD, AGENT_PROFILE};

use super::request::TwoPath;
use crate::{
    Accounts, Caller, Known, Principal, Who,
    answer::Refused,
    viewer::Viewer,
    wire::{AgentDetail, OtherView, ProfileView, Relationship, ViewerView, listing},
};

/// Of a card.
const MARKDOWN: &str = "text/markdown; charset=utf-8";

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let doc = |doc: OperationDoc| {
        doc.description("Agents that trust keeps from the caller, and private ones of others, are not found.")
            .auth(Auth::Any)
            .path_parameter::<OwnerName>("owner", "The agent's owner")
            .path_parameter::<OwnerName>("name", "Its name")
            .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
            .errors(Class::NotFound, &[ErrorCode::NotFound])
    };
    let profile = doc(OperationDoc::of(&AGENT_PROFILE, "Shows an agent's profile")).action("sessions", "me");
    let card = doc(OperationDoc::of(&AGENT_CARD, "Shows an agent's card, in Markdown"))
        .no_tool("the profile has the card in it")
        .reply_type(MARKDOWN);
    vec![Operation::new(profile, show), Operation::new(card, show_card)]
}

/// Whoever asks, as a viewer.
pub(super) async fn viewer(accounts: &Accounts, principal: Principal) -> Result<Viewer, Refused> {
    Ok(match principal.who {
        Who::Operator => Viewer::Operator,
        Who::Owner(owner) => Viewer::Owner(owner),
        Who::Agent(handle) => Viewer::Agent(accounts.fresh_agent(&handle).await?),
    })
}

/// The agent that the path names, if whoever asks sees it.
async fn found(accounts: &Accounts, viewer: &Viewer, path: TwoPath) -> Result<Known, Refused> {
    let Path((owner, name)) = path.map_err(|_| Refusal::not_found())?;
    let handle = format!("@{owner}.{name}").parse().map_err(|_| Refusal::not_found())?;
    let known = accounts.fresh_agent(&handle).await?;
    if viewer.sees(&known) { Ok(known) } else { Err(Refusal::not_found().into()) }
}

async fn show(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<Json<AgentDetail>, Refused> {
    let viewer = viewer(&accounts, principal).await?;
    let known = found(&accounts, &viewer, path).await?;
    let relationship = if viewer.owns(&known) { Relationship::Owner } else { Relationship::None };
    let agent = OtherView {
        listing: listing(&known, accounts.is_online(&known.handle)),
        profile: ProfileView::from(&known),
        created_at: known.state.created_at().unwrap_or_default().0,
        id: known.handle.clone(),
    };
    let viewer = ViewerView { relationship, can_edit: viewer.edits(&known) };
    Ok(Json(AgentDetail { agent, shared_sessions: Vec::new(), viewer }))
}

async fn show_card(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<impl IntoResponse, Refused> {
    let viewer = viewer(&accounts, principal).await?;
    let known = found(&accounts, &viewer, path).await?;
    let card = known.state.profile().card_body.clone().unwrap_or_default();
    Ok(([(header::CONTENT_TYPE, MARKDOWN)], card))
}
