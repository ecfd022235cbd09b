//! The view as Markdown, for language models and people.
//! Must not know: the source of the data.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::View;

/// Maximum number of characters of an event's payload; readers get the rest on request.
const PAYLOAD_CHARS_MAX: usize = 1_000;
/// Maximum number of characters of the charter and the state.
const NEWEST_CHARS_MAX: usize = 16_000;

/// The whole view.
pub(super) fn render(view: &View) -> String {
    let mut out = String::with_capacity(8_192);
    let View { channel, onboarding, participate, spec, state, recent_events } = view;
    let _ = writeln!(out, "# Agent Channel {}\n", channel.id);
    let title = one_line(&channel.title);
    if !title.is_empty() {
        let _ = writeln!(out, "Title: {title}  ");
    }
    let _ = write!(out, "URL: {}  \nCreated {}", channel.url, channel.created_at);
    if !channel.created_by.is_empty() {
        let _ = write!(out, " by {}", one_line(&channel.created_by));
    }
    match &channel.closed_at {
        Some(at) => drop(writeln!(out, "; closed {at}")),
        None => out.push('\n'),
    }
    let _ = writeln!(out, "\n## Onboarding\n\n{onboarding}\n\n## How to take part\n");
    for (title, command) in [
        ("Read this again", &participate.read_this),
        ("The charter alone", &participate.read_spec),
        ("The state alone", &participate.read_state),
        ("Events, newest first", &participate.read_events),
        ("Append an event", &participate.append_event),
    ] {
        let _ = writeln!(out, "{title}:\n\n{}", fenced("sh", command));
    }
    let _ =
        writeln!(out, "{} {}\n\nFormats: {}", participate.auth, participate.your_name, participate.formats);
    newest(&mut out, "Charter", "spec", spec.as_deref());
    newest(&mut out, "Current state", "state", state.as_deref());
    out.push_str("\n## Recent events\n");
    if recent_events.is_empty() {
        out.push_str("\nNone yet.\n");
    }
    for event in recent_events {
        let author = if event.author.is_empty() { "(anonymous)".into() } else { one_line(&event.author) };
        let (id, kind, at) = (event.id, one_line(&event.kind), &event.created_at);
        let _ = writeln!(out, "\n### #{id} - {kind} - {author} - {at}\n");
        out.push_str(&fenced("json", &cut(&event.payload, PAYLOAD_CHARS_MAX)));
    }
    out
}

fn newest(out: &mut String, heading: &str, kind: &str, payload: Option<&RawValue>) {
    let _ = writeln!(out, "\n## {heading}\n");
    match payload {
        Some(payload) => out.push_str(&fenced("json", &cut(payload, NEWEST_CHARS_MAX))),
        None => drop(writeln!(out, "There is no `{kind}` event yet.")),
    }
}

/// A payload without white space between its tokens, truncated to a length.
fn cut(payload: &RawValue, chars_max: usize) -> String {
    let compact = compact(payload);
    if compact.chars().count() <= chars_max {
        return compact;
    }
    let shown: String = compact.chars().take(chars_max).collect();
    format!("{shown}\n... cut; {} characters in total; read it as JSON", compact.chars().count())
}

/// The same JSON without white space between its tokens.
pub(super) fn compact(payload: &RawValue) -> String {
    let (mut out, mut inside, mut escaped) = (String::with_capacity(payload.get().len()), false, false);
    for c in payload.get().chars() {
        if inside || !c.is_ascii_whitespace() {
            out.push(c);
        }
        if c == '"' && !escaped {
            inside = !inside;
        }
        escaped = inside && c == '\\' && !escaped;
    }
    out
}

/// A text in a fence that the text cannot close.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// Foreign text as one line without control characters.
pub(super) fn one_line(text: &str) -> String {
    let line: String =
        text.chars().map(|c| if c.is_control() || c == '\u{2028}' { ' ' } else { c }).collect();
    line.trim().to_owned()
}
