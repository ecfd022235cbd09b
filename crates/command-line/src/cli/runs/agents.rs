//! `plenary runs agents`, `describe`, `configure`: the agents that the server runs.
//! Must not know: runs.

use clap::Args;
use serde_json::{Map, Value};

use crate::{
    cli::{context::Context, failure::Failure, identity::Realm},
    out::{Style, Table, clean, clean_block},
};

/// One agent.
#[derive(Debug, Args)]
pub(crate) struct AgentName {
    /// The agent, as `plenary runs agents` lists it
    #[arg(value_name = "NAME")]
    pub(super) agent: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary runs configure nick.helper model=small temperature=0.2")]
pub(crate) struct Configure {
    #[command(flatten)]
    which: AgentName,
    /// An argument and its value, JSON or text; the value null removes the argument
    #[arg(required = true, value_name = "KEY=VALUE")]
    args: Vec<String>,
}

pub(super) async fn list(context: &Context) -> Result<(), Failure> {
    let reply = super::client(context)?.described_agents().await?;
    context.answer(&reply, |agents| {
        let mut table = Table::new(&["NAME", "PATH", "STATE", "PURPOSE"]);
        for agent in agents {
            let path = agent.path.as_deref().unwrap_or_default();
            let state = match agent.instances {
                _ if agent.stopped => "stopped",
                Some(0) => "away",
                Some(_) | None => "ready",
            };
            table.row([agent.name.as_str(), path, state, &agent.purpose]);
        }
        context.table(&table, "this server runs no agents")
    })
}

pub(super) async fn describe(context: &Context, which: &AgentName) -> Result<(), Failure> {
    let reply = super::client(context)?.describe_agent(&which.agent).await?;
    context.answer(&reply, |agent| {
        let out = context.out;
        let name = out.paint(Style::Bold, &clean(&agent.name));
        out.line(&format!("{name}: {}", clean_block(&agent.purpose, "    ")))?;
        for operation in &agent.operations {
            let name = out.paint(Style::Green, &clean(&operation.name));
            out.line(&format!("  {name}: {}", clean_block(&operation.description, "      ")))?;
        }
        if let Some(handle) = &agent.handle {
            out.line(&format!("  in sessions: {handle}"))?;
        }
        if agent.stopped {
            out.line("  stopped: it accepts no runs")?;
        }
        match agent.instances {
            Some(0) => {
                let away = "  away: no instance of it is attached; `plenary agent host` attaches one";
                out.line(&out.suggestion(away))?
            }
            Some(instances) => out.line(&format!("  attached: {instances}"))?,
            None => {}
        }
        if !agent.tools.is_empty() {
            out.line(&format!("  tools: {}", clean(&agent.tools.join(", "))))?;
        }
        Ok(())
    })
}

pub(super) async fn configure(context: &Context, args: &Configure) -> Result<(), Failure> {
    let settings = args.args.iter().map(|arg| setting(arg)).collect::<Result<Map<_, _>, _>>()?;
    let client = context.configuring_client(Realm::Everything)?;
    let event = client.configure_agent(&args.which.agent, &settings).await?;
    if context.out.is_json() {
        return Ok(context.out.line(event.json())?);
    }
    Ok(context.out.line(&format!("configured {}", clean(&args.which.agent)))?)
}

fn setting(arg: &str) -> Result<(String, Value), Failure> {
    let (key, value) = arg.split_once('=').ok_or_else(|| {
        Failure::usage(format!("`{arg}` is not KEY=VALUE"), "write KEY=VALUE for each argument")
    })?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((key.to_owned(), value))
}
