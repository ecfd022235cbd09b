//! `plenary mcp`: the server's Model Context Protocol over standard input and output, for clients that start a
//! program.
//! Must not know: the protocol beyond its envelope; messages pass unchanged.

mod channel;
mod coding_session;
mod forward;
mod line;
mod presence;
mod session;

use std::{sync::Arc, time::Duration};

use clap::Args;
use plenary_client::Error;
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use self::{
    coding_session::CodingSession,
    forward::{Forwarder, Speaker},
    line::Message,
};
use super::{
    connect::{self, CodingAgent},
    context::Context,
    failure::Failure,
    identity::{CLIENT_VAR, TokenSource, saved, session_directory},
    lines::{self, LINES_WAITING_MAX, Lines},
    server_address::{ServerAddress, UrlSource},
};

/// How long pending requests may take to finish after the client has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// How long a message waits for the directory's agent to be created.
const MADE_WITHIN: Duration = Duration::from_secs(2);
/// How long connecting to a server on this machine may take: a call is to fail within 2 s if the server hangs.
const CONNECTED_WITHIN: Duration = Duration::from_millis(1_800);
/// How long closing the session may take.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// Serves the Model Context Protocol on standard input and output, through the server's /mcp: sessions and single
/// requests. Waits for a server that restarts, and renews its sessions. If no server answers, or no token is saved, a session
/// starts anyway, and calls fail at once.
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
    let client = context.environment.var(CLIENT_VAR);
    let Some(coding) = client.and_then(|name| CodingAgent::named(&name)) else { return Ok(()) };
    let started_in = session_directory(&context.environment, coding.as_str());
    let Some(directory) = started_in.or_else(|| context.environment.directory().cloned()) else {
        return Ok(());
    };
    if context.identity()?.is_none() {
        connect::first_use(context, coding, &directory).await?;
    }
    Ok(())
}

/// The client of the first messages, and whether the agent's own is still missing: the tools are listed anyway, and the
/// first message that reaches the server gets the agent.
async fn begin(context: &Context) -> Result<(Speaker, bool), Failure> {
    let ready = match first_use(context).await {
        Ok(()) => speaker(context),
        Err(failure) => Err(failure),
    };
    let (client, absence) = match ready {
        Ok(speaker) => return Ok((speaker, false)),
        Err(Failure::Call(Error::Network(fault))) => {
            context.out.note(&format!("no agent is made for this directory yet: {fault}"));
            (context.client()?, None)
        }
        // The token may be saved later.
        Err(Failure::Unreachable { what, next } | Failure::Auth { what, next, missing: Some(_) }) => {
            let absence = format!("{what}: {next}");
            context.out.note(&absence);
            (context.client_of(ServerAddress::nowhere()?.url)?, Some(absence))
        }
        Err(failure) => return Err(failure),
    };
    Ok((Speaker { client, coding: None, absence }, true))
}

pub(crate) async fn run(context: &Context, args: Mcp) -> Result<(), Failure> {
    context.connect_within(CONNECTED_WITHIN);
    let (speaker, is_agent_missing) = begin(context).await?;
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
    let read = read(context, forwarder, is_agent_missing).await;
    // Every sender is dropped by now, so the writer ends.
    let written = writing.await.map_err(|e| Failure::local(format!("writing failed: {e}")))?;
    read.and(written)
}

/// The client for the agent.
fn speaker(context: &Context) -> Result<Speaker, Failure> {
    let (client, missing) = context.any_client()?;
    match missing {
        Some(missing) => Err(missing),
        None => Ok(Speaker { client, coding: CodingSession::of_context(context), absence: None }),
    }
}

/// Whether the missing agent exists now, and is in use.
async fn has_agent_now(context: &Context, forwarder: &Forwarder) -> bool {
    let created = timeout(MADE_WITHIN, first_use(context)).await;
    let speaker = matches!(created, Ok(Ok(()))).then(|| speaker(context).ok()).flatten();
    let is_created = speaker.is_some();
    speaker.into_iter().for_each(|speaker| forwarder.speak_as(speaker));
    is_created
}

/// Whether another token than the used one is saved now: `plenary connect` writes a new one if the server refuses the old one.
fn has_new_token(context: &Context) -> bool {
    let Some((_, used)) = context.used() else { return false };
    let TokenSource::Saved(holder, _) = &used.source else { return false };
    let Ok(server) = context.server() else { return false };
    let saved = saved(context.tokens_file().as_ref(), &server, holder);
    saved.is_ok_and(|saved| saved.is_some_and(|saved| saved.token != used.token))
}

/// Follows the server of this machine's data directory to its present address, and takes a new token of the agent. If the
/// address is unknown, the server has stopped, and may come back where it was.
fn follow_server(context: &Context, forwarder: &Forwarder) {
    let has_moved = matches!(context.server_address(), Ok(ServerAddress { url, source: UrlSource::DataDir(_) })
        if url != *forwarder.client().base());
    if (has_moved || has_new_token(context))
        && let Ok(speaker) = speaker(context)
    {
        forwarder.speak_as(speaker);
    }
}

/// Reads lines until the input ends, and lets pending requests finish. `is_agent_missing` if the agent is still to be created.
async fn read(
    context: &Context,
    forwarder: Arc<Forwarder>,
    mut is_agent_missing: bool,
) -> Result<(), Failure> {
    let mut lines = Lines::new();
    let (mut carried, mut background) = (JoinSet::new(), JoinSet::new());
    let mut is_reporting = false;
    while let Some(line) = lines.next().await? {
        while carried.try_join_next().is_some() {}
        let text = String::from_utf8_lossy(line);
        is_agent_missing = is_agent_missing && !has_agent_now(context, &forwarder).await;
        if !is_agent_missing {
            follow_server(context, &forwarder);
        }
        if !is_reporting && !is_agent_missing {
            is_reporting = true;
            background.spawn(presence::report(forwarder.clone()));
        }
        match Message::read(&text) {
            Err(error) => forwarder.send(error).await,
            Ok(message) if forwarder.cancels(&message) => {}
            Ok(message) if message.method == "initialize" => forwarder.forward(&message).await,
            // The server must receive it before any other message.
            Ok(message) if message.method == "notifications/initialized" => {
                forwarder.forward(&message).await;
                background.spawn(forwarder.clone().listen());
                if forwarder.channel {
                    let begin =
                        if forwarder.session.is_away() { None } else { channel::begin(&forwarder).await };
                    let (forwarder, out) = (forwarder.clone(), context.out);
                    background.spawn(async move {
                        if let Err(error) = channel::report(forwarder, begin).await {
                            out.note(&format!("the channel does not report news: {error}"));
                        }
                    });
                }
            }
            Ok(message) if forwarder.declines(&message) => forwarder.send(message.unknown()).await,
            Ok(message) => {
                let (task_forwarder, request) = (forwarder.clone(), message.clone());
                // A request without an end is not waited for.
                let tasks =
                    if message.method == "subscriptions/listen" { &mut background } else { &mut carried };
                let task = tasks.spawn(async move { task_forwarder.forward(&request).await });
                forwarder.record_task(&message, task);
            }
        }
    }
    let finished = async { while carried.join_next().await.is_some() {} };
    let _cut = timeout(LAST_ANSWERS, finished).await;
    let last = async { tokio::join!(forwarder.end(), presence::end(&forwarder)) };
    let _late = timeout(CLOSE_MAX, last).await;
    carried.shutdown().await;
    background.shutdown().await;
    Ok(())
}
