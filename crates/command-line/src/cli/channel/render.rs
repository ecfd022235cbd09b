//! Events and JSON as text for people; foreign text is escaped.
//! Must not know: their source.

use plenary_client::channels::{ChannelEvent, Problem, Vital, handoff_of};
use serde_json::{Map, Value};

use crate::{
    cli::{failure::Failure, stream},
    out::{Out, Style, clean, clean_block, second},
};

/// The indent of an event's second and later lines.
const INDENT: &str = "    ";
/// Maximum number of a payload's characters shown in a line.
const PAYLOAD_CHARS_MAX: usize = 600;

/// Prints an event as text, or as its JSON.
pub(super) async fn print(out: Out, event: &ChannelEvent) -> Result<(), Failure> {
    let text = if out.is_json() { event.json() } else { self::event(&out, event) };
    stream::print(move || out.line(&text)).await
}

/// An event: its time, kind, author and text.
pub(super) fn event(out: &Out, event: &ChannelEvent) -> String {
    let via = event.via.as_ref().filter(|via| **via != event.author);
    let via = via.map(|via| format!(" {}", out.paint(Style::Dim, &format!("via {}", clean(via)))));
    format!(
        "{} {}{} {}: {}",
        out.paint(Style::Dim, &format!("{} #{}", second(&event.created_at), event.id)),
        out.paint(Style::Bold, &clean(&event.author)),
        via.unwrap_or_default(),
        out.paint(Style::Green, &clean(&event.kind)),
        clean_block(&event_text(event), INDENT),
    )
}

/// The text of an event: the main members of a known kind, the only member if it is a text, or else the payload.
fn event_text(event: &ChannelEvent) -> String {
    let payload: Map<String, Value> = serde_json::from_str(event.payload.get()).unwrap_or_default();
    let member = |name: &str| payload.get(name).and_then(Value::as_str).filter(|member| !member.is_empty());
    let text = match event.kind.as_str() {
        "spec" => member("mission").map(str::to_owned),
        "state" => handoff_of(&event.payload).map(|(holder, action)| format!("held by {holder}: {action}")),
        "status" => member("phase").map(|phase| match member("note") {
            Some(note) => format!("{phase} — {note}"),
            None => phase.to_owned(),
        }),
        _ => {
            payload.values().next().filter(|_| payload.len() == 1).and_then(Value::as_str).map(str::to_owned)
        }
    };
    text.unwrap_or_else(|| {
        let whole = laid_out(event.payload.get(), false);
        let mut excerpt: String = whole.chars().take(PAYLOAD_CHARS_MAX).collect();
        if excerpt.len() < whole.len() {
            excerpt.push('…');
        }
        excerpt
    })
}

/// A problem of an event that was checked.
pub(super) fn problem(problem: &Problem) -> String {
    format!("{}: {}", clean(&problem.field), clean(&problem.problem))
}

/// A change of liveness: presumed dead, or back.
pub(super) fn vital(out: &Out, vital: &Vital, channel: &str) -> String {
    match vital {
        Vital::Dead { agent, silent_seconds, holds_work: true } => {
            let take = format!("to take over: plenary channel handoff {channel} YOUR-NAME --expect ACTION");
            format!(
                "{} {}, silent for {silent_seconds} s; {}",
                out.paint(Style::Red, "THE HOLDER IS PRESUMED DEAD:"),
                clean(agent),
                out.suggestion(&take),
            )
        }
        Vital::Dead { agent, silent_seconds, holds_work: false } => {
            let mark = out.paint(Style::Yellow, "presumed dead:");
            format!("{mark} {}, silent for {silent_seconds} s", clean(agent))
        }
        Vital::Back { agent } => format!("{} {}", out.paint(Style::Green, "heard again:"), clean(agent)),
    }
}

