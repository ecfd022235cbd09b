//! The agent of a coding agent in a directory: the previous one, the named one, or a new one.
//! Must not know: settings of coding agents.

use std::path::Path;

use plenary_client::{
    Error, FaultKind,
    accounts::{CreateAgent, CreatedAgent, Policy},
};
use plenary_kernel::{AgentHandle, AllowEntry, OwnerName};

use super::coding_agents::CodingAgent;
use crate::cli::{
    context::Context,
    failure::Failure,
    identity::{self, ClientEntry, Clients, Holder, Realm, RememberedIdentities, Source, project_root},
};

/// Longest name that is generated; leaves room for a number.
const NAME_CHARS_MAX: usize = 56;
/// Maximum number of names that are tried if the first is in use.
const NAMES_MAX: u32 = 100;

/// The agent chosen for a coding agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChosenAgent {
    pub(crate) handle: AgentHandle,
    /// Whether it was created just now.
    pub(crate) is_new: bool,
}

/// The chosen agent, created if missing; its token is saved.
pub(crate) async fn agent(
    context: &Context,
    coding: CodingAgent,
    directory: &Path,
    owner: Option<&OwnerName>,
    before: Option<&ClientEntry>,
) -> Result<ChosenAgent, Failure> {
    let chosen = context.identity()?.filter(|identity| identity.source == Source::Flag);
    if let Some(identity) = chosen {
        let handle = identity.handle;
        if has_valid_token(context, &handle).await? {
            return Ok(ChosenAgent { handle, is_new: false });
        }
        let Some(created) = make(context, &handle).await? else {
            return Err(Failure::auth(
                format!("{handle} already exists, and no valid token of it is saved here"),
                format!(
                    "save its token with `plenary token add {handle}`, or leave out --as for a new agent"
                ),
            ));
        };
        context.save_token(&Holder::Agent(handle.clone()), &created.token)?;
        return Ok(ChosenAgent { handle, is_new: true });
    }
    if let Some(before) = before
        && owner.is_none_or(|owner| *owner == before.agent.owner_name())
    {
        let handle = before.agent.clone();
        if has_valid_token(context, &handle).await? {
            return Ok(ChosenAgent { handle, is_new: false });
        }
        // On another server, an agent of that name may belong to somebody else.
        let server = context.client()?.health().await?.value.server_id;
        if server.is_some()
            && server == before.server
            && let Some(is_new) = ensure_token(context, &handle).await?
        {
            return Ok(ChosenAgent { handle, is_new });
        }
    }
    for number in 1..=NAMES_MAX {
        let handle = proposed(context, coding, directory, owner, number)?;
        if let Some(created) = make(context, &handle).await? {
            context.save_token(&Holder::Agent(handle.clone()), &created.token)?;
            return Ok(ChosenAgent { handle, is_new: true });
        }
    }
    Err(Failure::local_with("every suitable name is in use", "name the agent with `--as @owner.name`"))
}

/// The agent for a coding agent with user settings in this directory: created and recorded at the first start there.
/// `None` if no user settings are written for the coding agent.
pub(crate) async fn first_use(
    context: &Context,
    coding: CodingAgent,
    directory: &Path,
) -> Result<Option<AgentHandle>, Failure> {
    let name = coding.as_str();
    let Some(user) = Clients::of_user(&context.environment)?.0.remove(name) else { return Ok(None) };
    let context = context.silent_in(directory);
    let (remembered, root) = (RememberedIdentities::of(&context.environment)?, project_root(directory));
    // The hook and the MCP server start at the same time.
    let _lock = remembered.lock_creation().await?;
    let known = remembered.known(&root, name)?;
    let owner = user.agent.owner_name();
    // Check the server first, so that an unreachable server is not mistaken for a missing token.
    let server = context.client()?.health().await?.value.server_id;
    let chosen = agent(&context, coding, &root, Some(&owner), known.as_ref()).await?;
    if !context.speaks_as_agent() {
        let entry = super::with_server(&context, ClientEntry::of(chosen.handle.clone(), server))?;
        remembered.put(&root, name, entry)?;
    }
    Ok(Some(chosen.handle))
}

