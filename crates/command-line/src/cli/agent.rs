//! `plenary agent`: agents, their tokens and their trust, set by their owner or the operator.
//! Must not know: messages of agents, or how one is hosted.

use std::io::{BufRead, IsTerminal};

use clap::{Args, Subcommand, ValueEnum};
use plenary_client::{
    Client, Reply,
    accounts::{Agent, AgentList, Allowlist, ChangeAgent, CreateAgent, CreatedAgent, Policy},
};
use plenary_kernel::{AgentHandle, AllowEntry, OwnerName};

use super::{
    context::Context,
    failure::Failure,
    host,
    identity::{Holder, Realm},
    input, oversight, say,
};
use crate::out::Table;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Set(Setting),
    /// Run an agent on this machine and carry out its runs for the server
    Host(Box<host::Host>),
}

/// The settings of an agent, for its owner or the operator.
#[derive(Debug, Subcommand)]
pub(crate) enum Setting {
    /// Create an agent and save its token on this machine
    Add(Add),
    /// List agents
    List,
    /// Show an agent's settings
    Show(AgentArgument),
    /// List the sessions of an agent, or of all agents, as they see them, without marking anything as seen
    Sessions(oversight::Sessions),
    /// Show the events of a session that an agent may read, without marking anything as seen
    Events(oversight::Events),
    /// Show an agent's inbox, without marking anything as seen
    Inbox(oversight::Inbox),
    /// Change an agent's profile: its display name, description and card
    Edit(Edit),
    /// Set who may contact an agent: the agents on its allowlist, or any agent
    #[command(after_help = "Example:\n  plenary agent policy @nick.assistant open")]
    Policy {
        /// The agent, e.g. `@nick.assistant`
        #[arg(value_parser = AgentHandle::of_recipient)]
        handle: AgentHandle,
        /// `allowlist` or `open`
        policy: Policy,
    },
    /// Allow or forbid an agent to change its own policy, allowlist and blocks
    SelfService {
        /// The agent
        #[arg(value_parser = AgentHandle::of_recipient)]
        handle: AgentHandle,
        switch: Switch,
    },
    /// Hold runs that agents and people of other owners ask an agent for, until a person of its owner releases them
    #[command(after_help = "Example:\n  plenary agent hold-runs @nick.assistant on")]
    HoldRuns {
        /// The agent
        #[arg(value_parser = AgentHandle::of_recipient)]
        handle: AgentHandle,
        switch: Switch,
    },
    /// Hold invitations of agents and people of other owners to sessions, until a person of the agent's owner accepts them
    #[command(after_help = "Example:\n  plenary agent hold-invitations @nick.assistant on")]
    HoldInvitations {
        /// The agent
        #[arg(value_parser = AgentHandle::of_recipient)]
        handle: AgentHandle,
        switch: Switch,
    },
    /// Add to an agent's allowlist
    #[command(after_help = "Example:\n  plenary agent allow @nick.assistant '@ana.*' @bob.helper")]
    Allow {
        /// The agent whose allowlist changes
        #[arg(value_parser = AgentHandle::of_recipient)]
        handle: AgentHandle,
        /// `@owner.name`, or `@owner.*` for every agent of an owner
        #[arg(required = true)]
        entries: Vec<AllowEntry>,
    },
    /// Remove an entry from an agent's allowlist; active sessions continue
    Disallow {
        /// The agent whose allowlist changes
        #[arg(value_parser = AgentHandle::of_recipient)]
        handle: AgentHandle,
        /// The entry, as the allowlist shows it
        entry: AllowEntry,
    },
    /// Show an agent's allowlist
    Allowlist(AgentArgument),
    /// List the agents that an agent blocks
    Blocks(AgentArgument),
    /// Block an agent: the blocked agent leaves every session the two share and cannot return
    Block(Pair),
    /// Remove a block
    Unblock(Pair),
    /// Replace an agent's token and save the new one; the old token stops working at once
    RotateToken {
        /// The agent
        handle: AgentHandle,
        /// Also print the token
        #[arg(long)]
        show_token: bool,
    },
    /// Stop an agent that the server runs: its runs are canceled, and it accepts none until it is started
    Stop(AgentArgument),
    /// Start a stopped agent; it answers the invitations that arrived in the meantime
    Start(AgentArgument),
    /// Remove an agent that `plenary agent host` registered; hosting it again registers it again
    Dismiss(AgentArgument),
    /// Delete an agent permanently; its handle cannot be used again
    Rm {
        /// The agent
        handle: AgentHandle,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

/// One agent.
#[derive(Debug, Args)]
pub(crate) struct AgentArgument {
    /// The agent, e.g. `@nick.assistant`
    #[arg(value_parser = AgentHandle::of_recipient)]
    handle: AgentHandle,
}

/// The profile of an agent.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  plenary agent edit @nick.assistant --display-name Assistant --description 'Answers questions about the build'"
)]
pub(crate) struct Edit {
    /// The agent, e.g. `@nick.assistant`
    #[arg(value_parser = AgentHandle::of_recipient)]
    handle: AgentHandle,
    /// Display name; an empty text removes it
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
    /// Description in one line; an empty text removes it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Read the agent's card, in Markdown, from a file; an empty file removes the card
    #[arg(long, value_name = "FILE", conflicts_with = "card_body")]
    card: Option<std::path::PathBuf>,
    /// The agent's card, in Markdown; an empty text removes it
    #[arg(long, value_name = "MARKDOWN")]
    card_body: Option<String>,
    /// Who may read the profile: `private` for the agents that may contact it, `public` for every agent unless one of the two
    /// blocks the other
    #[arg(long, value_parser = ["private", "public"])]
    visibility: Option<String>,
}

