//! `plenary frame`: short messages between the sessions of one owner, of an organisation, or of other owners that
//! allow them (Agent-Channel Fan-Out).
//! Must not know: how frames are composed, listened to or correlated; its parts do this.

mod compose;
mod listen;
mod lock;
mod query;
mod recent;
mod render;
mod roster;
mod seat;
mod send;

use clap::Subcommand;
use plenary_client::frames::{Kind, UnknownValue};

use super::{context::Context, failure::Failure};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send a frame of any kind
    Send(send::Send),
    /// Tell other sessions what this session is doing
    Advise(send::Advise),
    /// Tell other sessions what has happened
    Broadcast(send::BroadcastArgs),
    /// Hand work over to another session
    Handover(send::HandoverArgs),
    /// Claim a resource, or claim it while a command runs; a claim is advisory
    Lock(lock::Lock),
    /// Release a claim
    Unlock(lock::Unlock),
    /// Extend a claim
    Extend(lock::Extend),
    /// List current claims
    Locks(listen::Locks),
    /// Ask other sessions a question and collect the answers
    Query(query::QueryArgs),
    /// Answer a question
    Answer(query::Answer),
    /// Follow the frames that reach this session, live
    Listen(listen::Listen),
    /// List the sessions that are listening
    Roster(roster::RosterArgs),
    /// Show how many frames the server holds for sessions that connect later
    Retention(roster::RetentionArgs),
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    match command {
        Command::Send(args) => send::send(context, args).await,
        Command::Advise(args) => send::advise(context, args).await,
        Command::Broadcast(args) => send::broadcast(context, args).await,
        Command::Handover(args) => send::handover(context, args).await,
        Command::Lock(args) => lock::lock(context, args).await,
        Command::Unlock(args) => lock::unlock(context, args).await,
        Command::Extend(args) => lock::extend(context, args).await,
        Command::Locks(args) => listen::locks(context, args).await,
        Command::Query(args) => query::ask(context, args).await,
        Command::Answer(args) => query::answer(context, args).await,
        Command::Listen(args) => listen::run(context, args).await,
        Command::Roster(args) => roster::run(context, args).await,
        Command::Retention(args) => roster::retention(context, args).await,
    }
}

/// A kind by its name, or by its name without `agent_`.
fn kind(text: &str) -> Result<Kind, UnknownValue> {
    text.parse().or_else(|unknown| format!("agent_{text}").parse().map_err(|_| unknown))
}
