//! The size limit of a result: a conservative estimate of tokens, and the rule for larger results.
//! Must not know: the content of a result.

use serde_json::{Map, Value, json};

/// Maximum size of a result in estimated tokens; a larger one has `next`, the arguments of the continuation.
pub const RESULT_TOKENS_MAX: usize = 2_000;
/// Maximum size of a list's items together, which leaves room for the rest of the result.
pub(crate) const LIST_TOKENS_MAX: usize = 1_500;
/// Maximum size of the text in one part of a result.
const PART_TOKENS_MAX: usize = 1_500;
/// The argument that continues a result too large for one answer: a byte offset into its JSON.
pub(crate) const OFFSET: &str = "offset";

/// The kind of a character for a tokenizer: each run of one kind has tokens of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    Space,
    Other,
    Foreign,
}

fn kind(character: char) -> Kind {
    match character {
        'a'..='z' | 'A'..='Z' => Kind::Letter,
        '0'..='9' => Kind::Digit,
        ' ' => Kind::Space,
        _ if character.is_ascii() => Kind::Other,
        _ => Kind::Foreign,
    }
}

/// The estimated number of tokens in a text, rather too high than too low, for the encodings in use.
pub fn tokens(text: &str) -> usize {
    // Adds a twentieth for cases that no rule covers.
    (quarters(text) * 21).div_ceil(80)
}

/// The estimate in quarters of a token.
fn quarters(text: &str) -> usize {
    let mut total = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind_of_run = kind(first);
        let end = rest.find(|character| kind(character) != kind_of_run).unwrap_or(rest.len());
        total += of_run(kind_of_run, &rest[..end]);
        rest = &rest[end..];
    }
    total
}

fn of_run(kind: Kind, run: &str) -> usize {
    match kind {
        Kind::Letter => of_letters(run),
        Kind::Digit => 4 * run.len().div_ceil(3),
        // One space belongs to the following word.
        Kind::Space => 4 * (run.len() - 1).min(1 + run.len() / 8),
        Kind::Other => 4 * run.len().div_ceil(2),
        Kind::Foreign => run.chars().map(|character| [2, 3, 6, 12][character.len_utf8() - 1]).sum(),
    }
}

/// In a run of letters, a capital after a small letter starts a new word.
fn of_letters(run: &str) -> usize {
    let bytes = run.as_bytes();
    let (mut total, mut from) = (0, 0);
    for index in 1..=bytes.len() {
        let ends = index == bytes.len()
            || bytes[index - 1].is_ascii_lowercase() && bytes[index].is_ascii_uppercase();
        if ends {
            total += word_tokens(&bytes[from..index]);
            from = index;
        }
    }
    total
}

/// A word has few tokens; random letters have many.
fn word_tokens(letters: &[u8]) -> usize {
    let (length, vowels) =
        (letters.len(), letters.iter().filter(|byte| b"aeiouyAEIOUY".contains(byte)).count());
    let is_word = length == 1 || vowels * 4 >= length && vowels < length && vowels * 3 <= 2 * length;
    match (is_word, length) {
        (true, _) => 4 * length.div_ceil(4),
        (false, ..=3) => 4 * length,
        (false, _) => 16 * length / 7,
    }
}

/// Whether a result fits into one answer.
pub(crate) fn fits(value: &Value) -> bool {
    tokens(&value.to_string()) <= RESULT_TOKENS_MAX
}

/// Whether the answer from `offset` on contains the end of the result.
pub(crate) fn reaches_end(value: &Value, offset: Option<usize>) -> bool {
    match offset {
        None => fits(value),
        Some(offset) => part(value, offset, &Map::new()).get("next").is_none(),
    }
}

/// How many of these items, from the first on, fit into one answer.
pub(crate) fn fitting<'a>(items: impl IntoIterator<Item = &'a Value>) -> usize {
    let mut remaining = LIST_TOKENS_MAX;
    items
        .into_iter()
        .take_while(|item| {
            let needed = tokens(&item.to_string()) + 1;
            let enough = needed <= remaining;
            remaining = remaining.saturating_sub(needed);
            enough
        })
        .count()
}

/// The beginning of a text with at most this many tokens, and whether that is the whole text.
pub(crate) fn shortened(text: &str, most: usize) -> (&str, bool) {
    let end = prefix(text, most);
    (&text[..end], end == text.len())
}

/// The number of a text's bytes that fit into a number of tokens.
fn prefix(text: &str, most: usize) -> usize {
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = text.ceil_char_boundary(low + (high - low).div_ceil(2)).min(high);
        if tokens(&text[..middle]) <= most {
            low = middle;
        } else {
            high = text.floor_char_boundary(middle - 1);
        }
    }
    low
}

/// One part of a result too large for one answer, from `offset` on, and the arguments for the next part.
pub(crate) fn part(value: &Value, offset: usize, arguments: &Map<String, Value>) -> Value {
    let json = value.to_string();
    let from = json.floor_char_boundary(offset.min(json.len()));
    let (text, whole) = shortened(&json[from..], PART_TOKENS_MAX);
    let mut answer = json!({"part": text, "octets": json.len()});
    if !whole {
        let mut next = arguments.clone();
        next.insert(OFFSET.into(), (from + text.len()).into());
        answer["next"] = next.into();
    }
    answer
}

/// A result that cannot be requested again, shortened: its longest texts end in `…`.
pub(crate) fn cut(mut value: Value) -> Value {
    let mut most = RESULT_TOKENS_MAX / 4;
    while !fits(&value) && most > 0 {
        shorten(&mut value, most);
        most /= 2;
    }
    if fits(&value) { value } else { part(&value, 0, &Map::new()) }
}

fn shorten(value: &mut Value, most: usize) {
    match value {
        Value::String(text) => {
            let (short, whole) = shortened(text, most);
            if !whole {
                *text = format!("{short}…");
            }
        }
        Value::Array(items) => {
            items.truncate(most);
            items.iter_mut().for_each(|item| shorten(item, most));
        }
        Value::Object(members) => members.values_mut().for_each(|member| shorten(member, most)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
