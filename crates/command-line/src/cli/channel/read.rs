//! `plenary channel read`, `events` and `presence`.
//! Must not know: how events are posted.

use clap::Args;
use plenary_client::{
    Reply,
    channels::{ChannelAddress, EventPage, EventsQuery, Older, Presence},
};
use serde_json::value::RawValue;

use super::{render, target::ChannelTarget};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{Table, clean, span},
};

/// One channel.
#[derive(Debug, Args)]
pub(crate) struct ChannelArgument {
    /// The channel: its id, e.g. VHGC, or its URL with its key
    #[arg(value_name = "CHANNEL")]
    pub(super) channel: ChannelAddress,
}

#[derive(Debug, Args)]
pub(crate) struct ReadArguments {
    #[command(flatten)]
    pub(super) which: ChannelArgument,
    /// Format [default: markdown; json with --json]
    #[arg(long, value_name = "FORMAT", value_parser = ["markdown", "yaml", "json"])]
    format: Option<String>,
}

pub(super) async fn read(
    context: &Context,
    target: &ChannelTarget,
    args: &ReadArguments,
) -> Result<(), Failure> {
    let default = if context.out.is_json() { "json" } else { "markdown" };
    let format = args.format.as_deref().unwrap_or(default);
    let view = target.client.channel_view(&target.id, format).await?;
    let text = String::from_utf8_lossy(&view.body);
    if format == "json" {
        return Ok(context.out.json(text.trim_end())?);
    }
    Ok(text.lines().try_for_each(|line| context.out.line(&clean(line)))?)
}

/// Prints a payload: unchanged under `--json`, otherwise formatted.
pub(super) fn show(context: &Context, reply: &Reply<Box<RawValue>>) -> Result<(), Failure> {
    context.answer(reply, |payload| Ok(context.out.line(&render::laid_out(payload.get(), true))?))
}

/// Under `--json`, prints the server's page unchanged.
#[derive(Debug, Args)]
pub(crate) struct Events {
    #[command(flatten)]
    pub(super) which: ChannelArgument,
    /// Only events of this kind, e.g. comms
    #[arg(long)]
    kind: Option<String>,
    /// Number of events at most, up to 500 [default: 50]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: Option<u32>,
    /// Only events before this id
    #[arg(long, value_name = "ID")]
    before: Option<u64>,
    /// Only events after this id; without --before, the events that follow it directly
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
}

pub(super) async fn events(context: &Context, target: &ChannelTarget, args: Events) -> Result<(), Failure> {
    let Events { which: _, kind, limit, before, after } = args;
    let query = EventsQuery { kind, limit, before, after };
    let EventPage { reply, next } = target.client.channel_events(&target.id, &query).await?;
    context.answer(&reply, |events| {
        if events.is_empty() {
            context.out.note("there are no events");
        }
        Ok(events.iter().try_for_each(|event| context.out.line(&render::event(&context.out, event)))?)
    })?;
    match next {
        None => {}
        Some(Older::Before(id)) => context.out.note(&format!("for older events: --before {id}")),
        Some(Older::After(id)) => context.out.note(&format!("for newer events: --after {id}")),
    }
    Ok(())
}

pub(super) async fn presence(context: &Context, target: &ChannelTarget) -> Result<(), Failure> {
    let reply = target.client.channel_presence(&target.id).await?;
    context.answer(&reply, |Presence { cadence_seconds, agents }| {
        let mut table = Table::new(&["AGENT", "STATE", "HEARD", "VIA"]);
        for agent in agents {
            let state = if agent.presumed_dead { "presumed dead" } else { "alive" };
            let last_status = format!("{} ago", span(agent.silent_seconds.saturating_mul(1000)));
            table.row([&agent.agent, state, &last_status, agent.via.as_deref().unwrap_or_default()]);
        }
        context.out.table(
            &table,
            "no agent has posted a status yet; post one with `plenary channel status CHANNEL PHASE`",
        )?;
        context.out.note(&format!("an agent that holds work posts a status every {cadence_seconds} s"));
        Ok(())
    })
}
