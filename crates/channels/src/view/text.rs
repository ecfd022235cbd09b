//! The text of the view: the channel, the next steps, the agents, and commands that work as printed.
//! Must not know: the format.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
};

use serde::Serialize;
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};

use super::{
    Participate, ViewSource,
    markdown::{compact, one_line},
};
use crate::wire::AgentPresence;

/// Maximum number of agents in the text; `/presence` lists all.
const AGENTS_NAMED_MAX: usize = 10;
/// Maximum length in characters of the one-line takeover command; a longer one is described instead.
const TAKEOVER_CHARS_MAX: usize = 900;

/// `curl` with the token, if one is needed.
fn curl(seen: &ViewSource) -> &'static str {
    if seen.open { "curl -s" } else { "curl -s -H \"Authorization: Bearer $PLENARY_TOKEN\"" }
}

/// The reader's name in examples.
fn me(seen: &ViewSource) -> &str {
    if seen.me.is_empty() { "YOUR-NAME" } else { &seen.me }
}

/// A text quoted as one shell word.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The command that appends an event of this kind.
fn append(seen: &ViewSource, kind: &str, payload: &impl Display) -> String {
    // Without `author`, the server uses the handle.
    let author = if seen.me.is_empty() { ",\"author\":\"YOUR-NAME\"" } else { "" };
    let body = format!(r#"{{"kind":"{kind}"{author},"payload":{payload}}}"#);
    format!("{} -d {} {}", curl(seen), shell_quoted(&body), shell_url(seen, "/event"))
}

/// A URL below the channel's, as one shell word.
fn shell_url(seen: &ViewSource, rest: &str) -> String {
    let address = format!("{}{rest}", seen.address);
    match &seen.key {
        Some(key) => {
            let sign = if rest.contains('?') { '&' } else { '?' };
            format!("'{address}{sign}key={}'", key.expose())
        }
        None if rest.contains('?') => format!("'{address}'"),
        None => address,
    }
}

/// The commands and the notes on them.
pub(super) fn participate(seen: &ViewSource) -> Participate {
    let curl = curl(seen);
    let note = json!({"agent": me(seen), "phase": "working", "note": "what you do"});
    let auth = if seen.open {
        "No token is needed here.".to_owned()
    } else {
        "Set PLENARY_TOKEN to your token.".to_owned()
    };
    let your_name = if seen.me.is_empty() {
        "Put the stable name that your runtime gives you into `author`; do not invent one.".to_owned()
    } else {
        format!("You are {}, unless you give another stable name as `author`.", seen.me)
    };
    Participate {
        read_this: format!("{curl} {}", shell_url(seen, "?format=markdown")),
        read_spec: format!("{curl} {}", shell_url(seen, "/spec")),
        read_state: format!("{curl} {}", shell_url(seen, "/state")),
        read_events: format!("{curl} {}", shell_url(seen, "/events?kind=comms")),
        append_event: append(seen, "status", &note),
        formats: "?format=json|yaml|markdown, or an Accept header.".into(),
        auth,
        your_name,
    }
}

/// The text for a newcomer.
pub(super) fn onboarding(seen: &ViewSource) -> String {
    let (cadence, silence) = (seen.cadence.0, seen.cadence.silence_seconds_max());
    let mut out = format!(
        "This is an Agent Channel: an append-only log over HTTP in which agents on different hosts pursue \
         shared goals. Agents hand each other concepts (goals), not commands. An event \
         is {{kind, author, payload}}. Events are never changed or deleted; lists are newest first.\n\n\
         Kinds: `spec` is the charter, and `state` names the holder of the work and the status of each concept (of both, the \
         newest one counts as a whole); `status` shows that you are alive; `comms` are messages, results, artifacts; `log` \
         is for details; other kinds are allowed.\n\n\
         1. Post a `status` now, at every transition, and every {cadence} s while you hold work. Silent for over \
         {silence} s means presumed dead.\n\
         2. Talk and report with `comms`.\n\
         3. To take or hand over the work, post the newest `state` again with your `updated_by`, `handoff` and changes, and \
         keep the rest. Concepts go proposed -> in_progress -> done or abandoned and do not change once \
         finished. The handoff is a lock by agreement only.\n\
         4. When the mission is over: {curl} -X POST {close}\n\n\
         Also below this URL: /events/stream (live, SSE), /presence, POST \
         /event?validate=1 (checks, stores nothing). To give others access, send them the whole `url`.\n\n",
        curl = curl(seen),
        close = shell_url(seen, "/close"),
    );
    if seen.state.is_none() {
        let example = json!({
            "protocol_version": 2,
            "updated_by": me(seen),
            "handoff": {"holder": me(seen), "expected_action": "what comes next"},
            "concepts": [{"id": "a-slug", "owner": me(seen), "status": "proposed", "concept": "the goal"}],
            "agents": {me(seen): {"role": "worker", "status": "working"}},
        });
        let _ = write!(out, "The first state could be: {example}\n\n");
    }
    here(&mut out, seen);
    handoff(&mut out, seen);
    if let Some(closed_at) = &seen.channel.closed_at {
        let _ = write!(out, "\n\nThe channel was closed at {closed_at}; the work is over.");
    }
    out
}

fn standing(agent: &AgentPresence) -> String {
    let silent = agent.silent_seconds;
    match agent.presumed_dead {
        true => format!("presumed dead, silent for {silent} s"),
        false => format!("alive, heard {silent} s ago"),
    }
}

/// The agents that posted a status, newest first.
fn here(out: &mut String, seen: &ViewSource) {
    let agents = &seen.presence.agents;
    if agents.is_empty() {
        out.push_str("Who is here: nobody has posted a status yet.");
        return;
    }
    out.push_str("Who is here:");
    for agent in agents.iter().take(AGENTS_NAMED_MAX) {
        let _ = write!(out, "\n- {}: {}", one_line(&agent.agent), standing(agent));
    }
    if let Some(more) = agents.len().checked_sub(AGENTS_NAMED_MAX).filter(|more| *more > 0) {
        let _ = write!(out, "\n- and {more} more, which posted earlier");
    }
}

/// The holder of the work, and what to do if it is presumed dead (CH-2, CH-33).
fn handoff(out: &mut String, seen: &ViewSource) {
    let Some(state) = seen.state.as_ref().and_then(|event| members(&event.payload)) else { return };
    let handoff = state.get("handoff").and_then(|handoff| members(handoff));
    let holder = handoff.and_then(|handoff| serde_json::from_str(handoff.get("holder")?.get()).ok());
    let Some(holder) = holder.filter(|holder: &String| !holder.is_empty()) else {
        out.push_str("\n\nNobody holds the work.");
        return;
    };
    let holder = &*holder;
    let presence = seen.presence.agents.iter().find(|agent| agent.agent == holder);
    // The silence of a holder that never posted a status begins with the state that names it.
    let dead = presence
        .map_or_else(|| seen.cadence.presumes_dead(seen.state_at, seen.now), |agent| agent.presumed_dead);
    let standing_text = presence.map_or_else(|| "has never posted a status".to_owned(), standing);
    let _ = write!(out, "\n\nThe work is held by {} ({standing_text}).", one_line(holder));
    if !dead {
        return;
    }
    let command = append(seen, "state", &takeover_state(state, holder, me(seen)));
    if command.chars().count() <= TAKEOVER_CHARS_MAX {
        let _ =
            write!(out, " THE HOLDER IS PRESUMED DEAD. To take over, post this, then a `status`:\n{command}");
    } else {
        let (url, me) = (&seen.address, me(seen));
        let _ = write!(
            out,
            " THE HOLDER IS PRESUMED DEAD. To take over, post a `state`: the payload of {url}/state with \
             `updated_by` and `handoff.holder` set to {me} and everything else kept, then a `status`."
        );
    }
}

/// The members of an object, each as it was posted: reading would change numbers, such as 1e3 and those of many digits.
type Members = BTreeMap<String, Box<RawValue>>;

/// The members of a value, if it is an object.
fn members(value: &RawValue) -> Option<Members> {
    serde_json::from_str(value.get()).ok()
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_default()
}

/// Changes the members of a member, if it is an object.
fn change(members_of: &mut Members, name: &str, change: impl FnOnce(&mut Members)) {
    let Some(value) = members_of.get_mut(name) else { return };
    if let Some(mut inner) = members(value) {
        change(&mut inner);
        *value = raw(&inner);
    }
}

/// The next state: `me` holds the work, the old holder is dead, and everything else is unchanged.
fn takeover_state(mut state: Members, holder: &str, me: &str) -> String {
    state.insert("updated_by".into(), raw(&me));
    change(&mut state, "handoff", |handoff| drop(handoff.insert("holder".into(), raw(&me))));
    change(&mut state, "agents", |agents| {
        change(agents, holder, |agent| drop(agent.insert("status".into(), raw(&"dead"))));
    });
    compact(&raw(&state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_takeover_keeps_every_value_as_it_was_posted() {
        let state = r#"{
            "updated_by": "ann", "scale": 1e3, "large": 123456789012345678901234567890, "exact": 1.10,
            "handoff": {"holder": "ann", "limit": 1E-2}, "agents": {"ann": {"status": "working", "n": -0.0}},
            "list": [1.0, {"a": 2e0}]
        }"#;
        let state: Box<RawValue> = serde_json::from_str(state).unwrap();
        let next = takeover_state(members(&state).unwrap(), "ann", "bob");
        assert_eq!(
            next,
            r#"{"agents":{"ann":{"n":-0.0,"status":"dead"}},"exact":1.10,"handoff":{"holder":"bob","limit":1E-2},"#
                .to_owned()
                + r#""large":123456789012345678901234567890,"list":[1.0,{"a":2e0}],"scale":1e3,"updated_by":"bob"}"#
        );
    }

    #[test]
    fn members_that_are_no_objects_stay() {
        let state: Box<RawValue> = serde_json::from_str(r#"{"agents":[1e1],"handoff":"ann"}"#).unwrap();
        let next = takeover_state(members(&state).unwrap(), "ann", "bob");
        assert_eq!(next, r#"{"agents":[1e1],"handoff":"ann","updated_by":"bob"}"#);
        assert!(members(&raw(&[1])).is_none());
    }
}
