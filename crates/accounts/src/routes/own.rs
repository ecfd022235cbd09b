//! `/agents/me`: an agent's own settings. It always reads them; it writes them only where its owner lets it
//! (ASP-3, wire.md D.1).
//! Must not know: what may become of an agent; the decider does.

use axum::{
    Json,
    extract::{FromRef, Path, State, rejection::PathRejection},
};
use http::{Method, StatusCode};
use plenary_edge::{Auth, Operation, OperationDoc, Parameters, Received};
use plenary_kernel::{AgentHandle, AllowEntry, Class, Malformed, Refusal};

use super::{
    taken::OnePath,
    trust_lists::{block_page, block_view},
};
use crate::{
    Accounts, AgentCaller, Known, Rejection,
    agent::command::{AgentEdit, EditAgent, Settings},
    answer::Refused,
    request::{BLOCK_PAGE, NEW_BLOCK, NEW_ENTRIES, OWN_CHANGES, policy, profile},
    wire::{AgentView, BlockPage, BlockView, EntriesView, Listing, OwnView, Unblocked},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    settings().into_iter().chain(blocking()).collect()
}

fn read(id: &'static str, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, Method::GET, path, summary)
        .action("sessions", "me")
        .auth(Auth::Agent)
        .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
}

fn write(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary)
        .action("sessions", "me")
        .description("Only where the agent's owner has set self_service.")
        .auth(Auth::Agent)
        .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
        .errors(Class::Forbidden, &["forbidden"])
}

fn settings<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    const ME: &str = "/agents/me";
    const LIST: &str = "/agents/me/allowlist";
    vec![
        Operation::new(read("me.get", ME, "Shows the agent to itself").reply::<OwnView>(), get),
        Operation::new(
            write("me.update", Method::PATCH, ME, "Sets the agent's own policy and profile")
                .body(&OWN_CHANGES)
                .reply::<OwnView>()
                .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_policy"])
                .errors(Class::Malformed, super::BAD_PROFILE),
            update,
        ),
        Operation::new(
            read("me.allowlist", LIST, "Shows the agent's own allowlist")
                .reply::<EntriesView>()
                .answers_page(),
            allowlist,
        ),
        Operation::new(
            write("me.allow", Method::POST, LIST, "Puts entries on the agent's own allowlist")
                .body(&NEW_ENTRIES)
                .reply::<EntriesView>()
                .answers_page()
                .errors(Class::Malformed, super::BAD_ENTRIES)
                .errors(Class::Conflict, &["allowlist_full"]),
            allow,
        ),
        Operation::new(
            write(
                "me.disallow",
                Method::DELETE,
                "/agents/me/allowlist/{entry}",
                "Takes an entry off the agent's own allowlist",
            )
            .path_parameter::<AllowEntry>("entry", "The entry")
            .reply::<EntriesView>()
            .answers_page()
            .errors(Class::Malformed, &["invalid_allowlist_entry"]),
            disallow,
        ),
    ]
}

fn blocking<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    const BLOCKS: &str = "/agents/me/blocks";
    vec![
        Operation::new(
            read("me.blocks", BLOCKS, "Lists whom the agent blocks, by handle")
                .parameters(&BLOCK_PAGE)
                .reply::<BlockPage>()
                .errors(Class::Malformed, super::BAD_PAGE),
            blocks,
        ),
        Operation::new(
            write("me.block", Method::POST, BLOCKS, "Blocks another agent")
                .success(StatusCode::CREATED)
                .body(&NEW_BLOCK)
                .reply::<BlockView>()
                .errors(Class::Malformed, super::BAD_BLOCK)
                .errors(Class::Conflict, &["blocks_full"]),
            block,
        ),
        Operation::new(
            write("me.unblock", Method::DELETE, "/agents/me/blocks/{blocked}", "Lifts a block")
                .path_parameter::<AgentHandle>("blocked", "The blocked agent's handle")
                .reply::<Unblocked>()
                .errors(Class::Malformed, &["invalid_handle"]),
            unblock,
        ),
    ]
}

