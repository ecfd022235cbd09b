//! The client commands: their names, and their dispatch.
//! Must not know: the server's crates; everything goes through its public HTTP, WebSocket and event streams. Only
//! `agent host` and `acp` use one: the code that runs agents is the same in both, and the messages of a
//! two-sided protocol are in one place.

mod acp;
mod agent;
mod agentic;
mod agents;
mod atomic;
mod attention;
mod channel;
mod completions;
mod connect;
mod console;
mod contact;
mod context;
mod destination;
mod doctor;
mod environment;
mod everyday;
mod explain;
mod failure;
mod frame;
mod groups;
mod hook;
mod host;
mod identity;
mod inbox;
mod input;
mod lines;
mod listen;
mod mcp;
mod me;
mod message;
mod notify;
mod org;
mod oversight;
mod owner;
mod peer;
mod requests;
mod runs;
mod said;
mod say;
mod scoped;
mod search;
mod server_address;
mod session;
mod settings;
mod shell;
mod status;
mod stream;
mod teach;
mod terminal;
mod token;
mod trust;
mod tui;
mod unserved;
mod use_agent;
mod watch;
mod whole_pairs;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};
use plenary_client::BaseUrl;
use plenary_kernel::{AgentHandle, OwnerName};

use crate::{
    out::{GivenOption, Out},
    program::Program,
    secrets::{self, Flag},
};
use connect::CodingAgent;
pub use console::console_command;
use context::Context;
use environment::Environment;
pub use environment::{ignoring_empty, naming_variables, suggesting_commands};
use failure::{Exit, Failure};
pub use groups::{GROUPS, Group, grouped};

/// Shown under `--help`.
pub const EXIT_CODES_HELP: &str = "\
Exit codes:
  0  done
  1  refused by the server, or failed on this machine
  2  wrong usage
  3  the server cannot be reached
  4  no token, or a token that the server does not accept
  5  no answer came in time (`ask`, `frame query`, `message status --wait`), or a run waits for input (`run`)
  130  interrupted with Ctrl-C, or the run was canceled (`run`); commands that follow events, such as `watch`, end with 0
`frame lock … -- COMMAND` exits with the code of COMMAND.";

/// The id of `--peer` on the whole command line; `plenary peer` has an argument `peer` of its own.
const AT_PEER: &str = "at-peer";

/// The flags of every client command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Speak as this agent, or as a person: `@OWNER` [env: PLENARY_AS] [default: the nearest .plenary.toml]
    #[arg(long = "as", global = true, value_name = "@OWNER.NAME", value_parser = AgentHandle::of_recipient)]
    pub speak_as: Option<AgentHandle>,
    /// URL of the server [env: PLENARY_URL] [default: the server that uses the data directory in PLENARY_DATA; without
    /// PLENARY_DATA, the one whose URL `connect` was given here, else the one that uses this machine's default data directory, else
    /// http://127.0.0.1:7420]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<BaseUrl>,
    /// Use this token instead of a saved one [env: PLENARY_TOKEN]
    #[arg(long, global = true, value_name = "TOKEN", conflicts_with = "token_file")]
    pub token: Option<String>,
    /// Read the token from a file; `-` is standard input
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Use channels, projects and agents of this linked network
    #[arg(long = "peer", id = AT_PEER, global = true, value_name = "NETWORK")]
    pub peer: Option<OwnerName>,
    /// Trust only the certificate authorities in this PEM file [env: PLENARY_CACERT]
    #[arg(long, global = true, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Print the server's JSON; errors are JSON on standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// Print without colors [env: NO_COLOR]
    #[arg(long, global = true)]
    pub no_color: bool,
}

/// The name under which a token from the command line is handed over; no environment variable has this name.
const TOKEN: &str = "--token";

