//! `plenary frame advise`, `broadcast`, `handover` and `send`: one frame, one call.
//! Must not know: the reaction of recipients.

use std::path::PathBuf;

use clap::Args;
use plenary_client::frames::{Advisory, Broadcast, EventClass, Handover, Kind, Payload};
use serde_json::{Map, Value};

use super::{
    compose::{FrameArgs, report},
    kind,
    seat::Speaker,
};
use crate::cli::{context::Context, failure::Failure, input};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  plenary frame advise 'refactoring the lexer' --file src/lexer.rs --ttl 10m"
)]
pub(crate) struct Advise {
    /// What this session is doing; `-` reads it from standard input
    text: String,
    /// A file that this concerns; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    file_refs: Vec<String>,
    /// The working tree
    #[arg(long, value_name = "PATH")]
    worktree: Option<String>,
    /// The branch
    #[arg(long)]
    branch: Option<String>,
    #[command(flatten)]
    frame: FrameArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  plenary frame broadcast 'lexer refactoring merged' --class merged --ref main"
)]
pub(crate) struct BroadcastArgs {
    /// What has happened; `-` reads it from standard input
    text: String,
    /// Class of the event: merged, stale, released or other
    #[arg(long = "class", value_name = "CLASS", default_value_t = EventClass::Other)]
    event_class: EventClass,
    /// A branch, change request or commit that this concerns; may be repeated
    #[arg(long = "ref", value_name = "REF")]
    refs: Vec<String>,
    #[command(flatten)]
    frame: FrameArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HandoverArgs {
    /// Information for the next session; `-` reads it from standard input
    #[arg(required_unless_present = "body_file", conflicts_with = "body_file")]
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// The session that hands over [default: this one]
    #[arg(long, value_name = "SESSION")]
    previous: Option<String>,
    /// The session that takes over, if it is known
    #[arg(long, value_name = "SESSION")]
    next: Option<String>,
    /// A related file, change request or decision; may be repeated
    #[arg(long = "pointer", value_name = "REF")]
    pointer_refs: Vec<String>,
    #[command(flatten)]
    frame: FrameArgs,
}

/// The arguments of `frame send`; the server checks that the payload fits the kind.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The kind; `agent_` may be left out: agent_advisory, agent_broadcast, agent_handover, agent_lock_request,
    /// agent_lock_release, agent_lease_extend, agent_query, agent_response, agent_return_event, agent_binding_moment,
    /// peer_diagnostic_request, peer_diagnostic_response, intent_declare, intent_withdraw, flush_executed
    #[arg(long, value_parser = kind)]
    kind: Kind,
    /// The payload: a JSON object, `-` for standard input, or `@FILE`
    #[arg(long, value_name = "JSON")]
    payload: String,
    #[command(flatten)]
    frame: FrameArgs,
}

pub(super) async fn advise(context: &Context, args: Advise) -> Result<(), Failure> {
    let Advise { text, file_refs, worktree, branch, frame } = args;
    let advisory =
        Advisory { advisory_text: text_or_stdin(text)?, file_refs: some(file_refs), worktree, branch };
    send_payload(context, &frame, &Payload::Advisory(advisory)).await
}

pub(super) async fn broadcast(context: &Context, args: BroadcastArgs) -> Result<(), Failure> {
    let BroadcastArgs { text, event_class, refs, frame } = args;
    let broadcast = Broadcast { broadcast_text: text_or_stdin(text)?, event_class, refs: some(refs) };
    send_payload(context, &frame, &Payload::Broadcast(broadcast)).await
}

pub(super) async fn handover(context: &Context, args: HandoverArgs) -> Result<(), Failure> {
    let handover_body = match (args.text, &args.body_file) {
        (_, Some(path)) => input::file(path)?,
        (text, None) => text_or_stdin(text.unwrap_or_default())?,
    };
    let speaker = Speaker::of(context, &args.frame.seat).await?;
    let handover = Handover {
        previous_session_id: args.previous.unwrap_or_else(|| speaker.session().to_owned()),
        next_session_id: args.next,
        handover_body,
        pointer_refs: some(args.pointer_refs),
    };
    report(context, &args.frame.send(context, &speaker, &Payload::Handover(handover)).await?)
}

pub(super) async fn send(context: &Context, args: Send) -> Result<(), Failure> {
    let payload = object(&args.payload)?;
    let speaker = Speaker::of(context, &args.frame.seat).await?;
    let composed = args.frame.compose(context, &speaker, args.kind, payload);
    report(context, &composed.send(&speaker, &speaker.seat).await?)
}

async fn send_payload(context: &Context, frame: &FrameArgs, payload: &Payload) -> Result<(), Failure> {
    let speaker = Speaker::of(context, &frame.seat).await?;
    report(context, &frame.send(context, &speaker, payload).await?)
}

/// A text from the command line or, for `-`, from standard input.
pub(super) fn text_or_stdin(text: String) -> Result<String, Failure> {
    if text == "-" { input::standard() } else { Ok(text) }
}

/// `None` for an empty list: an optional list is absent, not empty.
pub(super) fn some(list: Vec<String>) -> Option<Vec<String>> {
    Some(list).filter(|list| !list.is_empty())
}

fn object(argument: &str) -> Result<Map<String, Value>, Failure> {
    let text = match argument.strip_prefix('@') {
        Some(path) => input::file(path.as_ref())?,
        None => text_or_stdin(argument.to_owned())?,
    };
    let bad = |why: String| {
        Failure::usage(
            format!("the payload cannot be sent: {why}"),
            "give e.g. --payload '{\"advisory_text\":\"…\"}', --payload @FILE, or --payload - for standard input",
        )
    };
    input::object(&text).map_err(bad)
}
