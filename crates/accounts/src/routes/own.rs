//! `/agents/me`: an agent's own settings. It always reads them; it writes them only where its owner lets it
//! (ASP-3, wire.md D.1).
//! Must not know: what may become of an agent; the decider does.

use axum::{
    Json,
    extract::{FromRef, Path, State, rejection::PathRejection},
};
use http::StatusCode;
use plenary_edge::{Auth, Operation, OperationDoc, Received};
use plenary_kernel::{AgentHandle, AllowEntry, Class, ErrorCode, Malformed, Refusal};
use plenary_wire::accounts::{
    ME_ALLOW, ME_ALLOWLIST, ME_BLOCK, ME_BLOCKS, ME_DISALLOW, ME_GET, ME_UNBLOCK, ME_UPDATE,
};

use super::{
    request::{OnePath, PageQuery, PageSent},
    trust_lists::{block_page, block_view},
};
use crate::{
    Accounts, AgentCaller, Known, Rejection,
    agent::command::{AgentEdit, EditAgent, Settings},
    answer::Refused,
    fields::Fields,
    wire::{
        AgentView, BlockPage, BlockView, EntriesView, NewBlock, NewEntries, OwnChanges, OwnView, Unblocked,
        listing,
    },
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    settings().into_iter().chain(blocking()).collect()
}

fn read(doc: OperationDoc) -> OperationDoc {
    doc.action("sessions", "me").auth(Auth::Agent).errors(Class::Unauthenticated, super::UNAUTHENTICATED)
}

fn write(doc: OperationDoc) -> OperationDoc {
    doc.action("sessions", "me")
        .description("Only where the agent's owner has set self_service.")
        .auth(Auth::Agent)
        .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
        .errors(Class::Forbidden, &[ErrorCode::Forbidden])
}

fn settings<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    vec![
        Operation::new(read(OperationDoc::of(&ME_GET, "Shows the agent to itself")), get),
        Operation::new(
            write(OperationDoc::of(&ME_UPDATE, "Sets the agent's own policy and profile"))
                .request::<OwnChanges>()
                .errors(
                    Class::Malformed,
                    &[ErrorCode::InvalidJson, ErrorCode::InvalidBody, ErrorCode::InvalidPolicy],
                )
                .errors(Class::Malformed, super::BAD_PROFILE),
            update,
        ),
        Operation::new(
            read(OperationDoc::of(&ME_ALLOWLIST, "Shows the agent's own allowlist")).answers_page(),
            allowlist,
        ),
        Operation::new(
            write(OperationDoc::of(&ME_ALLOW, "Puts entries on the agent's own allowlist"))
                .request::<NewEntries>()
                .answers_page()
                .errors(Class::Malformed, super::BAD_ENTRIES)
                .errors(Class::Conflict, &[ErrorCode::AllowlistFull]),
            allow,
        ),
        Operation::new(
            write(OperationDoc::of(&ME_DISALLOW, "Takes an entry off the agent's own allowlist"))
                .path_parameter::<AllowEntry>("entry", "The entry")
                .answers_page()
                .errors(Class::Malformed, &[ErrorCode::InvalidAllowlistEntry]),
            disallow,
        ),
    ]
}

fn blocking<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    vec![
        Operation::new(
            read(OperationDoc::of(&ME_BLOCKS, "Lists whom the agent blocks, by handle"))
                .query::<PageQuery>()
                .errors(Class::Malformed, super::BAD_PAGE),
            blocks,
        ),
        Operation::new(
            write(OperationDoc::of(&ME_BLOCK, "Blocks another agent"))
                .success(StatusCode::CREATED)
                .request::<NewBlock>()
                .errors(Class::Malformed, super::BAD_BLOCK)
                .errors(Class::Conflict, &[ErrorCode::BlocksFull]),
            block,
        ),
        Operation::new(
            write(OperationDoc::of(&ME_UNBLOCK, "Lifts a block"))
                .path_parameter::<AgentHandle>("blocked", "The blocked agent's handle")
                .errors(Class::Malformed, &[ErrorCode::InvalidHandle]),
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
    OwnView { agent: AgentView::from(known), listing: listing(known, accounts.is_online(&known.handle)) }
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
    let OwnChanges { policy, profile } = OwnChanges::read(&Fields::of(&body)?)?;
    let change = AgentEdit::Configure(Settings { policy, self_service: None, profile });
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
    let NewEntries { entries } = NewEntries::read(&Fields::of(&body)?)?;
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
    query: PageSent,
) -> Result<Json<BlockPage>, Refused> {
    Ok(Json(block_page(&accounts.fresh_agent(&caller.handle).await?, query)?))
}

async fn block(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    Received(body): Received,
) -> Result<(StatusCode, Json<BlockView>), Refused> {
    let body = body?;
    writer(&accounts, &caller).await?;
    let NewBlock { handle: blocked } = NewBlock::read(&Fields::of(&body)?)?;
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
