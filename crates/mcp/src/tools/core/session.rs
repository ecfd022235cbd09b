//! Sessions as the tools use them: found by participants, joined when invited, their events in short form.
//! Must not know: the calling tool.

use plenary_kernel::{
    AgentHandle, AllowEntry, TimestampMs, first_message_key, inbox::CODING_SESSION_TOPIC, is_untitled,
    opening, takes_untitled,
};
use serde_json::{Map, Value, json};

use super::{inbox, me::ME, project};
use crate::tools::api::{Answer, Refusal, Route, ToolApi, get, post};

pub(super) const LIST: Route = get("/sessions");
pub(super) const SHOW: Route = get("/sessions/{id}");
pub(super) const CREATE: Route = post("/sessions");
pub(super) const JOIN: Route = post("/sessions/{id}/join");
pub(super) const SEND: Route = post("/sessions/{id}/messages");
pub(super) const EVENTS: Route = get("/sessions/{id}/events");
const MOMENT: Route = post("/inbox/session");
const ADDRESS: Route = post("/inbox/address");
const WHO: Route = get("/who");

/// The header with the coding agent's session in which a tool is called.
pub(super) const CODING_SESSION: &str = "plenary-coding-session";

/// The header of a response that an earlier request got.
const REPLAYED: &str = "idempotency-replayed";

/// The page size of the session search, and the maximum number of pages; beyond them a new session is created.
const PAGE: &str = "100";
const PAGES_MAX: usize = 5;
/// The sequence of a session's initial message.
const FIRST: u64 = 1;
/// Maximum number of sessions whose first message is read; beyond them a new session is created.
const FIRST_MESSAGES_MAX: usize = 20;

/// A message to send.
pub(super) struct Message<'a> {
    pub(super) content: Value,
    pub(super) topic: Option<&'a str>,
    /// Whether a message without a topic may go into a session that its sender opened with one, because it belongs to what was
    /// said there.
    pub(super) continues: bool,
    pub(super) key: Option<&'a str>,
}

/// Reports that the calling coding session has spoken here, so that later messages of the network session are for it. If the
/// report fails, they are for any of the agent's coding sessions.
async fn report_activity(api: &ToolApi, id: &str) {
    let Some(session) = api.caller.header(CODING_SESSION) else { return };
    let body = json!({"session": session, "client": "mcp", "event": "spoke", "session_id": id});
    if let Err(refused) = api.write(&MOMENT, &[], &body).await {
        tracing::debug!(code = %refused.code, "a coding agent's session was not noted");
    }
}

/// An agent's standing in a session: `invited`, `joined` or `left`.
pub(super) fn standing<'a>(session: &'a Value, agent: &AgentHandle) -> Option<&'a str> {
    let participants = session["participants"].as_array()?;
    let found = participants.iter().find(|participant| participant["handle"] == agent.as_str())?;
    found["status"].as_str()
}

/// The participants and invited agents other than the caller.
pub(super) fn others(session: &Value, me: &AgentHandle) -> Vec<String> {
    let here =
        project::listed(session, "participants").iter().filter(|participant| participant["status"] != "left");
    here.filter_map(|participant| participant["handle"].as_str())
        .filter(|handle| *handle != me.as_str())
        .map(str::to_owned)
        .collect()
}

/// The agent's newest sessions in short, newest first; `next` has the arguments of the next page.
pub(super) async fn listed(api: &ToolApi, me: &AgentHandle, before: Option<&str>, limit: &str) -> Answer {
    let mut query = vec![("limit", limit)];
    query.extend(before.map(|before| ("before", before)));
    let page = api.read(&LIST, &[], &query).await?;
    let sessions = project::listed(&page, "sessions");
    let short = |session: &Value| {
        let mut short =
            json!({"session_id": session["id"], "state": session["state"], "with": others(session, me)});
        if let Some(topic) = session.get("topic") {
            short["topic"] = topic.clone();
        }
        if let Some(standing) = standing(session, me) {
            short["you"] = standing.into();
        }
        short
    };
    let mut shown = json!({"sessions": sessions.iter().map(short).collect::<Vec<_>>()});
    if let Some(cursor) = page["next_cursor"].as_str() {
        shown["next"] = json!({"before": cursor});
    }
    Ok(shown)
}

/// The session; joins it first if the agent is only invited.
pub(super) async fn joined(api: &ToolApi, me: &AgentHandle, id: &str) -> Answer {
    let session = api.read(&SHOW, &[id], &[]).await.map_err(|refused| match refused.code.as_str() {
        "not_found" => Refusal::new(
            "not_found",
            "You do not participate in such a session; read without `session_id` lists yours.",
        ),
        _ => refused,
    })?;
    if session["state"] == "active" && standing(&session, me) == Some("invited") {
        api.write(&JOIN, &[id], &json!({})).await?;
    }
    Ok(session)
}

