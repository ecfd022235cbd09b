//! Asks a person in the inbox before the coding agent asks in its window. Without an answer nothing is printed, and
//! the coding agent asks as usual.
//! Must not know: the question.

use std::time::{Duration, Instant};

use plenary_client::IdempotencyKey;
use plenary_kernel::AskId;
use serde_json::Value;
use tokio::time::timeout;

use super::{event::Event, journal, notices::print};
use crate::{
    cli::{context::Context, failure::Failure},
    interrupts::Interrupts,
};

/// Maximum length of a line on the server, in characters.
const LINE_CHARS_MAX: usize = 200;
/// Maximum length of a detail, in characters.
const DETAIL_CHARS_MAX: usize = 16_000;
/// How much later than asked for a server's answer may come, and how long withdrawing may take: the coding agent waits too.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How long making the request may take, besides: until it is made nobody can answer it, and nobody asks in the window.
const MADE_WITHIN: Duration = Duration::from_secs(3);
/// How much longer the request stays open than this process waits, in case the process is killed.
const GRACE_MS: u64 = 5_000;
/// Maximum size of a request, less what the server adds.
pub(super) const REQUEST_BYTES_MAX: usize = 60 << 10;

/// Sends the request, waits, and prints the decision of the answer, if there is one.
pub(super) async fn ask(
    context: &Context,
    mut body: Value,
    within: Duration,
    decision: impl Fn(&Value) -> Option<Value>,
) -> Result<(), String> {
    let client = context.agent_client().map_err(|failure| journal::describe(&failure))?;
    let mut interrupts =
        Interrupts::with_hangup().map_err(|error| journal::describe(&Failure::signals(&error)))?;
    let started_at = Instant::now();
    let remaining = || within.saturating_sub(started_at.elapsed());
    let open_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX).saturating_add(GRACE_MS);
    let making = async {
        body["deadline_at"] = client.server_now().await.0.saturating_add(open_ms).into();
        client.make_request(&body, &IdempotencyKey::random()).await
    };
    let created = in_time(remaining().min(MADE_WITHIN), making).await?;
    let id: AskId =
        created.value["request_id"].as_str().and_then(|id| id.parse().ok()).ok_or("no request id")?;
    let answered = tokio::select! {
        request = in_time(remaining(), client.wait_request(&id, remaining())) => request?.value["answer"].clone(),
        // The coding agent got its answer in the window, or ends.
        () = interrupts.next() => Value::Null,
    };
    match decision(&answered) {
        Some(decision) => {
            print(&decision.to_string()).map_err(|error| format!("the decision cannot be printed: {error}"))
        }
        None => in_time(Duration::ZERO, client.withdraw_request(&id)).await.map(|_| ()),
    }
}

/// What the server answers within a time, and a little more.
async fn in_time<T>(
    within: Duration,
    call: impl Future<Output = Result<T, plenary_client::Error>>,
) -> Result<T, String> {
    let answer = timeout(within.saturating_add(ANSWER_WITHIN), call).await;
    let answer = answer.map_err(|_| "the server did not answer in time".to_owned())?;
    answer.map_err(|error| journal::describe(&error.into()))
}

/// Adds the common members: the origin of the request.
pub(super) fn surround(body: &mut Value, event: &Event) {
    body["inbox"] = false.into();
    if let Some(directory) = event.directory.as_ref().and_then(|path| path.to_str()) {
        body["directory"] = line(directory).into();
    }
}

/// The text as one line, without invisible characters.
pub(super) fn line(text: &str) -> String {
    let plain = text.chars().map(|c| if plenary_kernel::text::is_hidden(c) { ' ' } else { c });
    plain.take(LINE_CHARS_MAX).collect()
}

/// The text, cut to the limit of a detail.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(DETAIL_CHARS_MAX).collect()
}
