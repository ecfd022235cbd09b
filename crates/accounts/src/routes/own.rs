//! `/agents/me`: an agent's own settings. The agent can always read them; it can write them only if its owner allows
//! it (ASP-3, wire.md D.1).
//! Must not know: the rules; the decider has them.

use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
};
use http::{Method, StatusCode};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, AllowEntry, Class, MalformedText, Refusal};

use super::{
    request::{OnePath, PageQuery, PageSent},
    trust_lists::{block_page, block_view},
};
use crate::{
    Accounts, AgentCaller, KnownAgent, Rejection,
    agent::{
        attention::AttentionChange,
        command::{AgentEdit, EditAgent, Settings},
    },
    answer::AccountRefusal,
    fields::Fields,
    limits::BLOCKS_PAGE_MAX,
    wire::{
        AgentView, BlockPage, BlockView, EntriesView, ListingProfile, NewBlock, NewEntries, OwnChanges,
        OwnView, UnblockReceipt,
    },
};

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    settings().into_iter().chain(blocking()).collect()
}

fn read(id: &'static str, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, Method::GET, path, summary).action("sessions", "me").needs_token(Auth::Agent)
}

fn write(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary)
        .action("sessions", "me")
        .description("Only if the agent's owner has set self_service.")
        .needs_token(Auth::Agent)
        .errors(Class::Forbidden, &["forbidden"])
}

fn settings() -> Vec<Operation<Accounts>> {
    const ME: &str = "/agents/me";
    const LIST: &str = "/agents/me/allowlist";
    vec![
        read("me.get", ME, "Show the agent's own settings").reply::<OwnView>().handled_by(get),
        write("me.update", Method::PATCH, ME, "Change the agent's own policy and profile")
            .request::<OwnChanges>()
            .reply::<OwnView>()
            .description(
                "Only if the agent's owner has set self_service; `attention` alone needs no leave. While it is `focus` or \
                 `dnd`, hooks of coding agents neither show nor wake for what does not pass.",
            )
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_policy", "invalid_attention"])
            .errors(Class::Malformed, super::BAD_PROFILE)
            .handled_by(update),
        read("me.allowlist", LIST, "Show the agent's own allowlist")
            .reply::<EntriesView>()
            .answers_page()
            .handled_by(allowlist),
        write("me.allow", Method::POST, LIST, "Add entries to the agent's own allowlist")
            .request::<NewEntries>()
            .reply::<EntriesView>()
            .answers_page()
            .errors(Class::Malformed, super::BAD_ENTRIES)
            .errors(Class::Conflict, &["allowlist_full"])
            .handled_by(allow),
        write(
            "me.disallow",
            Method::DELETE,
            "/agents/me/allowlist/{entry}",
            "Remove an entry from the agent's own allowlist",
        )
        .path_parameter::<AllowEntry>("entry", "The entry")
        .reply::<EntriesView>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_allowlist_entry"])
        .handled_by(disallow),
    ]
}

fn blocking() -> Vec<Operation<Accounts>> {
    const BLOCKS: &str = "/agents/me/blocks";
    vec![
        read("me.blocks", BLOCKS, "List the agents that the agent blocks")
            .query::<PageQuery<BLOCKS_PAGE_MAX>>()
            .reply::<BlockPage>()
            .errors(Class::Malformed, super::BAD_PAGE)
            .handled_by(blocks),
        write("me.block", Method::POST, BLOCKS, "Block another agent")
            .success(StatusCode::CREATED)
            .request::<NewBlock>()
            .reply::<BlockView>()
            .errors(Class::Malformed, super::BAD_BLOCK)
            .errors(Class::Conflict, &["blocks_full"])
            .handled_by(block),
        write("me.unblock", Method::DELETE, "/agents/me/blocks/{blocked}", "Remove a block")
            .path_parameter::<AgentHandle>("blocked", "The blocked agent's handle")
            .reply::<UnblockReceipt>()
            .errors(Class::Malformed, &["invalid_handle"])
            .handled_by(unblock),
    ]
}

