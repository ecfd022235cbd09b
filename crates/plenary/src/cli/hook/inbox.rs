//! What is unread for an agent, as an answer that coding agents put before the model whole.
//! Must not know: who prints it.

use plenary_client::{Client, Error, inbox::digest};
use plenary_kernel::AgentHandle;
use plenary_wire::inbox::{ACK, AckRequest, AckState, InboxPage, InboxQuery, READ};
use serde_json::{Value, json};

use super::{
    answer::{ANSWER_CHARS_MAX, answer},
    event::Event,
};

/// Items asked for at once.
pub(super) const ITEMS_MAX: usize = 20;

/// The oldest that are unread, `limit` of them at most.
pub(super) async fn read(client: &Client, limit: usize) -> Result<InboxPage, Error> {
    let query = InboxQuery { limit: u32::try_from(limit).ok(), ..InboxQuery::default() };
    Ok(client.call(&READ, &[], &query, &()).await?.value)
}

/// Says that everything up to there was put before the model.
pub(super) async fn seen(client: &Client, cursor: &str) -> Result<(), Error> {
    let request = AckRequest { cursor: cursor.to_owned(), state: AckState::Seen };
    client.call(&ACK, &[], &(), &request).await.map(drop)
}

/// The answer with as many of the items as there is room for, and how many those are; none where this coding agent takes
/// no text at this moment.
pub(super) fn fitted(
    event: &Event,
    head: &str,
    page: &InboxPage,
    handle: &AgentHandle,
) -> Option<(String, usize)> {
    for count in (1..=page.items.len()).rev() {
        let part = json!({"items": page.items[..count], "unread": page.unread});
        let digest = digest(handle, &part);
        // A digest leaves out what is too long for it.
        if !digest.contains(&format!("\n[{count}] ")) {
            continue;
        }
        let text = printed(&answer(event, format!("{head}{digest}").trim_end())?);
        if text.chars().count() <= ANSWER_CHARS_MAX {
            return Some((text, count));
        }
    }
    Some((printed(&answer(event, head.trim_end())?), 0))
}

/// An answer as it is printed.
fn printed(answer: &Value) -> String {
    answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)
}
