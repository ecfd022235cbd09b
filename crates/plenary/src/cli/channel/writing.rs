//! `plenary channel post`, `status`, and `spec` and `state`, which show the newest payload or set a new one.
//! Must not know: who holds the work.

use clap::Args;
use plenary_wire::Operation;
use plenary_wire::channels::{self, NewEvent, Payload, Validate};
use serde_json::json;

use super::{
    payload,
    place::Place,
    reading::{self, Which},
    words,
};
use crate::cli::{
    context::Context,
    failure::{Exit, Failure},
};

/// As whom an event is posted, and whether it is.
#[derive(Debug, Args)]
pub(crate) struct Posting {
    /// Post under this stable name [default: the agent's handle]
    #[arg(long, visible_alias = "author", value_name = "NAME")]
    agent: Option<String>,
    /// Only say what is wrong with it, and store nothing; 1 where something is
    #[arg(long, visible_alias = "lint")]
    validate: bool,
}

/// An event of any kind: `comms` for messages, results and artifacts, `log` for details, or one of your own.
#[derive(Debug, Args)]
pub(crate) struct Post {
    #[command(flatten)]
    pub(super) which: Which,
    /// Its kind, e.g. comms
    kind: String,
    /// The payload: a JSON object, `-` for standard input, or `@FILE`
    #[arg(long, value_name = "JSON")]
    payload: String,
    #[command(flatten)]
    posting: Posting,
}

/// The newest one counts as a whole: what a new one leaves out is gone.
#[derive(Debug, Args)]
pub(crate) struct Document {
    #[command(flatten)]
    pub(super) which: Which,
    /// Set a new one: a JSON object, `-` for standard input, or `@FILE`
    #[arg(long, value_name = "JSON")]
    set: Option<String>,
    /// Post under this stable name [default: the agent's handle]
    #[arg(long, visible_alias = "author", value_name = "NAME", requires = "set")]
    agent: Option<String>,
    /// Only say what is wrong with it, and store nothing; 1 where something is
    #[arg(long, visible_alias = "lint", requires = "set")]
    validate: bool,
}

/// A sign of life.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(super) which: Which,
    /// What you are at, e.g. working, blocked, done
    phase: String,
    /// More about it
    #[arg(long, short, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    posting: Posting,
}

pub(super) async fn post(context: &Context, place: &Place, args: Post) -> Result<(), Failure> {
    let payload = payload::object(&args.payload)?;
    let event = NewEvent { kind: args.kind, author: args.posting.agent, payload };
    send(context, place, &event, args.posting.validate).await
}

pub(super) async fn document(
    context: &Context,
    place: &Place,
    (kind, newest): (&str, &Operation<(), Payload>),
    args: Document,
) -> Result<(), Failure> {
    let Some(given) = args.set else {
        return reading::show(context, &place.call(newest, &(), &()).await?);
    };
    let event = NewEvent { kind: kind.to_owned(), author: args.agent, payload: payload::object(&given)? };
    send(context, place, &event, args.validate).await
}

pub(super) async fn status(context: &Context, place: &Place, args: Status) -> Result<(), Failure> {
    let author = args.posting.agent.clone();
    let agent = place.name(context, args.posting.agent).await?;
    let mut payload = json!({"agent": agent, "phase": args.phase});
    if let Some(note) = args.note {
        payload["note"] = note.into();
    }
    send(context, place, &payload::event("status", author, &payload)?, args.posting.validate).await
}

/// Posts an event and prints its id, or says what is wrong with it.
async fn send(context: &Context, place: &Place, event: &NewEvent, validate: bool) -> Result<(), Failure> {
    if !validate {
        let reply = place.call(&channels::APPEND, &(), event).await?;
        return context.answer(&reply, |event| Ok(context.out.line(&format!("#{}", event.id))?));
    }
    let reply = place.call(&channels::CHECK, &Validate { validate: true }, event).await?;
    context.answer(&reply, |verdict| {
        if verdict.valid {
            context.out.note("nothing is wrong with it; nothing was stored");
        }
        Ok(verdict.problems.iter().try_for_each(|problem| context.out.line(&words::problem(problem)))?)
    })?;
    if reply.valid { Ok(()) } else { Err(Failure::Said(Exit::Refused)) }
}
