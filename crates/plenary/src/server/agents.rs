//! The agents that this server runs, from `[runs]` and `[agents.NAME]` in `plenary.toml` (wire.md D.8). Each kind of
//! agent has one arm here.
//! Must not know: how an agent runs.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use plenary_accounts::{HostedAgent, Policy};
use plenary_hosts::{HostContext, connected::INSTANCES_PER_OWNER_MAX, time_text};
use plenary_kernel::{AgentHandle, AllowEntry};
use plenary_participation::{Answers, Settings as Part};
use plenary_runs::{Agent, Echo, Quotas, Registry, RunLimits, Runner, limits::DEPTH_MAX};
use serde::Deserialize;
use toml::Table;

use crate::duration::parse_duration;

/// The default owner of agents.
const OWNER: &str = "plenary";
/// The built-in agent.
const ECHO: &str = "echo";

/// `[runs]` in `plenary.toml`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RunsTable {
    /// Owner of agents that name none [default: plenary]
    owner: Option<String>,
    /// Whether to run the built-in agent `echo` [default: true]
    echo: Option<bool>,
    /// Maximum number of concurrent runs of all owners [default: 4096]
    runs_max: Option<usize>,
    /// Maximum number of concurrent runs of one owner [default: 1024]
    runs_per_owner_max: Option<usize>,
    /// Maximum number of one owner's runs that wait for an earlier run of their thread [default: 8192]
    queued_runs_per_owner_max: Option<usize>,
    /// Maximum number of live streams and long polls of one owner [default: 1024]
    streams_per_owner_max: Option<usize>,
    /// Maximum number of attached instances of one owner's agents [default: 256]
    instances_per_owner_max: Option<usize>,
    #[serde(flatten)]
    limits: LimitsTable,
    #[serde(flatten)]
    part: PartTable,
}

impl RunsTable {
    /// The limits of each owner.
    fn quotas(&self) -> Quotas {
        let default = Quotas::default();
        Quotas {
            runs_max: self.runs_max.unwrap_or(default.runs_max),
            runs_per_owner_max: self.runs_per_owner_max.unwrap_or(default.runs_per_owner_max),
            queued_runs_per_owner_max: self
                .queued_runs_per_owner_max
                .unwrap_or(default.queued_runs_per_owner_max),
            streams_per_owner_max: self.streams_per_owner_max.unwrap_or(default.streams_per_owner_max),
        }
    }

    /// The maximum number of attached instances of one owner's agents.
    pub(super) fn instances_per_owner_max(&self) -> usize {
        self.instances_per_owner_max.unwrap_or(INSTANCES_PER_OWNER_MAX)
    }
}

/// How agents take part in sessions: in `[runs]` for all agents, in an agent's table for that one.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct PartTable {
    /// Which messages it answers: `mentioned` or `always` [default: mentioned]
    answers: Option<String>,
    /// Maximum number of this server's agents in the chain of messages that it answers [default: 8]
    hops_max: Option<u32>,
    /// Maximum number of answers per minute to one other participant in a session [default: 30]
    messages_per_minute_max: Option<u32>,
}

impl PartTable {
    /// These values; an absent value is taken from `others`.
    fn over(&self, others: Part) -> anyhow::Result<Part> {
        let answers = match self.answers.as_deref() {
            None => others.answers,
            Some("mentioned") => Answers::Mentioned,
            Some("always") => Answers::Always,
            Some(other) => bail!("`answers` must be mentioned or always, not {other:?}"),
        };
        let hops_max = self.hops_max.unwrap_or(others.hops_max);
        if hops_max > DEPTH_MAX {
            bail!("`hops_max` must be at most {DEPTH_MAX}");
        }
        let messages_per_minute_max = self.messages_per_minute_max.unwrap_or(others.messages_per_minute_max);
        Ok(Part { answers, hops_max, messages_per_minute_max })
    }
}

/// The limits of one run: in `[runs]` for all agents, in an agent's table for that one.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct LimitsTable {
    /// Maximum running time, without the time in which it waits for input [default: 1h]
    #[serde(deserialize_with = "time_text")]
    time_max: Option<String>,
    /// Maximum time of one wait for input [default: 168h]
    #[serde(deserialize_with = "time_text")]
    waiting_max: Option<String>,
    /// Maximum number of events [default: 100000]
    events_max: Option<u64>,
    /// Maximum bytes of events and artifacts [default: 268435456]
    #[serde(rename = "octets_max")]
    bytes_max: Option<u64>,
}

