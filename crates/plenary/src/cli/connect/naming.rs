//! The agent of a coding agent in a directory: the previous one, the named one, or a new one.
//! Must not know: settings of coding agents.

use std::path::Path;

use plenary_client::{
    Error, FaultKind,
    accounts::{CreateAgent, CreatedAgent, Policy},
};
use plenary_kernel::{AgentHandle, AllowEntry, OwnerName};

use super::coding::CodingAgent;
use crate::cli::{
    context::Context,
    failure::Failure,
    identity::{self, ClientEntry, Clients, Holder, Realm, RememberedIdentities, Source, project_root},
};

/// Longest name made here; room is left for a number.
const NAME_CHARS_MAX: usize = 56;
/// So many names are tried where the first is taken.
const NAMES_MAX: u32 = 100;

/// Who a coding agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChosenAgent {
    /// Its address.
    pub(crate) handle: AgentHandle,
    /// Whether it was made just now.
    pub(crate) is_new: bool,
}

/// The agent that is meant, made where it is missing; its token is saved.
pub(crate) async fn agent(
    context: &Context,
    coding: CodingAgent,
    directory: &Path,
    owner: Option<&OwnerName>,
    before: Option<&ClientEntry>,
) -> Result<ChosenAgent, Failure> {
    let named = context.identity()?.filter(|identity| identity.source == Source::Flag);
    if let Some(identity) = named {
        let handle = identity.handle;
        if speaks(context, &handle).await? {
            return Ok(ChosenAgent { handle, is_new: false });
        }
        let Some(made) = make(context, &handle).await? else {
            return Err(Failure::auth(
                format!("{handle} already exists, and no valid token of it is saved here"),
                format!(
                    "save its token with `plenary token add {handle}`, or leave out --as for a new agent"
                ),
            ));
        };
        context.keep_token(&Holder::Agent(handle.clone()), &made.token)?;
        return Ok(ChosenAgent { handle, is_new: true });
    }
    if let Some(before) = before
        && owner.is_none_or(|owner| *owner == before.agent.owner_name())
    {
        let handle = before.agent.clone();
        if speaks(context, &handle).await? {
            return Ok(ChosenAgent { handle, is_new: false });
        }
        // On another server an agent of that name may be somebody else's.
        let server = context.client()?.health().await?.value.server_id;
        if server.is_some()
            && server == before.server
            && let Some(is_new) = hold(context, &handle).await?
        {
            return Ok(ChosenAgent { handle, is_new });
        }
    }
    for number in 1..=NAMES_MAX {
        let handle = proposed(context, coding, directory, owner, number)?;
        if let Some(made) = make(context, &handle).await? {
            context.keep_token(&Holder::Agent(handle.clone()), &made.token)?;
            return Ok(ChosenAgent { handle, is_new: true });
        }
    }
    Err(Failure::local_with("every suitable name is taken", "name the agent with `--as @owner.name`"))
}

/// Who a coding agent with settings of the user is in a directory: made and remembered where it begins for the first
/// time. Nobody if no settings of the user are written for it.
pub(crate) async fn first_use(
    context: &Context,
    coding: CodingAgent,
    directory: &Path,
) -> Result<Option<AgentHandle>, Failure> {
    let name = coding.as_str();
    let Some(user) = Clients::of_user(&context.around)?.0.remove(name) else { return Ok(None) };
    let context = context.silent_in(directory);
    let (remembered, place) = (RememberedIdentities::of(&context.around)?, project_root(directory));
    // Its hook and its tools begin at the same time.
    let _turn = remembered.turn().await?;
    let known = remembered.known(&place, name)?;
    let owner = user.agent.owner_name();
    // First, so that a server that does not answer is not taken for a token that is missing.
    let server = context.client()?.health().await?.value.server_id;
    let named = agent(&context, coding, &place, Some(&owner), known.as_ref()).await?;
    if !context.speaks_as_agent() {
        remembered.put(&place, name, ClientEntry::of(named.handle.clone(), server))?;
    }
    Ok(Some(named.handle))
}