/// The sessions of the caller with some agents.
struct SharedSessions {
    /// The id of the newest active session with exactly them.
    id: Option<String>,
    /// Without one: the id of the newest session with them of any state.
    earlier: Option<String>,
}

/// Finds the newest active session with exactly these agents: with this topic, if given, otherwise one that was opened without a
/// topic, or by another agent; of any topic, if the message continues what was said.
async fn find(
    api: &ToolApi,
    me: &AgentHandle,
    to: &[AgentHandle],
    (topic, continues): (Option<&str>, bool),
) -> Result<SharedSessions, Refusal> {
    let mut agents: Vec<&str> = to.iter().map(AgentHandle::as_str).collect();
    agents.sort_unstable();
    agents.dedup();
    let (mut before, mut has_joined, mut earlier) = (None, false, None);
    let mut reads_left = FIRST_MESSAGES_MAX;
    for _ in 0..PAGES_MAX {
        let mut query = vec![("limit", PAGE)];
        query.extend(before.as_deref().map(|before| ("before", before)));
        let page = api.read(&LIST, &[], &query).await?;
        for session in project::listed(&page, "sessions") {
            let has_topic = match (topic, session["topic"].as_str()) {
                (Some(topic), named) => named == Some(topic),
                (None, named) => takes_untitled(named) != Some(false),
            };
            let Some(id) = session["id"].as_str().filter(|_| has_topic) else { continue };
            if earlier.is_none() && is_with(session, me, &agents) {
                earlier = Some(id.to_owned());
            }
            let takes_part = matches!(standing(session, me), Some("joined" | "invited"));
            let mut here = others(session, me);
            here.sort_unstable();
            if session["state"] != "active" || !takes_part || here != agents {
                continue;
            }
            let is_invited = standing(session, me) == Some("invited");
            // Only the newest invitation is joined to look: others may have sent any number.
            if is_invited && std::mem::replace(&mut has_joined, true) {
                continue;
            }
            if (!is_invited || is_exactly(api, me, id, &agents).await?)
                && (topic.is_some()
                    || continues
                    || is_for_untitled(api, me, session, &mut reads_left).await?)
            {
                return Ok(SharedSessions { id: Some(id.to_owned()), earlier: None });
            }
        }
        before = page["next_cursor"].as_str().map(str::to_owned);
        if before.is_none() {
            break;
        }
    }
    Ok(SharedSessions { id: None, earlier })
}

/// Whether a message without a topic belongs in a joined session: it was opened without one, or by a message of another agent,
/// which this one may answer. `false` if too many sessions were read for that.
async fn is_for_untitled(
    api: &ToolApi,
    me: &AgentHandle,
    session: &Value,
    reads_left: &mut usize,
) -> Result<bool, Refusal> {
    let topic = session["topic"].as_str();
    if let Some(decided) = takes_untitled(topic) {
        return Ok(decided);
    }
    let Some(left) = reads_left.checked_sub(1) else { return Ok(false) };
    *reads_left = left;
    let id = session["id"].as_str().unwrap_or_default();
    // Each invitation may precede it.
    let limit = session["participants"].as_array().map_or(0, Vec::len) + 2;
    let page = api.read(&EVENTS, &[id], &[("limit", &limit.to_string())]).await?;
    let first = project::listed(&page, "events").iter().find(|event| event["type"] == "session.message");
    Ok(first.zip(topic).is_some_and(|(first, topic)| {
        first["sender"] != me.as_str() || is_untitled(topic, &text(&first["content"]))
    }))
}

/// Whether exactly these agents and the caller were ever in the session.
fn is_with(session: &Value, me: &AgentHandle, agents: &[&str]) -> bool {
    let handles = project::listed(session, "participants")
        .iter()
        .filter_map(|participant| participant["handle"].as_str());
    let mut with: Vec<&str> = handles.filter(|handle| *handle != me.as_str()).collect();
    with.sort_unstable();
    with == agents
}

/// Joins a session and reads whether exactly these agents are in it. Before, an invited agent does not see who else is
/// invited.
async fn is_exactly(api: &ToolApi, me: &AgentHandle, id: &str, agents: &[&str]) -> Result<bool, Refusal> {
    joined(api, me, id).await?;
    let session = api.read(&SHOW, &[id], &[]).await?;
    let mut here = others(&session, me);
    here.sort_unstable();
    Ok(here == agents)
}

