//! `/_admin/agents/{handle}/allowlist` and `…/blocks`: an agent's lists, for the operator and its owner.
//! Must not know: the rules; the decider has them.

use axum::{Json, extract::State};
use http::{Method, StatusCode};
use plenary_edge::{JsonBody, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, AllowEntry, Class};

use super::{
    agents::{changed_agent, edit, visible_agent},
    request::{OnePath, PageQuery, PageSent, TwoPath, page, path_subject, path_subject_and_part},
};
use crate::{
    Accounts, Caller, KnownAgent,
    agent::command::AgentEdit,
    answer::AccountRefusal,
    fields::Fields,
    limits::BLOCKS_PAGE_MAX,
    wire::{BlockPage, BlockView, EntriesView, NewBlock, NewEntries, UnblockReceipt},
};

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    let doc = |id, method, path, summary| super::of_agent(OperationDoc::new(id, method, path, summary));
    const LIST: &str = "/_admin/agents/{handle}/allowlist";
    const BLOCKS: &str = "/_admin/agents/{handle}/blocks";
    vec![
        doc("agent.allowlist", Method::GET, LIST, "Show an agent's allowlist")
            .reply::<EntriesView>()
            .answers_page()
            .handled_by(allowlist),
        doc("agent.allow", Method::POST, LIST, "Add entries to an agent's allowlist")
            .request::<NewEntries>()
            .reply::<EntriesView>()
            .answers_page()
            .errors(Class::Malformed, super::BAD_ENTRIES)
            .errors(Class::Conflict, &["allowlist_full"])
            .handled_by(allow),
        doc(
            "agent.disallow",
            Method::DELETE,
            "/_admin/agents/{handle}/allowlist/{entry}",
            "Remove an entry from an agent's allowlist; active sessions continue (ASP-16)",
        )
        .path_parameter::<AllowEntry>("entry", "The entry")
        .reply::<EntriesView>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_allowlist_entry"])
        .handled_by(disallow),
        doc("agent.blocks", Method::GET, BLOCKS, "List the agents that an agent blocks")
            .query::<PageQuery<BLOCKS_PAGE_MAX>>()
            .reply::<BlockPage>()
            .errors(Class::Malformed, super::BAD_PAGE)
            .handled_by(blocks),
        doc("agent.block", Method::POST, BLOCKS, "Block another agent for an agent")
            .description("The response comes when the blocked agent has left every session the two share.")
            .success(StatusCode::CREATED)
            .request::<NewBlock>()
            .reply::<BlockView>()
            .errors(Class::Malformed, super::BAD_BLOCK)
            .errors(Class::Conflict, &["blocks_full"])
            .handled_by(block),
        doc(
            "agent.unblock",
            Method::DELETE,
            "/_admin/agents/{handle}/blocks/{blocked}",
            "Remove a block of an agent",
        )
        .path_parameter::<AgentHandle>("blocked", "The blocked agent's handle")
        .reply::<UnblockReceipt>()
        .errors(Class::Malformed, &["invalid_handle"])
        .handled_by(unblock),
    ]
}

/// The present block of one agent by another.
pub(super) fn block_view(agent: &KnownAgent, blocked_agent: AgentHandle) -> BlockView {
    let since = agent.state.blocks_since(&blocked_agent);
    let created_at = since.map_or(0, |since| since.at.0);
    BlockView { blocked_agent_id: blocked_agent.clone(), blocked_handle: blocked_agent, created_at }
}

/// A page of an agent's blocks, by handle.
pub(super) fn block_page(
    agent: &KnownAgent,
    query: PageSent<BLOCKS_PAGE_MAX>,
) -> Result<BlockPage, AccountRefusal> {
    let page = page::<AgentHandle, BLOCKS_PAGE_MAX>(query)?;
    let is_after = |handle: &&AgentHandle| page.after.as_ref().is_none_or(|after| *handle > after);
    let mut rows = agent.state.blocked().keys().filter(is_after);
    let blocks: Vec<_> = rows
        .by_ref()
        .take(page.limit)
        .map(|blocked_agent| block_view(agent, blocked_agent.clone()))
        .collect();
    let more = rows.next().is_some();
    let next_cursor = blocks.last().filter(|_| more).map(|block| block.blocked_handle.to_string());
    Ok(BlockPage { blocks, next_cursor })
}

async fn allowlist(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
) -> Result<Json<EntriesView>, AccountRefusal> {
    let agent = visible_agent(&accounts, &principal, &path_subject(path)?).await?;
    Ok(Json(EntriesView::from(&*agent.state)))
}

async fn allow(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<EntriesView>, AccountRefusal> {
    let body = body?;
    let agent = changed_agent(&accounts, &principal, &path_subject(path)?).await?;
    let NewEntries { entries } = NewEntries::read(&Fields::of(&body)?)?;
    let agent = edit(&accounts, principal, agent.handle, AgentEdit::Allow(entries)).await?;
    Ok(Json(EntriesView::from(&*agent.state)))
}

async fn disallow(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<Json<EntriesView>, AccountRefusal> {
    let (handle, entry) = path_subject_and_part::<AgentHandle, AllowEntry>(path, "invalid_allowlist_entry")?;
    let agent = changed_agent(&accounts, &principal, &handle).await?;
    let agent = edit(&accounts, principal, agent.handle, AgentEdit::Disallow(entry?)).await?;
    Ok(Json(EntriesView::from(&*agent.state)))
}

async fn blocks(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    query: PageSent<BLOCKS_PAGE_MAX>,
) -> Result<Json<BlockPage>, AccountRefusal> {
    let agent = visible_agent(&accounts, &principal, &path_subject(path)?).await?;
    Ok(Json(block_page(&agent, query)?))
}

async fn block(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<BlockView>), AccountRefusal> {
    let body = body?;
    let agent = changed_agent(&accounts, &principal, &path_subject(path)?).await?;
    let NewBlock { handle: blocked_agent } = NewBlock::read(&Fields::of(&body)?)?;
    let agent = edit(&accounts, principal, agent.handle, AgentEdit::Block(blocked_agent.clone())).await?;
    Ok((StatusCode::CREATED, Json(block_view(&agent, blocked_agent))))
}

async fn unblock(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<Json<UnblockReceipt>, AccountRefusal> {
    let (handle, blocked_agent) = path_subject_and_part::<AgentHandle, AgentHandle>(path, "invalid_handle")?;
    let agent = changed_agent(&accounts, &principal, &handle).await?;
    edit(&accounts, principal, agent.handle, AgentEdit::Unblock(blocked_agent?)).await?;
    Ok(Json(UnblockReceipt { unblocked: true }))
}
