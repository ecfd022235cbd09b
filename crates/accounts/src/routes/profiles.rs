//! `GET /agents/{owner}/{name}` and its card: an agent's profile, for callers that may read it; for others the agent
//! looks absent.
//! Must not know: visibility; `viewer.rs` decides it.

use axum::{
    Json,
    extract::{Path, State},
    response::IntoResponse,
};
use http::{Method, header};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, OwnerName, Refusal};

use super::request::TwoPath;
use crate::{
    Accounts, Caller, KnownAgent, Principal, TokenOwner,
    answer::AccountRefusal,
    viewer::Viewer,
    wire::{AgentDetail, OtherView, Relationship, ViewerView},
};

/// The media type of a card.
const MARKDOWN: &str = "text/markdown; charset=utf-8";

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    let doc = |id, path, summary| {
        OperationDoc::new(id, Method::GET, path, summary)
            .description(
                "404 unless the agent is public, belongs to the caller, or may be contacted by the caller. A block hides \
                 the two agents from each other.",
            )
            .needs_token(Auth::Any)
            .path_parameter::<OwnerName>("owner", "The agent's owner")
            .path_parameter::<OwnerName>("name", "Its name")
            .errors(Class::NotFound, &["not_found"])
    };
    let profile = doc("agent.profile", "/agents/{owner}/{name}", "Show an agent's profile")
        .action("sessions", "me")
        .reply::<AgentDetail>();
    let card = doc("agent.card", "/agents/{owner}/{name}/card", "Show an agent's card, in Markdown")
        .no_tool("the profile contains the card")
        .reply_type(MARKDOWN);
    vec![profile.handled_by(show), card.handled_by(show_card)]
}

/// The caller as a viewer.
pub(super) async fn viewer(accounts: &Accounts, principal: Principal) -> Result<Viewer, AccountRefusal> {
    Ok(match principal.who {
        TokenOwner::Operator => Viewer::Operator,
        TokenOwner::Owner(owner) => Viewer::Owner(owner),
        TokenOwner::Agent(handle) => Viewer::Agent(accounts.fresh_agent(&handle).await?),
    })
}

/// The agent that the path names, if the caller may see it.
async fn visible_agent(
    accounts: &Accounts,
    viewer: &Viewer,
    path: TwoPath,
) -> Result<KnownAgent, AccountRefusal> {
    let Path((owner, name)) = path.map_err(|_| Refusal::not_found())?;
    let handle = format!("@{owner}.{name}").parse().map_err(|_| Refusal::not_found())?;
    let agent = accounts.fresh_agent(&handle).await?;
    if viewer.sees(&agent) { Ok(agent) } else { Err(Refusal::not_found().into()) }
}

async fn show(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<Json<AgentDetail>, AccountRefusal> {
    let viewer = viewer(&accounts, principal).await?;
    let agent = visible_agent(&accounts, &viewer, path).await?;
    let relationship = if viewer.owns(&agent) { Relationship::Owner } else { Relationship::None };
    let agent_view = OtherView::new(&agent, accounts.is_online(&agent.handle));
    let viewer = ViewerView { relationship, can_edit: viewer.edits(&agent) };
    Ok(Json(AgentDetail { agent: agent_view, shared_sessions: Vec::new(), viewer }))
}

async fn show_card(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<impl IntoResponse, AccountRefusal> {
    let viewer = viewer(&accounts, principal).await?;
    let agent = visible_agent(&accounts, &viewer, path).await?;
    let card = agent.state.profile().card_body.clone().unwrap_or_default();
    Ok(([(header::CONTENT_TYPE, MARKDOWN)], card))
}
