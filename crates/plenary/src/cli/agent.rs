//! `plenary agent`: agents, their tokens, and whom they trust, as their owner or the operator sets it.
//! Must not know: what agents say, or how one is hosted.

use std::io::{BufRead, IsTerminal};

use clap::{Args, Subcommand, ValueEnum};
use plenary_client::{Client, Reply};
use plenary_kernel::{AgentHandle, AllowEntry};
use plenary_wire::{
    accounts::{
        self, AgentChanges, AgentMade, AgentPage, EntriesView, NewAgent, NewBlock, NewEntries, PageQuery,
        Policy, Visibility,
    },
    runs::{DISMISS_AGENT, START_AGENT, STOP_AGENT},
};

use super::{
    context::Context,
    failure::Failure,
    host,
    identity::{Holder, Realm},
    input, say,
};
use crate::out::Table;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Set(Setting),
    /// Run an agent on this machine, and serve the server's runs with it
    Host(Box<host::Host>),
}

/// What the owner or the operator sets.
#[derive(Debug, Subcommand)]
pub(crate) enum Setting {
    /// Make an agent, and save its token
    Add(Add),
    /// List the agents
    List,
    /// Show an agent's settings
    Show(Of),
    /// Set what others read of an agent: its name, what it is for, its card
    Edit(Edit),
    /// Set who may reach an agent: only those it lists, or anyone
    Policy {
        /// The agent, e.g. `@nick.assistant`
        handle: AgentHandle,
        /// `allowlist` or `open`
        policy: Policy,
    },
    /// Let an agent change its own trust, or not
    SelfService {
        /// The agent
        handle: AgentHandle,
        switch: Switch,
    },
    /// Add to an agent's allowlist
    Allow {
        /// The agent whose list it is
        handle: AgentHandle,
        /// `@owner.name`, or `@owner.*` for every agent of an owner
        #[arg(required = true)]
        entries: Vec<AllowEntry>,
    },
    /// Take an entry from an agent's allowlist; running sessions go on
    Disallow {
        /// The agent whose list it is
        handle: AgentHandle,
        /// The entry as it stands in the list
        entry: AllowEntry,
    },
    /// Show an agent's allowlist
    Allowlist(Of),
    /// Show whom an agent blocks
    Blocks(Of),
    /// Block someone for an agent: it leaves every session they share, and cannot come back
    Block(Pair),
    /// Lift a block
    Unblock(Pair),
    /// Give an agent a new token, and save it; the old one is dead at once
    RotateToken {
        /// The agent
        handle: AgentHandle,
        /// Print the token too
        #[arg(long)]
        show_token: bool,
    },
    /// Stop an agent that the server runs: what it does is canceled, and it takes nothing until it is started
    Stop(Of),
    /// Start an agent that was stopped; invitations that came meanwhile are answered
    Start(Of),
    /// Let go of an agent that came by `plenary agent host`; hosted once more, it is there again
    Dismiss(Of),
    /// Remove an agent for good; its handle stays taken
    Rm {
        /// The agent
        handle: AgentHandle,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// One agent.
#[derive(Debug, Args)]
pub(crate) struct Of {
    /// The agent, e.g. `@nick.assistant`
    handle: AgentHandle,
}

/// What others read of an agent.
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The agent, e.g. `@nick.assistant`
    handle: AgentHandle,
    /// Its name for people; empty to remove it
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
    /// What it is for, in one line; empty to remove it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// A file with its card, in Markdown (`--card-body`: the text itself); empty to remove it
    #[arg(long, value_name = "FILE", conflicts_with = "card_body")]
    card: Option<std::path::PathBuf>,
    /// Its card, in Markdown; empty to remove it
    #[arg(long, value_name = "MARKDOWN")]
    card_body: Option<String>,
    /// Who may read this: `private`, those whom trust lets talk with it, or `public`, everybody
    #[arg(long, value_parser = ["private", "public"])]
    visibility: Option<String>,
}

/// Who blocks whom.
#[derive(Debug, Args)]
pub(crate) struct Pair {
    /// The agent that blocks
    handle: AgentHandle,
    /// The agent that is blocked
    target: AgentHandle,
}

/// What is told of a new agent.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Its address, e.g. `@nick.assistant`
    handle: AgentHandle,
    /// Who may reach it: `allowlist`, or `open` for anyone [default: allowlist]
    #[arg(long)]
    policy: Option<Policy>,
    /// Add to its allowlist; may be repeated
    #[arg(long, value_name = "ENTRY")]
    allow: Vec<AllowEntry>,
    /// Let it change its own trust
    #[arg(long)]
    self_service: bool,
    /// Print the token too
    #[arg(long)]
    show_token: bool,
}