impl Global {
    /// Reads the token of `--token-file`, and removes that of `--token` from the command line, which everybody on the
    /// machine can read.
    fn resolve_token(&mut self, starts_programs: Option<fn() -> clap::Command>) -> Result<(), Failure> {
        let file = self.token_file.as_deref();
        if let Some(file) = file {
            self.token = Some(input::token(file)?);
        }
        let token = self.token.as_deref();
        if token == Some("") {
            let next = "give a token, or leave out --token to use a saved one";
            return Err(Failure::usage("the value of --token is empty", next));
        }
        let flags = [
            Flag::secret("--token", TOKEN, token),
            Flag {
                name: "--token-file",
                value: file.and_then(Path::to_str),
                shows: false,
                secret: (TOKEN, token),
            },
        ];
        let withdrawn = secrets::withdraw(&flags, starts_programs);
        withdrawn.map_err(|error| Failure::local(format!("{error:#}")))?;
        self.token = secrets::variable(TOKEN).or(self.token.take());
        Ok(())
    }

    /// The options that decide which agent acts, and on which server. A token itself is not repeated: it is a secret.
    fn given(&self) -> Vec<GivenOption> {
        let file = |path: &Option<PathBuf>| {
            path.as_ref().filter(|path| path.as_os_str() != "-").map(|path| path.display().to_string())
        };
        let options = [
            ("--as", self.speak_as.as_ref().map(ToString::to_string)),
            ("--url", self.url.as_ref().map(ToString::to_string)),
            ("--token-file", file(&self.token_file)),
            ("--peer", self.peer.as_ref().map(ToString::to_string)),
            ("--cacert", file(&self.cacert)),
        ];
        let given = options.into_iter().filter_map(|(name, value)| Some((name, value?)));
        given.map(|(name, value)| (name, format!("{name} {}", shell::quoted(&value)))).collect()
    }
}

impl Command {
    /// Refuses `--peer` for a command that a linked network never serves.
    fn check_peer(&self) -> Result<(), Failure> {
        let next = if let Self::Channel(command) = self {
            command.not_at_peer()
        } else if let Self::Runs(command) = self {
            command.not_at_peer()
        } else if let Self::Context(args) = self {
            args.not_at_peer()
        } else if matches!(self, Self::Run(_)) {
            None
        } else {
            return Err(Failure::usage(NO_PEER, PEER_NEXT));
        };
        next.map_or(Ok(()), |next| {
            Err(Failure::usage(
                "a linked network does not offer this command to agents of other networks",
                next,
            ))
        })
    }

    /// Whether the command hosts an agent, and so starts programs.
    fn is_host(&self) -> bool {
        matches!(self, Self::Agent(agent::Command::Host(_)))
    }
}

/// The client commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Owners: persons and organisations that own agents
    #[command(subcommand)]
    Owner(owner::Command),
    /// Agents: create, configure, host, and decide who may contact them
    #[command(subcommand)]
    Agent(agent::Command),
    /// Organisations and their members
    #[command(subcommand)]
    Org(org::Command),
    /// Networks of other operators that this one is linked to
    #[command(subcommand)]
    Peer(peer::Command),
    /// Sessions: conversations between agents
    #[command(subcommand)]
    Session(session::Command),
    /// Send a message to agents and people, or into a session
    Send(everyday::Send),
    /// Answer the last message
    Reply(everyday::Reply),
    /// Ask an agent or a person, and wait for the answer
    Ask(requests::RequestArgs),
    /// List the agents that you can contact, and their activity
    Who(everyday::WhoArgs),
    /// Show and acknowledge the agent's news
    Inbox(inbox::Inbox),
    /// Show or set the agent's attention: open, focus or dnd
    Attention(attention::AttentionArgs),
    /// Requests from agents to people: list, answer, set rules
    Requests(requests::Requests),
    /// Show the state of a message
    #[command(subcommand)]
    Message(message::Command),
    /// Follow the agent's events live
    Listen(listen::Listen),
    /// Frames: short messages to sessions that are listening now
    #[command(subcommand)]
    Frame(frame::Command),
    /// Channels: append-only logs in which agents on different hosts coordinate
    #[command(subcommand)]
    Channel(channel::Command),
    /// Give a task to an agent that the server runs, and follow the run
    Run(runs::Run),
    /// Agents that the server runs, their runs and threads
    #[command(subcommand)]
    Runs(runs::Command),
    /// Project context that outlives sessions: packages of work, facts, reviews, briefings
    Context(agentic::ContextArgs),
    /// Ask an agent for contact, or answer such a request
    #[command(subcommand)]
    Contact(contact::Command),
    /// List the agents that this agent can contact
    Agents(agents::Agents),
    /// Show the agent's own settings, and change them if its owner allows it
    Me(me::Me),
    /// Connect a coding agent to the network in this directory
    Connect(connect::Connect),
    /// Start a coding agent connected to the network
    #[command(flatten)]
    Start(connect::launch::NamedLaunch),
    /// Remove the settings that `connect` wrote
    Disconnect(connect::Disconnect),
    /// Stop the server that `connect --serve` started
    Stop,
    /// Check the connection between a coding agent and the network step by step
    Doctor(doctor::Doctor),
    /// Print the guide for agents
    Teach(teach::Teach),
    /// For coding agents: report an event on standard input and print unread messages
    Hook(hook::Hook),
    /// Make an agent the default in this directory and those below it
    Use(use_agent::Use),
    /// Trust the agent and project settings of a directory as they are now
    Trust(trust::Trust),
    /// Serve the Model Context Protocol on standard input and output
    Mcp(mcp::Mcp),
    /// Be an agent of the network for an editor: the Agent Client Protocol on standard input and output
    Acp(acp::Acp),
    /// Check that the server is up, and show the identity that it sees
    Status,
    /// Print a link that signs a browser in to the console once
    Console(console::Console),
    /// Search everything that you may read: messages, channels, runs, packages, facts, agents
    Search(search::Search),
    /// Follow all events that the caller may see, one line each
    Watch(watch::Watch),
    /// Tokens saved on this machine: add, remove, list
    #[command(subcommand)]
    Token(token::Command),
    /// Print a completion script for a shell
    Completions(completions::Completions),
}

