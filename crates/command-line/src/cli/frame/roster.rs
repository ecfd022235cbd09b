//! `plenary frame roster`: the listening sessions, and the number of retained frames.
//! Must not know: scopes.

use clap::Args;
use plenary_client::frames::Roster;
use plenary_kernel::{SovereignHandle, TimestampMs};

use super::seat::{SeatArgs, Speaker};
use crate::{
    cli::{context::Context, failure::Failure},
    out::{Table, counted, span, utc},
};

/// The owner whose sessions are listed; another owner's only if the token may see them.
#[derive(Debug, Args)]
pub(crate) struct RosterArgs {
    /// Owner, e.g. `~nick` [default: this agent's owner]
    handle: Option<SovereignHandle>,
}

/// The owner whose retention is shown.
#[derive(Debug, Args)]
pub(crate) struct RetentionArgs {
    /// Owner, e.g. `~nick` [default: this agent's owner]
    handle: Option<SovereignHandle>,
}

async fn client_and_handle(
    context: &Context,
    handle: Option<SovereignHandle>,
) -> Result<(plenary_client::Client, SovereignHandle), Failure> {
    let speaker = Speaker::of(context, &SeatArgs::default()).await?;
    Ok((speaker.client, handle.unwrap_or(speaker.handle)))
}

pub(super) async fn run(context: &Context, args: RosterArgs) -> Result<(), Failure> {
    let (client, handle) = client_and_handle(context, args.handle).await?;
    let reply = client.roster(&handle).await?;
    context.answer(&reply, |roster| print(context, roster))
}

fn print(context: &Context, roster: &Roster) -> Result<(), Failure> {
    let mut table = Table::new(&["AGENT", "INSTRUMENT", "TOOL", "SINCE", "SESSION"]);
    for member in &roster.roster {
        let since = match member.started_at.as_u64() {
            Some(ms) => utc(TimestampMs(ms)),
            None => member.started_at.as_str().unwrap_or_default().to_owned(),
        };
        table.row([
            member.agent.as_deref().unwrap_or_default(),
            &member.instrument,
            member.tool.as_deref().unwrap_or_default(),
            &since,
            &member.session_id,
        ]);
    }
    Ok(context.out.table(&table, "nobody is listening; listen with `plenary frame listen`")?)
}

pub(super) async fn retention(context: &Context, args: RetentionArgs) -> Result<(), Failure> {
    let (client, handle) = client_and_handle(context, args.handle).await?;
    let reply = client.retention(&handle).await?;
    context.answer(&reply, |retention| {
        let line = format!(
            "{handle}: the last {}, none older than {}",
            counted(retention.max_events, "frame"),
            span(retention.max_age_ms)
        );
        Ok(context.out.line(&line)?)
    })
}
