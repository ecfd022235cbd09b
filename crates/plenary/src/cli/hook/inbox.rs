//! What is unread for an agent, as an answer that coding agents put before the model whole.
//! Must not know: who prints it.

use plenary_client::{
    Client, Error,
    inbox::{InboxPage, InboxQuery, digest},
};
use plenary_kernel::AgentHandle;
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
    Ok(client.inbox(&query).await?.value)
}

/// Says that the session was handed the first items of a page, and that the page goes no further.
pub(super) async fn shown(client: &Client, event: &Event, page: &InboxPage) -> Result<(), Error> {
    let id = |item: &Value| item["id"].as_str().map(str::to_owned);
    let items: Vec<String> = page.items.iter().filter_map(id).collect();
    client.shown(event.coding_session(), event.moment.told(), &page.cursor, &items).await.map(drop)
}

/// The answer with as many of the items as there is room for, and how many those are: at least one, which is cut where it
/// is too long for an answer; none where this coding agent takes no text at this moment.
pub(super) fn fitted(
    event: &Event,
    head: &str,
    page: &InboxPage,
    handle: &AgentHandle,
) -> Option<(String, usize)> {
    let told = |items: &[Value]| -> Option<String> {
        let digest = digest(handle, &json!({"items": items, "unread": page.unread}));
        // A digest leaves out what is too long for it.
        let is_whole = digest.contains(&format!("\n[{}] ", items.len()));
        let text = printed(&answer(event, format!("{head}{digest}").trim_end())?);
        (is_whole && text.chars().count() <= ANSWER_CHARS_MAX).then_some(text)
    };
    for count in (1..=page.items.len()).rev() {
        if let Some(text) = told(&page.items[..count]) {
            return Some((text, count));
        }
    }
    let cut = page.items.first().and_then(|item| longest(item, |item| told(std::slice::from_ref(item))));
    if let Some(text) = cut {
        return Some((text, 1));
    }
    Some((printed(&answer(event, head.trim_end())?), 0))
}

/// What is told of an item with as much of its text as fits.
fn longest(item: &Value, told: impl Fn(&Value) -> Option<String>) -> Option<String> {
    let text = item["text"].as_str()?;
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let cut = |chars: usize| {
        let mut item = item.clone();
        item["text"] = text[..ends[chars]].into();
        item["truncated"] = true.into();
        told(&item)
    };
    // The first length that is too long; a shorter text is never told at greater length.
    let (mut fits, mut exceeds) = (0, ends.len());
    while fits + 1 < exceeds {
        let middle = usize::midpoint(fits, exceeds);
        if cut(middle).is_some() {
            fits = middle;
        } else {
            exceeds = middle;
        }
    }
    if ends.is_empty() { None } else { cut(fits) }
}

/// An answer as it is printed.
fn printed(answer: &Value) -> String {
    answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)
}
