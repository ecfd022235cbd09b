//! The unread messages of an agent, as an answer that coding agents pass to the model in full.
//! Must not know: the hook that prints it.

use plenary_client::{
    Client, Error,
    inbox::{CutItem, InboxPage, InboxQuery, digest},
};
use plenary_kernel::AgentHandle;
use serde_json::{Value, json};

use super::{
    answer::{ANSWER_CHARS_MAX, answer},
    event::Event,
};

/// Maximum number of items read at once.
pub(super) const ITEMS_MAX: usize = 20;

/// The oldest unread items for the session, at most `limit`; without a session, for any session.
pub(super) async fn read(client: &Client, session: Option<&str>, limit: usize) -> Result<InboxPage, Error> {
    Ok(client.inbox(&query(session, limit)).await?.value)
}

pub(super) fn query(session: Option<&str>, limit: usize) -> InboxQuery {
    let coding_session = session.map(str::to_owned);
    InboxQuery { limit: u32::try_from(limit).ok(), coding_session, ..InboxQuery::default() }
}

/// Reports the first items of a page as shown to the session, some of them cut, and that the page ends there.
pub(super) async fn report_shown(
    client: &Client,
    event: &Event,
    page: &InboxPage,
    cut: &[CutItem],
) -> Result<(), Error> {
    client.shown(event.coding_session(), event.moment.as_str(), page, cut).await.map(drop)
}

/// The items that fit into one answer.
pub(super) struct FittedText {
    pub(super) text: String,
    pub(super) count: usize,
    /// The cut items among them.
    pub(super) cut: Vec<CutItem>,
}

/// The answer with as many items as fit, and their number. At least one is shown; it is cut if it is too long for an
/// answer. `None` if the coding agent takes no text at this moment.
pub(super) fn fitted(
    event: &Event,
    head: &str,
    page: &InboxPage,
    handle: &AgentHandle,
) -> Option<FittedText> {
    let render = |items: &[Value]| -> Option<String> {
        let digest = digest(handle, &json!({"items": items, "unread": page.unread}));
        // A digest omits an item that is too long for it.
        let is_whole = digest.contains(&format!("\n[{}] ", items.len()));
        let text = printed(&answer(event, format!("{head}{digest}").trim_end())?);
        (is_whole && text.chars().count() <= ANSWER_CHARS_MAX).then_some(text)
    };
    for count in (1..=page.items.len()).rev() {
        if let Some(text) = render(&page.items[..count]) {
            let cut = page.items[..count].iter().filter_map(|item| cut_item(item, item)).collect();
            return Some(FittedText { text, count, cut });
        }
    }
    if let Some(whole) = page.items.first()
        && let Some((text, item)) = longest(whole, |item| render(std::slice::from_ref(item)))
    {
        return Some(FittedText { text, count: 1, cut: cut_item(whole, &item).into_iter().collect() });
    }
    Some(FittedText { text: printed(&answer(event, head.trim_end())?), count: 0, cut: Vec::new() })
}

/// How much of an item was shown; `None` if it was shown whole.
fn cut_item(whole: &Value, shown: &Value) -> Option<CutItem> {
    let length = |item: &Value| item["text"].as_str().map_or(0, |text| text.chars().count() as u64);
    let characters = whole["characters"].as_u64().unwrap_or_else(|| length(whole));
    let id = whole["id"].as_str()?.to_owned();
    let shown_characters = length(shown);
    (shown_characters < characters).then_some(CutItem { id, shown_characters, characters })
}

/// The text of an item, with as much of its content as fits, and the cut item.
fn longest(item: &Value, render: impl Fn(&Value) -> Option<String>) -> Option<(String, Value)> {
    let text = item["text"].as_str()?;
    let characters = item["characters"].as_u64().unwrap_or_else(|| text.chars().count() as u64);
    let ends: Vec<usize> = text.char_indices().map(|(index, _)| index).collect();
    let cut = |chars: usize| {
        let mut item = item.clone();
        item["text"] = text[..ends[chars]].into();
        item["truncated"] = true.into();
        item["characters"] = characters.into();
        Some((render(&item)?, item))
    };
    // The first length that does not fit; the text grows with the length of the content.
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

/// The answer in its printed form.
fn printed(answer: &Value) -> String {
    answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)
}
