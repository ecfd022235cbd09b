//! Who calls: the person, the agent, or the owner that a command on requests is for.
//! Must not know: the commands.

use plenary_client::{Client, TokenKind};
use plenary_kernel::OwnerName;

use crate::cli::{
    context::Context,
    failure::Failure,
    identity::{Realm, Source},
};

/// A client of the person, with the token of the owner or the operator.
pub(super) fn people(context: &Context) -> Result<Client, Failure> {
    context.configuring_client(Realm::Everything)
}

/// A client for decisions: the same, in the name of the person in `--as` or `PLENARY_AS`.
pub(crate) async fn decider(context: &Context) -> Result<Client, Failure> {
    let client = people(context)?;
    let named =
        context.identity()?.filter(|named| matches!(named.source, Source::Flag | Source::Environment));
    let Some(named) = named else { return Ok(client) };
    let is_person = named.is_person()
        || client.agent(&named.handle).await.is_ok_and(|agent| agent.value.kind.as_deref() == Some("person"));
    Ok(if is_person { client.expecting(named.handle) } else { client })
}

/// The owner for a list that belongs to one owner: the named one, else that of the current agent, else the only one. An
/// owner's token decides it alone.
pub(crate) async fn owner_for(
    context: &Context,
    client: &Client,
    named: Option<OwnerName>,
) -> Result<Option<String>, Failure> {
    let is_owners = context.used().is_some_and(|(_, credential)| credential.token.kind() == TokenKind::Owner);
    if named.is_some() || is_owners {
        return Ok(named.map(|owner| owner.to_string()));
    }
    if let Some(identity) = context.identity()? {
        return Ok(Some(identity.handle.owner().to_owned()));
    }
    let page = client.owners(None).await?.value;
    match page.owners.as_slice() {
        [only] => Ok(Some(only.owner.to_string())),
        _ => Err(Failure::usage(
            "the operator's token does not say which owner is meant",
            "name the owner with --owner; `plenary owner list` shows them",
        )),
    }
}

/// A client of the person, or else of the agent.
pub(super) fn anybody(context: &Context) -> Result<Client, Failure> {
    people(context).or_else(|_| context.agent_client())
}