/// The blocking agent and the blocked one.
#[derive(Debug, Args)]
pub(crate) struct Pair {
    /// The agent that blocks
    #[arg(value_parser = AgentHandle::of_recipient)]
    handle: AgentHandle,
    /// The agent that is blocked
    #[arg(value_parser = AgentHandle::of_recipient)]
    target: AgentHandle,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary agent add @nick.assistant --allow '@ana.*'")]
pub(crate) struct Add {
    /// The new agent's handle, e.g. `@nick.assistant`
    handle: AgentHandle,
    /// Who may contact it: `allowlist`, or `open` for any agent [default: allowlist]
    #[arg(long)]
    policy: Option<Policy>,
    /// Add an entry to its allowlist, `@owner.name` or `@owner.*`; may be repeated
    #[arg(long, value_name = "ENTRY")]
    allow: Vec<AllowEntry>,
    /// Allow it to change its own policy, allowlist and blocks
    #[arg(long)]
    self_service: bool,
    /// Also print the token
    #[arg(long)]
    show_token: bool,
}

/// On or off.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Switch {
    /// Turns it on.
    On,
    /// Turns it off.
    Off,
}

impl Switch {
    /// The value of the field in a change.
    fn is_on(&self) -> Option<bool> {
        Some(matches!(self, Self::On))
    }
}

impl Setting {
    /// The owner of the agents, if the command names one.
    fn owner(&self) -> Option<OwnerName> {
        if let Self::Sessions(oversight::Sessions { owner: Some(owner), .. }) = self {
            return Some(owner.clone());
        }
        self.handle().map(AgentHandle::owner_name)
    }

