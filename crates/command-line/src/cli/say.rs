//! Agents, sessions, content and events as text for people; foreign text is escaped.
//! Must not know: their source.

use plenary_client::{
    Error, Event, EventBody, LeftReason, Reply,
    accounts::{Agent, Blocks},
    sessions::{Content, Message, Part, Session},
};
use plenary_kernel::{AllowEntry, FileId};

use super::{context::Context, failure::Failure};
use crate::out::{Out, Style, Table, clean, clean_block, counted, utc};

/// The indent of a message's second and later lines.
const INDENT: &str = "    ";

/// An allowlist in one line.
pub(crate) fn entries(entries: &[AllowEntry]) -> String {
    let names: Vec<&str> = entries.iter().map(AllowEntry::as_str).collect();
    names.join(" ")
}

/// An agent's settings.
pub(crate) fn agent(out: &Out, agent: &Agent) -> Result<(), Failure> {
    let list = if agent.allowlist.is_empty() { "empty".into() } else { entries(&agent.allowlist) };
    out.line(&format!("agent         {}", out.paint(Style::Bold, agent.handle.as_str())))?;
    out.line(&format!("policy        {}", agent.policy))?;
    out.line(&format!("allowlist     {list}"))?;
    if let Some(is_on) = agent.self_service {
        out.line(&format!("self-service  {}", if is_on { "on" } else { "off" }))?;
    }
    if agent.hold_runs {
        out.line("runs          of others are held until a person of its owner releases them")?;
    }
    if agent.hold_invitations {
        out.line("invitations   of others are held until a person of its owner accepts them")?;
    }
    for (name, value) in [
        ("name        ", &agent.display_name),
        ("description ", &agent.description),
        ("visibility  ", &agent.visibility),
    ] {
        if let Some(value) = value.as_ref().filter(|value| *value != agent.handle.as_str()) {
            out.line(&format!("{name}  {}", clean(value)))?;
        }
    }
    if let Some(card) = &agent.card_body {
        out.line("")?;
        out.line(&clean_block(card, ""))?;
    }
    Ok(())
}

/// The agents that an agent blocks, page by page.
pub(crate) async fn blocks(
    context: &Context,
    ask: impl AsyncFnMut(Option<&str>) -> Result<Reply<Blocks>, Error>,
) -> Result<(), Failure> {
    let mut table = Table::new(&["BLOCKED", "SINCE"]);
    let take = |page: &Blocks| {
        for block in &page.blocks {
            table.row([block.blocked_handle.as_str(), &block.created_at.map(utc).unwrap_or_default()]);
        }
    };
    context.pages(ask, |page| page.next_cursor.as_deref(), take).await?;
    context.table(&table, "no agent is blocked")
}

/// A session and its participants.
pub(crate) fn session(out: &Out, session: &Session) -> Result<(), Failure> {
    out.line(&format!("session  {}", out.paint(Style::Bold, session.id.as_str())))?;
    out.line(&format!("state    {}", session.state))?;
    if let Some(topic) = &session.topic {
        out.line(&format!("topic    {}", clean(topic)))?;
    }
    out.line(&format!("created  {}", utc(session.created_at)))?;
    if let Some(ended_at) = session.ended_at {
        out.line(&format!("ended    {}", utc(ended_at)))?;
    }
    out.line("")?;
    let mut table = Table::new(&["PARTICIPANT", "STATUS", "SINCE"]);
    for participant in &session.participants {
        let since = participant.left_at.or(participant.joined_at).map(utc).unwrap_or_default();
        table.row([participant.handle.as_str(), &participant.status.to_string(), &since]);
    }
    Ok(out.table(&table, "the session has no participants")?)
}

/// A message's content as text, with several lines if it has them.
pub(crate) fn content(out: &Out, content: &Content) -> String {
    let parts = match content {
        Content::Text(text) => return clean_block(text, INDENT),
        Content::Parts(parts) => parts,
    };
    let lines: Vec<String> = parts.iter().map(|one| part(out, one)).collect();
    lines.join(&format!("\n{INDENT}"))
}

fn part(out: &Out, part: &Part) -> String {
    let or =
        |text: &Option<String>| text.as_deref().map(|text| format!(" {}", clean(text))).unwrap_or_default();
    let bytes =
        |size: Option<u64>| size.map(|bytes| format!(", {}", counted(bytes, "byte"))).unwrap_or_default();
    let get = |id: &FileId| out.suggestion(&format!("plenary session file {id} -o PATH"));
    match part {
        Part::Text { text } => clean_block(text, INDENT),
        Part::Image { file_id: Some(id), name, size, .. } => {
            format!("[image{}{}, {}]", or(name), bytes(*size), get(id))
        }
        Part::Image { url: Some(url), name, .. } => format!("[image{} {}]", or(name), clean(url)),
        Part::Image { url: None, name, mime_type, .. } => {
            format!("[image{}{}, inline]", or(name), or(mime_type))
        }
        Part::File { file_id: Some(id), name, size, .. } => {
            format!("[file{}{}, {}]", or(name), bytes(*size), get(id))
        }
        Part::File { url, name, size, .. } => {
            format!("[file{}{}{}]", or(name), or(url), bytes(*size))
        }
        Part::Data { data } => {
            let json = serde_json::to_string(data).unwrap_or_default();
            format!("[data {}]", clean(&json))
        }
        Part::Unknown(value) => format!("[{}]", clean(&value.to_string())),
    }
}

