//! `plenary watch`: all events that the caller may see, line by line, across disconnects, until Ctrl-C.
//! Must not know: how the stream is resumed.

use clap::Args;
use plenary_client::{StreamOptions, console::WatchQuery};
use plenary_kernel::{OwnerName, TimestampMs};
use serde_json::Value;

use super::{context::Context, failure::Failure, stream};
use crate::out::{Out, Style, clean};

const HELP: &str = "\
With the operator's token you see all events, with --owner those of an owner, with --as those of an agent. With `--as @OWNER`, or \
without the operator's token, you see the events of your person: its own conversations and requests, not \
those of your agents. With --json each line is one event as the server sent it.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Watch {
    /// Watch as this owner, with its saved token, e.g. `nick`
    #[arg(long)]
    owner: Option<OwnerName>,
    /// Only these rooms, separated by commas: accounts, sessions, channels, context, runs, requests
    #[arg(long, value_delimiter = ',', value_parser = ["accounts", "sessions", "channels", "context", "runs", "requests"])]
    rooms: Vec<String>,
    /// Only these kinds or families, separated by commas: e.g. `session.message`, or `session` for all of a family
    #[arg(long)]
    kinds: Option<String>,
    /// Only events that concern these agents, separated by commas
    #[arg(long)]
    agents: Option<String>,
    /// Only events that have all of these words, in whatever form
    #[arg(long)]
    words: Option<String>,
    /// Only events of the trace with this id, where spans are recorded
    #[arg(long, value_name = "TRACE_ID")]
    trace: Option<String>,
    /// Also frames of the owner's agents. They are in no log: a new connection repeats those that the server still keeps
    #[arg(long)]
    frames: bool,
    /// Start after this cursor; 0 starts at the beginning [default: only new events]
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// Wait for the server if it is not up yet
    #[arg(long)]
    wait: bool,
}

pub(crate) async fn run(context: &Context, args: Watch) -> Result<(), Failure> {
    let client = context.viewing_client(args.owner.as_ref(), context.speaks_as_agent())?;
    let Watch { rooms, kinds, agents, words: q, trace, frames, after, wait, .. } = args;
    let rooms = Some(rooms.join(",")).filter(|rooms| !rooms.is_empty());
    let options = StreamOptions { wait_for_server: wait, ..StreamOptions::default() };
    let query = WatchQuery { rooms, kinds, agents, q, trace, frames };
    let out = context.out;
    let mut events = client.watch(&query, after, options);
    let opened = "watching; stop with Ctrl-C";
    stream::follow(out, async || events.next().await, opened, |event| line(out, &event.json)).await
}

/// The time, kind, actor and detail of an event; under `--json` as the server sent it. `None` for a report of the head.
fn line(out: Out, json: &str) -> Option<String> {
    let event: Value = serde_json::from_str(json).ok()?;
    let kind = event["kind"].as_str()?;
    if matches!(kind, "hello" | "head") {
        return None;
    }
    if out.is_json() {
        return Some(json.to_owned());
    }
    let time = TimestampMs(event["at"].as_u64().unwrap_or_default()).rfc3339();
    let agent = event["agents"][0].as_str().unwrap_or_default();
    Some(format!(
        "{} {} {} {}",
        out.paint(Style::Dim, &clean(&time)),
        out.paint(Style::Green, &clean(kind)),
        out.paint(Style::Bold, &clean(agent)),
        clean(&detail(&event["data"]))
    ))
}

/// The detail that distinguishes an event from others of its kind.
fn detail(data: &Value) -> String {
    let members = [
        "topic",
        "title",
        "text",
        "invitee",
        "agent",
        "handle",
        "package_id",
        "subject",
        "finish_reason",
        "to",
    ];
    let texts: Vec<&str> = members.iter().filter_map(|name| data[*name].as_str()).collect();
    texts.join(" · ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_line_and_a_head_is_none() {
        let event = json!({"kind": "session.message", "at": 1_000, "agents": ["@a.b"], "data": {"topic": "T\n", "text": "x"}});
        let line = |event: &Value| line(Out::new(false, true), &event.to_string());
        assert_eq!(line(&event).as_deref(), Some("1970-01-01T00:00:01.000Z session.message @a.b T\\n · x"));
        assert_eq!(line(&json!({"kind": "head"})), None);
    }
}