/// Sends to exactly these agents: in the session that they share, or in a new one.
pub(super) async fn send_to(
    api: &ToolApi,
    me: &AgentHandle,
    to: &[AgentHandle],
    message: &Message<'_>,
) -> Answer {
    let shared = find(api, me, to, (message.topic, message.continues)).await?;
    let id = match shared.id {
        Some(id) => id,
        None => {
            let made = create(api, me, to, message, shared.earlier.as_deref()).await?;
            let id = made["session_id"].as_str().unwrap_or_default().to_owned();
            if made["sequence"] == FIRST {
                report_activity(api, &id).await;
                let to: Vec<&str> = to.iter().map(AgentHandle::as_str).collect();
                return Ok(json!({"session_id": id, "sequence": FIRST, "to": to, "state": "accepted"}));
            }
            id
        }
    };
    send(api, me, &id, message).await
}

/// Creates the session for the first message to these agents: its id, and the message's sequence if it has the message. A
/// session that a parallel call has created has not.
async fn create(
    api: &ToolApi,
    me: &AgentHandle,
    to: &[AgentHandle],
    message: &Message<'_>,
    earlier: Option<&str>,
) -> Answer {
    let mut body = Map::new();
    body.insert("invite".into(), to.iter().map(|handle| handle.as_str()).collect());
    let topic = message.topic.map(str::to_owned).or_else(|| opening(&text(&message.content)));
    body.extend(topic.map(|topic| ("topic".to_owned(), topic.into())));
    match message.key {
        // With a key, a retry that does not see the session yet gets the same one.
        Some(key) => drop(body.insert("idempotency_key".into(), key.into())),
        // An agent that joins later also gets the messages before its invitation.
        None => {
            body.insert("initial_message".into(), json!({"content": message.content}));
            body.insert("idempotency_key".into(), first_message_key(to, message.topic, earlier).into());
        }
    }
    let call =
        async |body: Map<String, Value>| api.reply(CREATE.method, CREATE.path, Some(&body.into())).await;
    let made = match call(body.clone()).await {
        Err(refused) if message.key.is_none() && refused.code == "idempotency_key_reused" => {
            if let Some(id) = find(api, me, to, (message.topic, message.continues)).await?.id {
                return Ok(json!({"session_id": id}));
            }
            body.remove("idempotency_key");
            call(body).await
        }
        made => made,
    };
    let made = match made {
        Ok(made) => made,
        Err(refused) => return Err(unreached(api, refused, to).await),
    };
    let mut created = made.value();
    // The same message of a parallel call.
    if message.key.is_none() && made.headers.contains_key(REPLAYED) {
        created["sequence"] = Value::Null;
    }
    Ok(created)
}

/// Sends to one live session of an agent's coding agents, by the beginning of its name, in a session reserved for it.
pub(super) async fn send_to_coding(
    api: &ToolApi,
    me: &AgentHandle,
    agent: &AgentHandle,
    name: &str,
    message: &Message<'_>,
) -> Answer {
    let found = api.read(&WHO, &[], &[("query", agent.as_str()), ("owner", agent.owner())]).await?;
    let listed = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let them = listed(&found["agents"]).into_iter().find(|known| known["handle"] == agent.as_str());
    let live = them.map(|known| listed(&known["sessions"])).unwrap_or_default();
    let named = || live.iter().filter_map(|coding| coding["session"].as_str());
    let whole = named().find(|session| *session == name);
    let fits: Vec<&str> = match whole {
        Some(whole) => vec![whole],
        None => named().filter(|session| session.starts_with(name)).collect(),
    };
    let [coding] = fits.as_slice() else {
        let text = format!(
            "{} live sessions of {agent} begin with `{name}`; name one, or {agent} alone.",
            fits.len()
        );
        return Err(Refusal::new("session_not_live", text));
    };
    let topic = format!("{CODING_SESSION_TOPIC}{coding}");
    let to = std::slice::from_ref(agent);
    let shared = find(api, me, to, (Some(&topic), false)).await?;
    let id = match shared.id {
        Some(id) => id,
        None => {
            // A parallel call gets the same session.
            let key = first_message_key(to, Some(&topic), shared.earlier.as_deref());
            let body = json!({"invite": [agent.as_str()], "topic": topic, "idempotency_key": key});
            let made = match api.write(&CREATE, &[], &body).await {
                Ok(made) => made,
                Err(refused) => return Err(unreached(api, refused, to).await),
            };
            made["session_id"].as_str().unwrap_or_default().to_owned()
        }
    };
    // Before the first message, so that no other coding session shows it.
    let body = json!({"agent": agent.as_str(), "coding_session": coding, "session_id": id});
    api.write(&ADDRESS, &[], &body).await?;
    let mut sent = send(api, me, &id, message).await?;
    // Its hooks join the session.
    sent.as_object_mut().and_then(|sent| sent.remove("not_joined"));
    Ok(sent)
}

