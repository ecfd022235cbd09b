//! What has happened, in short sentences: `ann creates about T`, `ann says hi`, `ann invites bob` (`inline` at a
//! send-and-end), `bob joins`, `bob drops`, `bob returns`, `bob leaves`, `bob expires`, `bob is-ousted`,
//! `ann ends with ann bob`, `ends with`, `ann reopens with bob`. Agents have names: `ann` is `@o.ann`.

use bytes::Bytes;
use plenary_kernel::AgentHandle;

use crate::{
    command::Draft,
    event::{
        AgentInvited, AgentLeft, AgentMoved, LeftReason, MessageSent, SessionCreated, SessionEnded,
        SessionEvent, SessionReopened,
    },
};

pub(super) fn handle(name: &str) -> AgentHandle {
    format!("@o.{name}").parse().unwrap()
}

pub(super) fn name(handle: &AgentHandle) -> &str {
    handle.as_str().strip_prefix("@o.").unwrap()
}

pub(crate) fn draft(text: &str) -> Draft {
    Draft {
        members: Bytes::from(format!(r#""content":"{text}""#)),
        origin: None,
        files: Vec::new(),
        trace: None,
    }
}

/// Says an event as a sentence.
pub(super) fn sentence_of(event: &SessionEvent) -> String {
    let names = |handles: &[AgentHandle]| handles.iter().map(|h| format!(" {}", name(h))).collect::<String>();
    match event {
        SessionEvent::SessionCreated(event) => {
            let topic = event.topic.as_ref().map(|topic| format!(" about {topic}")).unwrap_or_default();
            format!("{} creates{topic}", name(&event.creator))
        }
        SessionEvent::MessageSent(event) => {
            let text = std::str::from_utf8(&event.members).unwrap();
            let text = text.strip_prefix("\"content\":\"").unwrap().trim_end_matches('"');
            format!("{} says {text}", name(&event.sender))
        }
        SessionEvent::AgentInvited(event) => {
            let inline = if event.inline { " inline" } else { "" };
            format!("{} invites {}{inline}", name(&event.by), name(&event.invitee))
        }
        SessionEvent::AgentJoined(event) => format!("{} joins", name(&event.agent)),
        SessionEvent::AgentDisconnected(event) => format!("{} drops", name(&event.agent)),
        SessionEvent::AgentReconnected(event) => format!("{} returns", name(&event.agent)),
        SessionEvent::AgentLeft(event) => {
            let verb = match (event.reason, event.forced) {
                (LeftReason::AccordRevoked, _) => "leaves-with-its-accord",
                (LeftReason::HostRestored, _) => "leaves-its-restored-host",
                (LeftReason::Left, false) => "leaves",
                (LeftReason::Left, true) => "is-ousted",
                (LeftReason::GraceExpired, false) => "expires",
                (LeftReason::GraceExpired, true) => panic!("a grace window is nobody's block"),
            };
            format!("{} {verb}", name(&event.agent))
        }
        SessionEvent::SessionEnded(event) => {
            let ender = event.by.as_ref().map(|ender| format!("{} ", name(ender))).unwrap_or_default();
            format!("{ender}ends with{}", names(&event.joined))
        }
        SessionEvent::SessionReopened(event) => {
            format!("{} reopens with{}", name(&event.by), names(&event.returning))
        }
    }
}

fn session_ended(by: Option<AgentHandle>, joined: Vec<AgentHandle>) -> SessionEvent {
    SessionEvent::SessionEnded(SessionEnded { id: String::new(), by, joined, uncounted: Vec::new() })
}

/// The event that a sentence says; `None` when it is about trust.
pub(super) fn event(sentence: &str) -> Option<SessionEvent> {
    let id = String::new();
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let handles = |names: &[&str]| names.iter().map(|name| handle(name)).collect::<Vec<_>>();
    if words[..2] == ["ends", "with"] {
        return Some(session_ended(None, handles(&words[2..])));
    }
    let (agent, rest) = (handle(words[0]), &words[1..]);
    let moved = || AgentMoved { id: String::new(), agent: agent.clone(), released: false, settles: None };
    let left = |reason, forced| {
        SessionEvent::AgentLeft(AgentLeft {
            id: String::new(),
            agent: agent.clone(),
            reason,
            forced,
            held: false,
            settles: None,
        })
    };
    Some(match rest {
        ["creates"] => {
            SessionEvent::SessionCreated(SessionCreated { creator: agent, topic: None, host: None })
        }
        ["creates", "about", topic] => SessionEvent::SessionCreated(SessionCreated {
            creator: agent,
            topic: Some((*topic).into()),
            host: None,
        }),
        ["says", text] => SessionEvent::MessageSent(MessageSent {
            id,
            sender: agent,
            origin: None,
            names: None,
            trace: None,
            members: draft(text).members,
        }),
        ["invites", invitee, inline @ ..] => SessionEvent::AgentInvited(AgentInvited {
            id,
            invitee: handle(invitee),
            by: agent,
            inline: *inline == ["inline"],
            offered: false,
            held: false,
            settles: None,
            denied: false,
            elsewhere: false,
        }),
        ["joins"] => SessionEvent::AgentJoined(moved()),
        ["drops"] => SessionEvent::AgentDisconnected(moved()),
        ["returns"] => SessionEvent::AgentReconnected(moved()),
        ["leaves"] => left(LeftReason::Left, false),
        ["is-ousted"] => left(LeftReason::Left, true),
        ["expires"] => left(LeftReason::GraceExpired, false),
        ["ends", "with", joined @ ..] => session_ended(Some(agent), handles(joined)),
        ["reopens", "with", returning @ ..] => SessionEvent::SessionReopened(SessionReopened {
            id,
            by: agent,
            returning: handles(returning),
            settles: None,
        }),
        _ => return None,
    })
}

/// The id that an event has on the wire.
pub(super) fn id(event: &SessionEvent) -> Option<&str> {
    Some(match event {
        SessionEvent::SessionCreated(_) => return None,
        SessionEvent::MessageSent(event) => &event.id,
        SessionEvent::AgentInvited(event) => &event.id,
        SessionEvent::AgentJoined(event)
        | SessionEvent::AgentDisconnected(event)
        | SessionEvent::AgentReconnected(event) => &event.id,
        SessionEvent::AgentLeft(event) => &event.id,
        SessionEvent::SessionEnded(event) => &event.id,
        SessionEvent::SessionReopened(event) => &event.id,
    })
}
