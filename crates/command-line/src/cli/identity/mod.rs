//! The identity of a command's caller, and its token.
//! Must not know: the message.

mod clients;
mod credential;
mod project;
mod remembered;
mod tokens;
mod tokens_file;
mod tree;
mod trusted;

pub(crate) use clients::{
    ClientEntry, Clients, DIRECTORY as OWN_DIRECTORY, RecordedServer, candidates, check_place, nearest,
    server as recorded_server, wakes,
};
pub(crate) use credential::{
    Credential, Realm, TokenSource, agent_credential, configuring_credential, given_token,
    only_owner_credential, owner_credential, remote_credential, saved, saved_elsewhere,
};
pub(crate) use project::{Setting, find as find_in_project_file, write as write_project_file};
pub(crate) use remembered::RememberedIdentities;
pub(crate) use tokens::{Holder, MovedServer};
pub(crate) use tokens_file::TokensFile;
pub(crate) use tree::{main_tree, project as project_root, work_tree, work_trees};
pub(crate) use trusted::TrustList;

use std::path::{Path, PathBuf};

use plenary_kernel::AgentHandle;

use super::{environment::Environment, failure::Failure};

/// The source of an identity, strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// `--as`
    Flag,
    /// `PLENARY_AS`
    Environment,
    /// The nearest `.plenary.toml`, upward from the working directory.
    Project(PathBuf),
    /// The nearest `.plenary/clients.toml` with an entry for the coding agent.
    Client(PathBuf),
    /// An argument that names the subject of the command.
    Argument,
    /// No source names an agent: the person at this machine.
    Person,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag => f.write_str("--as"),
            Self::Environment => f.write_str("PLENARY_AS"),
            Self::Project(path) | Self::Client(path) => write!(f, "{}", path.display()),
            Self::Argument => f.write_str("the argument"),
            Self::Person => f.write_str("no agent is chosen"),
        }
    }
}

/// The files of a directory that set its agent and its project.
pub(crate) fn files_of(directory: &Path) -> [PathBuf; 2] {
    [directory.join(project::FILE), clients::file_in(directory)]
}

/// Rejects files of a directory that cannot be read: nothing in them can be trusted.
pub(crate) fn check_files([project, clients]: &[PathBuf; 2]) -> Result<(), Failure> {
    project::check(project)?;
    clients::check(clients)
}

/// Whether the user has written or trusted the files of a directory, or of one above it, that set an agent; also if they were moved or
/// copied since.
pub(crate) fn had_settings(environment: &Environment, directory: &Path) -> bool {
    let mut files = directory.ancestors().flat_map(files_of);
    TrustList::of(environment).is_ok_and(|trusted| files.any(|file| trusted.has_known(&file)))
}

/// The agent that a command acts as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub handle: AgentHandle,
    pub source: Source,
}

impl Identity {
    /// Whether it is the default person of an owner, for whom the owner's token is valid.
    pub(crate) fn is_person(&self) -> bool {
        self.handle.owner() == self.handle.name()
    }
}

