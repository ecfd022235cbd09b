//! The agents that this server runs, from `[runs]` and `[agents.NAME]` in `plenary.toml` (wire.md D.8). Each kind of
//! agent has one arm here.
//! Must not know: how an agent runs.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Context as _, bail};
use plenary_hosts::Around;
use plenary_kernel::AgentHandle;
use plenary_runs::{Agent, Echo, Registry, RunLimits, Runner};
use serde::Deserialize;
use toml::Table;

use crate::serve::parse_duration;

/// Whose agents are that say no owner.
const OWNER: &str = "plenary";
/// The built-in agent.
const ECHO: &str = "echo";

/// `[runs]` in `plenary.toml`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RunsTable {
    /// Whose agents are that say no owner [default: plenary]
    owner: Option<String>,
    /// Whether there is the built-in agent `echo` [default: true]
    echo: Option<bool>,
    #[serde(flatten)]
    limits: LimitsTable,
}

/// What one run may take, of all agents in `[runs]` and of one in its own table.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct LimitsTable {
    /// How long it may run, without the time in which it waits for input [default: 1h]
    time_max: Option<String>,
    /// How long it may wait for input at a time [default: 168h]
    waiting_max: Option<String>,
    /// Events [default: 100000]
    events_max: Option<u64>,
    /// Octets of events and artifacts [default: 268435456]
    octets_max: Option<u64>,
}

impl LimitsTable {
    /// These, and where they say nothing the others.
    fn over(&self, others: RunLimits) -> anyhow::Result<RunLimits> {
        let time = |name: &str, text: &Option<String>, other| match text {
            Some(text) => parse_duration(text).map_err(|why| anyhow::anyhow!("`{name}`: {why}")),
            None => Ok(other),
        };
        Ok(RunLimits {
            time_max: time("time_max", &self.time_max, others.time_max)?,
            waiting_max: time("waiting_max", &self.waiting_max, others.waiting_max)?,
            events_max: self.events_max.unwrap_or(others.events_max),
            octets_max: self.octets_max.unwrap_or(others.octets_max),
        })
    }
}

/// `[agents.NAME]` in `plenary.toml`: what every kind has, and the rest, which is the kind's own.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct AgentTable {
    kind: String,
    owner: Option<String>,
    purpose: Option<String>,
    #[serde(flatten)]
    limits: LimitsTable,
    #[serde(flatten)]
    rest: Table,
}

/// Every agent of a configuration.
pub(super) fn registry(
    runs: &RunsTable,
    tables: &BTreeMap<String, AgentTable>,
    around: &Around,
) -> anyhow::Result<Registry> {
    let limits = runs.limits.over(RunLimits::default()).context("[runs]")?;
    let default_owner = runs.owner.as_deref().unwrap_or(OWNER);
    let handle = |name: &str, owner: Option<&str>| -> anyhow::Result<AgentHandle> {
        let owner = owner.unwrap_or(default_owner);
        format!("@{owner}.{name}").parse().context("its name or its owner is none")
    };
    let mut agents = Vec::new();
    for (name, table) in tables {
        let made = || {
            let limits = table.limits.over(limits)?;
            let handle = handle(name, table.owner.as_deref())?;
            let runner = runner(table, &handle, around)?;
            anyhow::Ok(Agent { handle, runner, limits })
        };
        agents.push(made().with_context(|| format!("[agents.{name}]"))?);
    }
    if runs.echo.unwrap_or(true) && !tables.contains_key(ECHO) {
        let handle = handle(ECHO, None).context("[runs]")?;
        agents.push(Agent { handle, runner: Arc::new(Echo::default()), limits });
    }
    Ok(Registry::new(agents)?)
}

/// What carries out the runs of an agent of this kind.
fn runner(table: &AgentTable, handle: &AgentHandle, around: &Around) -> anyhow::Result<Arc<dyn Runner>> {
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
        Some(name) => bail!("{name:?} is no setting of this kind of agent"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plenary_hosts::{Attaching, NoTools};

    use super::*;

    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct File {
        runs: RunsTable,
        agents: BTreeMap<String, AgentTable>,
    }

    fn read(text: &str) -> anyhow::Result<Registry> {
        let file: File = toml::from_str(text)?;
        let around = Around { toolbox: Arc::new(NoTools), attaching: Attaching::default() };
        registry(&file.runs, &file.agents, &around)
    }

    #[test]
    fn the_echo_agent_is_there_unless_it_is_switched_off() {
        let handles =
            |text: &str| read(text).unwrap().iter().map(|agent| agent.handle.to_string()).collect::<Vec<_>>();
        assert_eq!(handles(""), ["@plenary.echo"]);
        assert_eq!(handles("[runs]\nowner = \"nick\""), ["@nick.echo"]);
        assert!(handles("[runs]\necho = false").is_empty());
        let own = "[runs]\necho = false\n[agents.echo]\nkind = \"echo\"\nowner = \"a\"\n[agents.b]\nkind = \"echo\"";
        assert_eq!(handles(own), ["@plenary.b", "@a.echo"]);
    }

    #[test]
    fn limits_of_an_agent_win_over_those_of_all() {
        let text =
            "[runs]\ntime_max = \"2m\"\nevents_max = 7\n[agents.a]\nkind = \"echo\"\ntime_max = \"5s\"";
        let registry = read(text).unwrap();
        let limits = |name: &str| registry.get(name).unwrap().limits;
        assert_eq!((limits("a").time_max, limits("a").events_max), (Duration::from_secs(5), 7));
        assert_eq!(limits("echo").time_max, Duration::from_secs(120));
    }

    #[test]
    fn what_is_wrong_with_an_agent_is_said() {
        for (text, said) in [
            ("[agents.a]\nkind = \"magic\"", "magic"),
            ("[agents.a]\nkind = \"exec\"", "[agents.a]: missing field `command`"),
            ("[agents.a]\nkind = \"exec\"\ncommand = []", "`command`"),
            ("[agents.a]\nkind = \"exec\"\ncommand = [\"x\"]\nshell = true", "shell"),
            ("[agents.a]\nkind = \"connected\"\nattach_wait = \"soon\"", "`attach_wait`"),
            ("[agents.a]\nkind = \"remote\"\nurl = \"ftp://x\"", "`url`"),
            ("[agents.a]\nkind = \"echo\"\ncommand = []", "command"),
            ("[agents.A]\nkind = \"echo\"", "[agents.A]"),
            ("[agents.a]\nkind = \"echo\"\ntime_max = \"soon\"", "time_max"),
            ("[agents.a]\npurpose = \"x\"", "kind"),
            ("[runs]\necko = true", "ecko"),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.contains(said), "{error}");
        }
    }
}
