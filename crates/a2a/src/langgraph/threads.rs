//! Threads: only an id until the first run, then the threads of an agent.
//! Must not know: the events of a run.

use chrono::{SecondsFormat, Utc};
use http::StatusCode;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Value, json};

use super::{
    Answer, LangGraphError, Request,
    assistants::{names, selected},
    count, objects, one_of,
    state::{RunView, ThreadView, interrupts, values},
    text,
};
use crate::{
    limits::{LISTED_MAX, PAGE_MAX, SEARCHED, STATE_RUNS_MAX, STATE_TEXT_BYTES_MAX},
    rooms::encoded,
    rpc::json_response,
};

/// The members by which LangGraph sorts threads. Here the status and its time sort like the last change.
const SORTED_BY: [&str; 5] = ["thread_id", "status", "created_at", "updated_at", "state_updated_at"];

/// A thread in LangGraph's form, from its last run.
fn shown(thread: &ThreadView, last: &Value, values: &Value) -> Value {
    let report = &thread.report;
    let questions = interrupts(last);
    let questions = if questions.is_empty() {
        json!({})
    } else {
        json!({last["run_id"].as_str().unwrap_or_default(): questions})
    };
    json!({
        "thread_id": thread.id(), "created_at": report["created_at"], "updated_at": report["updated_at"],
        "state_updated_at": report["updated_at"], "status": status(last), "values": values, "interrupts": questions,
        "metadata": {"graph_id": thread.agent(), "assistant_id": thread.agent(), "title": report["title"]}, "config": {},
    })
}

/// The status of a thread, from its last run.
fn status(last: &Value) -> &'static str {
    match last["status"].as_str() {
        Some("queued" | "running") => "busy",
        Some("waiting") => "interrupted",
        Some("error") => "error",
        _ => "idle",
    }
}

/// The conditions of a search for threads.
struct ThreadFilter<'a> {
    agent: Option<&'a str>,
    status: Option<&'a str>,
    ids: Option<Vec<&'a str>>,
}

impl<'a> ThreadFilter<'a> {
    fn read(body: &'a Value) -> Result<Self, LangGraphError> {
        if body["values"].as_object().is_some_and(|filter| !filter.is_empty()) || !body["extract"].is_null() {
            return Err(LangGraphError::unsupported(
                "Threads are not searched by `values`, nor is anything extracted from them.",
            ));
        }
        objects(body, &["metadata"])?;
        let mut agent = None;
        for (name, value) in body["metadata"].as_object().into_iter().flatten() {
            match (name.as_str(), value.as_str()) {
                ("graph_id" | "assistant_id", Some(value)) => agent = Some(value),
                _ => {
                    let text = "Threads have only `graph_id` and `assistant_id` as `metadata`.";
                    return Err(LangGraphError::unsupported(text));
                }
            }
        }
        let ids = body["ids"].as_array().map(|ids| ids.iter().filter_map(Value::as_str).collect());
        let status = one_of(body, "status", &["idle", "busy", "interrupted", "error"])?;
        Ok(Self { agent, status, ids })
    }

    fn has(&self, thread: &ThreadView) -> bool {
        self.ids.as_ref().is_none_or(|ids| ids.contains(&thread.id()))
    }
}

