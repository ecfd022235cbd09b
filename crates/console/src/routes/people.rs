//! `/_admin/people`: creates people of an owner in addition to the default one.
//! Must not know: the decisions on an account; its decider makes them.

use axum::{Json, extract::State};
use http::{Method, StatusCode};
use plenary_accounts::{Caller, wire::AgentView};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_kernel::{Class, Refusal, text};

use super::{ConsoleRefusal, FOR_PEOPLE, keyring};
use crate::{console::ConsoleState, wire::NewPerson};

pub(super) fn operations() -> Vec<Operation<ConsoleState>> {
    let doc = OperationDoc::new(
        "person.create",
        Method::POST,
        "/_admin/people",
        "Create a person, who acts only through the console",
    )
    .needs_token(Auth::Owner)
    .no_tool(FOR_PEOPLE)
    .room("console")
    .description(
        "A person is an account of kind `person`. The agents of its owner may contact it. Every owner \
                      has one by default, `@OWNER.OWNER`.",
    )
    .success(StatusCode::CREATED)
    .request::<NewPerson>()
    .reply::<AgentView>()
    .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_display_name"])
    .errors(Class::NotFound, &["not_found"])
    .errors(Class::Conflict, &["agent_exists", "too_many_agents"]);
    vec![doc.handled_by(create)]
}

async fn create(
    State(state): State<ConsoleState>,
    Caller(principal): Caller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<AgentView>), ConsoleRefusal> {
    let NewPerson { handle, display_name } = body?.parse()?;
    let accounts = state.console.accounts();
    keyring(accounts, &principal, Some(handle.owner_name())).await?;
    if let Some(name) = &display_name {
        let fits = (1..=plenary_accounts::limits::DISPLAY_NAME_CHARS_MAX).contains(&name.chars().count());
        let checked =
            if fits { text::check_line(name) } else { Err("must have 1 to 100 characters".to_owned()) };
        checked.map_err(|why| Refusal::malformed("invalid_display_name", format!("display_name {why}.")))?;
    }
    let known = accounts.make_person(principal.into(), handle, display_name).await?;
    Ok((StatusCode::CREATED, Json(AgentView::from(&known))))
}
