//! `plenary demo`: a server on a temporary store, and the conversation of the Agent Session Protocol's own
//! walkthrough (ASP §7) on it with real clients over HTTP and WebSocket, then frames between the sessions of one
//! person, a handoff on a channel, context that outlives its session, runs of an agent behind the server, the
//! network of another operator, and the tools of models. A person reads a story, scene by scene; with `--raw` each step
//! is printed as it crosses the wire.
//! Every step is checked.
//! Must not know: the command line's other commands, or how the server works.

mod channels;
mod context;
mod echoes;
mod frames;
mod mcp;
mod networks;
mod runs;
mod stage;
mod story;
mod variations;
mod walkthrough;

use std::{future::pending, io::IsTerminal as _, net::SocketAddr, time::Duration};

use anyhow::Context as _;
use clap::Args;
use plenary_command_line::interrupts::Interrupts;

use crate::{
    browser,
    out::Out,
    server::{OperatorToken, Server, Settings},
};
use stage::{Stage, Voice};

/// The grace window of the demonstration: long enough to reconnect, short enough to wait for its end.
const GRACE: Duration = Duration::from_millis(1_500);

/// Settings of the demonstration. `--json` is the global one.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Stop after the last step, and fail if a step does not match the specification
    #[arg(long)]
    pub once: bool,
    /// Print each request, reply and event as it is, in place of the story
    #[arg(long)]
    pub raw: bool,
    /// Address to listen on [default: 127.0.0.1, any free port]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
}

/// Plays the demonstration.
pub(crate) fn run(args: &DemoArgs, out: &Out) -> anyhow::Result<()> {
    // The story revokes an accord: what its peer then warns of is part of it.
    let _logs = crate::logs::begin("warn,plenary_links=error", None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let played = runtime.block_on(async {
        // Before there is a directory, which is removed also after an interruption.
        let mut signals = Interrupts::with_hangup()?;
        let directory = tempfile::Builder::new().prefix("plenary-demo-").tempdir()?;
        let mut operator = OperatorToken::of_directory(directory.path())?;
        let mut settings = Settings { grace: GRACE, ..Settings::ephemeral() };
        settings.data = Some(directory.path().to_owned());
        settings.listen = args.listen.unwrap_or(settings.listen);
        let server = tokio::select! {
            server = Server::start(networks::reachable(settings)?, &mut operator) => server?,
            () = signals.next() => return interrupted(args),
        };
        let played = async {
            Box::pin(play(&server, &operator, out, args)).await?;
            // The server goes on until somebody stops it.
            if args.once { Ok(()) } else { pending().await }
        };
        let played = tokio::select! {
            played = played => played,
            () = signals.next() => interrupted(args),
        };
        server.stop().await?;
        played
    });
    // A read of the keyboard may never end.
    runtime.shutdown_background();
    played
}

/// Only a demonstration that stops by itself is incomplete when somebody stops it.
fn interrupted(args: &DemoArgs) -> anyhow::Result<()> {
    if args.once {
        Err(anyhow::anyhow!("the demonstration was stopped before its last step"))
    } else {
        Ok(())
    }
}

async fn play(server: &Server, operator: &OperatorToken, out: &Out, args: &DemoArgs) -> anyhow::Result<()> {
    let pages = !args.once
        && !args.raw
        && !out.is_json()
        && std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal();
    let voice = Voice { out: *out, raw: args.raw, pages, pace: Duration::ZERO };
    let mut stage = Stage::new(server.url(), operator.secret(), voice)?;
    stage.scene("A question across two organisations").await?;
    stage.note(&format!("A server on {} keeps its log in a temporary directory.", server.url()))?;
    if !args.once {
        let link = stage.console().await?;
        stage.note(&format!("Watch it live in the console, in one browser: {link}"))?;
        if pages {
            // Ignored: without a browser, the printed link is enough.
            let _opened = browser::open(&link);
        }
        if !args.raw && !out.is_json() {
            stage.await_audience().await?;
        }
    }
    let session = walkthrough::play(&mut stage).await.context("the walkthrough")?;
    variations::send_and_end(&mut stage).await.context("send-and-end")?;
    stage.scene("A connection breaks, and nothing is lost").await?;
    variations::drop_within_grace(&mut stage, &session).await.context("a drop within the grace window")?;
    stage.scene("A connection stays away").await?;
    variations::drop_beyond_grace(&mut stage, &session).await.context("a drop beyond the grace window")?;
    stage.scene("Three coding sessions of one person").await?;
    frames::play(&mut stage).await.context("frames")?;
    stage.scene("Work is handed over").await?;
    channels::play(&mut stage).await.context("a channel")?;
    stage.scene("What outlives a session").await?;
    context::play(&mut stage).await.context("context")?;
    stage.scene("An agent that the server runs").await?;
    runs::play(&mut stage).await.context("runs")?;
    stage.scene("Another network").await?;
    Box::pin(networks::play(&mut stage)).await.context("networks")?;
    stage.scene("Two models with nothing but their tools").await?;
    mcp::play(&mut stage).await.context("tools")?;
    stage.note(&format!(
        "Every step was as specified: {} requests, {} events.",
        stage.requests(),
        stage.events()
    ))?;
    if args.once {
        stage.note("Now your own agents: `plenary connect claude --serve` in a directory")?;
    } else {
        stage.note("The server goes on; stop it with Ctrl-C. The tokens:")?;
        stage.show_tokens()?;
        stage.note("Try: plenary --url URL --token TOKEN session list")?;
        stage.note(&format!("The console again, for one more browser: {}", stage.console().await?))?;
    }
    stage.leave().await;
    Ok(())
}
