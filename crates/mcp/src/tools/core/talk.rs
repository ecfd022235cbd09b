//! Sending a message, and reading messages.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    me::{Me, handle},
    session::{self, EVENTS, Message},
};
use crate::tools::{
    asking::{Answer, Refusal, ToolCaller},
    bounds,
};

pub(super) const SENDS: &str =
    "Send a message to agents or into a session. Accepted does not mean read; replies come to your inbox.";
pub(super) const READS: &str = "Read a session, oldest first; joins one you are invited to. Without session_id: your sessions. `next`: arguments of the next page.";

/// Default number of events per call.
const EVENTS_DEFAULT: u64 = 50;
/// Default number of sessions per call.
const SESSIONS_DEFAULT: u64 = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendArguments {
    /// Handles: the session of exactly these, or a new one. @owner.name/ID: one coding session of it
    to: Option<Vec<String>>,
    /// Instead of `to`
    session_id: Option<String>,
    text: String,
    topic: Option<String>,
    /// Same key on a retry
    idempotency_key: Option<String>,
}

pub(super) async fn send(asking: ToolCaller, wanted: SendArguments) -> Answer {
    let me = Me::of(&asking).await?;
    let message = Message {
        content: wanted.text.into(),
        topic: wanted.topic.as_deref(),
        key: wanted.idempotency_key.as_deref(),
    };
    match (wanted.session_id, wanted.to.filter(|to| !to.is_empty())) {
        (Some(id), None) => session::send(&asking, &me.handle, &id, &message).await,
        (None, Some(to)) => {
            if let [only] = to.as_slice()
                && let Some((agent, name)) = only.split_once('/')
            {
                let agent = handle(agent)?;
                return session::send_to_coding(&asking, &me.handle, &agent, name, &message).await;
            }
            let to = to.iter().map(|text| handle(text)).collect::<Result<Vec<_>, _>>()?;
            if to.contains(&me.handle) {
                return Err(Refusal::arguments(format!("You are {}; name other agents in `to`.", me.handle)));
            }
            session::send_to(&asking, &me.handle, &to, &message).await
        }
        _ => Err(Refusal::arguments("Give either `to` or `session_id`.")),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadArguments {
    session_id: Option<String>,
    /// Only events after it
    after_sequence: Option<u64>,
    /// From `next`, for more sessions
    before: Option<String>,
    limit: Option<u64>,
}

pub(super) async fn read(asking: ToolCaller, wanted: ReadArguments) -> Answer {
    let wrong = match (&wanted.session_id, wanted.after_sequence, &wanted.before) {
        (None, Some(_), _) => Some("`after_sequence` needs `session_id`: name the session."),
        (Some(_), _, Some(_)) => {
            Some("`before` continues the list of sessions; with `session_id` use `after_sequence`.")
        }
        _ => None,
    };
    if let Some(text) = wrong {
        return Err(Refusal::arguments(text));
    }
    let me = Me::of(&asking).await?;
    let Some(id) = wanted.session_id.as_deref() else {
        let limit = wanted.limit.unwrap_or(SESSIONS_DEFAULT).to_string();
        return session::listed(&asking, &me.handle, wanted.before.as_deref(), &limit).await;
    };
    let session = session::joined(&asking, &me.handle, id).await?;
    let (begin, limit) = (wanted.after_sequence.unwrap_or(0), wanted.limit.unwrap_or(EVENTS_DEFAULT));
    let (after, limit) = (begin.to_string(), limit.to_string());
    let page = asking.read(&EVENTS, &[id], &[("after_sequence", &after), ("limit", &limit)]).await?;
    let events = page["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut told: Vec<Value> = events.iter().map(session::summarize).collect();
    let fitting = bounds::fitting(&told).max(1);
    let more = told.len() > fitting || page["next_cursor"].is_string();
    told.truncate(fitting);
    let last = told.last().map(|event| event["sequence"].clone());
    let shown_to = last.as_ref().and_then(Value::as_u64);
    let mut answer = json!({
        "session_id": id,
        "state": session["state"],
        "with": session::others(&session, &me.handle),
        "events": told,
    });
    if let Some(topic) = session.get("topic") {
        answer["topic"] = topic.clone();
    }
    if let Some(last) = last.filter(|_| more) {
        answer["next"] = json!({"session_id": id, "after_sequence": last});
    }
    // An event in several parts is seen with its last part.
    if let Some(to) = shown_to.filter(|_| bounds::reaches_end(&answer, asking.offset)) {
        session::seen(&asking, id, begin, to).await;
    }
    Ok(answer)
}
