//! A question to a person: ask, wait, withdraw.
//! Must not know: how people are notified.

use std::{future::pending, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{WAIT_S_DEFAULT, WAIT_S_MAX};
use crate::{
    tool::{ClientPerson, PersonQuestion, PersonReply},
    tools::api::{Answer, Refusal, Route, ToolApi, delete, get, post},
};

pub(super) const DESCRIPTION: &str = "Ask the person you work for, and wait for the answer. If none comes in time, call again with the `request_id`, or continue: it comes to your inbox.";
pub(super) const MAKE: Route = post("/requests");
const GET: Route = get("/requests/{id}");
const WITHDRAW: Route = delete("/requests/{id}");

/// Longest single wait on the server.
const SLICE_S_MAX: u64 = 60;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskPersonArguments {
    /// One line
    question: Option<String>,
    /// Details
    detail: Option<String>,
    /// Choices
    choices: Option<Vec<String>>,
    /// An earlier question to wait for
    request_id: Option<String>,
    /// Withdraw the earlier question
    withdraw: Option<bool>,
    /// 50 if absent, at most 110
    timeout_s: Option<u64>,
}

pub(super) async fn ask_person(api: ToolApi, arguments: AskPersonArguments) -> Answer {
    let seconds = arguments.timeout_s.unwrap_or(WAIT_S_DEFAULT);
    if seconds > WAIT_S_MAX {
        return Err(Refusal::arguments(format!(
            "`timeout_s` is at most {WAIT_S_MAX}; call again to wait longer."
        )));
    }
    let within = Duration::from_secs(seconds);
    let id = match (arguments.request_id, arguments.question) {
        (Some(id), None) if arguments.withdraw == Some(true) => {
            api.read(&WITHDRAW, &[&id], &[]).await?;
            return Ok(json!({"request_id": id, "state": "withdrawn"}));
        }
        (Some(id), None) => id,
        (None, Some(question)) => {
            let (detail, choices) = (arguments.detail, arguments.choices.unwrap_or_default());
            return put(&api, None, &question, detail, choices, within).await;
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(Refusal::arguments("Give either `question` or the `request_id` of an earlier one."));
        }
    };
    wait_for_answer(&api, &id, within).await
}

/// Asks the people of an owner, for the tool `ask`.
pub(super) async fn ask_owner(api: &ToolApi, owner: &str, text: &str, seconds: u64) -> Answer {
    let owner = owner.trim_start_matches('@');
    let to = format!("@{owner}.{owner}");
    let mut lines = text.splitn(2, '\n');
    let (first, rest) = (lines.next().unwrap_or_default(), lines.next().map(str::to_owned));
    put(api, Some(&to), first, rest, Vec::new(), Duration::from_secs(seconds)).await
}

/// Puts a question into the inbox and, if the client supports it, before its own person: the first answer counts. A call
/// with the reply to an earlier question puts none.
async fn put(
    api: &ToolApi,
    to: Option<&str>,
    question: &str,
    detail: Option<String>,
    choices: Vec<String>,
    within: Duration,
) -> Answer {
    let rounds = match &api.person {
        Some(ClientPerson::BetweenCalls(rounds)) => Some(rounds),
        Some(ClientPerson::InCall(_)) | None => None,
    };
    if let Some(PersonReply { state, values }) = rounds.and_then(|rounds| rounds.reply()) {
        return match values.as_ref().and_then(given) {
            Some(text) => settle(api, state, text).await,
            None => wait_for_answer(api, state, within).await,
        };
    }
    let message =
        detail.as_ref().map_or_else(|| question.to_owned(), |detail| format!("{question}\n{detail}"));
    let body = json!({
        "kind": "question",
        "title": question,
        "to": to,
        "detail": detail.map(|text| json!({"text": text})),
        "choices": choices,
    });
    let created = api.write(&MAKE, &[], &body).await?;
    let id = created["request_id"].as_str().unwrap_or_default().to_owned();
    if let Some(rounds) = rounds {
        // A rule of the person may have answered at once.
        let answer = wait_for_answer(api, &id, Duration::ZERO).await?;
        if answer["timed_out"] == true && !within.is_zero() {
            rounds.ask(PersonQuestion { message, schema: form(&choices), state: id });
        }
        return Ok(answer);
    }
    tokio::select! {
        biased;
        answer = wait_for_answer(api, &id, within) => answer,
        text = ask_at_client(api, &message, &choices) => settle(api, &id, &text).await,
    }
}

/// The result with the answer of the person at the client, unless somebody has answered in the inbox meanwhile.
async fn settle(api: &ToolApi, id: &str, text: &str) -> Answer {
    if api.read(&WITHDRAW, &[id], &[]).await.is_ok() {
        return Ok(by_client(id, text));
    }
    match wait_for_answer(api, id, Duration::ZERO).await {
        Ok(answer) if answer["answer"].is_object() => Ok(answer),
        // The client may repeat a call whose answer was lost.
        Ok(_) | Err(_) => Ok(by_client(id, text)),
    }
}

/// The result with the answer of the person at the client.
fn by_client(id: &str, text: &str) -> Value {
    json!({"request_id": id, "state": "answered", "timed_out": false,
        "answer": {"type": "respond", "text": text, "by": "client"}})
}

/// The answer of the person at the client. Never returns without an answer: a client may decline by itself.
async fn ask_at_client(api: &ToolApi, message: &str, choices: &[String]) -> String {
    let Some(ClientPerson::InCall(person)) = &api.person else { return pending().await };
    match person.ask(message, form(choices)).await.as_ref().and_then(given) {
        Some(text) => text.to_owned(),
        None => pending().await,
    }
}

/// The form with the answer.
fn form(choices: &[String]) -> Value {
    let mut answer = json!({"type": "string", "title": "Answer", "minLength": 1});
    if !choices.is_empty() {
        answer = json!({"type": "string", "title": "Answer", "enum": choices});
    }
    json!({"type": "object", "properties": {"answer": answer}, "required": ["answer"]})
}

/// The answer among the values of the form.
fn given(values: &Map<String, Value>) -> Option<&str> {
    values.get("answer")?.as_str().filter(|text| !text.is_empty())
}

async fn wait_for_answer(api: &ToolApi, id: &str, within: Duration) -> Answer {
    let until = Instant::now() + within;
    loop {
        let remaining_s = until.saturating_duration_since(Instant::now()).as_secs();
        let wait = remaining_s.min(SLICE_S_MAX).to_string();
        let request = api.read(&GET, &[id], &[("wait", &wait)]).await?;
        let is_open = request["state"] == "open" || request["state"] == "snoozed";
        if !is_open || remaining_s == 0 {
            return Ok(shown(&request, is_open));
        }
    }
}

fn shown(seen: &Value, timed_out: bool) -> Value {
    let mut shown = json!({"request_id": seen["request_id"], "state": seen["state"], "timed_out": timed_out});
    let answer = &seen["answer"];
    if answer.is_object() {
        shown["answer"] = json!({"type": answer["type"], "text": answer["text"], "by": answer["by"]});
    }
    shown
}