impl LimitsTable {
    /// These values; an absent value is taken from `others`.
    fn over(&self, others: RunLimits) -> anyhow::Result<RunLimits> {
        let time = |name: &str, text: &Option<String>, other| match text {
            Some(text) => parse_duration(text).map_err(|why| anyhow::anyhow!("`{name}`: {why}")),
            None => Ok(other),
        };
        let time_max = time("time_max", &self.time_max, others.time_max)?;
        if time_max.is_zero() {
            bail!("`time_max` must be more than 0");
        }
        let events_max = self.events_max.unwrap_or(others.events_max);
        if events_max == 0 {
            bail!("`events_max` must be more than 0");
        }
        Ok(RunLimits {
            time_max,
            waiting_max: time("waiting_max", &self.waiting_max, others.waiting_max)?,
            events_max,
            bytes_max: self.bytes_max.unwrap_or(others.bytes_max),
        })
    }
}

/// `[agents.NAME]` in `plenary.toml`: the settings of every kind, and the remaining ones, which belong to the kind.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct AgentTable {
    kind: String,
    owner: Option<String>,
    purpose: Option<String>,
    /// Who may contact it: `allowlist` or `open` [default: allowlist]
    policy: Option<Policy>,
    /// Its allowlist [default: the agents of its owner]
    #[serde(default)]
    allowlist: Vec<AllowEntry>,
    #[serde(flatten)]
    limits: LimitsTable,
    #[serde(flatten)]
    part: PartTable,
    #[serde(flatten)]
    rest: Table,
}

/// The kinds that run a program of this machine, in a directory.
const PROGRAMS: [&str; 2] = ["exec", "acp"];
/// Their setting for the directory.
const DIRECTORY: &str = "directory";

impl AgentTable {
    /// Resolves the program's directory below this one, which is also the default: never where the server happens to be
    /// started.
    pub(super) fn run_below(&mut self, directory: &Path) {
        if !PROGRAMS.contains(&self.kind.as_str()) {
            return;
        }
        let named = match self.rest.get(DIRECTORY) {
            None => directory.to_owned(),
            Some(toml::Value::String(named)) => directory.join(named),
            // The kind's own reader rejects a value that is not text.
            Some(_) => return,
        };
        self.rest.insert(DIRECTORY.to_owned(), named.display().to_string().into());
    }

    /// The trust settings of a new account: by default the agents of its owner may contact it.
    fn account(&self, handle: &AgentHandle) -> anyhow::Result<(Policy, Vec<AllowEntry>)> {
        let policy = self.policy.unwrap_or_default();
        let mut allowlist = self.allowlist.clone();
        if policy == Policy::Allowlist && allowlist.is_empty() {
            allowlist.push(format!("@{}.*", handle.owner()).parse()?);
        }
        Ok((policy, allowlist))
    }
}

/// Every configured agent, and how each takes part in sessions.
#[derive(Debug, Default, Clone)]
pub(crate) struct Agents {
    pub(crate) registry: Registry,
    /// The limits of each owner.
    pub(crate) quotas: Quotas,
    pub(crate) hosted: Vec<HostedAgent>,
    pub(crate) parts: HashMap<AgentHandle, Part>,
    /// The limits of runs of agents that attach by themselves.
    pub(crate) limits: RunLimits,
    pub(crate) part: Part,
}

impl Agents {
    fn add(&mut self, agent: Agent, account: Option<(Policy, Vec<AllowEntry>)>, part: Part) -> Agent {
        self.hosted.push(HostedAgent { handle: agent.handle.clone(), account });
        self.parts.insert(agent.handle.clone(), part);
        agent
    }
}