/// The client commands as a part of the program's command line.
#[derive(Debug)]
pub struct ClientCommand(Command);

impl FromArgMatches for ClientCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Command::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Subcommand for ClientCommand {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        Command::augment_subcommands(command)
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Command::augment_subcommands_for_update(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Command::has_subcommand(name)
    }
}

/// Whether these arguments are for `plenary hook`, even if they are otherwise wrong.
pub fn is_hook(arguments: impl Iterator<Item = String>) -> bool {
    let mut arguments_left = arguments.skip(1);
    while let Some(argument) = arguments_left.next() {
        match argument.as_str() {
            "--as" | "--url" | "--token" | "--token-file" | "--peer" | "--cacert" => {
                drop(arguments_left.next())
            }
            flag if flag.starts_with('-') => {}
            command => return command == "hook",
        }
    }
    false
}

/// The command line of `plenary hook` alone: building the descriptions of all the other commands would delay a hook.
#[derive(Debug, Parser)]
#[command(name = "plenary")]
struct HookCommandLine {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: HookCommand,
}

/// The one command of [`HookCommandLine`].
#[derive(Debug, Subcommand)]
enum HookCommand {
    /// For coding agents: report an event on standard input and print unread messages
    Hook(hook::Hook),
}

/// Runs `plenary hook`. Never exits with the code for wrong usage, which tells a coding agent to block the user's work.
pub fn run_hook(program: Program) -> ExitCode {
    match HookCommandLine::try_parse() {
        Ok(HookCommandLine { global, command: HookCommand::Hook(args) }) => {
            let out = Out::new(global.json, global.no_color);
            run(global, ClientCommand(Command::Hook(args)), out, program)
        }
        Err(error) if error.use_stderr() => Exit::Done.into(),
        Err(error) => error.exit(),
    }
}

/// Refuses `--peer` for a command that is not a client's; it would ignore it. Prints the refusal.
pub fn refuse_peer(global: &Global, out: &Out) -> Option<ExitCode> {
    global.peer.as_ref()?;
    out.error(NO_PEER, Some(PEER_NEXT));
    Some(Exit::Usage.into())
}

const NO_PEER: &str = "--peer is not for this command";
const PEER_NEXT: &str = "use it with `channel`, `context`, `run` and `runs`; see docs/networks.md";

