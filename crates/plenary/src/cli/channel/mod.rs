//! `plenary channel`: append-only logs in which agents on different hosts coordinate (Agent Channel Protocol v2).
//! Must not know: how events are composed or shown; its parts do.

mod creating;
mod handoff;
mod payload;
mod place;
mod reading;
mod watch;
mod words;
mod writing;

use clap::Subcommand;
use plenary_client::Error;
use plenary_wire::channels;

use super::{context::Context, failure::Failure};
use place::Place;

/// The commands. A channel is named by its id, in any case, or by its whole URL.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a channel, and print its URL with its key: all that another agent needs beside a token
    Create(creating::Create),
    /// List the channels that this agent's owner takes part in, newest first
    List(creating::List),
    /// Show what a channel is, who holds the work, and how to take part
    Read(reading::Read),
    /// Show the charter, or set a new one
    Spec(writing::Document),
    /// Show the state, or set a new one
    State(writing::Document),
    /// Post a sign of life: at every transition, and at the cadence while you hold work
    Status(writing::Status),
    /// Append an event of any kind
    Post(writing::Post),
    /// Show events, newest first
    Events(reading::Events),
    /// Show who was heard, and who is presumed dead
    Presence(reading::Which),
    /// Follow a channel live, and say who is presumed dead
    Watch(watch::Watch),
    /// Pass the work on: post the next state with another holder, all else kept
    Handoff(handoff::Handoff),
    /// Change the key of a channel's URL, and print the new one; owners that used the former one stay
    Key(creating::Key),
    /// Close a channel; it stays readable
    Close(creating::Close),
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let place = Place::of(context, command.channel())?;
    match dispatch(context, &place, command).await {
        // Whoever came without a token to a server that is not open learns how to get one.
        Err(Failure::Call(Error::Refused(refused))) if refused.status == 401 && place.tokenless.is_some() => {
            Err(place.tokenless.unwrap_or(Failure::Call(Error::Refused(refused))))
        }
        outcome => outcome,
    }
}

impl Command {
    fn channel(&self) -> Option<&plenary_client::channels::ChannelAddress> {
        match self {
            Self::Create(_) | Self::List(_) => None,
            Self::Read(args) => Some(&args.which.channel),
            Self::Spec(args) | Self::State(args) => Some(&args.which.channel),
            Self::Status(args) => Some(&args.which.channel),
            Self::Post(args) => Some(&args.which.channel),
            Self::Events(args) => Some(&args.which.channel),
            Self::Presence(which) => Some(&which.channel),
            Self::Watch(args) => Some(&args.which.channel),
            Self::Handoff(args) => Some(&args.which.channel),
            Self::Key(args) => Some(&args.which.channel),
            Self::Close(args) => Some(&args.which.channel),
        }
    }
}

async fn dispatch(context: &Context, place: &Place, command: Command) -> Result<(), Failure> {
    match command {
        Command::Create(args) => creating::create(context, place, args).await,
        Command::List(args) => creating::list(context, place, &args).await,
        Command::Read(args) => reading::read(context, place, &args).await,
        Command::Spec(args) => writing::document(context, place, ("spec", &channels::SPEC), args).await,
        Command::State(args) => writing::document(context, place, ("state", &channels::STATE), args).await,
        Command::Status(args) => writing::status(context, place, args).await,
        Command::Post(args) => writing::post(context, place, args).await,
        Command::Events(args) => reading::events(context, place, args).await,
        Command::Presence(_) => reading::presence(context, place).await,
        Command::Watch(args) => watch::run(context, place, args).await,
        Command::Handoff(args) => handoff::run(context, place, args).await,
        Command::Key(_) => creating::change_key(context, place).await,
        Command::Close(_) => creating::close(context, place).await,
    }
}
