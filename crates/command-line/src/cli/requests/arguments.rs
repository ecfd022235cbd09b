//! The arguments of a tool as lines for a terminal.
//! Must not know: the rest of a request.

use plenary_kernel::request_texts::split_arguments;
use serde_json::Value;

use crate::out::clean;

/// The lines: JSON, and each text of several lines below its name. The text is indented, so none of its lines looks like a name.
pub(crate) fn argument_lines(args: &Value) -> Vec<String> {
    let (texts, others) = split_arguments(args);
    let has_others = texts.is_empty() || others.as_object().is_some_and(|others| !others.is_empty());
    let json = has_others.then(|| serde_json::to_string_pretty(&others).unwrap_or_default());
    let mut lines: Vec<String> =
        json.iter().flat_map(|json| json.lines()).map(|line| clean(line).into_owned()).collect();
    for (name, text) in texts {
        lines.push(format!("{}:", clean(name)));
        lines.extend(text.lines().map(|line| format!("  {}", clean(line))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn given_a_text_of_several_lines_then_it_is_shown_line_by_line() {
        let args = json!({"content": "fn main() {\n\tgo();\n\u{1b}path:\n}", "path": "a.rs"});
        let lines = argument_lines(&args);
        assert_eq!(lines[..4], ["{", "  \"path\": \"a.rs\"", "}", "content:"]);
        assert_eq!(lines[4], "  fn main() {");
        assert!(lines[6].starts_with("  ") && !lines[6].contains('\u{1b}'), "{lines:?}");
        assert_eq!(argument_lines(&json!({"text": "a\nb"})), ["text:", "  a", "  b"]);
        assert_eq!(argument_lines(&json!({})), ["{}"]);
    }
}
