//! `.plenary/clients.toml`: the agent of each coding agent in a directory and below it, and the entries written for
//! it.
//! Must not know: tokens, or what a server answers; the content and place of the entries.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use plenary_client::BaseUrl;
use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};

use super::{
    CLIENT_VAR,
    remembered::RememberedIdentities,
    tree::{directories, project},
    trusted::{self, TrustList},
};
use crate::{
    cli::{atomic, environment::Environment, failure::Failure, settings::File},
    paths,
};

/// The variable by which a command recognises the coding agent that runs it.
const RUNS: [(&str, &str); 2] = [("claude", "CLAUDECODE"), ("gemini", "GEMINI_CLI")];
/// The name of this program's own directory within a directory.
pub(crate) const DIRECTORY: &str = ".plenary";
const FILE: &str = "clients.toml";
/// The content of its ignore file: the directory is private to this machine, so it keeps itself out of version control.
const IGNORE: &str = "*\n";
const HEAD: &str = "# The agent of each coding agent in this directory, and what `plenary connect` wrote for it. No secrets.\n";

const USER_HEAD: &str =
    "# What `plenary connect --user` wrote for each coding agent of this user. No secrets.\n";

/// The entry of a coding agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClientEntry {
    pub agent: AgentHandle,
    /// The scope of its settings: `project` or `user`.
    pub scope: String,
    /// The `server_id` of the agent's server, independent of its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The server's URL, if one was given. Only in this program's own state: no file of a directory names a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The file with that server's certificate authority, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cacert: Option<PathBuf>,
    /// Whether its idle sessions are woken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wake: bool,
    /// How many seconds a person has to answer its permission requests; absent: no requests are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<u64>,
    /// Whether it still asks before it calls a tool of this program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
    /// Whether a plugin provides the settings, so that `connect` wrote none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plugin: bool,
    /// The files and members that `connect` created, as `FILE` or `FILE#PATH`.
    #[serde(default, rename = "made")]
    pub created: Vec<String>,
    /// The lines that exclude created files from version control.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    /// The keys of the hooks that Codex was made to trust.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<String>,
}

impl ClientEntry {
    /// An entry for an agent on a server, without written settings.
    pub(crate) fn of(agent: AgentHandle, server: Option<String>) -> Self {
        let scope = "project".to_owned();
        let (wake, ask, plugin, approvals) = (false, false, false, None);
        let (created, excluded, trusted) = (Vec::new(), Vec::new(), Vec::new());
        let (url, cacert) = (None, None);
        Self { agent, scope, server, url, cacert, wake, approvals, ask, plugin, created, excluded, trusted }
    }
}

/// The server at which a directory was connected, if it was given by its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedServer {
    pub url: BaseUrl,
    /// The file with its certificate authority.
    pub cacert: Option<PathBuf>,
    pub file: PathBuf,
}

/// The file of one directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Clients(pub BTreeMap<String, ClientEntry>);

pub(crate) fn file_in(directory: &Path) -> PathBuf {
    directory.join(DIRECTORY).join(FILE)
}

/// The path of the file for the user's own settings; `None` without a home.
fn user_file(environment: &Environment) -> Option<PathBuf> {
    Some(paths::config_dir(&|name| environment.var(name))?.join(FILE))
}

impl Clients {
    /// Reads a directory's entries; empty if there is no file. Rejects a file that came with the directory: it names an agent,
    /// and files that `disconnect` removes.
    pub(crate) fn load(environment: &Environment, directory: &Path) -> Result<Self, Failure> {
        Ok(read(environment, &file_in(directory))?.unwrap_or_default())
    }

    /// Reads the entries of the user's own settings, which apply in every directory.
    pub(crate) fn of_user(environment: &Environment) -> Result<Self, Failure> {
        let Some(path) = user_file(environment) else { return Ok(Self::default()) };
        let text = File::at(&path).read()?.unwrap_or_default();
        toml::from_str(&text).map_err(|error| unusable(&path, error.message()))
    }

    /// Writes the user's entries; removes the file if there are none.
    pub(crate) fn save_of_user(&self, environment: &Environment) -> Result<(), Failure> {
        let path = user_file(environment).ok_or_else(|| {
            Failure::local_with("there is no home directory", "set HOME or XDG_CONFIG_HOME")
        })?;
        let file = File::at(&path);
        if self.0.is_empty() {
            return if path.exists() { file.remove() } else { Ok(()) };
        }
        let text = toml::to_string(self).map_err(|error| unusable(&path, &error.to_string()))?;
        if let Some(directory) = path.parent() {
            let created = DirBuilder::new().recursive(true).mode(0o700).create(directory);
            created.map_err(|error| unusable(directory, &error.to_string()))?;
        }
        file.replace(&format!("{USER_HEAD}{text}"))
    }

