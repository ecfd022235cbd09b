//! The caller, the project and the server of a command.
//! Must not know: the operation.

use std::path::PathBuf;

use clap::Args;
use plenary_client::{BaseUrl, Client, TokenKind, context::Creator};
use plenary_kernel::OwnerName;

use crate::cli::{
    context::Context,
    failure::Failure,
    identity::{self, Credential, Realm, Setting, Source},
    shell::quoted,
};

/// The flags of every command under `plenary context`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Where and who")]
pub(crate) struct ProjectArgs {
    /// The project [env: PLENARY_PROJECT] [default: the nearest .plenary.toml, see `context init`]
    #[arg(long = "project", id = "in-project", global = true, value_name = "PROJECT")]
    project: Option<String>,
    /// Act as the owner, a human, instead of one of the owner's agents
    #[arg(long, global = true)]
    human: bool,
}

impl ProjectArgs {
    /// `--project` alone.
    pub(super) fn project_flag(&self) -> Option<String> {
        self.project.clone()
    }

    /// The flags as they are given again.
    pub(super) fn flags(&self) -> String {
        let project = self.project.as_deref().map(|project| format!("--project {}", quoted(project)));
        let flags = [project, self.human.then(|| "--human".to_owned())];
        flags.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// The source of a project's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProjectSource {
    /// `--project`
    Flag,
    /// `PLENARY_PROJECT`
    Environment,
    /// The nearest `.plenary.toml` that names one.
    File(PathBuf),
}

/// The caller, server and project of a command.
pub(super) struct ProjectTarget {
    /// A client with the caller's token.
    pub(super) client: Client,
    pub(super) server: BaseUrl,
    /// The actor, if known without a request.
    pub(super) actor: Option<Creator>,
    /// Distinguishes callers on this machine.
    pub(super) voice: String,
    project: Option<String>,
    is_chosen: bool,
}

impl ProjectTarget {
    /// Resolves the token and the project, without a request to the server.
    pub(super) fn of(context: &Context, args: &ProjectArgs) -> Result<Self, Failure> {
        let (client, actor) = speaker(context, args.human)?;
        let voice = match (&actor, context.used()) {
            (Some(actor), _) => actor.id.clone(),
            (None, Some((_, credential))) => fingerprint(&credential),
            (None, None) => String::new(),
        };
        let is_chosen = args.project.is_some();
        let project = project_of(context, args)?.map(|(project, _)| project);
        Ok(Self { client, server: context.server()?, actor, voice, project, is_chosen })
    }

    /// The project; an error if there is none.
    pub(super) fn project(&self) -> Result<&str, Failure> {
        self.project.as_deref().ok_or_else(|| {
            Failure::usage(
                "no project is chosen",
                "bind this directory to a project with `plenary context init PROJECT`, or add --project PROJECT",
            )
        })
    }

    /// The project of `--project`, for a command that otherwise covers all.
    pub(super) fn project_if_chosen(&self) -> Option<&str> {
        self.project.as_deref().filter(|_| self.is_chosen)
    }

    /// The project, if known.
    pub(super) fn project_if_any(&self) -> Option<&str> {
        self.project.as_deref()
    }
}

/// `--project`, else `PLENARY_PROJECT`, else the nearest `.plenary.toml` that names one.
pub(super) fn project_of(
    context: &Context,
    args: &ProjectArgs,
) -> Result<Option<(String, ProjectSource)>, Failure> {
    if let Some(project) = &args.project {
        return Ok(Some((project.clone(), ProjectSource::Flag)));
    }
    if let Some(project) = context.environment.var("PLENARY_PROJECT") {
        return Ok(Some((project, ProjectSource::Environment)));
    }
    let Some(directory) = context.environment.directory() else { return Ok(None) };
    let setting = identity::find_in_project_file(&context.environment, directory, Setting::Project)?;
    Ok(setting.map(|(project, path)| (project, ProjectSource::File(path))))
}

/// A client with the token of an owner or the operator, for operations that only they may do: the owner of the named agent
/// if an agent is named.
pub(super) fn governing_client(context: &Context) -> Result<Client, Failure> {
    let owner = context.identity()?.map(|identity| identity.handle.owner_name());
    context.configuring_client(owner.as_ref().map_or(Realm::Everything, Realm::Owner))
}

fn actor(id: String, kind: &str) -> Creator {
    Creator { id, kind: kind.to_owned(), ..Creator::default() }
}

/// The actor follows the token: an explicit token wins, then the named agent, then the only owner with a saved
/// token.
fn speaker(context: &Context, human: bool) -> Result<(Client, Option<Creator>), Failure> {
    let identity = context.identity()?;
    if human {
        let owner = match &identity {
            Some(identity) => Some(identity.handle.owner_name()),
            None => saved_owner(context)?.map(|(owner, _)| owner),
        };
        let client = context.configuring_client(owner.as_ref().map_or(Realm::Everything, Realm::Owner))?;
        return Ok((client, owner.map(|owner| actor(owner.to_string(), "human"))));
    }
    // An explicitly named agent overrides a token that belongs to no agent; an agent of the directory does not.
    let is_named = identity.as_ref().is_some_and(|identity| !matches!(identity.source, Source::Project(_)));
    let given = context.given_token()?;
    if let Some(given) = given.filter(|given| !is_named && is_not_an_agents(given)) {
        return Ok((context.client_with(given)?, None));
    }
    match context.agent_client() {
        Ok(client) => {
            // A linked network has another name for the agent, which only it knows.
            let identity = identity.filter(|_| context.peer().is_none());
            let actor = identity.map(|identity| actor(identity.handle.to_string(), "agent"));
            Ok((client, actor))
        }
        Err(failure @ Failure::Auth { .. }) if identity.is_none() => match saved_owner(context)? {
            Some((owner, credential)) => {
                let actor = actor(owner.to_string(), "human");
                Ok((context.client_with(credential)?, Some(actor)))
            }
            None => Err(failure),
        },
        Err(failure) => Err(failure),
    }
}

fn is_not_an_agents(given: &Credential) -> bool {
    matches!(given.token.kind(), TokenKind::Operator | TokenKind::Owner)
}

fn saved_owner(context: &Context) -> Result<Option<(OwnerName, Credential)>, Failure> {
    identity::only_owner_credential(&context.server()?, context.tokens_file().as_ref())
}

/// Distinguishes tokens without revealing them.
fn fingerprint(credential: &Credential) -> String {
    let digest = plenary_kernel::json::digest(credential.token.reveal().as_bytes());
    hex::encode(&digest[..4])
}
