//! `/agents/me/tokens` and `/_admin/agents/{handle}/tokens`: additional tokens of an agent.
//! Must not know: the rules; the decider has them.

use axum::{
    Json,
    extract::{Path, State},
};
use http::{Method, StatusCode};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc, StrictJson};
use plenary_kernel::{AgentHandle, Class, Refusal, TimestampMs};

use super::{
    agents::{configured_agent, visible_agent},
    of_agent,
    request::{OnePath, TwoPath, path_subject},
};
use crate::{
    Accounts, AgentCaller, Authority, Caller, KnownAgent, Rejection, Token, TokenKind,
    agent::command::{AgentEdit, EditAgent, NewToken},
    answer::AccountRefusal,
    fields::Fields,
    wire::{AgentTokenList, AgentTokenView, MadeToken, TokenRequest},
};

const BAD_TOKEN: &[&str] =
    &["invalid_json", "invalid_body", "invalid_scope", "invalid_expires_in", "invalid_name"];
const NO_TOOL: &str = "a model hands out no tokens";
const NEW_TOKEN: &str = "The token is below the one that it is made with: it does no more, lasts no longer, and ends with \
                     it. A request that its scope does not admit is answered 403 `insufficient_scope`.";

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    const OWN: &str = "/agents/me/tokens";
    const ALL: &str = "/_admin/agents/{handle}/tokens";
    let own = |id, method, path, summary| {
        OperationDoc::new(id, method, path, summary).no_tool(NO_TOOL).needs_token(Auth::Agent)
    };
    let all = |id, method, path, summary| of_agent(OperationDoc::new(id, method, path, summary));
    let listing = |doc: OperationDoc| doc.reply::<AgentTokenList>().answers_page();
    let making = |doc: OperationDoc| {
        doc.description(NEW_TOKEN)
            .success(StatusCode::CREATED)
            .request::<TokenRequest>()
            .reply::<MadeToken>()
            .errors(Class::Malformed, BAD_TOKEN)
            .errors(Class::Forbidden, &["insufficient_scope", "forbidden"])
            .errors(Class::Conflict, &["too_many_tokens", "token_ended"])
    };
    let ending = |doc: OperationDoc| {
        doc.success(StatusCode::NO_CONTENT)
            .path_parameter::<String>("id", "The token's id")
            .errors(Class::NotFound, &["not_found"])
    };
    let ends = "End a token beside the agent's own, and those made with it; their connections close";
    vec![
        listing(own("me.tokens", Method::GET, OWN, "List the agent's tokens beside its own"))
            .handled_by(list_own),
        making(own("me.create_token", Method::POST, OWN, "Make a token that does less than the caller's"))
            .handled_by(create_own),
        ending(own("me.revoke_token", Method::DELETE, "/agents/me/tokens/{id}", ends)).handled_by(end_own),
        listing(all("agent.tokens", Method::GET, ALL, "List an agent's tokens beside its own"))
            .handled_by(list),
        making(all("agent.create_token", Method::POST, ALL, "Make a token of an agent with a scope"))
            .handled_by(create),
        ending(all("agent.revoke_token", Method::DELETE, "/_admin/agents/{handle}/tokens/{id}", ends))
            .handled_by(end),
    ]
}

async fn token_list(accounts: &Accounts, agent: &KnownAgent) -> Result<Json<AgentTokenList>, AccountRefusal> {
    let now = accounts.now();
    let mut tokens = Vec::new();
    for (id, token) in agent.state.issued().iter().filter(|(_, token)| token.is_open(now)) {
        let used = match &token.token {
            Some(digest) => accounts.token_used_at(digest).await?,
            None => None,
        };
        tokens.push(AgentTokenView::new(id, token, used));
    }
    Ok(Json(AgentTokenList { tokens }))
}

async fn issue(
    accounts: &Accounts,
    authority: Authority,
    handle: AgentHandle,
    body: &StrictJson,
) -> Result<(StatusCode, Json<MadeToken>), AccountRefusal> {
    let TokenRequest { scope, expires_in, name } = TokenRequest::read(&Fields::of(body)?)?;
    let token = Token::random(TokenKind::Scoped);
    let ends = |seconds: u64| TimestampMs(accounts.now().0 + seconds * 1_000);
    let new = NewToken {
        token: Some(token.digest()),
        scope,
        expires_at: expires_in.map(ends),
        name,
        client: None,
        issuer: None,
        statement: None,
        resource: None,
    };
    let edit = AgentEdit::IssueToken(new);
    let agent = accounts.edit_agent(EditAgent { authority, handle, edit }).await?;
    // A repeated request whose first answer was not stored: the token was made, and is gone.
    let issued = agent.state.issued().of(&token.digest());
    let (id, issued) = issued.ok_or(Rejection::TokenEnded).map_err(crate::Failure::from)?;
    let view = AgentTokenView::new(id, issued, None);
    Ok((StatusCode::CREATED, Json(MadeToken { token: token.expose().to_owned(), view })))
}

async fn list_own(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
) -> Result<Json<AgentTokenList>, AccountRefusal> {
    token_list(&accounts, &accounts.fresh_agent(&caller.handle).await?).await
}

async fn create_own(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<MadeToken>), AccountRefusal> {
    issue(&accounts, caller.authority(), caller.handle, &body?).await
}

async fn end_own(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    path: OnePath,
) -> Result<StatusCode, AccountRefusal> {
    let (authority, edit) = (caller.authority(), AgentEdit::EndToken(path_subject(path)?));
    accounts.edit_agent(EditAgent { authority, handle: caller.handle, edit }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
) -> Result<Json<AgentTokenList>, AccountRefusal> {
    let agent = visible_agent(&accounts, &principal, &path_subject(path)?).await?;
    token_list(&accounts, &agent).await
}

async fn create(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<MadeToken>), AccountRefusal> {
    let body = body?;
    let agent = visible_agent(&accounts, &principal, &path_subject(path)?).await?;
    issue(&accounts, principal.into(), agent.handle, &body).await
}

async fn end(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<StatusCode, AccountRefusal> {
    let Path((handle, id)) = path.map_err(|_| Refusal::not_found())?;
    let handle: AgentHandle = handle.parse().map_err(|_| Refusal::not_found())?;
    let handle = configured_agent(&principal, handle)?;
    let edit = AgentEdit::EndToken(id);
    accounts.edit_agent(EditAgent { authority: principal.into(), handle, edit }).await?;
    Ok(StatusCode::NO_CONTENT)
}