/// Runs a client command, and reports its failure.
pub fn run(
    mut global: Global,
    ClientCommand(command): ClientCommand,
    out: Out,
    program: Program,
) -> ExitCode {
    let mut given = global.given();
    if let Command::Context(args) = &command {
        given.extend(args.given());
    }
    let out = out.repeating(given);
    let starts_programs = command.is_host().then_some(program.command);
    let settled = environment::check_variables().and_then(|()| global.resolve_token(starts_programs));
    let context = Context::new(global, out, Environment::of_process(), program);
    let result = match (settled, command) {
        // A hook does not block the coding agent, even if its token is wrong.
        (Err(failure), Command::Hook(args)) => {
            hook::failed(&context, &args, &failure);
            Ok(())
        }
        (settled, command) => settled.and_then(|()| dispatch(&context, command)),
    };
    let result = match result {
        Err(failure @ Failure::Auth { missing: Some(_), .. }) => {
            wait(async { Err(unserved::checked(&context, failure).await) })
        }
        result => result,
    };
    match result {
        Ok(()) => Exit::Done.into(),
        Err(failure) => explain::report(&context, &failure).into(),
    }
}

fn dispatch(context: &Context, command: Command) -> Result<(), Failure> {
    if context.peer().is_some() {
        command.check_peer()?;
    }
    match command {
        Command::Use(args) => use_agent::run(context, &args),
        Command::Trust(args) => trust::run(context, args),
        Command::Token(command) => wait(token::run(context, command)),
        Command::Completions(args) => completions::run(context, &args),
        Command::Teach(args) => teach::run(context, &args),
        Command::Hook(args) => {
            let wakes_session = hook::run(context, &args);
            if wakes_session { Err(Failure::Reported(Exit::Command(hook::WAKE_EXIT_CODE))) } else { Ok(()) }
        }
        Command::Connect(args) => wait(connect::connect(context, args)),
        Command::Start(args) => start(context, args.coding, args.launch),
        Command::Stop => wait(connect::serve::stop(context)),
        Command::Doctor(args) => wait(doctor::run(context, args)),
        Command::Disconnect(args) => wait(connect::disconnect(context, args)),
        Command::Owner(command) => wait(owner::run(context, command)),
        Command::Agent(command) => wait(agent::run(context, command)),
        Command::Org(command) => wait(org::run(context, command)),
        Command::Peer(command) => wait(peer::run(context, command)),
        Command::Session(command) => wait(session::run(context, command)),
        Command::Send(args) => wait(everyday::send(context, args)),
        Command::Reply(args) => wait(everyday::reply(context, args)),
        Command::Who(args) => wait(everyday::who(context, args)),
        Command::Inbox(args) => wait(inbox::run(context, args)),
        Command::Attention(args) => wait(attention::run(context, args)),
        Command::Ask(args) => wait(requests::ask(context, args)),
        Command::Requests(args) => wait(requests::run(context, args)),
        Command::Message(command) => wait(message::run(context, command)),
        Command::Listen(args) => wait(listen::run(context, args)),
        Command::Frame(command) => wait(frame::run(context, command)),
        Command::Channel(command) => wait(channel::run(context, command)),
        Command::Run(args) => wait(runs::run_one(context, args)),
        Command::Runs(command) => wait(runs::run(context, command)),
        Command::Context(args) => wait(agentic::run(context, args)),
        Command::Contact(command) => wait(contact::run(context, command)),
        Command::Agents(args) => wait(agents::run(context, args)),
        Command::Me(args) => wait(me::run(context, args)),
        Command::Mcp(args) => wait(mcp::run(context, args)),
        Command::Acp(args) => wait(acp::run(context, args)),
        Command::Console(args) => wait(console::run(context, args)),
        Command::Search(args) => wait(search::run(context, args)),
        Command::Watch(args) => wait(watch::run(context, args)),
        Command::Status => wait(status::run(context)),
    }
}

/// Replaces this process with a coding agent.
fn start(context: &Context, coding: CodingAgent, args: connect::launch::Launch) -> Result<(), Failure> {
    Err(connect::launch::exec(coding, wait_for(connect::launch::prepare(context, coding, args))?))
}

/// Creates the runtime, only for commands that call a server; one thread is enough for a client.
fn wait(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    wait_for(work)
}

fn wait_for<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::local(format!("the runtime cannot start: {e}")))?;
    let outcome = runtime.block_on(work);
    // A line that nobody reads must not block the exit.
    runtime.shutdown_background();
    outcome
}
