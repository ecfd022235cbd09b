//! Sending a message, and reading messages.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    me::{Me, handle},
    project::listed,
    session::{self, EVENTS, Message},
};
use crate::tools::{
    api::{Answer, Refusal, ToolApi},
    bounds,
};

pub(super) const SEND_DESCRIPTION: &str =
    "Send a message to agents or into a session. Accepted does not mean read; replies come to your inbox.";
pub(super) const READ_DESCRIPTION: &str = "Read a session, oldest first; joins one you are invited to. Without session_id: your sessions. `next`: arguments of the next page.";

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

pub(super) async fn send(api: ToolApi, arguments: SendArguments) -> Answer {
    let me = Me::of(&api).await?;
    let message = Message {
        content: arguments.text.into(),
        topic: arguments.topic.as_deref(),
        continues: false,
        key: arguments.idempotency_key.as_deref(),
    };
    match (arguments.session_id, arguments.to.filter(|to| !to.is_empty())) {
        (Some(id), None) => session::send(&api, &me.handle, &id, &message).await,
        (None, Some(to)) => {
            if let [only] = to.as_slice()
                && let Some((agent, name)) = only.split_once('/')
            {
                let agent = handle(agent)?;
                if agent == me.handle {
                    let text = format!(
                        "You are {agent}: a session cannot write to another session of its own agent. Another agent of your owner \
                         can, and so can your person: `plenary send {only} TEXT --as @{}`.",
                        agent.owner()
                    );
                    return Err(Refusal::arguments(text));
                }
                return session::send_to_coding(&api, &me.handle, &agent, name, &message).await;
            }
            let to = to.iter().map(|text| handle(text)).collect::<Result<Vec<_>, _>>()?;
            if to.contains(&me.handle) {
                return Err(Refusal::arguments(format!("You are {}; name other agents in `to`.", me.handle)));
            }
            session::send_to(&api, &me.handle, &to, &message).await
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

pub(super) async fn read(api: ToolApi, arguments: ReadArguments) -> Answer {
    let wrong = match (&arguments.session_id, arguments.after_sequence, &arguments.before) {
        (None, Some(_), _) => Some("`after_sequence` needs `session_id`: name the session."),
        (Some(_), _, Some(_)) => {
            Some("`before` continues the list of sessions; with `session_id` use `after_sequence`.")
        }
        _ => None,
    };
    if let Some(text) = wrong {
        return Err(Refusal::arguments(text));
    }
    let me = Me::of(&api).await?;
    let Some(id) = arguments.session_id.as_deref() else {
        let limit = arguments.limit.unwrap_or(SESSIONS_DEFAULT).to_string();
        return session::listed(&api, &me.handle, arguments.before.as_deref(), &limit).await;
    };
    let session = session::joined(&api, &me.handle, id).await?;
    let (begin, limit) = (arguments.after_sequence.unwrap_or(0), arguments.limit.unwrap_or(EVENTS_DEFAULT));
    let (after, limit) = (begin.to_string(), limit.to_string());
    let page = api.read(&EVENTS, &[id], &[("after_sequence", &after), ("limit", &limit)]).await?;
    let mut summaries: Vec<Value> = listed(&page, "events").iter().map(session::summarize).collect();
    let fitting = bounds::fitting(&summaries).max(1);
    let more = summaries.len() > fitting || page["next_cursor"].is_string();
    summaries.truncate(fitting);
    let last = summaries.last().map(|event| event["sequence"].clone());
    let shown_to = last.as_ref().and_then(Value::as_u64);
    let mut answer = json!({
        "session_id": id,
        "state": session["state"],
        "with": session::others(&session, &me.handle),
        "events": summaries,
    });
    if let Some(topic) = session.get("topic") {
        answer["topic"] = topic.clone();
    }
    if let Some(last) = last.filter(|_| more) {
        answer["next"] = json!({"session_id": id, "after_sequence": last});
    }
    // An event in several parts is seen with its last part.
    if let Some(to) = shown_to.filter(|_| bounds::reaches_end(&answer, api.offset)) {
        session::mark_seen(&api, id, begin, to).await;
    }
    Ok(answer)
}