/// An event in one line, or more for a longer message. `with_session` adds the session's id.
pub(crate) fn event(out: &Out, event: &Event, with_session: bool) -> String {
    let mut line = out.paint(Style::Dim, &utc(event.created_at));
    if let Some(session) = event.session_id.as_ref().filter(|_| with_session) {
        line.push_str(&format!(" {}", out.paint(Style::Dim, session.as_str())));
    }
    if let Some(request) = &event.request_id {
        line.push_str(&format!(" {}", out.paint(Style::Dim, request.as_str())));
    }
    if let Some(sequence) = event.sequence {
        line.push_str(&format!(" {}", out.paint(Style::Dim, &format!("#{sequence}"))));
    }
    line.push(' ');
    line.push_str(&what_happened(out, event));
    line
}

fn what_happened(out: &Out, event: &Event) -> String {
    let green = |text: String| out.paint(Style::Green, &text);
    let yellow = |text: String| out.paint(Style::Yellow, &text);
    match &event.body {
        EventBody::Message(message) => message_line(out, message),
        EventBody::Invited { invitee, by, topic, initial_message } => {
            let topic = topic.as_deref().map(|topic| format!(": {}", clean(topic))).unwrap_or_default();
            let inline = initial_message
                .as_deref()
                .map(|message| format!("\n{INDENT}{}", message_line(out, message)))
                .unwrap_or_default();
            format!("{}{inline}", green(format!("{by} invited {invitee}{topic}")))
        }
        EventBody::Joined(agent) => green(format!("{agent} joined")),
        EventBody::Reconnected(agent) => green(format!("{agent} is back")),
        EventBody::Disconnected(agent) => yellow(format!("{agent} is offline")),
        EventBody::Left { agent, reason: Some(LeftReason::GraceExpired) } => {
            yellow(format!("{agent} left: offline for too long"))
        }
        EventBody::Left { agent, reason: Some(LeftReason::AccordRevoked) } => {
            yellow(format!("{agent} left: its network is no longer linked"))
        }
        EventBody::Left { agent, reason: Some(LeftReason::HostRestored) } => yellow(format!(
            "{agent} left: the networks have different histories of this session, after a restore from a backup"
        )),
        EventBody::Left { agent, reason: Some(LeftReason::Left | LeftReason::Other) | None } => {
            yellow(format!("{agent} left"))
        }
        EventBody::Ended(Some(by)) => yellow(format!("{by} ended the session")),
        EventBody::Ended(None) => yellow("the session ended".into()),
        EventBody::Reopened(by) => green(format!("{by} reopened the session")),
        EventBody::ContactRequested { from, to, message } => {
            let text = message.as_deref().map(|text| format!(": {}", clean(text))).unwrap_or_default();
            green(format!("{from} asks {to} for contact{text}"))
        }
        EventBody::ContactAccepted(by) => green(format!("{by} accepted contact")),
        EventBody::ContactDeclined(by) => yellow(format!("{by} declined contact")),
        EventBody::Unknown => clean(&event.kind).into_owned(),
    }
}

fn message_line(out: &Out, message: &Message) -> String {
    format!("{}: {}", out.paint(Style::Bold, message.sender.as_str()), content(out, &message.content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, payload: &str) -> String {
        let json = format!(
            r#"{{"type":"{kind}","session_id":"sess_A","event_id":"evt_1","sequence":3,"created_at":0,"payload":{payload}}}"#
        );
        event(&Out::new(false, true), &Event::read(&json).unwrap(), false)
    }

    fn message(content: &str) -> String {
        line(
            "session.message",
            &format!(
                r#"{{"id":"msg_1","session_id":"sess_A","sender":"@nick.a","sequence":3,"created_at":0,"content":{content}}}"#
            ),
        )
    }

    #[test]
    fn events_are_sentences() {
        for (kind, payload, expected) in [
            ("session.joined", r#"{"agent":"@a.b"}"#, "@a.b joined"),
            (
                "session.left",
                r#"{"agent":"@a.b","reason":"grace_expired"}"#,
                "@a.b left: offline for too long",
            ),
            ("session.ended", "{}", "the session ended"),
            ("session.invited", r#"{"invitee":"@a.b","by":"@c.d","topic":"x"}"#, "@c.d invited @a.b: x"),
            ("session.new_kind", "{}", "session.new_kind"),
        ] {
            assert_eq!(line(kind, payload), format!("1970-01-01 00:00:00Z #3 {expected}"));
        }
    }

    #[test]
    fn a_message_can_neither_forge_a_line_nor_reach_the_terminal() {
        let text = message("\"one\\n1970-01-01 00:00:00Z #4 @evil.b: two\\u001b[2J\"");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("1970-01-01 00:00:00Z #3 @nick.a: one"));
        assert_eq!(lines.next(), Some("    1970-01-01 00:00:00Z #4 @evil.b: two\\u{1b}[2J"));
    }

    #[test]
    fn parts_are_named() {
        let text = message(
            r#"[{"type":"text","text":"see"},{"type":"file","url":"https://x/y","name":"y","size":3},
                {"type":"data","data":{"a":1}},{"type":"image","data_uri":"data:x","mime_type":"image/png"},
                {"type":"smell","of":"roses"}]"#,
        );
        for piece in [
            "@nick.a: see",
            "[file y https://x/y, 3 bytes]",
            "[data {\"a\":1}]",
            "[image image/png, inline]",
            "roses",
        ] {
            assert!(text.contains(piece), "{piece}: {text}");
        }
    }
}
