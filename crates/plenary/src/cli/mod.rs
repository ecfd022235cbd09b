//! The client commands: what they are called, and how one is carried out.
//! Must not know: the server's crates; everything goes through its public HTTP, WebSocket and event
//! streams. Only `agent host` uses one: what runs agents runs them here as it does there.

mod agent;
mod agentic;
mod agents;
mod channel;
mod completions;
mod connect;
mod contact;
mod context;
mod doctor;
mod explain;
mod failure;
mod frame;
mod hook;
mod host;
mod identity;
mod inbox;
mod input;
mod interrupts;
mod listen;
mod mcp;
mod me;
mod message;
mod org;
mod overseeing;
mod owner;
mod runs;
mod say;
#[cfg(test)]
mod scratch;
mod session;
mod settings;
mod shell;
mod status;
mod surroundings;
mod teach;
mod terminal;
mod token;
mod trust;
mod use_agent;
mod whereabouts;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};
use plenary_client::BaseUrl;
use plenary_kernel::AgentHandle;

use crate::{
    out::Out,
    secrets::{self, Flag},
};
use context::Context;
use failure::{Exit, Failure};
#[cfg(test)]
use scratch::Scratch;
use surroundings::Surroundings;

/// Shown under `--help`.
pub(crate) const EXIT_CODES_HELP: &str = "\
Exit codes:
  0  done
  1  refused by the server, or failed on this machine
  2  wrong usage
  3  the server cannot be reached
  4  no token, or one the server does not take
  5  nobody answered (`frame query`), or a run waits for input (`run`)
  130  the run was canceled (`run`)
`frame lock … -- COMMAND` ends with the command's own exit code.";

/// What every client command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Speak as this agent [env: PLENARY_AS] [default: the nearest .plenary.toml]
    #[arg(long = "as", global = true, value_name = "@OWNER.NAME")]
    pub speak_as: Option<AgentHandle>,
    /// The server [env: PLENARY_URL] [default: the one running on this machine's data directory, see PLENARY_DATA,
    /// else http://127.0.0.1:7420]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<BaseUrl>,
    /// Use this token instead of a saved one [env: PLENARY_TOKEN]
    #[arg(long, global = true, value_name = "TOKEN", conflicts_with = "token_file")]
    pub token: Option<String>,
    /// Read that token from a file; `-` is standard input
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Trust the certificate authorities of this PEM file, and no others [env: PLENARY_CACERT]
    #[arg(long, global = true, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Print the server's JSON; errors too, on standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// No colours [env: NO_COLOR]
    #[arg(long, global = true)]
    pub no_color: bool,
}

/// As what a token of the command line is handed over; no variable of the environment is called so.
const TOKEN: &str = "--token";

impl Global {
    /// Reads the token of `--token-file`, and takes that of `--token` out of the command line, which everybody on the machine
    /// sees.
    fn settle_token(&mut self, starts_programs: bool) -> Result<(), Failure> {
        let file = self.token_file.as_deref();
        if let Some(file) = file {
            self.token = Some(input::token(file)?);
        }
        let token = self.token.as_deref();
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
}

impl Command {
    /// Whether it hosts an agent here, whose programs it starts.
    pub(crate) fn is_host(&self) -> bool {
        matches!(self, Self::Agent(agent::Command::Host(_)))
    }
}

/// The client commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Owners: persons and organisations that own agents
    #[command(subcommand)]
    Owner(owner::Command),
    /// Agents: their tokens, and whom they trust
    #[command(subcommand)]
    Agent(agent::Command),
    /// Organisations and their members
    #[command(subcommand)]
    Org(org::Command),
    /// Sessions: conversations of agents
    #[command(subcommand)]
    Session(session::Command),
    /// What is new for the agent, wherever it stands
    Inbox(inbox::Inbox),
    /// What has become of a message
    #[command(subcommand)]
    Message(message::Command),
    /// Follow everything that reaches the agent, live
    Listen(listen::Listen),
    /// Frames: short messages between sessions that are listening now
    #[command(subcommand)]
    Frame(frame::Command),
    /// Channels: append-only logs in which agents on different hosts coordinate
    #[command(subcommand)]
    Channel(channel::Command),
    /// Ask an agent behind the server for something, and see what it does
    Run(runs::Run),
    /// Agents behind the server, their runs and threads
    #[command(subcommand)]
    Runs(runs::Command),
    /// Context that outlives sessions: packages of work done, facts, reviews, briefings
    Context(agentic::ContextArgs),
    /// Ask to be listed by an agent, or answer one that asks
    #[command(subcommand)]
    Contact(contact::Command),
    /// Whom the agent can reach
    Agents(agents::Agents),
    /// The agent itself: its settings, and changing them where its owner allows that
    Me(me::Me),
    /// Make a coding agent an agent of the network, in this directory
    Connect(connect::Connect),
    /// Take back what `connect` wrote
    Disconnect(connect::Disconnect),
    /// Prove the path from a coding agent to the network and back, link by link
    Doctor(doctor::Doctor),
    /// Print what an agent is told of the network
    Teach(teach::Teach),
    /// For coding agents: tell of an event on standard input, and be told what is new
    Hook(hook::Hook),
    /// Make an agent the default in this directory and below
    Use(use_agent::Use),
    /// Take what a directory's files say of agents and projects, as they are now
    Trust(trust::Trust),
    /// Serve the Model Context Protocol on standard input and output
    Mcp(mcp::Mcp),
    /// Is the server up, and who am I to it?
    Status,
    /// Tokens saved on this machine
    #[command(subcommand)]
    Token(token::Command),
    /// Print a completion script for a shell
    Completions(completions::Completions),
}

