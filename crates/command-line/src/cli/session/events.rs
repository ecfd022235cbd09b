//! `plenary session events`: a session's events, page by page, and with `--follow` new ones.
//! Must not know: live delivery. Following polls instead: a connection would make the agent online and move its
//! cursors over events that no agent reads here.

use std::time::Duration;

use clap::Args;
use plenary_client::{Client, Error, sessions::EventsQuery};
use plenary_kernel::{SessionId, limits::PAGE_EVENTS_MAX};

use crate::cli::{context::Context, failure::Failure, say};

/// Default number of events per request.
const PAGE_EVENTS: u32 = 200;
/// The pause between two polls.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);
/// The pause while the server does not answer.
const TROUBLE_INTERVAL: Duration = Duration::from_secs(3);

/// Under `--json`, prints one page as the server gives it; with `--follow`, one event per line.
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The session, `sess_…`
    #[arg(value_name = "SESSION")]
    id: SessionId,
    /// Only events after this sequence number
    #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
    after: u64,
    /// Number of events at most, up to 1000 [default: all]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=PAGE_EVENTS_MAX as i64), conflicts_with = "follow")]
    limit: Option<u32>,
    /// Follow new events until Ctrl-C
    #[arg(long, short)]
    follow: bool,
}

pub(crate) async fn run(context: &Context, args: Events) -> Result<(), Failure> {
    let client = context.agent_client()?;
    if context.out.is_json() && !args.follow {
        let query = EventsQuery { after_sequence: args.after, limit: args.limit };
        let reply = client.events(&args.id, query).await?;
        return context.answer(&reply, |_| Ok(()));
    }
    let mut after = args.after;
    print_rest(context, &client, &args, &mut after).await?;
    if args.follow { follow(context, &client, &args, after).await } else { Ok(()) }
}

/// Prints all events after a sequence number, and advances the number.
async fn print_rest(
    context: &Context,
    client: &Client,
    args: &Events,
    after: &mut u64,
) -> Result<(), Failure> {
    let out = context.out;
    loop {
        let limit = Some(args.limit.unwrap_or(PAGE_EVENTS));
        let page = client.events(&args.id, EventsQuery { after_sequence: *after, limit }).await?;
        for event in &page.events {
            if out.is_json() {
                out.line(event.json())?;
            } else {
                out.line(&say::event(&out, event, false))?;
            }
            *after = event.sequence.unwrap_or(*after).max(*after);
        }
        match page.next_cursor {
            // A cursor that does not change would repeat the same page for ever.
            Some(next) if args.limit.is_none() && next >= *after && !page.events.is_empty() => *after = next,
            Some(_) | None => return Ok(()),
        }
    }
}

async fn follow(context: &Context, client: &Client, args: &Events, mut after: u64) -> Result<(), Failure> {
    let work = async {
        let mut in_trouble = false;
        loop {
            let wait = if in_trouble { TROUBLE_INTERVAL } else { FOLLOW_INTERVAL };
            tokio::time::sleep(wait).await;
            match print_rest(context, client, args, &mut after).await {
                Ok(()) => in_trouble = false,
                Err(Failure::Call(error)) if error.is_transient() => {
                    if !in_trouble {
                        note_trouble(context, &error);
                    }
                    in_trouble = true;
                }
                Err(failure) => return Err(failure),
            }
        }
    };
    tokio::select! {
        outcome = work => outcome,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

fn note_trouble(context: &Context, error: &Error) {
    context.out.note(&format!("{error}; asking again"));
}