    /// Writes the entries; if there are none, removes the file and its directory.
    pub(crate) fn save(&self, environment: &Environment, directory: &Path) -> Result<(), Failure> {
        let (trusted, path) = (TrustList::of(environment)?, file_in(directory));
        let own = directory.join(DIRECTORY);
        if fs::symlink_metadata(&own).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(unusable(&own, "it is a symbolic link, which is not followed"));
        }
        trusted.check_writable(&path)?;
        atomic::remove_abandoned(&own);
        let ignore = own.join(".gitignore");
        if self.0.is_empty() {
            for file in [&path, &ignore] {
                match fs::remove_file(file) {
                    Err(error) if error.kind() != ErrorKind::NotFound => {
                        return Err(unusable(file, &error.to_string()));
                    }
                    Ok(()) | Err(_) => {}
                }
            }
            // Fails, as intended, if the directory contains another file.
            let _not_empty = fs::remove_dir(&own);
            return trusted.record(&[path]);
        }
        let text = toml::to_string(self).map_err(|error| unusable(&path, &error.to_string()))?;
        fs::create_dir_all(&own).map_err(|error| unusable(&own, &error.to_string()))?;
        // Replaces a link, even a dangling one, instead of following it.
        if fs::symlink_metadata(&ignore).map_or(true, |metadata| metadata.is_symlink()) {
            atomic::replace(&ignore, IGNORE.as_bytes(), 0o666)
                .map_err(|error| unusable(&ignore, &error.to_string()))?;
        }
        let text = format!("{HEAD}{text}");
        trusted.write(&path, &text, || File::at(&path).replace(&text))
    }
}

/// Fails if a directory cannot hold entries, before an agent is created for them.
pub(crate) fn check_place(directory: &Path) -> Result<(), Failure> {
    let own = directory.join(DIRECTORY);
    let made = match fs::create_dir(&own) {
        Ok(()) => fs::remove_dir(&own),
        Err(error) if error.kind() == ErrorKind::AlreadyExists && own.is_dir() => Ok(()),
        Err(error) => Err(error),
    };
    made.map_err(|error| unusable(&own, &error.to_string()))
}

/// The agent of a coding agent, from the nearest file with an entry at or above a directory.
pub(crate) fn find(
    environment: &Environment,
    directory: &Path,
    client: &str,
) -> Result<Option<(AgentHandle, PathBuf)>, Failure> {
    match nearest(environment, directory, client)? {
        Some((connected, directory)) => Ok(Some((connected.agent, file_in(&directory)))),
        None => of_user(environment, directory, client),
    }
}

/// A coding agent's entry in the nearest file that has one, and the directory of that file.
pub(crate) fn nearest(
    environment: &Environment,
    directory: &Path,
    client: &str,
) -> Result<Option<(ClientEntry, PathBuf)>, Failure> {
    for ancestor in directories(directory) {
        if let Some(mut clients) = read(environment, &file_in(&ancestor))?
            && let Some(connected) = clients.0.remove(client)
        {
            return Ok(Some((connected, ancestor)));
        }
    }
    Ok(None)
}

/// The agent recorded here for a coding agent with user settings, and the file that records it.
fn of_user(
    environment: &Environment,
    directory: &Path,
    client: &str,
) -> Result<Option<(AgentHandle, PathBuf)>, Failure> {
    if !Clients::of_user(environment)?.0.contains_key(client) {
        return Ok(None);
    }
    let remembered = RememberedIdentities::of(environment)?;
    let entry = remembered.known(&project(directory), client)?;
    Ok(entry.map(|entry| (entry.agent, remembered.path().to_owned())))
}

/// The agent of the nearest connected directory at or above this one: of the coding agent that runs this command, or
/// of the only one; `None` if there are several.
pub(crate) fn only(
    environment: &Environment,
    directory: &Path,
) -> Result<Option<(AgentHandle, PathBuf)>, Failure> {
    let runs = RUNS.iter().find(|(_, variable)| environment.var(variable).is_some());
    let choose = |clients: &Clients| match runs {
        Some((client, _)) => Some((*client).to_owned()),
        None => clients.0.keys().next().filter(|_| clients.0.len() == 1).cloned(),
    };
    for ancestor in directories(directory) {
        let path = file_in(&ancestor);
        let Some(mut clients) = read(environment, &path)?.filter(|clients| !clients.0.is_empty()) else {
            continue;
        };
        let client = choose(&clients);
        return Ok(client.and_then(|client| Some((clients.0.remove(&client)?.agent, path))));
    }
    match choose(&Clients::of_user(environment)?) {
        Some(client) => of_user(environment, directory, &client),
        None => Ok(None),
    }
}