/// Reads every configured agent.
pub(super) fn agents(
    runs: &RunsTable,
    tables: &BTreeMap<String, AgentTable>,
    around: &HostContext,
) -> anyhow::Result<Agents> {
    let limits = runs.limits.over(RunLimits::default()).context("[runs]")?;
    let default_owner = runs.owner.as_deref().unwrap_or(OWNER);
    let handle = |name: &str, owner: Option<&str>| -> anyhow::Result<AgentHandle> {
        let owner = owner.unwrap_or(default_owner);
        format!("@{owner}.{name}").parse().context("the agent's name or owner is not valid")
    };
    let part = runs.part.over(Part::default()).context("[runs]")?;
    let (mut all, mut agents) =
        (Agents { quotas: runs.quotas(), limits, part, ..Agents::default() }, Vec::new());
    for (name, table) in tables {
        let mut agent_of_table = || {
            let limits = table.limits.over(limits)?;
            let handle = handle(name, table.owner.as_deref())?;
            let runner = runner(table, &handle, around)?;
            let agent = Agent::new(handle.clone(), runner, limits);
            // An agent that attaches by itself needs a token, and so an account that somebody created.
            let account = (table.kind != "connected").then(|| table.account(&handle));
            let account = account.transpose()?;
            if account.is_none() && (table.policy.is_some() || !table.allowlist.is_empty()) {
                bail!(
                    "of an agent of kind `connected`, `policy` and `allowlist` are in its account: set them with \
                     `plenary agent policy` and `plenary agent allow`"
                );
            }
            anyhow::Ok(all.add(agent, account, table.part.over(part)?))
        };
        agents.push(agent_of_table().with_context(|| format!("[agents.{name}]"))?);
    }
    if runs.echo.unwrap_or(true) && !tables.contains_key(ECHO) {
        // Nobody configured it, so it has no account to be found by: it takes part in sessions once it is given one.
        let handle = handle(ECHO, None).context("[runs]")?;
        let agent = Agent::new(handle, Arc::new(Echo::default()), limits).open();
        agents.push(all.add(agent, None, part));
    }
    all.registry = Registry::new(agents)?;
    Ok(all)
}

/// The runner for agents of this kind.
fn runner(table: &AgentTable, handle: &AgentHandle, around: &HostContext) -> anyhow::Result<Arc<dyn Runner>> {
    match table.kind.as_str() {
        "echo" => {
            nothing_more(&table.rest)?;
            let own = table.purpose.as_ref().map(Echo::with_purpose);
            Ok(Arc::new(own.unwrap_or_default()))
        }
        kind => {
            let mut own = table.rest.clone();
            own.extend(table.purpose.clone().map(|purpose| ("purpose".to_owned(), purpose.into())));
            Ok(plenary_hosts::runner(kind, handle, own, around)?)
        }
    }
}

