//! The everyday commands: `plenary send`, `reply`, and `ask` for an agent.
//! Must not know: how content is read, or how news is printed.

mod last;
mod suggestions;
mod talk;
mod who;

use std::{str::FromStr, time::Duration};

use clap::Args;
use plenary_client::{
    Client,
    inbox::InboxQuery,
    sessions::{Content, EventsQuery},
};
use plenary_kernel::{AgentHandle, SessionId};
use serde_json::json;
use tokio::time::Instant;

use super::{
    context::Context,
    failure::{Exit, Failure},
    hook,
    session::content::{ContentArgs, no_content},
};
use crate::out::{clean, span};
use talk::{MessageArgs, SentMessage};
pub(crate) use who::{WhoArgs, who};

/// Shown under `plenary send --help`.
const SEND_HELP: &str = "\
The message goes into your session with exactly these recipients, or into a new one; without --topic not into one that was \
opened with a topic. Accepted does not mean read: \
`plenary message status` shows the delivery state, and an answer arrives in your inbox. If no agent is named, \
you speak as your person, `@OWNER`, with the token of the owner.
  plenary send @nick.claude-parser \"The schema changed: see db/schema.sql\"
  plenary send @nick.cc,@acme.support \"Who takes this?\" --topic \"Export is slow\"
  plenary send @nick.claude-parser/4f1c \"You are on the branch of the other session\"
  git diff | plenary send @nick.reviewer -";

/// Shown under `plenary reply --help`.
const REPLY_HELP: &str = "\
The last message is the newest unread one, otherwise the newest of your latest sessions.
  plenary reply \"Done: it takes tabs now\"
  plenary reply --to sess_01J9… \"Yes\"";

/// The recipient of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recipient {
    /// Agents, in the session with exactly them.
    Agents(Vec<AgentHandle>),
    /// The participants of a session.
    Session(SessionId),
    /// One session of an agent's coding agents, by the beginning of its name.
    Coding(AgentHandle, String),
}

impl FromStr for Recipient {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Session(id));
        }
        let is_of_session = |(_, name): &(&str, &str)| !name.is_empty() && !name.contains([',', '/']);
        if let Some((agent, name)) = text.split_once('/').filter(is_of_session)
            && let Ok(agent) = agent.parse()
        {
            return Ok(Self::Coding(agent, name.to_owned()));
        }
        let agents = text.split(',').map(str::trim).map(AgentHandle::of_recipient);
        let mut agents = agents.collect::<Result<Vec<_>, _>>().map_err(|_| {
            let must_be =
                "must be @OWNER.NAME, @OWNER for a person, several of them with commas, or a session, sess_…";
            let at = format!("@{text}");
            let meant = at.contains('.') && AgentHandle::of_recipient(&at).is_ok();
            if meant { format!("{must_be}; did you mean {at}?") } else { must_be.to_owned() }
        })?;
        agents.sort_unstable();
        agents.dedup();
        Ok(Self::Agents(agents))
    }
}

#[derive(Debug, Args)]
#[command(after_help = SEND_HELP)]
pub(crate) struct Send {
    /// `@OWNER.NAME`, `@OWNER` for a person, several with commas between them, `@OWNER.NAME/SESSION` for one session of a coding
    /// agent, or a session of the network
    #[arg(value_name = "TO")]
    to: Recipient,
    #[command(flatten)]
    content: ContentArgs,
    /// Topic: uses a separate session with this topic, which the invited agents see
    #[arg(long, short)]
    topic: Option<String>,
    /// Mark the message as urgent: it also reaches agents with `plenary attention focus`
    #[arg(long)]
    urgent: bool,
}

#[derive(Debug, Args)]
#[command(after_help = REPLY_HELP)]
pub(crate) struct Reply {
    #[command(flatten)]
    content: ContentArgs,
    /// Answer these agents, or in this session [default: the last message]
    #[arg(long, value_name = "ID")]
    to: Option<Recipient>,
    /// Mark the message as urgent: it also reaches agents with `plenary attention focus`
    #[arg(long)]
    urgent: bool,
}

pub(crate) async fn send(context: &Context, args: Send) -> Result<(), Failure> {
    let client = context.speaker()?;
    let content = args.content.read(&client).await?.ok_or_else(no_content)?;
    let draft = MessageArgs::new(content, args.topic).urgent(args.urgent);
    let sent = talk::send(context, &client, &args.to, draft).await?;
    print_sent(context, &sent)
}

pub(crate) async fn reply(context: &Context, args: Reply) -> Result<(), Failure> {
    let client = context.speaker()?;
    let content = args.content.read(&client).await?.ok_or_else(no_content)?;
    let draft = MessageArgs::new(content, None).urgent(args.urgent);
    if let Some(to) = args.to {
        return print_sent(context, &talk::send(context, &client, &to, draft).await?);
    }
    // The message may be one that the caller has not seen.
    let last = last::last(&context.out, &client).await?;
    context.out.note(&format!("answers {}", last.summary));
    let sent = match last.sent_with {
        Some(invitation) => talk::reopen(&client, &last.session, invitation, draft).await?,
        None => talk::send(context, &client, &Recipient::Session(last.session.clone()), draft).await?,
    };
    if acknowledge(context, &client, &last, &sent).await.is_err() {
        context.out.note("the server did not record it, so the answered message stays unread");
    }
    print_sent(context, &sent)
}

