//! The text of the view: the channel, the next steps, the agents, and commands that work as printed.
//! Must not know: the format.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{Participate, ViewSource, markdown::one_line};
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
fn append(seen: &ViewSource, kind: &str, payload: &Value) -> String {
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
    let state = seen.state.as_ref().and_then(|event| serde_json::from_str::<Value>(event.payload.get()).ok());
    let Some(Value::Object(state)) = state else { return };
    let handoff = state.get("handoff").and_then(Value::as_object);
    let Some(holder) =
        handoff.and_then(|handoff| handoff.get("holder")?.as_str()).filter(|holder| !holder.is_empty())
    else {
        out.push_str("\n\nNobody holds the work.");
        return;
    };
    let presence = seen.presence.agents.iter().find(|agent| agent.agent == holder);
    // The silence of a holder that never posted a status begins with the state that names it.
    let dead = presence
        .map_or_else(|| seen.cadence.presumes_dead(seen.state_at, seen.now), |agent| agent.presumed_dead);
    let standing_text = presence.map_or_else(|| "has never posted a status".to_owned(), standing);
    let _ = write!(out, "\n\nThe work is held by {} ({standing_text}).", one_line(holder));
    if !dead {
        return;
    }
    let command = append(seen, "state", &takeover_state(&state, holder, me(seen)));
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

/// The next state: `me` holds the work, the old holder is dead, and everything else is unchanged.
fn takeover_state(state: &Map<String, Value>, holder: &str, me: &str) -> Value {
    let mut next = state.clone();
    next.insert("updated_by".into(), me.into());
    if let Some(Value::Object(handoff)) = next.get_mut("handoff") {
        handoff.insert("holder".into(), me.into());
    }
    if let Some(Value::Object(agents)) = next.get_mut("agents")
        && let Some(Value::Object(agent)) = agents.get_mut(holder)
    {
        agent.insert("status".into(), "dead".into());
    }
    Value::Object(next)
}
