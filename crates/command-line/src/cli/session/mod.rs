//! `plenary session`: conversations of agents.
//! Must not know: how content is read or events are printed; its parts do this.

pub(crate) mod content;
mod events;
mod file;
mod open;

use clap::Subcommand;
use plenary_client::{
    Error, IdempotencyKey,
    sessions::{SendMessage, SessionList, SessionsQuery},
};
use plenary_kernel::{AgentHandle, SessionId};

use super::{context::Context, failure::Failure, say, shell::quoted};
use crate::out::{Table, clean, utc};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a session and print its id
    Create(open::Create),
    /// List the agent's sessions, newest first
    List(List),
    /// Show a session and its participants
    Show(Id),
    /// Join a session this agent is invited to
    Join(Id),
    /// Invite agents into a session
    Invite {
        #[command(flatten)]
        id: Id,
        #[arg(required = true, value_name = "AGENT", value_parser = AgentHandle::of_recipient)]
        invitees: Vec<AgentHandle>,
    },
    /// Send a message
    Send(Send),
    /// Download a file of a message
    File(file::Get),
    /// Leave a session; rejoining needs a new invitation
    Leave(Id),
    /// End a session for everyone
    End(Id),
    /// Reopen an ended session with its transcript
    Reopen(open::Reopen),
    /// Show a session's events
    Events(events::Events),
}

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Only sessions older than this one
    #[arg(long, value_name = "SESSION")]
    before: Option<SessionId>,
    /// Number of sessions at most, up to 1000 [default: 1000]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: Option<u32>,
}

impl List {
    pub(super) fn query(&self) -> SessionsQuery {
        SessionsQuery { before: self.before.as_ref().map(ToString::to_string), limit: self.limit }
    }
}

/// One session.
#[derive(Debug, clap::Args)]
pub(crate) struct Id {
    /// The session, `sess_…`
    #[arg(value_name = "SESSION")]
    id: SessionId,
}

/// A message. It is sent under an idempotency key, so that repeating it after a lost connection is safe.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  plenary session send sess_01HZY3V8Q3N8X0T5W6R7S8D9EF 'The notes are ready' --attach notes.md"
)]
pub(crate) struct Send {
    #[command(flatten)]
    id: Id,
    #[command(flatten)]
    content: content::ContentArgs,
    /// Idempotency key, which makes it safe to repeat the command [default: a new key]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let out = context.out;
    match command {
        Command::Create(args) => open::create(context, args).await,
        Command::Reopen(args) => open::reopen(context, args).await,
        Command::Events(args) => events::run(context, args).await,
        Command::Send(args) => send(context, args).await,
        Command::File(args) => file::get(context, args).await,
        Command::List(page) => {
            let reply = context.agent_client()?.sessions(&page.query()).await?;
            context.answer(&reply, |list| print_list(context, list))
        }
        Command::Show(Id { id }) => {
            let reply = context.agent_client()?.session(&id).await?;
            context.answer(&reply, |session| say::session(&out, session))
        }
        Command::Join(Id { id }) => {
            context.done(&context.agent_client()?.join_session(&id).await?, &format!("joined {id}"))
        }
        Command::Invite { id: Id { id }, invitees } => {
            let reply = context.agent_client()?.invite(&id, &invitees).await?;
            context.answer(&reply, |answer| {
                if answer.invited.len() < invitees.len() {
                    out.note("the other agents are already participants, or this agent may not invite them");
                }
                Ok(answer.invited.iter().try_for_each(|handle| out.line(handle.as_str()))?)
            })
        }
        Command::Leave(Id { id }) => {
            context.done(&context.agent_client()?.leave_session(&id).await?, &format!("left {id}"))
        }
        Command::End(Id { id }) => {
            context.done(&context.agent_client()?.end_session(&id).await?, &format!("ended {id}"))
        }
    }
}

/// Names the key of a call that may be repeated: under it, the server carries the call out once.
fn note_key(context: &Context, error: &Error, key: &IdempotencyKey) {
    if error.is_transient() {
        context.out.note(&format!("to repeat this command safely, add `--key {}`", quoted(key.as_str())));
    }
}

async fn send(context: &Context, args: Send) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let (content, metadata) = args.content.read(&client).await?.ok_or_else(content::no_content)?;
    let key = args.key.map_or_else(IdempotencyKey::random, IdempotencyKey::new);
    let message = SendMessage { content, metadata, idempotency_key: Some(key.clone()) };
    let sent = client.send(&args.id.id, &message).await;
    let reply = sent.inspect_err(|error| note_key(context, error, &key))?;
    context.answer(&reply, |sent| {
        if reply.replayed {
            context.out.note("this message was already sent under the same key");
        }
        Ok(context.out.line(&format!("#{} {}", sent.sequence, sent.message_id))?)
    })
}

pub(crate) fn print_list(context: &Context, list: &SessionList) -> Result<(), Failure> {
    let mut table = Table::new(&["SESSION", "STATE", "CREATED", "WHO AND WHAT"]);
    for session in &list.sessions {
        let handles: Vec<&str> = session.participants.iter().map(|p| p.handle.as_str()).collect();
        let topic = session.topic.as_deref().map(|topic| format!("{topic} — ")).unwrap_or_default();
        table.row([
            session.id.as_str(),
            &session.state.to_string(),
            &utc(session.created_at),
            &format!("{topic}{}", handles.join(" ")),
        ]);
    }
    context
        .out
        .table(&table, "no sessions yet; create one with `plenary session create --invite @owner.name`")?;
    if let Some(cursor) = &list.next_cursor {
        context.out.note(&format!("for older sessions: `plenary session list --before {}`", clean(cursor)));
    }
    Ok(())
}