fn nothing_more(rest: &Table) -> anyhow::Result<()> {
    match rest.keys().next() {
        Some(name) => bail!("{name:?} is not a setting of this kind of agent"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plenary_hosts::{AttachPoint, Launcher, NoTools};

    use super::*;

    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct File {
        runs: RunsTable,
        agents: BTreeMap<String, AgentTable>,
    }

    fn all(text: &str) -> anyhow::Result<Agents> {
        let file: File = toml::from_str(text)?;
        let (attaching, launcher) = (AttachPoint::default(), Launcher::none());
        let around = HostContext { toolbox: Arc::new(NoTools), attaching, launcher, variable: |_| None };
        agents(&file.runs, &file.agents, &around)
    }

    fn read(text: &str) -> anyhow::Result<Registry> {
        Ok(all(text)?.registry)
    }

    #[test]
    fn how_an_agent_takes_part_stands_in_its_table() {
        let text = "[runs]\nhops_max = 2\n[agents.a]\nkind = \"echo\"\nanswers = \"always\"\npolicy = \"open\"\n\
                    allowlist = [\"@nick.*\"]\n[agents.b]\nkind = \"connected\"\nmessages_per_minute_max = 7";
        let Agents { hosted, parts, .. } = all(text).unwrap();
        let account = |handle: &str| {
            let hosted = hosted.iter().find(|hosted| hosted.handle.as_str() == handle).unwrap();
            hosted.account.as_ref().map(|(policy, list)| (*policy, list.len()))
        };
        assert_eq!(account("@plenary.a"), Some((Policy::Open, 1)));
        assert_eq!(account("@plenary.b"), None, "whoever attaches makes its account");
        assert_eq!(account("@plenary.echo"), None, "nobody named it");
        let part = |handle: &str| parts[&handle.parse::<AgentHandle>().unwrap()];
        assert_eq!((part("@plenary.a").answers, part("@plenary.a").hops_max), (Answers::Always, 2));
        assert_eq!((part("@plenary.b").messages_per_minute_max, part("@plenary.echo").hops_max), (7, 2));
    }

    #[test]
    fn a_program_runs_below_the_configuration_that_names_it() {
        let below = |text: &str| {
            let mut table: AgentTable = toml::from_str(text).unwrap();
            table.run_below(Path::new("/etc/p"));
            table.rest.get(DIRECTORY).and_then(toml::Value::as_str).map(str::to_owned)
        };
        assert_eq!(below("kind = \"exec\"").as_deref(), Some("/etc/p"));
        assert_eq!(below("kind = \"acp\"\ndirectory = \"a\"").as_deref(), Some("/etc/p/a"));
        assert_eq!(below("kind = \"exec\"\ndirectory = \"/a\"").as_deref(), Some("/a"));
        assert_eq!(below("kind = \"echo\""), None);
    }

    #[test]
    fn the_echo_agent_is_there_unless_it_is_switched_off() {
        let handles = |text: &str| {
            read(text).unwrap().all().iter().map(|agent| agent.handle.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(handles(""), ["@plenary.echo"]);
        assert_eq!(handles("[runs]\nowner = \"nick\""), ["@nick.echo"]);
        assert!(handles("[runs]\necho = false").is_empty());
        let own = "[runs]\necho = false\n[agents.echo]\nkind = \"echo\"\nowner = \"a\"\n[agents.b]\nkind = \"echo\"";
        assert_eq!(handles(own), ["@plenary.b", "@a.echo"]);
    }

    #[test]
    fn limits_of_an_agent_win_over_those_of_all() {
        let text = "[runs]\ntime_max = 120\nevents_max = 7\n[agents.a]\nkind = \"echo\"\ntime_max = \"5s\"";
        let registry = read(text).unwrap();
        let limits = |name: &str| registry.get(name).unwrap().limits;
        assert_eq!((limits("a").time_max, limits("a").events_max), (Duration::from_secs(5), 7));
        assert_eq!(limits("echo").time_max, Duration::from_secs(120));
    }

    #[test]
    fn what_is_wrong_with_an_agent_is_said() {
        for (text, expected) in [
            ("[agents.a]\nkind = \"magic\"", "magic"),
            ("[agents.a]\nkind = \"exec\"", "[agents.a]: missing field `command`"),
            ("[agents.a]\nkind = \"exec\"\ncommand = []", "`command`"),
            ("[agents.a]\nkind = \"exec\"\ncommand = [\"x\"]\nshell = true", "shell"),
            ("[agents.a]\nkind = \"connected\"\nattach_wait = \"soon\"", "`attach_wait`"),
            ("[agents.a]\nkind = \"remote\"\nurl = \"ftp://x\"", "`url`"),
            ("[agents.a]\nkind = \"echo\"\ncommand = []", "command"),
            ("[agents.A]\nkind = \"echo\"", "[agents.A]"),
            ("[agents.a]\nkind = \"echo\"\ntime_max = \"soon\"", "time_max"),
            ("[runs]\ntime_max = 0", "[runs]: `time_max` must be more than 0"),
            ("[agents.a]\nkind = \"echo\"\ntime_max = \"0s\"", "[agents.a]: `time_max` must be more than 0"),
            ("[agents.a]\nkind = \"echo\"\nevents_max = 0", "[agents.a]: `events_max` must be more than 0"),
            ("[agents.a]\nkind = \"connected\"\nattach_wait = true", "write a time"),
            ("[agents.a]\npurpose = \"x\"", "kind"),
            ("[runs]\necko = true", "ecko"),
            ("[runs]\nhops_max = 33", "hops_max"),
            ("[agents.a]\nkind = \"echo\"\nanswers = \"never\"", "answers"),
            ("[agents.a]\nkind = \"echo\"\npolicy = \"ajar\"", "ajar"),
            ("[agents.a]\nkind = \"connected\"\npolicy = \"open\"", "policy"),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