/// A denial that is the same for a missing agent and an unreachable one, so that it reveals neither. It names the agents that
/// the caller's own allowlist excludes, whether they exist or not.
async fn unreached(api: &ToolApi, refused: Refusal, to: &[AgentHandle]) -> Refusal {
    if refused.code != "not_found" {
        return refused;
    }
    let named = |agents: &[&str]| agents.join(", ");
    let all: Vec<&str> = to.iter().map(AgentHandle::as_str).collect();
    let mut text = format!("You cannot contact all of {}", named(&all));
    let settings = api.read(&ME, &[], &[]).await.unwrap_or_default();
    if settings["policy"] == "allowlist" {
        let entries: Vec<AllowEntry> = project::listed(&settings, "allowlist")
            .iter()
            .filter_map(|entry| entry.as_str()?.parse().ok())
            .collect();
        let is_named = |agent: &&AgentHandle| entries.iter().any(|entry| entry.matches(agent));
        let missing: Vec<&str> =
            to.iter().filter(|agent| !is_named(agent)).map(AgentHandle::as_str).collect();
        if !missing.is_empty() {
            text.push_str(&format!(
                ": your own allowlist, which your owner sets, does not name {}",
                named(&missing)
            ));
        }
    }
    text.push_str("; whoami lists the agents that you can contact.");
    Refusal::new(&refused.code, text)
}

/// Sends in a session; the answer has the session's id and the message's sequence.
pub(super) async fn send(api: &ToolApi, me: &AgentHandle, id: &str, message: &Message<'_>) -> Answer {
    let session = joined(api, me, id).await?;
    let mut body = Map::new();
    body.insert("content".into(), message.content.clone());
    if let Some(key) = message.key {
        body.insert("idempotency_key".into(), key.into());
    }
    let sent = api.write(&SEND, &[id], &body.into()).await?;
    report_activity(api, id).await;
    let to = others(&session, me);
    let is_invited =
        |handle: &&String| handle.parse().is_ok_and(|agent| standing(&session, &agent) == Some("invited"));
    let not_joined: Vec<&String> = to.iter().filter(is_invited).collect();
    let mut answer = json!({"session_id": id, "sequence": sent["sequence"], "to": to, "state": "accepted"});
    if !not_joined.is_empty() {
        answer["not_joined"] = json!(not_joined);
    }
    Ok(answer)
}

/// Reports that the model got the events of a session after one sequence up to another. If the report fails, the answer
/// is given anyway, and the events are delivered again.
pub(super) async fn mark_seen(api: &ToolApi, id: &str, after: u64, to: u64) {
    let body = json!({"session_id": id, "after_sequence": after, "sequence": to});
    if let Err(refused) = api.write(&inbox::ACK, &[], &body).await {
        tracing::warn!(code = %refused.code, "items that were read could not be marked as seen");
    }
}

/// An event in short, for a reader of messages.
pub(super) fn summarize(event: &Value) -> Value {
    let kind = event["type"].as_str().unwrap_or_default();
    let short = kind.strip_prefix("session.").unwrap_or(kind);
    let mut summary = json!({"sequence": event["sequence"]});
    if short == "message" {
        summary["from"] = event["sender"].clone();
        if let Some(created_ms) = event["created_at"].as_u64() {
            summary["at"] = TimestampMs(created_ms).rfc3339().into();
        }
        summary["text"] = text(&event["content"]).into();
        let others = parts(&event["content"]);
        if !others.is_empty() {
            summary["parts"] = others.into();
        }
    } else {
        summary["event"] = short.into();
        for (name, member) in
            [("agent", "agent"), ("agent", "invitee"), ("by", "invited_by"), ("by", "ended_by")]
        {
            if let Some(value) = event.get(member) {
                summary[name] = value.clone();
            }
        }
    }
    summary
}

/// The text of a message.
pub(super) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part["type"] == "text");
            texts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The other parts of a message; for an uploaded file also how to download it.
fn parts(content: &Value) -> Vec<Value> {
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let others = parts.iter().filter(|part| part["type"] != "text");
    others
        .map(|part| {
            let mut shown = part.clone();
            if let Some(id) = part["file_id"].as_str() {
                shown["get"] = format!("plenary session file {id} -o PATH, or GET /files/{id}").into();
            }
            shown
        })
        .collect()
}