/// The server of the nearest connected directory at or above this one: that of the agent, if it is one of the directory, else of
/// the coding agent that runs this command, else the one that all share. A file that cannot be used has none: whoever asks for
/// its agent learns why.
pub(crate) fn server(
    environment: &Environment,
    directory: &Path,
    agent: Option<&AgentHandle>,
) -> Option<RecordedServer> {
    let (Clients(mut entries), place) = connected(environment, directory)?;
    let running = environment.var(CLIENT_VAR);
    let running = running.as_deref().or_else(|| {
        RUNS.iter().find(|(_, variable)| environment.var(variable).is_some()).map(|(client, _)| *client)
    });
    if agent.is_some_and(|agent| entries.values().any(|entry| entry.agent == *agent)) {
        entries.retain(|_, entry| Some(&entry.agent) == agent);
    } else if running.is_some_and(|client| entries.contains_key(client)) {
        entries.retain(|client, _| Some(client.as_str()) == running);
    }
    let remembered = RememberedIdentities::of(environment).ok()?;
    let mut given = entries.iter().map(|(client, connected)| {
        let entry = remembered.known(&place, client).ok().flatten();
        entry
            .filter(|entry| entry.agent == connected.agent)
            .and_then(|entry| Some((entry.url?, entry.cacert)))
    });
    let first = given.next()??;
    let is_shared = given.all(|other| other.as_ref() == Some(&first));
    let (url, cacert) = first;
    let file = remembered.path().to_owned();
    url.parse().ok().filter(|_| is_shared).map(|url| RecordedServer { url, cacert, file })
}