/// On or off.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Switch {
    /// It may.
    On,
    /// It may not.
    Off,
}

impl Setting {
    fn handle(&self) -> Option<&AgentHandle> {
        match self {
            Self::List => None,
            Self::Add(Add { handle, .. })
            | Self::Show(Of { handle })
            | Self::Edit(Edit { handle, .. })
            | Self::Allowlist(Of { handle })
            | Self::Blocks(Of { handle })
            | Self::Stop(Of { handle })
            | Self::Start(Of { handle })
            | Self::Dismiss(Of { handle })
            | Self::Policy { handle, .. }
            | Self::SelfService { handle, .. }
            | Self::Allow { handle, .. }
            | Self::Disallow { handle, .. }
            | Self::Block(Pair { handle, .. })
            | Self::Unblock(Pair { handle, .. })
            | Self::RotateToken { handle, .. }
            | Self::Rm { handle, .. } => Some(handle),
        }
    }
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    match command {
        Command::Set(setting) => set(context, setting).await,
        Command::Host(args) => host::run(context, *args).await,
    }
}

async fn set(context: &Context, setting: Setting) -> Result<(), Failure> {
    let owner = setting.handle().map(AgentHandle::owner_name);
    let client = context.configuring_client(owner.as_ref().map_or(Realm::Everything, Realm::Owner))?;
    let out = context.out;
    match setting {
        Setting::Add(args) => add(context, &client, args).await,
        Setting::List => {
            let mut table = Table::new(&["AGENT", "POLICY", "ALLOWLIST"]);
            let take = |page: &AgentPage| {
                for agent in &page.agents {
                    let policy = agent.policy.to_string();
                    table.row([agent.handle.as_str(), &policy, &say::entries(&agent.allowlist)]);
                }
            };
            let ask = async |at: Option<&str>| {
                client.call(&accounts::AGENT_LIST, &[], &PageQuery::at(at), &()).await
            };
            context.pages(ask, |page| page.next_cursor.as_ref(), take).await?;
            context.table(&table, "no agents yet; make one with `plenary agent add @owner.name`")
        }
        Setting::Allowlist(Of { handle }) => {
            let reply = client.call(&accounts::AGENT_ALLOWLIST, &[&handle], &(), &()).await?;
            context.answer(&reply, |list| print_entries(context, list))
        }
        Setting::Blocks(Of { handle }) => {
            let ask = async |at: Option<&str>| {
                client.call(&accounts::AGENT_BLOCKS, &[&handle], &PageQuery::at(at), &()).await
            };
            say::blocks(context, ask).await
        }
        Setting::Show(Of { handle }) => {
            let reply = client.call(&accounts::AGENT_GET, &[&handle], &(), &()).await?;
            context.answer(&reply, |agent| say::agent(&out, agent))
        }
        Setting::Edit(args) => edit(context, &client, args).await,
        Setting::Policy { handle, policy } => {
            let changes = AgentChanges { policy: Some(policy), ..AgentChanges::default() };
            change(context, &client, &handle, &changes).await
        }
        Setting::SelfService { handle, switch } => {
            let self_service = Some(matches!(switch, Switch::On));
            let changes = AgentChanges { self_service, ..AgentChanges::default() };
            change(context, &client, &handle, &changes).await
        }
        Setting::Allow { handle, entries } => {
            let reply = client.call(&accounts::AGENT_ALLOW, &[&handle], &(), &NewEntries { entries }).await?;
            context.answer(&reply, |list| print_entries(context, list))
        }
        Setting::Disallow { handle, entry } => {
            let reply = client.call(&accounts::AGENT_DISALLOW, &[&handle, &entry], &(), &()).await?;
            context.answer(&reply, |list| print_entries(context, list))
        }
        Setting::Block(Pair { handle, target }) => {
            let block = NewBlock { handle: target.clone() };
            let reply = client.call(&accounts::AGENT_BLOCK, &[&handle], &(), &block).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("{handle} blocks {target}"))?))
        }
        Setting::Unblock(Pair { handle, target }) => {
            let reply = client.call(&accounts::AGENT_UNBLOCK, &[&handle, &target], &(), &()).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("{handle} no longer blocks {target}"))?))
        }
        Setting::RotateToken { handle, show_token } => rotate(context, &client, handle, show_token).await,
        Setting::Stop(Of { handle }) => {
            let reply = client.call(&STOP_AGENT, &[&handle], &(), &()).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("stopped {handle}"))?))
        }
        Setting::Start(Of { handle }) => {
            let reply = client.call(&START_AGENT, &[&handle], &(), &()).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("started {handle}"))?))
        }
        Setting::Dismiss(Of { handle }) => {
            let reply = client.call(&DISMISS_AGENT, &[&handle], &(), &()).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("{handle} is none of the server's any more"))?))
        }
        Setting::Rm { handle, yes } => remove(context, &client, &handle, yes).await,
    }
}