/// What a new agent would be called, at the `number`th attempt.
pub(crate) fn proposed(
    context: &Context,
    coding: CodingAgent,
    directory: &Path,
    owner: Option<&OwnerName>,
    number: u32,
) -> Result<AgentHandle, Failure> {
    let owner = match owner {
        Some(owner) => owner.clone(),
        None => default_owner(context)?,
    };
    let place = directory.file_name().unwrap_or_default().to_string_lossy();
    let name = fit(&format!("{}-{place}", coding.as_str()), coding.as_str());
    let name = if number > 1 { format!("{name}-{number}") } else { name };
    format!("@{owner}.{name}").parse().map_err(|error| Failure::local(format!("the agent's name: {error}")))
}

/// Whose agents speak here already, else the only owner whose token is saved, else the person who is logged in.
pub(crate) fn default_owner(context: &Context) -> Result<OwnerName, Failure> {
    if let Some(identity) = context.identity()? {
        return Ok(identity.handle.owner_name());
    }
    let file = context.tokens_file();
    if let Some((owner, _)) = identity::only_owner_credential(&context.server()?, file.as_ref())? {
        return Ok(owner);
    }
    let login = ["USER", "LOGNAME"].iter().find_map(|name| context.around.var(name));
    let home = || Some(Path::new(&context.around.var("HOME")?).file_name()?.to_string_lossy().into_owned());
    let name = fit(&login.or_else(home).unwrap_or_default(), "me");
    name.parse().map_err(|error| {
        Failure::usage(
            format!("your login name is not valid as an owner name: {error}"),
            "name the owner with --owner NAME",
        )
    })
}

/// A text as the grammar of names takes it: small letters, digits and hyphens.
fn fit(text: &str, otherwise: &str) -> String {
    let mut name = String::new();
    for c in text.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' | '_' => name.push(c),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let name: String = name.trim_matches(['-', '_']).chars().take(NAME_CHARS_MAX).collect();
    let name = name.trim_end_matches(['-', '_']);
    if name.is_empty() { otherwise.to_owned() } else { name.to_owned() }
}

/// Whether a saved token of this agent holds.
pub(crate) async fn speaks(context: &Context, handle: &AgentHandle) -> Result<bool, Failure> {
    let Some(client) = context.saved_client(handle)? else { return Ok(false) };
    match client.expecting(handle.clone()).me().await {
        Ok(_) => Ok(true),
        Err(Error::Network(fault)) if fault.kind == FaultKind::Unproved => Ok(false),
        Err(Error::Refused(refused)) if refused.status == 401 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Sees to it that a token of this agent is saved that holds; an agent that is there already gets a new one. Whether it was made for that; nothing where it was removed for good.
pub(crate) async fn hold(context: &Context, handle: &AgentHandle) -> Result<Option<bool>, Failure> {
    if speaks(context, handle).await? {
        return Ok(Some(false));
    }
    let holder = Holder::Agent(handle.clone());
    if let Some(made) = make(context, handle).await? {
        context.keep_token(&holder, &made.token)?;
        return Ok(Some(true));
    }
    let owner = handle.owner_name();
    match context.configuring_client(Realm::Owner(&owner))?.rotate_token(handle).await {
        Ok(new) => {
            context.keep_token(&holder, &new.token)?;
            Ok(Some(false))
        }
        Err(Error::Refused(refused)) if refused.status == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes an agent that its owner's other agents reach, and that reaches them; none where the name is taken.
pub(crate) async fn make(context: &Context, handle: &AgentHandle) -> Result<Option<CreatedAgent>, Failure> {
    context.check_tokens_file()?;
    let owner = handle.owner_name();
    let client = context.configuring_client(Realm::Owner(&owner))?;
    let mut agent = CreateAgent::new(handle.clone());
    agent.policy = Some(Policy::Allowlist);
    let siblings: AllowEntry =
        format!("@{owner}.*").parse().map_err(|error| Failure::local(format!("the owner: {error}")))?;
    agent.allowlist = vec![siblings];
    match client.create_agent(&agent).await {
        Ok(made) => Ok(Some(made.value)),
        Err(Error::Refused(refused)) if refused.code == "agent_exists" => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_makes_a_name() {
        for (text, name) in [
            ("claude-My Project!", "claude-my-project"),
            ("Zoë O'Neil", "zo-o-neil"),
            ("__x__", "x"),
            ("", "me"),
            ("…", "me"),
            ("a--b", "a-b"),
        ] {
            assert_eq!(fit(text, "me"), name);
        }
        let long = fit(&format!("{}-", "a-".repeat(80)), "me");
        assert!(long.len() <= NAME_CHARS_MAX && long.parse::<OwnerName>().is_ok(), "{long}");
    }
}