/// The entries of the nearest connected directory, and the directory; else those of the user's settings with an agent here.
fn connected(environment: &Environment, directory: &Path) -> Option<(Clients, PathBuf)> {
    for ancestor in directories(directory) {
        match read(environment, &file_in(&ancestor)) {
            Ok(Some(clients)) if !clients.0.is_empty() => return Some((clients, ancestor)),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
    let (mut clients, place) = (Clients::of_user(environment).ok()?, project(directory));
    let remembered = RememberedIdentities::of(environment).ok()?;
    clients.0.retain(|client, entry| match remembered.known(&place, client) {
        Ok(Some(here)) => {
            entry.agent = here.agent;
            true
        }
        Ok(None) | Err(_) => false,
    });
    Some((clients, place))
}

/// The agents of this directory's coding agents, when a command may concern any of them.
pub(crate) fn candidates(environment: &Environment, directory: &Path) -> Vec<AgentHandle> {
    let read_clients = |ancestor: PathBuf| read(environment, &file_in(&ancestor)).ok().flatten();
    let nearest_clients =
        directories(directory).into_iter().filter_map(read_clients).find(|clients| !clients.0.is_empty());
    nearest_clients
        .map(|clients| clients.0.into_values().map(|entry| entry.agent).collect())
        .unwrap_or_default()
}

/// Whether a coding agent's sessions are woken, from the same file.
pub(crate) fn wakes(environment: &Environment, directory: &Path, client: &str) -> Result<bool, Failure> {
    let entry = match nearest(environment, directory, client)? {
        Some((connected, _)) => Some(connected),
        None => Clients::of_user(environment)?.0.remove(client),
    };
    Ok(entry.is_some_and(|entry| entry.wake))
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::usage(
        format!("{} cannot be used: {why}", path.display()),
        "correct it, or move it away and run `plenary connect` again for each coding agent of the directory",
    )
}

fn read(environment: &Environment, path: &Path) -> Result<Option<Clients>, Failure> {
    let Some(text) = text(path)? else { return Ok(None) };
    TrustList::of(environment)?.check(path, &text)?;
    parse(path, &text).map(Some)
}

fn text(path: &Path) -> Result<Option<String>, Failure> {
    trusted::read(path).map_err(|error| unusable(path, &error.to_string()))
}

fn parse(path: &Path, text: &str) -> Result<Clients, Failure> {
    toml::from_str(text).map_err(|error| unusable(path, error.message()))
}

/// Rejects a file that cannot be read, if there is one.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    text(path)?.map_or(Ok(()), |text| parse(path, &text).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(root: &Path) -> Environment {
        Environment::of_test(root, &[("HOME", &root.join("home").display().to_string())])
    }

    fn connected(agent: &str) -> ClientEntry {
        ClientEntry {
            agent: agent.parse().unwrap(),
            scope: "project".into(),
            server: Some("5e".into()),
            url: None,
            cacert: None,
            wake: false,
            approvals: None,
            ask: false,
            plugin: false,
            created: vec!["a.json#/x".into()],
            excluded: Vec::new(),
            trusted: Vec::new(),
        }
    }

    #[test]
    fn two_coding_agents_of_a_directory_are_two_agents_there_and_below() {
        let root = tempfile::tempdir().unwrap();
        let (inner, environment) = (root.path().join("a/b"), environment(root.path()));
        fs::create_dir_all(&inner).unwrap();
        let mut clients = Clients::load(&environment, root.path()).unwrap();
        clients.0.insert("claude".into(), connected("@nick.claude-x"));
        clients.0.insert("codex".into(), connected("@nick.codex-x"));
        clients.save(&environment, root.path()).unwrap();
        assert_eq!(Clients::load(&environment, root.path()).unwrap(), clients);
        assert_eq!(find(&environment, &inner, "codex").unwrap().unwrap().0.as_str(), "@nick.codex-x");
        assert_eq!(find(&environment, &inner, "gemini").unwrap(), None);
        assert_eq!(fs::read_to_string(root.path().join(".plenary/.gitignore")).unwrap(), "*\n");
        let mut nearer = Clients::default();
        nearer.0.insert("codex".into(), connected("@nick.nearer"));
        nearer.save(&environment, &inner).unwrap();
        assert_eq!(find(&environment, &inner, "codex").unwrap().unwrap().0.as_str(), "@nick.nearer");
        assert_eq!(find(&environment, &inner, "claude").unwrap().unwrap().0.as_str(), "@nick.claude-x");
        Clients::default().save(&environment, root.path()).unwrap();
        assert!(!root.path().join(".plenary").exists());
    }

    #[test]
    fn the_server_of_a_directory_is_the_one_whose_url_was_given() {
        let root = tempfile::tempdir().unwrap();
        let (inner, environment) = (root.path().join("a/b"), environment(root.path()));
        fs::create_dir_all(&inner).unwrap();
        let hub = "https://hub.example:7443";
        let remembered = RememberedIdentities::of(&environment).unwrap();
        let mut clients = Clients::default();
        for (client, agent, url) in
            [("claude", "@nick.claude-x", Some(hub)), ("codex", "@nick.codex-x", None)]
        {
            let entry = ClientEntry { url: url.map(str::to_owned), ..connected(agent) };
            remembered.put(root.path(), client, entry).unwrap();
        }
        let url = |environment: &Environment, agent: Option<&str>| {
            let agent = agent.map(|agent| agent.parse().unwrap());
            server(environment, &inner, agent.as_ref()).map(|server| server.url.to_string())
        };
        assert_eq!(url(&environment, None), None, "not connected");
        clients.0.insert("claude".into(), connected("@nick.claude-x"));
        clients.save(&environment, root.path()).unwrap();
        assert_eq!(url(&environment, None).as_deref(), Some(hub));
        clients.0.insert("codex".into(), connected("@nick.codex-x"));
        clients.save(&environment, root.path()).unwrap();
        assert_eq!(url(&environment, None), None, "two servers, and nothing selects one");
        assert_eq!(url(&environment, Some("@nick.claude-x")).as_deref(), Some(hub));
        assert_eq!(url(&environment, Some("@nick.codex-x")), None);
        let home = root.path().join("home").display().to_string();
        let in_claude = Environment::of_test(root.path(), &[("HOME", &home), ("CLAUDECODE", "1")]);
        assert_eq!(url(&in_claude, None).as_deref(), Some(hub));
        let evil = ClientEntry { url: Some("https://evil.example".to_owned()), ..connected("@nick.other") };
        Clients(BTreeMap::from([("claude".to_owned(), evil)])).save(&environment, root.path()).unwrap();
        assert_eq!(url(&environment, None), None, "a file of the directory names no server");
    }

    #[test]
    fn a_broken_file_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(".plenary")).unwrap();
        fs::write(file_in(root.path()), "claude = 1").unwrap();
        assert!(
            matches!(find(&environment(root.path()), root.path(), "claude"), Err(Failure::Auth { .. })),
            "it came with the directory"
        );
        TrustList::of(&environment(root.path())).unwrap().record(&[file_in(root.path())]).unwrap();
        let Err(Failure::Usage { what, .. }) = find(&environment(root.path()), root.path(), "claude") else {
            panic!()
        };
        assert!(what.contains("clients.toml"), "{what}");
    }
}