/// The agent itself, if it may write its settings; the decider checks again.
async fn writer(accounts: &Accounts, caller: &AgentCaller) -> Result<(), AccountRefusal> {
    let agent = accounts.fresh_agent(&caller.handle).await?;
    if agent.state.configures_itself() {
        return Ok(());
    }
    Err(Refusal::from(Rejection::Forbidden).into())
}

async fn edit(
    accounts: &Accounts,
    caller: AgentCaller,
    edit: AgentEdit,
) -> Result<KnownAgent, AccountRefusal> {
    let authority = caller.authority();
    Ok(accounts.edit_agent(EditAgent { authority, handle: caller.handle, edit }).await?)
}

/// The last part of the path.
fn last_part<T: std::str::FromStr<Err = MalformedText>>(
    path: Result<Path<String>, PathRejection>,
    code: &'static str,
) -> Result<T, Refusal> {
    let text = path.map(|Path(text)| text).unwrap_or_default();
    text.parse().map_err(|reason| Refusal::malformed(code, format!("The path's last part: {reason}.")))
}

fn own_view(accounts: &Accounts, agent: &KnownAgent) -> OwnView {
    OwnView {
        agent: AgentView::from(agent),
        listing: ListingProfile::new(agent, accounts.is_online(&agent.handle)),
    }
}

async fn get(State(accounts): State<Accounts>, caller: AgentCaller) -> Result<Json<OwnView>, AccountRefusal> {
    Ok(Json(own_view(&accounts, &accounts.fresh_agent(&caller.handle).await?)))
}

async fn update(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<Json<OwnView>, AccountRefusal> {
    let body = body?;
    let fields = Fields::of(&body);
    if !fields.as_ref().is_ok_and(OwnChanges::is_attention_alone) {
        // An agent without permission is refused before its body is checked.
        writer(&accounts, &caller).await?;
    }
    let OwnChanges { policy, attention, attention_until, profile } = OwnChanges::read(&fields?)?;
    let attention = attention.map(|level| AttentionChange { level, until: attention_until });
    let change = AgentEdit::Configure(Settings { policy, attention, profile, ..Settings::default() });
    let agent = edit(&accounts, caller, change).await?;
    Ok(Json(own_view(&accounts, &agent)))
}

async fn allowlist(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
) -> Result<Json<EntriesView>, AccountRefusal> {
    Ok(Json(EntriesView::from(&*accounts.fresh_agent(&caller.handle).await?.state)))
}

async fn allow(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<Json<EntriesView>, AccountRefusal> {
    let body = body?;
    writer(&accounts, &caller).await?;
    let NewEntries { entries } = NewEntries::read(&Fields::of(&body)?)?;
    let agent = edit(&accounts, caller, AgentEdit::Allow(entries)).await?;
    Ok(Json(EntriesView::from(&*agent.state)))
}

async fn disallow(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    path: OnePath,
) -> Result<Json<EntriesView>, AccountRefusal> {
    writer(&accounts, &caller).await?;
    let entry = last_part(path, "invalid_allowlist_entry")?;
    let agent = edit(&accounts, caller, AgentEdit::Disallow(entry)).await?;
    Ok(Json(EntriesView::from(&*agent.state)))
}

async fn blocks(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    query: PageSent<BLOCKS_PAGE_MAX>,
) -> Result<Json<BlockPage>, AccountRefusal> {
    Ok(Json(block_page(&accounts.fresh_agent(&caller.handle).await?, query)?))
}

async fn block(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<BlockView>), AccountRefusal> {
    let body = body?;
    writer(&accounts, &caller).await?;
    let NewBlock { handle: blocked_agent } = NewBlock::read(&Fields::of(&body)?)?;
    let agent = edit(&accounts, caller, AgentEdit::Block(blocked_agent.clone())).await?;
    Ok((StatusCode::CREATED, Json(block_view(&agent, blocked_agent))))
}

async fn unblock(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    path: OnePath,
) -> Result<Json<UnblockReceipt>, AccountRefusal> {
    writer(&accounts, &caller).await?;
    let blocked_agent = last_part(path, "invalid_handle")?;
    edit(&accounts, caller, AgentEdit::Unblock(blocked_agent)).await?;
    Ok(Json(UnblockReceipt { unblocked: true }))
}