/// The name for a new agent, at the `number`th attempt.
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
    let base_name = directory.file_name().unwrap_or_default().to_string_lossy();
    let name = fit(&format!("{}-{base_name}", coding.as_str()), coding.as_str());
    let name = if number > 1 { format!("{name}-{number}") } else { name };
    format!("@{owner}.{name}").parse().map_err(|error| Failure::local(format!("the agent's name: {error}")))
}

/// The owner of the directory's agent, else the only owner with a saved token, else the login name. The operator, who saves the
/// tokens of others too, is such an owner only if all agents with saved tokens are that owner's.
pub(crate) fn default_owner(context: &Context) -> Result<OwnerName, Failure> {
    if let Some(identity) = context.identity()? {
        return Ok(identity.handle.owner_name());
    }
    let (file, server) = (context.tokens_file(), context.server()?);
    if let Some((owner, _)) = identity::only_owner_credential(&server, file.as_ref())?
        && is_own(context, &owner)?
    {
        return Ok(owner);
    }
    let login = ["USER", "LOGNAME"].iter().find_map(|name| context.environment.var(name));
    let home =
        || Some(Path::new(&context.environment.var("HOME")?).file_name()?.to_string_lossy().into_owned());
    let name = fit(&login.or_else(home).unwrap_or_default(), "me");
    name.parse().map_err(|error| {
        Failure::usage(
            format!("your login name is not valid as an owner name: {error}"),
            "name the owner with --owner NAME",
        )
    })
}

/// Whether the saved token of the only owner is that of the person at this machine.
fn is_own(context: &Context, owner: &OwnerName) -> Result<bool, Failure> {
    let (file, server) = (context.tokens_file(), context.server()?);
    let environment = &context.environment;
    if identity::configuring_credential(None, Realm::Server, &server, file.as_ref(), environment).is_err() {
        return Ok(true);
    }
    let Some(tokens) = file.map(|file| file.load()).transpose()? else { return Ok(true) };
    let tokens = tokens.of(&server);
    let mut owners = tokens.agents().map(AgentHandle::owner_name).peekable();
    Ok(owners.peek().is_some() && owners.all(|one| one == *owner))
}

/// The text as a valid name: lower-case letters, digits and hyphens.
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

/// Whether a saved token of this agent is valid.
pub(crate) async fn has_valid_token(context: &Context, handle: &AgentHandle) -> Result<bool, Failure> {
    let Some(client) = context.saved_client(handle)? else { return Ok(false) };
    match client.expecting(handle.clone()).me().await {
        Ok(_) => Ok(true),
        Err(Error::Network(fault)) if fault.kind == FaultKind::Unproved => Ok(false),
        Err(Error::Refused(refused)) if refused.status == 401 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Ensures that a valid token of this agent is saved; an existing agent gets a new one. Returns whether the agent was
/// created; `None` if it was deleted for good.
pub(crate) async fn ensure_token(context: &Context, handle: &AgentHandle) -> Result<Option<bool>, Failure> {
    if has_valid_token(context, handle).await? {
        return Ok(Some(false));
    }
    let holder = Holder::Agent(handle.clone());
    if let Some(created) = make(context, handle).await? {
        context.save_token(&holder, &created.token)?;
        return Ok(Some(true));
    }
    let owner = handle.owner_name();
    match context.configuring_client(Realm::Owner(&owner))?.rotate_token(handle).await {
        Ok(new) => {
            context.save_token(&holder, &new.token)?;
            Ok(Some(false))
        }
        Err(Error::Refused(refused)) if refused.status == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Creates an agent that its owner's other agents can contact, and that can contact them; `None` if the name is in use.
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
        Ok(created) => Ok(Some(created.value)),
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
