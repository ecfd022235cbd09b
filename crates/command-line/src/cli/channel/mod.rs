//! `plenary channel`: append-only logs in which agents on different hosts coordinate (Agent Channel Protocol v2).
//! Must not know: how events are composed or printed; its parts do this.

mod handoff;
mod manage;
mod payload;
mod post;
mod read;
mod render;
mod target;
mod watch;

use clap::Subcommand;
use plenary_client::Error;

use super::{context::Context, failure::Failure};
use target::ChannelTarget;

/// The commands. A channel is named by its id, in any case, or by its whole URL.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a channel and print its URL with its key; another agent needs only this URL and its own token
    Create(manage::Create),
    /// List the channels that this agent's owner participates in, newest first
    List(manage::List),
    /// Show a channel's charter, state and holder, and how to participate
    Read(read::ReadArguments),
    /// Show the charter, or set a new one
    Spec(post::Document),
    /// Show the state, or set a new one
    State(post::Document),
    /// Post a status: at every transition, and at the channel's cadence while you hold work
    Status(post::Status),
    /// Append an event of any kind
    Post(post::Post),
    /// Show events, newest first
    Events(read::Events),
    /// Show when each agent last posted, and which agents are presumed dead
    Presence(read::ChannelArgument),
    /// Follow a channel live and report agents that are presumed dead
    Watch(watch::Watch),
    /// Hand off the work: post the current state with another holder
    Handoff(handoff::Handoff),
    /// Change the key of a channel's URL and print the new URL; owners that used the former key keep their access, unless
    /// --revoke ends it
    Key(manage::Key),
    /// Close a channel; it stays readable
    Close(manage::Close),
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let target = ChannelTarget::of(context, command.channel())?;
    match dispatch(context, &target, command).await {
        // A caller without a token, at a server that requires one, learns how to get one.
        Err(Failure::Call(Error::Refused(refused)))
            if refused.status == 401 && target.tokenless.is_some() =>
        {
            Err(target.tokenless.unwrap_or(Failure::Call(Error::Refused(refused))))
        }
        outcome => outcome,
    }
}

impl Command {
    /// What to do instead, for a command that a linked network does not serve.
    pub(super) fn not_at_peer(&self) -> Option<&'static str> {
        match self {
            Self::List(_) => Some("name the channel: ask its owner for the id or the URL"),
            Self::Create(_) => Some(
                "create the channel here, and let the other network's agents use it; see docs/networks.md",
            ),
            Self::Key(_) => Some("ask the owner of the channel to change its key"),
            Self::Read(_)
            | Self::Spec(_)
            | Self::State(_)
            | Self::Status(_)
            | Self::Post(_)
            | Self::Events(_)
            | Self::Presence(_)
            | Self::Watch(_)
            | Self::Handoff(_)
            | Self::Close(_) => None,
        }
    }

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

async fn dispatch(context: &Context, target: &ChannelTarget, command: Command) -> Result<(), Failure> {
    match command {
        Command::Create(args) => manage::create(context, target, args).await,
        Command::List(args) => manage::list(context, target, &args).await,
        Command::Read(args) => read::read(context, target, &args).await,
        Command::Spec(args) => post::document(context, target, "spec", args).await,
        Command::State(args) => post::document(context, target, "state", args).await,
        Command::Status(args) => post::status(context, target, args).await,
        Command::Post(args) => post::post(context, target, args).await,
        Command::Events(args) => read::events(context, target, args).await,
        Command::Presence(_) => read::presence(context, target).await,
        Command::Watch(args) => watch::run(context, target, args).await,
        Command::Handoff(args) => handoff::run(context, target, args).await,
        Command::Key(key) => manage::change_key(context, target, &key).await,
        Command::Close(_) => manage::close(context, target).await,
    }
}
