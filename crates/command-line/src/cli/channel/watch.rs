//! `plenary channel watch`: a channel's live events, across disconnects, until Ctrl-C, and the agents that are
//! presumed dead, checked at the cadence.
//! Must not know: when an agent counts as dead.

use std::time::Duration;

use clap::Args;
use plenary_client::{
    Client, Signal, StreamOptions,
    channels::{ChannelStream, ChannelSubscription, EventsQuery, Holder, Liveness, Presence, handoff_of},
};
use plenary_kernel::rfc3339;
use tokio::time::{Instant, sleep_until};

use super::{read::ChannelArgument, render, target::ChannelTarget};
use crate::cli::{context::Context, failure::Failure, stream};

/// How soon liveness is checked after a `state` or a `status`, which may change who is alive or holds the work.
const LOOK_SOON: Duration = Duration::from_secs(1);
/// The interval of checks if the cadence is unknown.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

const HELP: &str = "\
An agent that posts no status for five cadences is presumed dead; if it holds the work, a warning says so. With --json \
each line is one event as the server sent it. A change of presence is a line of its own: \
{\"presence\":\"presumed_dead\"|\"heard_again\",\"agent\",\"silent_seconds\",\"holds_work\"}.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(super) which: ChannelArgument,
    /// Only events of this kind, e.g. comms
    #[arg(long)]
    kind: Option<String>,
    /// Start after the event with this id; 0 starts at the beginning [default: only new events]
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
    /// Wait for the server if it is not up yet
    #[arg(long)]
    wait: bool,
}

pub(super) async fn run(context: &Context, target: &ChannelTarget, args: Watch) -> Result<(), Failure> {
    let subscription = ChannelSubscription { id: target.id.clone(), kind: args.kind, after: args.after };
    let options = StreamOptions { wait_for_server: args.wait, ..StreamOptions::default() };
    let events = target.client.channel(&subscription, options);
    stream::until_interrupted(follow(context, target, events)).await
}

async fn follow(context: &Context, target: &ChannelTarget, mut events: ChannelStream) -> Result<(), Failure> {
    let out = context.out;
    let mut liveness = Liveness::default();
    let (mut is_connected, mut next_check) = (false, Instant::now());
    loop {
        let signal = tokio::select! {
            signal = events.next() => signal?,
            () = sleep_until(next_check), if is_connected => {
                next_check = Instant::now() + check_liveness(context, target, &mut liveness).await?;
                continue;
            }
        };
        match signal {
            Signal::Opened => {
                is_connected = true;
                out.note(&format!("watching {}; stop with Ctrl-C", target.id));
            }
            Signal::Event(event) => {
                render::print(out, &event).await?;
                if matches!(event.kind.as_str(), "state" | "status") {
                    next_check = next_check.min(Instant::now() + LOOK_SOON);
                }
            }
            Signal::Keepalive => {}
            Signal::Unreadable(error) => stream::note_unreadable(out, &error),
            Signal::Lost { reason, retry_in } => {
                // The stream itself finds out whether the server is reachable.
                is_connected = false;
                stream::note_lost(out, &reason, retry_in);
            }
        }
    }
}

/// Checks liveness, prints changes, and returns how long to wait before the next check. A failed check is repeated: the
/// stream reports the error.
async fn check_liveness(
    context: &Context,
    target: &ChannelTarget,
    liveness: &mut Liveness,
) -> Result<Duration, Failure> {
    let Ok((presence, holder)) = look(&target.client, &target.id).await else { return Ok(LOOK_AGAIN) };
    for vital in liveness.take(&presence, holder.as_ref()) {
        let text = if context.out.is_json() {
            render::vital_json(&vital).to_string()
        } else {
            render::vital(&context.out, &vital, &target.id)
        };
        context.out.line(&text)?;
    }
    Ok(Duration::from_secs(presence.cadence_seconds.max(1)))
}

async fn look(client: &Client, id: &str) -> plenary_client::Result<(Presence, Option<Holder>)> {
    let presence = client.channel_presence(id).await?.value;
    let query = EventsQuery { kind: Some("state".to_owned()), limit: Some(1), ..EventsQuery::default() };
    let states = client.channel_events(id, &query).await?.reply.value;
    let holder = states.first().and_then(|state| {
        let (agent, _) = handoff_of(&state.payload)?;
        let posted = rfc3339::parse(&state.created_at).and_then(|ms| u64::try_from(ms).ok())?;
        Some(Holder { agent, state_age_seconds: client.now().0.saturating_sub(posted) / 1_000 })
    });
    Ok((presence, holder))
}