    fn handle(&self) -> Option<&AgentHandle> {
        match self {
            Self::List => None,
            Self::Add(Add { handle, .. })
            | Self::Show(AgentArgument { handle })
            | Self::Edit(Edit { handle, .. })
            | Self::Allowlist(AgentArgument { handle })
            | Self::Blocks(AgentArgument { handle })
            | Self::Stop(AgentArgument { handle })
            | Self::Start(AgentArgument { handle })
            | Self::Dismiss(AgentArgument { handle })
            | Self::Policy { handle, .. }
            | Self::SelfService { handle, .. }
            | Self::HoldRuns { handle, .. }
            | Self::HoldInvitations { handle, .. }
            | Self::Allow { handle, .. }
            | Self::Disallow { handle, .. }
            | Self::Block(Pair { handle, .. })
            | Self::Unblock(Pair { handle, .. })
            | Self::Events(oversight::Events { handle, .. })
            | Self::Inbox(oversight::Inbox { handle, .. })
            | Self::RotateToken { handle, .. }
            | Self::Rm { handle, .. } => Some(handle),
            Self::Sessions(oversight::Sessions { handle, .. }) => handle.as_ref(),
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
    let owner = setting.owner();
    let client = context.configuring_client(owner.as_ref().map_or(Realm::Everything, Realm::Owner))?;
    let out = context.out;
    match setting {
        Setting::Add(args) => add(context, &client, args).await,
        Setting::List => list(context, &client).await,
        Setting::Allowlist(AgentArgument { handle }) => {
            let reply = client.allowlist(Some(&handle)).await?;
            context.answer(&reply, |list| print_entries(context, list))
        }
        Setting::Blocks(AgentArgument { handle }) => {
            say::blocks(context, async |cursor| client.blocks(Some(&handle), cursor).await).await
        }
        Setting::Show(AgentArgument { handle }) => {
            let reply = client.agent(&handle).await?;
            context.answer(&reply, |agent| say::agent(&out, agent))
        }
        Setting::Sessions(args) => oversight::sessions(context, &client, args).await,
        Setting::Events(args) => oversight::events(context, &client, args).await,
        Setting::Inbox(args) => oversight::inbox(context, &client, args).await,
        Setting::Edit(args) => edit(context, &client, args).await,
        Setting::Policy { handle, policy } => {
            let settings = ChangeAgent { policy: Some(policy), ..ChangeAgent::default() };
            change(context, &client, &handle, settings).await
        }
        Setting::SelfService { handle, switch } => {
            let settings = ChangeAgent { self_service: switch.is_on(), ..ChangeAgent::default() };
            change(context, &client, &handle, settings).await
        }
        Setting::HoldRuns { handle, switch } => {
            let settings = ChangeAgent { hold_runs: switch.is_on(), ..ChangeAgent::default() };
            change(context, &client, &handle, settings).await
        }
        Setting::HoldInvitations { handle, switch } => {
            let settings = ChangeAgent { hold_invitations: switch.is_on(), ..ChangeAgent::default() };
            change(context, &client, &handle, settings).await
        }
        Setting::Allow { handle, entries } => {
            let reply = client.allow(Some(&handle), &entries).await?;
            context.answer(&reply, |list| print_entries(context, list))
        }
        Setting::Disallow { handle, entry } => {
            let reply = client.disallow(Some(&handle), &entry).await?;
            context.answer(&reply, |list| print_entries(context, list))
        }
        Setting::Block(Pair { handle, target }) => {
            context.done(&client.block(Some(&handle), &target).await?, &format!("{handle} blocks {target}"))
        }
        Setting::Unblock(Pair { handle, target }) => context.done(
            &client.unblock(Some(&handle), &target).await?,
            &format!("{handle} no longer blocks {target}"),
        ),
        Setting::RotateToken { handle, show_token } => rotate(context, &client, handle, show_token).await,
        Setting::Stop(AgentArgument { handle }) => {
            context.done(&client.stop_agent(handle.as_str()).await?, &format!("stopped {handle}"))
        }
        Setting::Start(AgentArgument { handle }) => {
            context.done(&client.start_agent(handle.as_str()).await?, &format!("started {handle}"))
        }
        Setting::Dismiss(AgentArgument { handle }) => dismiss(context, &client, &handle).await,
        Setting::Rm { handle, yes } => remove(context, &client, &handle, yes).await,
    }
}

async fn dismiss(context: &Context, client: &Client, handle: &AgentHandle) -> Result<(), Failure> {
    context.done(
        &client.dismiss_agent(handle.as_str()).await?,
        &format!("{handle} is no longer run by this server"),
    )
}

async fn list(context: &Context, client: &Client) -> Result<(), Failure> {
    let mut table = Table::new(&["AGENT", "POLICY", "ALLOWLIST"]);
    let take = |page: &AgentList| {
        for agent in &page.agents {
            let policy = agent.policy.to_string();
            table.row([agent.handle.as_str(), &policy, &say::entries(&agent.allowlist)]);
        }
    };
    context
        .pages(async |cursor| client.agents(cursor).await, |page| page.next_cursor.as_deref(), take)
        .await?;
    context.table(&table, "no agents yet; create one with `plenary agent add @owner.name`")
}

/// Creates an agent and saves its token; returns also whether the token was saved.
pub(super) async fn make(
    context: &Context,
    client: &Client,
    agent: &CreateAgent,
) -> Result<(Reply<CreatedAgent>, Result<(), Failure>), Failure> {
    context.check_tokens_file()?;
    let reply = client.create_agent(agent).await?;
    let saved = context.save_token(&Holder::Agent(reply.handle.clone()), &reply.token);
    Ok((reply, saved))
}

/// Warns if no other agent can contact the new agent.
pub(super) fn note_reach(context: &Context, agent: &CreatedAgent) {
    if agent.policy == Policy::Allowlist && agent.allowlist.is_empty() {
        context.out.note(&format!(
            "no other agent can contact it yet: `plenary agent allow {} \"@{}.*\"` admits those of its owner",
            agent.handle,
            agent.handle.owner_name()
        ));
    }
}

async fn add(context: &Context, client: &Client, args: Add) -> Result<(), Failure> {
    let mut agent = CreateAgent::new(args.handle);
    agent.policy = args.policy;
    agent.allowlist = args.allow;
    agent.self_service = args.self_service.then_some(true);
    let (reply, saved) = make(context, client, &agent).await?;
    context.answer(&reply, |created| {
        note_reach(context, created);
        let line = if args.show_token { &created.token } else { created.handle.as_str() };
        Ok(context.out.line(line)?)
    })?;
    saved
}

async fn change(
    context: &Context,
    client: &Client,
    handle: &AgentHandle,
    change: ChangeAgent,
) -> Result<(), Failure> {
    let reply = client.change_agent(Some(handle), &change).await?;
    context.answer(&reply, |agent: &Agent| say::agent(&context.out, agent))
}

async fn edit(context: &Context, client: &Client, args: Edit) -> Result<(), Failure> {
    let Edit { display_name, description, card, card_body, visibility, .. } = &args;
    if [display_name, description, card_body, visibility].iter().all(|flag| flag.is_none()) && card.is_none()
    {
        return Err(Failure::usage(
            "there is nothing to change",
            "give --display-name, --description, --card, --card-body or --visibility",
        ));
    }
    let card = args.card.as_deref().map(input::file).transpose()?.or(args.card_body);
    let text = |text: Option<String>| text.map(|text| Some(text).filter(|text| !text.is_empty()));
    let changes = ChangeAgent {
        display_name: text(args.display_name),
        description: text(args.description),
        card_body: text(card),
        visibility: args.visibility,
        ..ChangeAgent::default()
    };
    change(context, client, &args.handle, changes).await
}

pub(super) fn print_entries(context: &Context, list: &Allowlist) -> Result<(), Failure> {
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
    let reply = client.rotate_token(&handle).await?;
    let saved = context.save_token(&Holder::Agent(handle.clone()), &reply.token);
    context.answer(&reply, |new| {
        let line = if show_token { &new.token } else { handle.as_str() };
        Ok(context.out.line(line)?)
    })?;
    saved
}

async fn remove(context: &Context, client: &Client, handle: &AgentHandle, yes: bool) -> Result<(), Failure> {
    if !yes {
        confirm(context, handle)?;
    }
    let reply = client.delete_agent(handle).await?;
    if let Some(file) = context.tokens_file() {
        let server = context.server()?;
        file.change(|tokens| tokens.remove(&server, &Holder::Agent(handle.clone())))?;
    }
    context.done(&reply, &format!("removed {handle}"))
}

fn confirm(context: &Context, handle: &AgentHandle) -> Result<(), Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::usage(
            "deleting an agent is permanent and needs a confirmation, but there is no terminal",
            "add --yes",
        ));
    }
    context.out.ask(&format!("Delete {handle} permanently? Its handle cannot be used again. [y/N] "));
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    match read.map(|_| answer.trim().to_lowercase()).as_deref() {
        Ok("y" | "yes") => Ok(()),
        Ok(_) | Err(_) => Err(Failure::local("nothing was deleted")),
    }
}
