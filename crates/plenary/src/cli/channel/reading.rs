//! `plenary channel read`, `events` and `presence`.
//! Must not know: how events are posted.

use clap::{Args, ValueEnum};
use plenary_client::{
    Reply,
    channels::{ChannelAddress, Older},
};
use plenary_wire::channels::{self, Event, EventsQuery, Payload, Presence, ShowQuery};

use super::{place::Place, words};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{Table, clean, span},
};

/// Which channel.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The channel: its id, e.g. VHGC, or its URL with its key
    #[arg(value_name = "CHANNEL")]
    pub(super) channel: ChannelAddress,
}

/// The formats of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Markdown,
    Yaml,
    Json,
}

/// How to show it.
#[derive(Debug, Args)]
pub(crate) struct Read {
    #[command(flatten)]
    pub(super) which: Which,
    /// In which format [default: markdown; json with --json]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
}

pub(super) async fn read(context: &Context, place: &Place, args: &Read) -> Result<(), Failure> {
    let default = if context.out.is_json() { Format::Json } else { Format::Markdown };
    let format = match args.format.unwrap_or(default) {
        Format::Markdown => "markdown",
        Format::Yaml => "yaml",
        Format::Json => "json",
    };
    let query = ShowQuery { format };
    let view = place.client.call_for_raw(&channels::SHOW, &[&place.id], &query, &()).await?;
    let text = String::from_utf8_lossy(&view.body);
    if format == "json" {
        return Ok(context.out.line(text.trim_end())?);
    }
    Ok(text.lines().try_for_each(|line| context.out.line(&clean(line)))?)
}

/// A payload: as it was sent under `--json`, else laid out.
pub(super) fn show(context: &Context, reply: &Reply<Payload>) -> Result<(), Failure> {
    context.answer(reply, |payload| Ok(context.out.line(&words::laid_out(payload.0.get(), true))?))
}

/// Under `--json`: one page as the server gives it.
#[derive(Debug, Args)]
pub(crate) struct Events {
    #[command(flatten)]
    pub(super) which: Which,
    /// Only of this kind, e.g. comms
    #[arg(long)]
    kind: Option<String>,
    /// At most so many, and never more than 500 [default: 50]
    #[arg(long)]
    limit: Option<u32>,
    /// Only events before this id
    #[arg(long, value_name = "ID")]
    before: Option<u64>,
    /// Only events after this id; alone, the ones that follow it directly
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
}

pub(super) async fn events(context: &Context, place: &Place, args: Events) -> Result<(), Failure> {
    let Events { which: _, kind, limit, before, after } = args;
    let query = EventsQuery { kind, limit, before_id: before, after_id: after };
    let page = place.client.call_for_raw(&channels::EVENTS, &[&place.id], &query, &()).await?;
    let next = Older::of(&page);
    let reply: Reply<Vec<Event>> = Reply::read(page)?;
    context.answer(&reply, |events| {
        if events.is_empty() {
            context.out.note("there are none");
        }
        Ok(events.iter().try_for_each(|event| context.out.line(&words::event(&context.out, event)))?)
    })?;
    match next {
        None => {}
        Some(Older::Before(id)) => context.out.note(&format!("there are older ones: --before {id}")),
        Some(Older::After(id)) => context.out.note(&format!("there are newer ones: --after {id}")),
    }
    Ok(())
}

pub(super) async fn presence(context: &Context, place: &Place) -> Result<(), Failure> {
    let reply = place.call(&channels::PRESENCE, &(), &()).await?;
    context.answer(&reply, |Presence { cadence_seconds, agents }| {
        let mut table = Table::new(&["AGENT", "STATE", "HEARD", "VIA"]);
        for agent in agents {
            let state = if agent.presumed_dead { "presumed dead" } else { "alive" };
            let heard = format!("{} ago", span(agent.silent_seconds.saturating_mul(1000)));
            table.row([&agent.agent, state, &heard, agent.via.as_deref().unwrap_or_default()]);
        }
        context.out.table(
            &table,
            "nobody has posted a status yet; do with `plenary channel status CHANNEL PHASE`",
        )?;
        context.out.note(&format!("whoever holds work posts a status every {cadence_seconds} s"));
        Ok(())
    })
}
