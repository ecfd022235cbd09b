//! `plenary channel post`, `status`, and `spec` and `state`, which show the newest payload or set a new one.
//! Must not know: who holds the work.

use clap::Args;
use plenary_client::channels::NewEvent;
use serde_json::json;

use super::{
    payload,
    read::{self, ChannelArgument},
    render,
    target::ChannelTarget,
};
use crate::cli::{
    context::Context,
    failure::{Exit, Failure},
};

/// The author of an event, and whether it is only validated.
#[derive(Debug, Args)]
pub(crate) struct PostIdentity {
    /// Post under this stable name [default: the agent's handle]
    #[arg(long, visible_alias = "author", value_name = "NAME")]
    agent: Option<String>,
    /// Only validate the event and store nothing; exit with 1 if it is invalid
    #[arg(long, visible_alias = "lint")]
    validate: bool,
}

/// An event of any kind: `comms` for messages, results and artifacts, `log` for details, or one of your own.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  plenary channel post VHGC comms --payload '{\"text\":\"The lexer is done\"}'"
)]
pub(crate) struct Post {
    #[command(flatten)]
    pub(super) which: ChannelArgument,
    /// Kind of the event, e.g. comms
    kind: String,
    /// The payload: a JSON object, `-` for standard input, or `@FILE`
    #[arg(long, value_name = "JSON")]
    payload: String,
    #[command(flatten)]
    posting: PostIdentity,
}

/// Only the newest document counts, and it counts as a whole: a member that it omits is removed.
#[derive(Debug, Args)]
pub(crate) struct Document {
    #[command(flatten)]
    pub(super) which: ChannelArgument,
    /// Set a new one: a JSON object, `-` for standard input, or `@FILE`
    #[arg(long, value_name = "JSON")]
    set: Option<String>,
    /// Post under this stable name [default: the agent's handle]
    #[arg(long, visible_alias = "author", value_name = "NAME", requires = "set")]
    agent: Option<String>,
    /// Only validate the event and store nothing; exit with 1 if it is invalid
    #[arg(long, visible_alias = "lint", requires = "set")]
    validate: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary channel status VHGC working --note 'fixing the lexer'")]
pub(crate) struct Status {
    #[command(flatten)]
    pub(super) which: ChannelArgument,
    /// Phase of your work, e.g. working, blocked, done
    phase: String,
    /// Note
    #[arg(long, short, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    posting: PostIdentity,
}

pub(super) async fn post(context: &Context, target: &ChannelTarget, args: Post) -> Result<(), Failure> {
    let payload = payload::object(&args.payload)?;
    let event = NewEvent { kind: args.kind, author: args.posting.agent, payload };
    send(context, target, &event, args.posting.validate).await
}

pub(super) async fn document(
    context: &Context,
    target: &ChannelTarget,
    kind: &str,
    args: Document,
) -> Result<(), Failure> {
    let Some(argument) = args.set else {
        return read::show(context, &target.client.channel_newest(&target.id, kind).await?);
    };
    let event = NewEvent { kind: kind.to_owned(), author: args.agent, payload: payload::object(&argument)? };
    send(context, target, &event, args.validate).await
}

pub(super) async fn status(context: &Context, target: &ChannelTarget, args: Status) -> Result<(), Failure> {
    let author = args.posting.agent.clone();
    let agent = target.name(context, args.posting.agent).await?;
    let mut payload = json!({"agent": agent, "phase": args.phase});
    if let Some(note) = args.note {
        payload["note"] = note.into();
    }
    send(context, target, &payload::event("status", author, &payload)?, args.posting.validate).await
}

/// Posts an event and prints its id, or reports its problems.
async fn send(
    context: &Context,
    target: &ChannelTarget,
    event: &NewEvent,
    validate: bool,
) -> Result<(), Failure> {
    if !validate {
        let reply = target.client.append_event(&target.id, event).await?;
        return context.answer(&reply, |event| Ok(context.out.line(&format!("#{}", event.id))?));
    }
    let reply = target.client.check_event(&target.id, event).await?;
    context.answer(&reply, |verdict| {
        if verdict.valid {
            context.out.note("the event is valid; nothing was stored");
        }
        Ok(verdict.problems.iter().try_for_each(|problem| context.out.line(&render::problem(problem)))?)
    })?;
    if reply.valid { Ok(()) } else { Err(Failure::Reported(Exit::Refused)) }
}