/// Marks the answered message as seen, or those that the answer to an invitation showed.
async fn acknowledge(
    context: &Context,
    client: &Client,
    last: &last::LastMessage,
    sent: &SentMessage,
) -> Result<(), Failure> {
    let sequences = match last.sequence {
        Some(sequence) => vec![sequence],
        None => last::print_written(&context.out, client, last, sent).await?,
    };
    for sequence in sequences {
        client.ack_event(&last.session, sequence).await?;
    }
    Ok(())
}

fn print_sent(context: &Context, sent: &SentMessage) -> Result<(), Failure> {
    let SentMessage { from, session, sequence, to, not_joined } = sent;
    if context.out.is_json() {
        let answer =
            json!({"session_id": session, "sequence": sequence, "from": from, "to": to, "state": "accepted"});
        return Ok(context.out.line(&answer.to_string())?);
    }
    let to: Vec<&str> = to.iter().map(AgentHandle::as_str).collect();
    context.out.line(&format!("#{sequence} {session} to {}", to.join(", ")))?;
    context.out.note(&format!(
        "accepted from {from}; `plenary message status {session} {sequence}` shows its state"
    ));
    if !not_joined.is_empty() {
        let names: Vec<&str> = not_joined.iter().map(AgentHandle::as_str).collect();
        context.out.note(&format!(
            "invited before and not joined: {}; an invited agent sees messages once it joins",
            names.join(", ")
        ));
    }
    Ok(())
}

/// Sends a question to an agent, and prints the agent's next message in the session.
pub(crate) async fn ask(
    context: &Context,
    client: &Client,
    to: &AgentHandle,
    text: &str,
    wait: Duration,
) -> Result<(), Failure> {
    let deadline = Instant::now() + wait;
    let news =
        InboxQuery { kinds: Some("session.message".to_owned()), limit: Some(100), ..InboxQuery::default() };
    // Read the cursor before the question is sent, so that no later message is missed.
    let mut after = client.inbox(&news).await?.value.cursor;
    let draft = MessageArgs::new((Content::from(text), None), None);
    let sent = talk::send(context, client, &Recipient::Agents(vec![to.clone()]), draft).await?;
    if wait.is_zero() {
        return print_sent(context, &sent);
    }
    context.out.note(&format!(
        "asked {to} in {}; waiting up to {} for the answer, which reaches the inbox also if you stop",
        sent.session,
        span(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
    ));
    let mut last_read = sent.sequence;
    loop {
        let query = EventsQuery { after_sequence: last_read, limit: None };
        let page = client.events(&sent.session, query).await?;
        for event in &page.value.events {
            last_read = event.sequence.unwrap_or(last_read);
            if let Some(message) = talk::message(event).filter(|message| message.sender == *to) {
                hook::note_printed(context, &sent.from, &sent.session, last_read).await;
                if context.out.is_json() {
                    return Ok(context.out.line(event.json())?);
                }
                return Ok(context.out.line(&super::say::content(&context.out, &message.content))?);
            }
        }
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            let text = format!("no answer from {} yet; it will arrive in your inbox", clean(to.as_str()));
            context.out.note(&text);
            return Err(Failure::Reported(Exit::Unanswered));
        }
        if page.value.events.is_empty() {
            let query = InboxQuery { after: Some(after.clone()), ..news.clone() };
            after = client.wait_inbox(&query, remaining).await?.value.cursor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_parsed() {
        let agents = |handles: &[&str]| {
            Recipient::Agents(handles.iter().map(|handle| handle.parse().unwrap()).collect())
        };
        assert_eq!("@nick".parse(), Ok(agents(&["@nick.nick"])));
        assert_eq!("@b.c, @a.b,@b.c".parse(), Ok(agents(&["@a.b", "@b.c"])));
        let id = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV";
        assert_eq!(id.parse(), Ok(Recipient::Session(id.parse().unwrap())));
        assert_eq!("@a.b/4f1c".parse(), Ok(Recipient::Coding("@a.b".parse().unwrap(), "4f1c".to_owned())));
        for wrong in ["", "nick", "@a.b,", "@A.b", "@a.b/", "@a.b/1,@a.c", "@a/1", "@a.b/1/2"] {
            assert!(wrong.parse::<Recipient>().is_err(), "{wrong}");
        }
        for (wrong, meant) in [("a.b", true), ("a.b/1", false), ("tabs", false), ("@a.b,c.d", false)] {
            let why = wrong.parse::<Recipient>().unwrap_err();
            assert_eq!(why.ends_with("; did you mean @a.b?"), meant, "{wrong}: {why}");
        }
    }
}
