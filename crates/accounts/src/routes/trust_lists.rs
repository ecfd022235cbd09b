//! `/_admin/agents/{handle}/allowlist` and `…/blocks`: an agent's lists, for the operator and its owner.
//! Must not know: what may become of an agent; the decider does.

use axum::{
    Json,
    extract::{FromRef, State},
};
use http::StatusCode;
use plenary_edge::{Operation, OperationDoc, Received};
use plenary_kernel::{AgentHandle, AllowEntry, Class, ErrorCode};
use plenary_wire::accounts::{
    AGENT_ALLOW, AGENT_ALLOWLIST, AGENT_BLOCK, AGENT_BLOCKS, AGENT_DISALLOW, AGENT_UNBLOCK,
};

use super::{
    agents::{edit, visible},
    request::{OnePath, PageQuery, PageSent, TwoPath, one, page, two},
};
use crate::{
    Accounts, Caller, Known,
    agent::command::AgentEdit,
    answer::Refused,
    fields::Fields,
    limits::BLOCKS_PAGE_MAX,
    wire::{BlockPage, BlockView, EntriesView, NewBlock, NewEntries, Unblocked},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let doc = |doc: OperationDoc| super::of_agent(doc);
    vec![
        Operation::new(
            doc(OperationDoc::of(&AGENT_ALLOWLIST, "Shows an agent's allowlist")).answers_page(),
            allowlist,
        ),
        Operation::new(
            doc(OperationDoc::of(&AGENT_ALLOW, "Puts entries on an agent's allowlist"))
                .request::<NewEntries>()
                .answers_page()
                .errors(Class::Malformed, super::BAD_ENTRIES)
                .errors(Class::Conflict, &[ErrorCode::AllowlistFull]),
            allow,
        ),
        Operation::new(
            doc(OperationDoc::of(
                &AGENT_DISALLOW,
                "Takes an entry off an agent's allowlist; running sessions go on (ASP-16)",
            ))
            .path_parameter::<AllowEntry>("entry", "The entry")
            .answers_page()
            .errors(Class::Malformed, &[ErrorCode::InvalidAllowlistEntry]),
            disallow,
        ),
        Operation::new(
            doc(OperationDoc::of(&AGENT_BLOCKS, "Lists whom an agent blocks, by handle"))
                .query::<PageQuery>()
                .errors(Class::Malformed, super::BAD_PAGE),
            blocks,
        ),
        Operation::new(
            doc(OperationDoc::of(&AGENT_BLOCK, "Blocks another agent for an agent"))
                .description("Answered when the other one has left every session the two share.")
                .success(StatusCode::CREATED)
                .request::<NewBlock>()
                .errors(Class::Malformed, super::BAD_BLOCK)
                .errors(Class::Conflict, &[ErrorCode::BlocksFull]),
            block,
        ),
        Operation::new(
            doc(OperationDoc::of(&AGENT_UNBLOCK, "Lifts a block of an agent"))
                .path_parameter::<AgentHandle>("blocked", "The blocked agent's handle")
                .errors(Class::Malformed, &[ErrorCode::InvalidHandle]),
            unblock,
        ),
    ]
}

/// The block of one agent by another, as it stands now.
pub(super) fn block_view(known: &Known, blocked: AgentHandle) -> BlockView {
    let since = known.state.blocks_since(&blocked);
    let created_at = since.map_or(0, |since| since.at.0);
    BlockView { blocked_agent_id: blocked.clone(), blocked_handle: blocked, created_at }
}

/// A page of an agent's blocks, by handle.
pub(super) fn block_page(known: &Known, query: PageSent) -> Result<BlockPage, Refused> {
    let page = page::<AgentHandle>(query, BLOCKS_PAGE_MAX)?;
    let behind = |handle: &&AgentHandle| page.after.as_ref().is_none_or(|after| *handle > after);
    let mut rows = known.state.blocked().keys().filter(behind);
    let blocks: Vec<_> =
        rows.by_ref().take(page.limit).map(|blocked| block_view(known, blocked.clone())).collect();
    let more = rows.next().is_some();
    let next_cursor = blocks.last().filter(|_| more).map(|block| block.blocked_handle.to_string());
    Ok(BlockPage { blocks, next_cursor })
}

async fn allowlist(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
) -> Result<Json<EntriesView>, Refused> {
    let known = visible(&accounts, &principal, &one(path)?).await?;
    Ok(Json(EntriesView::from(&*known.state)))
}

async fn allow(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    Received(body): Received,
) -> Result<Json<EntriesView>, Refused> {
    let body = body?;
    let known = visible(&accounts, &principal, &one(path)?).await?;
    let NewEntries { entries } = NewEntries::read(&Fields::of(&body)?)?;
    let known = edit(&accounts, principal, known.handle, AgentEdit::Allow(entries)).await?;
    Ok(Json(EntriesView::from(&*known.state)))
}

async fn disallow(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<Json<EntriesView>, Refused> {
    let (handle, entry) = two::<AgentHandle, AllowEntry>(path, "invalid_allowlist_entry")?;
    let known = visible(&accounts, &principal, &handle).await?;
    let known = edit(&accounts, principal, known.handle, AgentEdit::Disallow(entry?)).await?;
    Ok(Json(EntriesView::from(&*known.state)))
}

async fn blocks(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    query: PageSent,
) -> Result<Json<BlockPage>, Refused> {
    let known = visible(&accounts, &principal, &one(path)?).await?;
    Ok(Json(block_page(&known, query)?))
}

async fn block(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    Received(body): Received,
) -> Result<(StatusCode, Json<BlockView>), Refused> {
    let body = body?;
    let known = visible(&accounts, &principal, &one(path)?).await?;
    let NewBlock { handle: blocked } = NewBlock::read(&Fields::of(&body)?)?;
    let known = edit(&accounts, principal, known.handle, AgentEdit::Block(blocked.clone())).await?;
    Ok((StatusCode::CREATED, Json(block_view(&known, blocked))))
}

async fn unblock(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<Json<Unblocked>, Refused> {
    let (handle, blocked) = two::<AgentHandle, AgentHandle>(path, "invalid_handle")?;
    let known = visible(&accounts, &principal, &handle).await?;
    edit(&accounts, principal, known.handle, AgentEdit::Unblock(blocked?)).await?;
    Ok(Json(Unblocked { unblocked: true }))
}
