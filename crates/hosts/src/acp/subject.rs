//! What a tool call would do, as text for a person who decides about it. Its title is what the agent calls it; only the
//! rest shows whether that is true.
//! Must not know: the question, or the events of a run.

use std::time::Duration;

use serde_json::Value;
use similar::TextDiff;

/// Longest text of the arguments and of each change, in bytes; of a longer one the text shows how much is left out.
const PART_BYTES_MAX: usize = 8 << 10;
/// Longest list of files, in bytes.
const FILES_BYTES_MAX: usize = 1 << 10;
/// Longest text of all changes, in bytes: a request to people contains it twice.
const CONTENT_BYTES_MAX: usize = 12 << 10;
/// How long a diff may take to be found; then it is longer than necessary.
const DIFF_TIME: Duration = Duration::from_millis(100);
/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// What is known about a tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CallSubject {
    arguments: String,
    locations: String,
    content: String,
}

impl CallSubject {
    /// Adds what a report of the call contains; other parts stay as they are.
    pub(super) fn update(&mut self, call: &Value) {
        let input = &call["rawInput"];
        if !input.is_null() {
            // In JSON no line of a text can end the block.
            let json = serde_json::to_string_pretty(input).unwrap_or_default();
            self.arguments = block("json", &cut(&json, PART_BYTES_MAX));
        }
        if let Some(locations) = call["locations"].as_array() {
            let paths: Vec<_> = locations.iter().filter_map(|location| location["path"].as_str()).collect();
            let paths = if paths.is_empty() { String::new() } else { format!("Files: {}", paths.join(", ")) };
            self.locations = cut(&paths, FILES_BYTES_MAX);
        }
        if let Some(content) = call["content"].as_array() {
            self.content = joined(content.iter().filter_map(part).collect());
        }
    }

    /// The parts, one below the other; empty if nothing is known.
    pub(super) fn text(&self) -> String {
        let parts = [&self.locations, &self.arguments, &self.content].map(String::as_str);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// The parts of the content, as far as they fit, and the number of those that do not.
fn joined(parts: Vec<String>) -> String {
    let (mut text, count) = (String::new(), parts.len());
    for (nth, part) in parts.into_iter().enumerate() {
        if nth > 0 && text.len() + part.len() > CONTENT_BYTES_MAX {
            return format!("{text}\n\n… {} more parts", count - nth);
        }
        text = if nth > 0 { format!("{text}\n\n{part}") } else { part };
    }
    text
}

/// A piece of content, as text; `None` for pictures and the like.
fn part(piece: &Value) -> Option<String> {
    match piece["type"].as_str()? {
        "content" => {
            let text = cut(piece["content"]["text"].as_str()?, PART_BYTES_MAX);
            Some(text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n"))
        }
        "diff" => {
            let text = |name: &str| piece[name].as_str().unwrap_or_default();
            let (old, new) = (text("oldText"), text("newText"));
            let path = text("path").replace(['\n', '\r'], " ");
            let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(old, new);
            let mut unified = diff.unified_diff();
            // Most agents send a part of a file.
            let unified = unified.missing_newline_hint(false);
            let unified = unified.context_radius(CONTEXT_LINES).header(&path, &path);
            Some(block("diff", &cut(unified.to_string().trim_end(), PART_BYTES_MAX)))
        }
        _ => None,
    }
}

/// A block of Markdown.
fn block(language: &str, text: &str) -> String {
    format!("```{language}\n{text}\n```")
}

/// The text, or its beginning and the number of bytes that are left out.
fn cut(text: &str, bytes_max: usize) -> String {
    let (shown, rest) = text.split_at(text.floor_char_boundary(bytes_max));
    if rest.is_empty() { shown.to_owned() } else { format!("{shown}\n… {} more bytes", rest.len()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(call: &Value) -> String {
        let mut subject = CallSubject::default();
        subject.update(call);
        subject.text()
    }

    #[test]
    fn a_call_shows_its_arguments_its_files_and_its_changes() {
        let call = json!({
            "title": "Run tests", "locations": [{"path": "/etc/passwd"}], "rawInput": {"command": "rm -rf ~"},
            "content": [
                {"type": "diff", "path": "/etc/passwd", "oldText": "a\nb\n", "newText": "a\nroot::0:0\n"},
                {"type": "content", "content": {"type": "text", "text": "why"}},
            ],
        });
        let expected = "Files: /etc/passwd\n\n```json\n{\n  \"command\": \"rm -rf ~\"\n}\n```\n\n\
                        ```diff\n--- /etc/passwd\n+++ /etc/passwd\n@@ -1,2 +1,2 @@\n a\n-b\n+root::0:0\n```\n\n> why";
        assert_eq!(text(&call), expected);
        assert_eq!(text(&json!({"title": "x"})), "");
    }

    #[test]
    fn a_later_report_replaces_what_it_contains() {
        let mut subject = CallSubject::default();
        subject.update(&json!({"rawInput": {"a": 1}, "locations": [{"path": "x"}]}));
        subject.update(&json!({"rawInput": {"a": 2}}));
        assert_eq!(subject.text(), "Files: x\n\n```json\n{\n  \"a\": 2\n}\n```");
    }

    #[test]
    fn a_long_part_is_cut_and_says_so() {
        let long = "é".repeat(PART_BYTES_MAX);
        for call in [
            json!({"rawInput": {"content": long}}),
            json!({"content": [{"type": "diff", "path": "x", "oldText": null, "newText": long}]}),
        ] {
            let text = text(&call);
            assert!(text.len() < PART_BYTES_MAX + 100 && text.contains(" more bytes\n```"), "{}", text.len());
        }
        let diff = json!({"type": "diff", "path": "x", "oldText": null, "newText": long});
        let text = text(&json!({"content": [diff, diff, diff]}));
        assert!(text.len() < CONTENT_BYTES_MAX && text.ends_with("… 2 more parts"), "{}", text.len());
    }
}