/// The coding agent that runs the command; its entry in `.plenary/clients.toml` names the agent.
pub(crate) const CLIENT_VAR: &str = "PLENARY_CLIENT";
/// The directory in which the session of this coding agent started, from its own variable. The variable of another
/// coding agent does not count: one may have started the other elsewhere.
pub(crate) fn session_directory(environment: &Environment, client: &str) -> Option<PathBuf> {
    let name = match client {
        "claude" => "CLAUDE_PROJECT_DIR",
        "gemini" => "GEMINI_PROJECT_DIR",
        "cursor" => "CURSOR_PROJECT_DIR",
        _ => return None,
    };
    environment.var(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The identity: `--as`, else `PLENARY_AS`, else the entry in `.plenary/clients.toml` of the coding agent in
/// `PLENARY_CLIENT`, else the nearest `.plenary.toml`, else the only connected coding agent, else none.
pub(crate) fn resolve(
    flag: Option<&AgentHandle>,
    environment: &Environment,
) -> Result<Option<Identity>, Failure> {
    let client = environment.var(CLIENT_VAR);
    let session_start = client.as_ref().and_then(|client| session_directory(environment, client));
    match (client, session_start.as_deref().or(environment.directory().map(PathBuf::as_path))) {
        (Some(client), Some(directory)) => resolve_client(flag, environment, &client, directory),
        (Some(_) | None, _) => {
            let directory = environment.directory().map(PathBuf::as_path);
            let named = match named(flag, environment)? {
                Some(named) => Some(named),
                None => of(environment, directory)?,
            };
            let Some(directory) = directory.filter(|_| named.is_none()) else { return Ok(named) };
            let client = clients::only(environment, directory)?;
            Ok(client.map(|(handle, path)| Identity { handle, source: Source::Client(path) }))
        }
    }
}

/// Resolves the identity of a coding agent whose session started in this directory.
pub(crate) fn resolve_client(
    flag: Option<&AgentHandle>,
    environment: &Environment,
    client: &str,
    directory: &Path,
) -> Result<Option<Identity>, Failure> {
    // One coding agent may have started the other: the agent that the outer one speaks as is not the inner one's.
    let is_outer = environment.var(CLIENT_VAR).is_some_and(|outer| outer != client);
    let named = named(flag, environment)?.filter(|named| !is_outer || named.source != Source::Environment);
    if named.is_some() {
        return Ok(named);
    }
    match clients::find(environment, directory, client)? {
        Some((handle, path)) => Ok(Some(Identity { handle, source: Source::Client(path) })),
        None => of(environment, Some(directory)),
    }
}

/// The agent named for this one command.
fn named(flag: Option<&AgentHandle>, environment: &Environment) -> Result<Option<Identity>, Failure> {
    if let Some(handle) = flag {
        return Ok(Some(Identity { handle: handle.clone(), source: Source::Flag }));
    }
    let Some(text) = environment.var("PLENARY_AS") else { return Ok(None) };
    let handle = AgentHandle::of_recipient(&text).map_err(|e| {
        Failure::usage(format!("PLENARY_AS is `{text}`: {e}"), "set it to e.g. @nick.assistant")
    })?;
    Ok(Some(Identity { handle, source: Source::Environment }))
}

/// The agent of a directory.
fn of(environment: &Environment, directory: Option<&Path>) -> Result<Option<Identity>, Failure> {
    let setting = directory.map(|directory| project::find(environment, directory, Setting::Agent));
    let setting = setting.transpose()?.flatten();
    let Some((text, path)) = setting else { return Ok(None) };
    let handle = text.parse().map_err(|error| project::unusable(&path, &format!("its agent: {error}")))?;
    Ok(Some(Identity { handle, source: Source::Project(path) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{failure::Exit, identity::project::FILE as PROJECT_FILE};

    #[test]
    fn flag_wins_over_environment_over_the_nearest_file_upward() {
        let root = tempfile::tempdir().unwrap();
        let (outer, inner) = (root.path().join("a"), root.path().join("a/b/c"));
        std::fs::create_dir_all(&inner).unwrap();
        let home = root.path().join("home").display().to_string();
        let written = |directory: &Path, agent: &str| {
            let environment = Environment::of_test(directory, &[("HOME", &home)]);
            write_project_file(&environment, directory, Setting::Agent, agent).unwrap();
        };
        written(&outer, "@nick.file");
        let handle = |text: &str| text.parse::<AgentHandle>().unwrap();
        let resolved = |flag: Option<&str>, vars: &[(&str, &str)]| {
            let flag = flag.map(handle);
            let vars = [vars, &[("HOME", home.as_str())]].concat();
            resolve(flag.as_ref(), &Environment::of_test(&inner, &vars)).unwrap().unwrap()
        };

        assert_eq!(resolved(Some("@nick.flag"), &[("PLENARY_AS", "@nick.env")]).source, Source::Flag);
        let environment = resolved(None, &[("PLENARY_AS", "@nick.env")]);
        assert_eq!((environment.handle, environment.source), (handle("@nick.env"), Source::Environment));
        let file = resolved(None, &[("PLENARY_AS", "")]);
        assert_eq!(
            (file.handle, file.source),
            (handle("@nick.file"), Source::Project(outer.join(PROJECT_FILE)))
        );

        written(&root.path().join("a/b"), "@nick.nearer");
        assert_eq!(resolved(None, &[]).handle, handle("@nick.nearer"));
    }

    #[test]
    fn no_identity_is_ok_and_an_invalid_handle_is_a_usage_error() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(resolve(None, &Environment::of_test(root.path(), &[])).unwrap(), None);
        let failure =
            resolve(None, &Environment::of_test(root.path(), &[("PLENARY_AS", "nick")])).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
    }

    #[test]
    fn a_coding_agent_that_another_one_starts_does_not_speak_as_the_outer_one() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home").display().to_string();
        let vars = [("HOME", home.as_str()), ("PLENARY_AS", "@nick.claude-one"), (CLIENT_VAR, "claude")];
        let environment = Environment::of_test(root.path(), &vars);
        let spoken = |client| resolve_client(None, &environment, client, root.path()).unwrap();
        assert_eq!(spoken("claude").unwrap().source, Source::Environment);
        assert_eq!(spoken("codex"), None);
    }
}
