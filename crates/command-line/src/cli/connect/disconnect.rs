//! `plenary disconnect`: removes what `connect` wrote, and on request the agent.
//! Must not know: how settings are written; the form of any one of them.

use std::path::Path;

use clap::Args;
use plenary_client::Error;
use plenary_kernel::AgentHandle;
use serde_json::{Value, json};

use super::{
    base, before, codex_trust,
    coding_agents::{CodingAgent, Scope},
    edits::{apply, hand_over_directories, remove_directories, remove_entries},
    ignored, is_elsewhere, launch,
    plan::ProgramCommand,
    planned, turn, working_directory,
};
use crate::cli::{
    context::Context,
    failure::Failure,
    identity::{ClientEntry, Clients, Holder, Realm, RememberedIdentities},
};

#[derive(Debug, Args)]
pub(crate) struct Disconnect {
    /// The coding agent
    #[arg(value_name = "CODING AGENT")]
    coding: CodingAgent,
    /// Also delete the agent permanently, without asking; its handle cannot be used again
    #[arg(long)]
    delete_agent: bool,
    /// Show the changes without writing them
    #[arg(long)]
    dry_run: bool,
}

/// The record of the connection, and where it stands.
struct Connection {
    scope: Scope,
    known: ClientEntry,
    /// The other coding agents of the same record.
    others: Clients,
}

pub(crate) async fn disconnect(context: &Context, args: Disconnect) -> Result<(), Failure> {
    let directory = working_directory(context)?;
    let _turn = turn(context, args.dry_run).await?;
    let Some(connection) = connection(context, args.coding, &directory)? else {
        if context.out.is_json() {
            return Ok(context.out.line(&answer(&args, None, &[]).to_string())?);
        }
        context.out.note(&format!("{} is not connected in this directory", args.coding.title()));
        return Ok(());
    };
    let (known, scope) = (&connection.known, connection.scope);
    let invocation = ProgramCommand {
        program: String::new(),
        variables: Vec::new(),
        arguments: Vec::new(),
        agent: known.agent.to_string(),
        wake: known.wake,
        approvals: known.approvals,
        ask: false,
        http: None,
    };
    let planned = planned(context, args.coding, scope, &directory, &invocation)?;
    let edits = remove_entries(args.coding, base(scope, &directory), &planned, &known.created)?;
    // The agent first: if it cannot be deleted, the command can be repeated.
    if args.delete_agent && !args.dry_run {
        delete_agent(context, known).await?;
    }
    let agent = known.agent.clone();
    let changed = apply(context, &edits, args.dry_run)?;
    if !args.dry_run {
        forget(context, args.coding, connection, &directory).await?;
    }
    report(context, &args, &agent, &changed)
}

/// The connection of a coding agent in the directory, or in the user's settings.
fn connection(
    context: &Context,
    coding: CodingAgent,
    directory: &Path,
) -> Result<Option<Connection>, Failure> {
    let mut others = Clients::load(&context.environment, directory)?;
    let known = match others.0.remove(coding.as_str()) {
        Some(known) => Some(known),
        // The record was deleted with the directory's other files of this program.
        None => RememberedIdentities::of(&context.environment)?.written(directory, coding.as_str())?,
    };
    if let Some(known) = known {
        return Ok(Some(Connection { scope: Scope::Project, known, others }));
    }
    let mut others = Clients::of_user(&context.environment)?;
    let Some(known) = others.0.remove(coding.as_str()) else { return Ok(None) };
    // The agent of this directory, not of the one where it was connected.
    let agent = before(context, coding, Scope::User, directory, None)?;
    let agent = agent.map_or_else(|| known.agent.clone(), |entry| entry.agent);
    Ok(Some(Connection { scope: Scope::User, known: ClientEntry { agent, ..known }, others }))
}

/// Removes the record of the connection, and what was made beside the settings.
async fn forget(
    context: &Context,
    coding: CodingAgent,
    connection: Connection,
    directory: &Path,
) -> Result<(), Failure> {
    let Connection { scope, known, mut others } = connection;
    let base = base(scope, directory);
    remove_directories(base, &known.created);
    hand_over_directories(base, &known.created, &mut others);
    match scope {
        Scope::Project => {
            others.save(&context.environment, directory)?;
            RememberedIdentities::of(&context.environment)?.forget_written(directory, coding.as_str())?;
            ignored::include(&context.environment, directory, &known.excluded)?;
        }
        Scope::User => others.save_of_user(&context.environment)?,
    }
    if !known.trusted.is_empty() {
        // Without Codex, nothing runs the hooks that it trusts.
        let elsewhere = launch::state(context)?;
        let _removed = codex_trust::distrust(coding.tool().program, &known.trusted, &elsewhere).await;
    }
    Ok(())
}

/// Deletes the agent on its server, and removes its token and its directory's entry here. An agent that is gone already counts as
/// deleted.
async fn delete_agent(context: &Context, known: &ClientEntry) -> Result<(), Failure> {
    let (agent, owner) = (&known.agent, known.agent.owner_name());
    if is_elsewhere(context, known).await? {
        return Err(Failure::usage(
            format!("{agent} belongs to another server than {}", context.server()?),
            "name its server with --url",
        ));
    }
    match context.configuring_client(Realm::Owner(&owner))?.delete_agent(agent).await {
        Ok(_) => {}
        Err(Error::Refused(refused)) if refused.status == 404 => {}
        Err(error) => return Err(error.into()),
    }
    let (file, server) = (context.tokens_file_needed()?, context.server()?);
    let holder = Holder::Agent(agent.clone());
    file.change(|tokens| tokens.remove(&server, &holder))?;
    RememberedIdentities::of(&context.environment)?.forget(agent)
}

/// The answer as JSON; without an agent, nothing was connected.
fn answer(args: &Disconnect, agent: Option<&AgentHandle>, changed: &[Value]) -> Value {
    let is_deleted = agent.is_some() && args.delete_agent && !args.dry_run;
    json!({"client": args.coding.as_str(), "agent": agent, "dry_run": args.dry_run, "agent_deleted": is_deleted,
        "files": changed})
}

fn report(
    context: &Context,
    args: &Disconnect,
    agent: &AgentHandle,
    changed: &[Value],
) -> Result<(), Failure> {
    let title = args.coding.title();
    if context.out.is_json() {
        return Ok(context.out.line(&answer(args, Some(agent), changed).to_string())?);
    }
    if args.dry_run {
        let fate = if args.delete_agent { "would be deleted permanently" } else { "would still exist" };
        context.out.note(&format!("nothing was changed; the agent {agent} {fate}"));
        return Ok(());
    }
    context.out.line(&format!("{title} is no longer connected"))?;
    context.out.note(&if args.delete_agent {
        format!("the agent {agent} is deleted permanently")
    } else {
        format!(
            "the agent {agent} and its messages still exist; `plenary agent rm {agent}` deletes it permanently"
        )
    });
    Ok(())
}