impl Request<'_> {
    /// Creates an id for a thread. Nothing is stored before its first run.
    pub(super) async fn create_thread(&self) -> Answer {
        let body = &self.body;
        for name in ["supersteps", "ttl"] {
            if !body[name].is_null() {
                return Err(LangGraphError::unsupported(format!(
                    "`{name}` is not supported by this server."
                )));
            }
        }
        ThreadFilter::read(&json!({"metadata": body["metadata"]}))?;
        let if_exists = one_of(body, "if_exists", &["raise", "do_nothing"])?;
        let Some(id) = text(body, "thread_id")? else {
            return Ok(json_response(&empty(&fresh_id()?, &body["metadata"])));
        };
        if !is_uuid(id) {
            return Err(LangGraphError::invalid("`thread_id` must be a UUID."));
        }
        match (ThreadView::find(&self.rooms, id).await, if_exists) {
            (Ok(found), Some("do_nothing")) => self.show(&found).await,
            (Ok(_), _) => Err(LangGraphError::new(
                StatusCode::CONFLICT,
                "thread_exists",
                "There is such a thread already.",
            )),
            (Err(wrong), _) if wrong.status == StatusCode::NOT_FOUND => {
                Ok(json_response(&empty(id, &body["metadata"])))
            }
            (Err(wrong), _) => Err(wrong),
        }
    }

    pub(super) async fn thread(&self, thread: &str) -> Answer {
        let found = ThreadView::find(&self.rooms, thread).await?;
        self.show(&found).await
    }

    async fn show(&self, found: &ThreadView) -> Answer {
        let views = found.views(&self.rooms, None).await?;
        let last = views.last().map_or(&Value::Null, |view| &view.report);
        Ok(json_response(&shown(found, last, &values(&views))))
    }

    /// The caller's threads, newest first, with the report of the last run of each.
    async fn found_threads(&self) -> Result<Vec<(ThreadView, Value)>, LangGraphError> {
        let filter = ThreadFilter::read(&self.body)?;
        let agents = match filter.agent {
            Some(agent) => vec![agent.to_owned()],
            None => names(&self.rooms).await?,
        };
        let mut threads = Vec::new();
        for agent in agents {
            let list = self.rooms.get(&format!("/agent/{}/threads?limit={PAGE_MAX}", encoded(&agent))).await;
            let list = match list {
                Ok(list) => list.value,
                // The agent was removed meanwhile.
                Err(no) if no.code == "agent_not_found" => continue,
                Err(no) => return Err(no.into()),
            };
            let list =
                list.as_array().cloned().unwrap_or_default().into_iter().map(|report| ThreadView { report });
            threads.extend(list.filter(|thread| filter.has(thread)));
            if threads.len() >= LISTED_MAX {
                break;
            }
        }
        let member = match one_of(&self.body, "sort_by", &SORTED_BY)? {
            Some(member @ ("created_at" | "thread_id")) => member,
            Some(_) | None => "updated_at",
        };
        let is_ascending = one_of(&self.body, "sort_order", &["asc", "desc"])? == Some("asc");
        threads.sort_by_key(|thread| thread.report[member].as_str().unwrap_or_default().to_owned());
        if !is_ascending {
            threads.reverse();
        }
        let mut found = Vec::new();
        // Only a filter on status needs the runs of threads outside the page.
        let (offset, limit) = self.window()?;
        let needed = if filter.status.is_some() { usize::MAX } else { offset.saturating_add(limit) };
        for (nth, thread) in threads.into_iter().enumerate() {
            let last = thread.runs().last().copied().map(str::to_owned);
            let last = match last.filter(|_| nth < needed) {
                Some(last) => thread.run(&self.rooms, &last).await?,
                None => Value::Null,
            };
            if filter.status.is_none_or(|expected| expected == status(&last)) {
                found.push((thread, last));
            }
        }
        Ok(found)
    }

    fn window(&self) -> Result<(usize, usize), LangGraphError> {
        let offset = count(&self.body["offset"], "offset", 0, LISTED_MAX)?;
        Ok((offset, count(&self.body["limit"], "limit", SEARCHED, PAGE_MAX)?))
    }

    pub(super) async fn search_threads(&self) -> Answer {
        let (offset, limit) = self.window()?;
        let found = self.found_threads().await?;
        let (mut page, mut read, mut bytes) = (Vec::new(), 0, 0);
        for (thread, last) in found.iter().skip(offset).take(limit) {
            read += thread.runs().len();
            // The messages of a page are limited to this number of runs.
            let mut shown_values = Value::Null;
            if read <= STATE_RUNS_MAX && bytes <= STATE_TEXT_BYTES_MAX {
                let views = thread.views(&self.rooms, None).await?;
                bytes += views.iter().map(RunView::bytes).sum::<usize>();
                shown_values = values(&views);
            }
            page.push(selected(shown(thread, last, &shown_values), &self.body["select"]));
        }
        Ok(json_response(&page.into()))
    }

    pub(super) async fn count_threads(&self) -> Answer {
        Ok(json_response(&self.found_threads().await?.len().into()))
    }
}

fn is_uuid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    let fits = |(index, byte): (usize, u8)| {
        if dashes.contains(&index) { byte == b'-' } else { byte.is_ascii_hexdigit() }
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

/// A random UUID, version 4.
fn fresh_id() -> Result<String, LangGraphError> {
    let mut bytes = [0; 16];
    let failed = |_| {
        LangGraphError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "The server has no random numbers.",
        )
    };
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    (bytes[6], bytes[8]) = (bytes[6] & 0x0f | 0x40, bytes[8] & 0x3f | 0x80);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// A thread without runs.
fn empty(id: &str, metadata: &Value) -> Value {
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let metadata = if metadata.is_object() { metadata.clone() } else { json!({}) };
    json!({
        "thread_id": id, "created_at": now, "updated_at": now, "state_updated_at": now, "status": "idle", "values": {},
        "interrupts": {}, "metadata": metadata, "config": {},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_as_its_last_run() {
        for (run, thread) in [
            ("queued", "busy"),
            ("running", "busy"),
            ("waiting", "interrupted"),
            ("error", "error"),
            ("completed", "idle"),
            ("canceled", "idle"),
        ] {
            assert_eq!(status(&json!({"status": run})), thread);
        }
        assert_eq!(status(&Value::Null), "idle");
    }

    #[test]
    fn a_new_id_is_a_uuid() {
        assert!(is_uuid(&fresh_id().unwrap()));
        for wrong in
            ["", "thread", "018f2b0c-0000-7000-8000-00000000000g", "018f2b0c00007000800000000000000000001"]
        {
            assert!(!is_uuid(wrong), "{wrong}");
        }
    }

    #[test]
    fn threads_are_searched_by_their_graph_alone() {
        assert_eq!(
            ThreadFilter::read(&json!({"metadata": {"graph_id": "echo"}})).ok().unwrap().agent,
            Some("echo")
        );
        for body in
            [json!({"metadata": {"x": 1}}), json!({"values": {"a": 1}}), json!({"extract": {"a": "b"}})]
        {
            assert_eq!(ThreadFilter::read(&body).err().unwrap().code, "not_supported");
        }
    }
}