/// Makes an agent and saves its token; whether that was saved comes beside it.
pub(super) async fn make(
    context: &Context,
    client: &Client,
    agent: &NewAgent,
) -> Result<(Reply<AgentMade>, Result<(), Failure>), Failure> {
    context.check_tokens_file()?;
    let reply = client.call(&accounts::AGENT_CREATE, &[], &(), agent).await?;
    let kept = context.keep_token(&Holder::Agent(reply.handle.clone()), &reply.token);
    Ok((reply, kept))
}

/// That a new agent is out of everybody's reach, where it is.
pub(super) fn note_reach(context: &Context, made: &AgentMade) {
    if made.policy == Policy::Allowlist && made.allowlist.is_empty() {
        context.out.note(&format!(
            "nobody can reach it yet, nor it anybody: `plenary agent allow {} @owner.name`, or policy open",
            made.handle
        ));
    }
}

async fn add(context: &Context, client: &Client, args: Add) -> Result<(), Failure> {
    let mut agent = NewAgent::new(args.handle);
    agent.policy = args.policy;
    agent.allowlist = args.allow;
    agent.self_service = args.self_service.then_some(true);
    let (reply, kept) = make(context, client, &agent).await?;
    context.answer(&reply, |made| {
        note_reach(context, made);
        let line = if args.show_token { &made.token } else { made.handle.as_str() };
        Ok(context.out.line(line)?)
    })?;
    kept
}

async fn change(
    context: &Context,
    client: &Client,
    handle: &AgentHandle,
    changes: &AgentChanges,
) -> Result<(), Failure> {
    let reply = client.call(&accounts::AGENT_UPDATE, &[handle], &(), changes).await?;
    context.answer(&reply, |agent| say::agent(&context.out, agent))
}

async fn edit(context: &Context, client: &Client, args: Edit) -> Result<(), Failure> {
    let card = args.card.as_deref().map(input::file).transpose()?.or(args.card_body);
    let text = |text: Option<String>| text.map(|text| Some(text).filter(|text| !text.is_empty()));
    let changes = AgentChanges {
        display_name: text(args.display_name),
        description: text(args.description),
        card_body: text(card),
        visibility: args.visibility.map(|word| match word.as_str() {
            "public" => Visibility::Public,
            _ => Visibility::Private,
        }),
        ..AgentChanges::default()
    };
    change(context, client, &args.handle, &changes).await
}

pub(super) fn print_entries(context: &Context, list: &EntriesView) -> Result<(), Failure> {
    if list.entries.is_empty() {
        context.out.note("the allowlist is empty");
    }
    list.entries.iter().try_for_each(|entry| context.out.line(entry.as_str()))?;
    Ok(())
}

async fn rotate(
    context: &Context,
    client: &Client,
    handle: AgentHandle,
    show_token: bool,
) -> Result<(), Failure> {
    context.check_tokens_file()?;
    let reply = client.call(&accounts::AGENT_ROTATE_TOKEN, &[&handle], &(), &()).await?;
    let kept = context.keep_token(&Holder::Agent(handle.clone()), &reply.token);
    context.answer(&reply, |new| {
        let line = if show_token { &new.token } else { handle.as_str() };
        Ok(context.out.line(line)?)
    })?;
    kept
}

async fn remove(context: &Context, client: &Client, handle: &AgentHandle, yes: bool) -> Result<(), Failure> {
    if !yes {
        confirm(context, handle)?;
    }
    let reply = client.call(&accounts::AGENT_DELETE, &[handle], &(), &()).await?;
    if let Some(file) = context.tokens_file() {
        let server = context.server()?;
        file.change(|tokens| tokens.remove(&server, &Holder::Agent(handle.clone())))?;
    }
    context.answer(&reply, |_| Ok(context.out.line(&format!("removed {handle}"))?))
}

fn confirm(context: &Context, handle: &AgentHandle) -> Result<(), Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::usage(
            "removing an agent is for good, and nobody is here to confirm it",
            "add --yes",
        ));
    }
    context.out.ask(&format!("Remove {handle} for good? Its handle stays taken. [y/N] "));
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    match read.map(|_| answer.trim().to_lowercase()).as_deref() {
        Ok("y" | "yes") => Ok(()),
        Ok(_) | Err(_) => Err(Failure::local("nothing was removed")),
    }
}
