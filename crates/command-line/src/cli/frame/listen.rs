//! `plenary frame listen`: the frames that reach this session, across disconnects, until Ctrl-C; with `--locks`, the
//! claims instead.
//! Must not know: how claims are correlated.

use std::time::Duration;

use clap::Args;
use plenary_client::{
    Signal, StreamOptions,
    frames::{FrameStream, Kind, Leases, Subscription, now},
};
use plenary_kernel::SovereignHandle;

use super::{
    kind,
    recent::recent,
    render,
    seat::{SeatArgs, Speaker},
};
use crate::{
    cli::{context::Context, failure::Failure, stream},
    out::Table,
};

const LISTEN_HELP: &str = "\
Frames are not stored: only those of the last few minutes can be read later (--recent). With --json each line is one \
frame as the server sent it. Expired frames and duplicates are dropped.";

#[derive(Debug, Args)]
#[command(after_help = LISTEN_HELP)]
pub(crate) struct Listen {
    /// Only frames that match `axis:value`, several separated by commas; the axes are kind, sender, content_type, tool, org
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Only this kind, e.g. `advisory` or `agent_advisory`
    #[arg(long, value_parser = kind)]
    kind: Option<Kind>,
    /// Only frames sent for this owner
    #[arg(long, value_name = "~OWNER")]
    sender: Option<SovereignHandle>,
    /// Start with the frames that the server still holds
    #[arg(long, conflicts_with = "after")]
    recent: bool,
    /// Start after the event with this id, if the server still holds it
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
    /// Show claims instead of frames: when each is made, extended, released or expires
    #[arg(long, conflicts_with_all = ["filter", "kind"])]
    locks: bool,
    /// Wait for the server if it is not up yet
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    seat: SeatArgs,
}

impl Listen {
    fn filter(&self) -> Option<String> {
        let option = self.filter.clone().filter(|filter| !filter.is_empty());
        let kind = self.kind.map(|kind| format!("kind:{kind}"));
        let sender = self.sender.as_ref().map(|sender| format!("sender:{sender}"));
        let clauses: Vec<String> = [option, kind, sender].into_iter().flatten().collect();
        Some(clauses.join(",")).filter(|filter| !filter.is_empty())
    }
}

pub(super) async fn run(context: &Context, args: Listen) -> Result<(), Failure> {
    let speaker = Speaker::of(context, &args.seat).await?;
    let subscription = Subscription {
        filter: args.filter(),
        after: args.after.map(|id| id.to_string()),
        retained: args.recent || args.locks,
        ..speaker.subscription()
    };
    let options = StreamOptions { wait_for_server: args.wait, ..StreamOptions::default() };
    let mut frames = speaker.client.frames(subscription, options);
    if args.locks {
        return stream::until_interrupted(follow_locks(context, &mut frames)).await;
    }
    let out = context.out;
    stream::follow(
        out,
        async || frames.next().await,
        &render::listening(&speaker),
        |received| Some(render::line(out, received)),
    )
    .await
}

async fn follow_locks(context: &Context, frames: &mut FrameStream) -> Result<(), Failure> {
    let out = context.out;
    let mut leases = Leases::default();
    loop {
        let end = leases.next_end();
        let ended = async {
            match end {
                Some(end) => tokio::time::sleep(Duration::from_millis(end.0.saturating_sub(now().0))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            signal = frames.next() => match signal? {
                Signal::Opened => out.note("watching claims; stop with Ctrl-C"),
                Signal::Event(received) => {
                    if let Some(change) = leases.take(&received) {
                        out.line(&render::change(&out, &change, now()))?;
                    }
                }
                Signal::Keepalive | Signal::Unreadable(_) => {}
                Signal::Lost { reason, retry_in } => stream::note_lost(out, &reason, retry_in),
            },
            () = ended => {
                for lease in leases.expire(now()) {
                    out.line(&render::ended(&out, &lease))?;
                }
            }
        }
    }
}

/// Shows the current claims, from the frames that the server still holds.
#[derive(Debug, Args)]
pub(crate) struct Locks {
    #[command(flatten)]
    seat: SeatArgs,
}

pub(super) async fn locks(context: &Context, args: Locks) -> Result<(), Failure> {
    let speaker = Speaker::of(context, &args.seat).await?;
    let mut leases = Leases::default();
    for received in recent(&speaker, None).await? {
        leases.take(&received);
    }
    let moment = now();
    if context.out.is_json() {
        return Ok(leases
            .active(moment)
            .into_iter()
            .try_for_each(|lease| context.out.line(&render::lease_json(lease).to_string()))?);
    }
    let mut table = Table::new(&["RESOURCE", "HOLDER", "ENDS", "LEASE", "WHY"]);
    for lease in leases.active(moment) {
        table.row([
            &lease.resource,
            &render::holder(lease),
            &render::remaining(lease, moment),
            lease.lease_id.as_str(),
            lease.intent.as_deref().unwrap_or_default(),
        ]);
    }
    Ok(context.out.table(&table, "there are no claims")?)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        listen: Listen,
    }

    #[test]
    fn fo_64_shorthands_become_clauses() {
        let filter = |args: &[&str]| Line::parse_from([&["listen"], args].concat()).listen.filter();
        assert_eq!(filter(&[]), None);
        assert_eq!(filter(&["--filter", ""]), None);
        assert_eq!(
            filter(&["--filter", "tool:cc", "--kind", "advisory", "--sender", "~nick"]).as_deref(),
            Some("tool:cc,kind:agent_advisory,sender:~nick")
        );
        assert!(Line::try_parse_from(["listen", "--kind", "gossip"]).is_err(), "FO-65");
    }
}
