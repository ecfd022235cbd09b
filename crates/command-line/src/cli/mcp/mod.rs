//! `plenary mcp`: the server's Model Context Protocol over standard input and output, for clients that start a
//! program.
//! Must not know: the protocol beyond its envelope; messages pass unchanged.

mod channel;
mod coding;
mod forward;
mod line;
mod presence;
mod session;

use std::{sync::Arc, time::Duration};

use clap::Args;
use plenary_client::Error;
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use self::{
    coding::CodingSession,
    forward::{Forwarder, Speaker},
    line::Message,
};
use super::{
    connect::{self, CodingAgent},
    context::Context,
    failure::Failure,
    identity::{CLIENT_VAR, begun_in},
    lines::{self, LINES_WAITING_MAX, Lines},
    server_address::NOWHERE,
};

/// How long pending requests may take to finish after the client has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// How long a message waits for the directory's agent to be created.
const MADE_WITHIN: Duration = Duration::from_secs(2);
/// How long closing the session may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves the Model Context Protocol on standard input and output, through the server's /mcp: sessions and single
/// requests. Waits for a server that restarts, and renews its sessions. If no server answers, a session starts anyway,
/// and calls fail at once.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary mcp --toolsets core,context")]
pub(crate) struct Mcp {
    /// Toolsets to list, separated by commas: core, frames, channels, context, sessions, runs, or all [default: core]
    #[arg(long, value_name = "SETS")]
    toolsets: Option<String>,
    /// Offer Claude Code's channel and report new inbox items through it
    #[arg(long)]
    channel: bool,
}

/// Creates the agent of a directory in which user settings take effect for the first time.
async fn first_use(context: &Context) -> Result<(), Failure> {
    let named = context.environment.var(CLIENT_VAR);
    let Some(coding) = named.and_then(|name| CodingAgent::named(&name)) else { return Ok(()) };
    let begun = begun_in(&context.environment, coding.as_str());
    let Some(directory) = begun.or_else(|| context.environment.directory().cloned()) else { return Ok(()) };
    if context.identity()?.is_none() {
        connect::first_use(context, coding, &directory).await?;
    }
    Ok(())
}

/// The client of the first messages, and whether the agent's own is still missing: the tools are listed anyway, and the
/// first message that reaches the server gets the agent.
async fn begin(context: &Context) -> Result<(Speaker, bool), Failure> {
    let found = match first_use(context).await {
        Ok(()) => speaker(context),
        Err(failure) => Err(failure),
    };
    let client = match found {
        Ok(speaker) => return Ok((speaker, false)),
        Err(Failure::Call(Error::Network(fault))) => {
            context.out.note(&format!("no agent is made for this directory yet: {fault}"));
            context.client()?
        }
        Err(Failure::Unreachable { what, next }) => {
            context.out.note(&format!("{what}: {next}"));
            context
                .client_of(NOWHERE.parse().map_err(|error| Failure::local(format!("{NOWHERE}: {error}")))?)?
        }
        Err(failure) => return Err(failure),
    };
    Ok((Speaker { client, coding: None }, true))
}

pub(crate) async fn run(context: &Context, args: Mcp) -> Result<(), Failure> {
    let (speaker, is_unmade) = begin(context).await?;
    let path = match &args.toolsets {
        Some(sets) => {
            let sets: String = sets.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ',').collect();
            format!("/mcp?toolsets={sets}")
        }
        None => "/mcp".to_owned(),
    };
    let (out, waiting) = mpsc::channel(LINES_WAITING_MAX);
    let writing = tokio::spawn(lines::write(waiting));
    let forwarder =
        Arc::new(Forwarder::new((speaker, context.program.local_answers), path, args.channel, out));
    let read = read(context, forwarder, is_unmade).await;
    // Every sender is dropped by now, so the writer ends.
    let written = writing.await.map_err(|e| Failure::local(format!("writing failed: {e}")))?;
    read.and(written)
}

/// The client for the agent.
fn speaker(context: &Context) -> Result<Speaker, Failure> {
    let (client, missing) = context.any_client()?;
    match missing {
        Some(missing) => Err(missing),
        None => Ok(Speaker { client, coding: CodingSession::of_context(context) }),
    }
}

/// Whether the missing agent exists now, and is in use.
async fn is_made(context: &Context, forwarder: &Forwarder) -> bool {
    let made = timeout(MADE_WITHIN, first_use(context)).await;
    let speaker = matches!(made, Ok(Ok(()))).then(|| speaker(context).ok()).flatten();
    let is_made = speaker.is_some();
    speaker.into_iter().for_each(|speaker| forwarder.speak_as(speaker));
    is_made
}

/// Reads lines until the input ends, and lets pending requests finish. `is_unmade` if the agent is still to be created.
async fn read(context: &Context, forwarder: Arc<Forwarder>, mut is_unmade: bool) -> Result<(), Failure> {
    let mut lines = Lines::new();
    let (mut carried, mut beside) = (JoinSet::new(), JoinSet::new());
    let mut is_told = false;
    while let Some(line) = lines.next().await? {
        while carried.try_join_next().is_some() {}
        let text = String::from_utf8_lossy(line);
        is_unmade = is_unmade && !is_made(context, &forwarder).await;
        if !is_told && !is_unmade {
            is_told = true;
            beside.spawn(presence::tell(forwarder.clone()));
        }
        match Message::read(&text) {
            Err(error) => forwarder.say(error).await,
            Ok(message) if forwarder.cancels(&message) => {}
            Ok(message) if message.method == "initialize" => forwarder.carry(&message).await,
            // The server must receive it before any other message.
            Ok(message) if message.method == "notifications/initialized" => {
                forwarder.carry(&message).await;
                beside.spawn(forwarder.clone().hear());
                if forwarder.channel {
                    let begin =
                        if forwarder.session.is_away() { None } else { channel::begin(&forwarder).await };
                    let (forwarder, out) = (forwarder.clone(), context.out);
                    beside.spawn(async move {
                        if let Err(error) = channel::tell(forwarder, begin).await {
                            out.note(&format!("the channel does not report news: {error}"));
                        }
                    });
                }
            }
            Ok(message) if forwarder.declines(&message) => forwarder.say(message.unknown()).await,
            Ok(message) => {
                let (carrier, carrying) = (forwarder.clone(), message.clone());
                // A request without an end is not waited for.
                let tasks = if message.method == "subscriptions/listen" { &mut beside } else { &mut carried };
                let task = tasks.spawn(async move { carrier.carry(&carrying).await });
                forwarder.begun(&message, task);
            }
        }
    }
    let finished = async { while carried.join_next().await.is_some() {} };
    let _cut = timeout(LAST_ANSWERS, finished).await;
    let last = async { tokio::join!(forwarder.end(), presence::end(&forwarder)) };
    let _late = timeout(LAST_WORDS, last).await;
    carried.shutdown().await;
    beside.shutdown().await;
    Ok(())
}