/// Whether these arguments ask for `plenary hook`, whatever else is wrong with them.
pub(crate) fn is_hook(arguments: impl Iterator<Item = String>) -> bool {
    let mut words = arguments.skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--as" | "--url" | "--token" | "--token-file" | "--cacert" => drop(words.next()),
            flag if flag.starts_with('-') => {}
            command => return command == "hook",
        }
    }
    false
}

/// The command line of `plenary hook` alone: whoever waits for a hook does not wait for all the others to be described.
#[derive(Debug, Parser)]
#[command(name = "plenary")]
struct Hooked {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: HookCommand,
}

/// The one command of [`Hooked`].
#[derive(Debug, Subcommand)]
enum HookCommand {
    /// For coding agents: tell of an event on standard input, and be told what is new
    Hook(hook::Hook),
}

/// Carries `plenary hook` out. To a coding agent the exit code of wrong usage means: hold the person's work up.
pub(crate) fn run_hook() -> ExitCode {
    match Hooked::try_parse() {
        Ok(Hooked { global, command: HookCommand::Hook(args) }) => {
            let out = Out::new(global.json, global.no_color);
            run(global, Command::Hook(args), out)
        }
        Err(error) if error.use_stderr() => Exit::Done.into(),
        Err(error) => error.exit(),
    }
}

/// Carries a client command out, and says what went wrong.
pub(crate) fn run(mut global: Global, command: Command, out: Out) -> ExitCode {
    let settled = global.settle_token(command.is_host());
    let context = Context::new(global, out, Surroundings::of_process());
    let done = match (settled, command) {
        // A hook fails open, whatever is wrong with its token.
        (Err(failure), Command::Hook(args)) => {
            hook::failed(&context, &args, &failure);
            Ok(())
        }
        (settled, command) => settled.and_then(|()| dispatch(&context, command)),
    };
    match done {
        Ok(()) => Exit::Done.into(),
        Err(failure) => explain::report(&context, &failure).into(),
    }
}

fn dispatch(context: &Context, command: Command) -> Result<(), Failure> {
    match command {
        Command::Use(args) => use_agent::run(context, &args),
        Command::Trust(args) => trust::run(context, args),
        Command::Token(command) => token::run(context, command),
        Command::Completions(args) => completions::run(context, &args),
        Command::Teach(args) => teach::run(context, &args),
        Command::Hook(args) => {
            let is_woken = hook::run(context, &args);
            if is_woken { Err(Failure::Said(Exit::Command(hook::WOKEN))) } else { Ok(()) }
        }
        Command::Connect(args) => wait(connect::connect(context, args)),
        Command::Doctor(args) => wait(doctor::run(context, args)),
        Command::Disconnect(args) => wait(connect::disconnect(context, args)),
        Command::Owner(command) => wait(owner::run(context, command)),
        Command::Agent(command) => wait(agent::run(context, command)),
        Command::Org(command) => wait(org::run(context, command)),
        Command::Session(command) => wait(session::run(context, command)),
        Command::Inbox(args) => wait(inbox::run(context, args)),
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
        Command::Status => wait(status::run(context)),
    }
}

/// The runtime is made only for commands that speak to a server; one thread is enough for a client.
fn wait(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::local(format!("the runtime cannot start: {e}")))?;
    let outcome = runtime.block_on(work);
    // A line that nobody takes must not hold the process.
    runtime.shutdown_background();
    outcome
}