/// A change of presence as JSON; the member `presence` distinguishes it from an event.
pub(super) fn vital_json(vital: &Vital) -> Value {
    match vital {
        Vital::Dead { agent, silent_seconds, holds_work } => serde_json::json!({
            "presence": "presumed_dead", "agent": agent, "silent_seconds": silent_seconds, "holds_work": holds_work,
        }),
        Vital::Back { agent } => serde_json::json!({"presence": "heard_again", "agent": agent}),
    }
}

/// JSON in one line, or in one line for each part. Texts and numbers stay as sent, except that characters harmful to a
/// terminal become JSON escapes.
pub(super) fn laid_out(json: &str, in_lines: bool) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut inside, mut escaped, mut opened) = (0_usize, false, false, false);
    let line = |out: &mut String, depth: usize| {
        if in_lines {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        }
    };
    for c in json.chars() {
        if inside {
            push_harmless(&mut out, c);
            inside = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        if c.is_ascii_whitespace() {
            continue;
        }
        let closes = matches!(c, '}' | ']');
        depth -= usize::from(closes && depth > 0);
        if opened != closes {
            line(&mut out, depth);
        }
        opened = matches!(c, '{' | '[');
        depth += usize::from(opened);
        inside = c == '"';
        push_harmless(&mut out, c);
        match c {
            ',' if in_lines => line(&mut out, depth),
            ',' | ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

fn push_harmless(out: &mut String, c: char) {
    // Each character that `clean` escapes is one UTF-16 unit.
    if c.is_ascii_graphic() || matches!(clean(c.encode_utf8(&mut [0; 4])), std::borrow::Cow::Borrowed(_)) {
        out.push(c);
    } else {
        out.push_str(&format!("\\u{:04x}", u32::from(c)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, payload: &str) -> String {
        let json = format!(
            r#"{{"id":7,"channel_id":"VHGC","kind":"{kind}","author":"a\u001b","via":"@x.y","payload":{payload},
                "created_at":"1970-01-01T00:00:01Z"}}"#
        );
        event(&Out::new(false, true), &ChannelEvent::read(&json).unwrap())
    }

    #[test]
    fn an_event_shows_its_main_members_and_forges_no_line() {
        let head = "1970-01-01 00:00:01Z #7 a\\u{1b} via @x.y";
        for (kind, payload, expected) in [
            ("spec", r#"{"mission":"Port it","rules":[]}"#, "Port it"),
            ("status", r#"{"agent":"a","phase":"working","note":"half"}"#, "working — half"),
            ("status", r#"{"phase":"ready"}"#, "ready"),
            ("state", r#"{"handoff":{"holder":"b","expected_action":"review"}}"#, "held by b: review"),
            ("comms", r#"{"text":"one\n1970 two\u001b"}"#, "one\n    1970 two\\u{1b}"),
            ("comms", r#"{"a": 1.10, "b": {}}"#, r#"{"a": 1.10, "b": {}}"#),
            ("status", r#"{"note":1}"#, r#"{"note": 1}"#),
        ] {
            assert_eq!(line(kind, payload), format!("{head} {kind}: {expected}"));
        }
        let long = line("log", &format!(r#"{{"a":1,"b":"{}"}}"#, "x".repeat(2_000)));
        assert!(long.ends_with("x…") && long.len() < 800, "{long}");
    }

    #[test]
    fn json_is_laid_out_with_every_digit_and_no_escape_for_the_terminal() {
        let json = "{\"a\":[1.10,{},[] ],\n\"b\\\"{\":\"x, y: \u{9b}\u{202e}\\\\\",\"c\":{\"d\":1e400}}";
        let formatted = "{\n  \"a\": [\n    1.10,\n    {},\n    []\n  ],\n  \"b\\\"{\": \"x, y: \\u009b\\u202e\\\\\",\n  \
                     \"c\": {\n    \"d\": 1e400\n  }\n}";
        assert_eq!(laid_out(json, true), formatted);
        assert_eq!(laid_out(formatted, true), formatted);
    }
}
