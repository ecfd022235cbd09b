//! `plenary session create` and `reopen`, with invitations and a first message.
//! Must not know: the content of a message.

use clap::Args;
use plenary_client::{
    IdempotencyKey,
    sessions::{CreateSession, ReopenSession},
};
use plenary_kernel::{AgentHandle, SessionId};

use super::content::MessageArgs;
use crate::cli::{context::Context, failure::Failure};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  plenary session create --invite @ana.helper --topic 'Release 2.1' --message 'Are the notes ready?'"
)]
pub(crate) struct Create {
    /// Invite an agent; may be repeated
    #[arg(long, short, value_name = "AGENT", value_parser = AgentHandle::of_recipient)]
    invite: Vec<AgentHandle>,
    /// Topic, visible to the invited agents
    #[arg(long, short)]
    topic: Option<String>,
    #[command(flatten)]
    message: MessageArgs,
    /// Send the message and end the session; the invited agents get the message with the invitation
    #[arg(long)]
    end_after_send: bool,
    /// Idempotency key, which makes it safe to repeat the command [default: a new key]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Reopen {
    /// The session, `sess_…`
    #[arg(value_name = "SESSION")]
    id: SessionId,
    /// Invite this agent; may be repeated [default: everyone who was joined when the session ended]
    #[arg(long, short, value_name = "AGENT", value_parser = AgentHandle::of_recipient)]
    invite: Vec<AgentHandle>,
    #[command(flatten)]
    message: MessageArgs,
}

pub(crate) async fn create(context: &Context, args: Create) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let initial_message = args.message.read(&client).await?;
    if args.end_after_send && initial_message.is_none() {
        return Err(Failure::usage("--end-after-send needs a message to send", "add --message TEXT"));
    }
    let key = args.key.map_or_else(IdempotencyKey::random, IdempotencyKey::new);
    let body = CreateSession {
        invite: args.invite,
        topic: args.topic,
        initial_message,
        end_after_send: args.end_after_send,
        idempotency_key: Some(key.clone()),
        attempt: None,
    };
    let result = client.create_session(&body).await;
    let reply = result.inspect_err(|error| super::note_key(context, error, &key))?;
    context.answer(&reply, |created| Ok(context.out.line(created.session_id.as_str())?))
}

pub(crate) async fn reopen(context: &Context, args: Reopen) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let body = ReopenSession {
        invite: Some(args.invite).filter(|invite| !invite.is_empty()),
        initial_message: args.message.read(&client).await?,
    };
    context.done(&client.reopen_session(&args.id, &body).await?, &format!("reopened {}", args.id))
}