/// The agent itself, if it may write its settings; the decider checks again.
async fn writer(accounts: &Accounts, caller: &AgentCaller) -> Result<(), Refused> {
    let known = accounts.fresh_agent(&caller.handle).await?;
    if known.state.configures_itself() {
        return Ok(());
    }
    Err(Refusal::from(Rejection::Forbidden).into())
}

async fn edit(accounts: &Accounts, caller: AgentCaller, edit: AgentEdit) -> Result<Known, Refused> {
    let authority = caller.authority();
    Ok(accounts.edit_agent(EditAgent { authority, handle: caller.handle, edit }).await?)
}

/// The last part of the path.
fn last<T: std::str::FromStr<Err = Malformed>>(
    path: Result<Path<String>, PathRejection>,
    code: &'static str,
) -> Result<T, Refusal> {
    let text = path.map(|Path(text)| text).unwrap_or_default();
    text.parse().map_err(|wrong| Refusal::malformed(code, format!("The path's last part: {wrong}.")))
}

fn seen(accounts: &Accounts, known: &Known) -> OwnView {
    OwnView { agent: AgentView::from(known), listing: Listing::new(known, accounts.is_online(&known.handle)) }
}

async fn get(State(accounts): State<Accounts>, caller: AgentCaller) -> Result<Json<OwnView>, Refused> {
    Ok(Json(seen(&accounts, &accounts.fresh_agent(&caller.handle).await?)))
}

async fn update(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    Received(body): Received,
) -> Result<Json<OwnView>, Refused> {
    let body = body?;
    writer(&accounts, &caller).await?;
    let change = {
        let sent = body.read(&OWN_CHANGES)?;
        AgentEdit::Configure(Settings { policy: policy(&sent), self_service: None, profile: profile(&sent) })
    };
    let known = edit(&accounts, caller, change).await?;
    Ok(Json(seen(&accounts, &known)))
}

async fn allowlist(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
) -> Result<Json<EntriesView>, Refused> {
    Ok(Json(EntriesView::from(&*accounts.fresh_agent(&caller.handle).await?.state)))
}

async fn allow(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    Received(body): Received,
) -> Result<Json<EntriesView>, Refused> {
    let body = body?;
    writer(&accounts, &caller).await?;
    let entries = body.read(&NEW_ENTRIES)?.list("entries").unwrap_or_default();
    let known = edit(&accounts, caller, AgentEdit::Allow(entries)).await?;
    Ok(Json(EntriesView::from(&*known.state)))
}

async fn disallow(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    path: OnePath,
) -> Result<Json<EntriesView>, Refused> {
    writer(&accounts, &caller).await?;
    let entry = last(path, "invalid_allowlist_entry")?;
    let known = edit(&accounts, caller, AgentEdit::Disallow(entry)).await?;
    Ok(Json(EntriesView::from(&*known.state)))
}

async fn blocks(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    parameters: Parameters,
) -> Result<Json<BlockPage>, Refused> {
    Ok(Json(block_page(&accounts.fresh_agent(&caller.handle).await?, &parameters)?))
}

async fn block(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    Received(body): Received,
) -> Result<(StatusCode, Json<BlockView>), Refused> {
    let body = body?;
    writer(&accounts, &caller).await?;
    let blocked: AgentHandle = body.read(&NEW_BLOCK)?.needed_parsed("handle");
    let known = edit(&accounts, caller, AgentEdit::Block(blocked.clone())).await?;
    Ok((StatusCode::CREATED, Json(block_view(&known, blocked))))
}

async fn unblock(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    path: OnePath,
) -> Result<Json<Unblocked>, Refused> {
    writer(&accounts, &caller).await?;
    let blocked = last(path, "invalid_handle")?;
    edit(&accounts, caller, AgentEdit::Unblock(blocked)).await?;
    Ok(Json(Unblocked { unblocked: true }))
}
