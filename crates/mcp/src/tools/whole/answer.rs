//! The answer of an operation, as an object within its limits.
//! Must not know: the operation.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::plan::{LIMIT, Plan, WAIT};
use crate::{
    operations::Reply,
    tools::{
        api::{Answer, Refusal, ToolApi, next_of},
        bounded, bounds, offset,
        stream::{Stream, StreamItem},
    },
};

/// The default and the longest time of reading a stream, in seconds.
const WAIT_S_DEFAULT: u64 = 5;
const WAIT_S_MAX: u64 = 110;
/// Maximum number of events in one reading of a stream.
const EVENTS_MAX: usize = 50;
/// The headers with the content of an answer without a body.
const HEADERS: [(&str, &str); 2] = [("x-run-id", "run_id"), ("x-thread-id", "thread_id")];

/// Calls the operation with these arguments.
pub(super) async fn ask(api: &ToolApi, plan: &Plan, mut arguments: Map<String, Value>) -> Answer {
    let offset = offset(&mut arguments)?;
    if plan.streams {
        return listen(api, plan, &arguments).await;
    }
    let hints = plan.hints();
    let mut answer = once(api, plan, &arguments).await?;
    if hints.read_only && plan.has_limit() && !bounds::fits(&answer) {
        let fewer = rows(&answer).map(bounds::fitting).unwrap_or_default().max(1);
        let mut narrowed = arguments.clone();
        narrowed.insert(LIMIT.into(), fewer.into());
        // The operation's own cursor is then after the shown rows.
        answer = once(api, plan, &narrowed).await?;
        return Ok(bounded(true, offset, &narrowed, answer));
    }
    Ok(bounded(hints.idempotent, offset, &arguments, answer))
}

async fn once(api: &ToolApi, plan: &Plan, arguments: &Map<String, Value>) -> Answer {
    let request = plan.request(arguments)?;
    let reply = api.reply(plan.route.method.clone(), &request.path, request.body.as_ref()).await?;
    Ok(object(&reply, arguments))
}

/// The rows of a list: the only array in an object.
fn rows(answer: &Value) -> Option<&Vec<Value>> {
    let mut arrays = answer.as_object()?.values().filter_map(Value::as_array);
    let only = arrays.next()?;
    arrays.next().is_none().then_some(only)
}

/// An answer as an object: a list becomes `items`, a text `text`, an empty answer `ok`.
fn object(reply: &Reply, arguments: &Map<String, Value>) -> Value {
    let mut object = match reply.body.is_empty() {
        true => json!({"ok": true}),
        false => match reply.value() {
            Value::Array(items) => json!({"items": items}),
            Value::String(text) => json!({"text": text}),
            object @ Value::Object(_) => object,
            other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => json!({"value": other}),
        },
    };
    for (header, name) in HEADERS {
        if let Some(value) = reply.headers.get(header).and_then(|value| value.to_str().ok())
            && object.get(name).is_none()
        {
            object[name] = value.into();
        }
    }
    if let Some(more) = next_of(&reply.headers) {
        let mut next = arguments.clone();
        next.extend(more);
        object["next"] = next.into();
    }
    object
}

/// The events of a stream within a time, and the arguments of the continuation.
async fn listen(api: &ToolApi, plan: &Plan, arguments: &Map<String, Value>) -> Answer {
    let seconds = match arguments.get(WAIT) {
        None | Some(Value::Null) => WAIT_S_DEFAULT,
        Some(seconds) => {
            seconds.as_u64().ok_or_else(|| Refusal::arguments("`wait_s` must be a number of seconds."))?
        }
    };
    let request = plan.request(arguments)?;
    let body = api.open(&request.path).await?.into_body();
    let mut stream = Stream::new(body, Duration::from_secs(seconds.min(WAIT_S_MAX)));
    let (mut events, mut last, mut budget) = (Vec::new(), None, bounds::LIST_TOKENS_MAX);
    while budget > 0 && events.len() < EVENTS_MAX {
        let Some(item) = stream.next().await else {
            // Everything was read. A stream also names its position without an event: a continuation from there
            // misses nothing that happens meanwhile.
            last = stream.position().map(str::to_owned).or(last);
            break;
        };
        let StreamItem::Event(event) = item else { continue };
        let shown = event.value();
        let tokens = bounds::tokens(&shown.to_string());
        if tokens > budget && !events.is_empty() {
            break;
        }
        budget = budget.saturating_sub(tokens);
        last = event.id.or(last);
        events.push(shown);
    }
    let mut next = arguments.clone();
    if let (Some(last), Some(after)) = (last, plan.after()) {
        next.insert(after.to_owned(), last.into());
    }
    Ok(bounds::cut(json!({"events": events, "next": next})))
}
