//! A tool and what a call of it came to, in the words of the protocol.
//! Must not know: which tools there are, or how one is carried out.

use rmcp::model::{CallToolResult, ContentBlock, Tool as Described, ToolAnnotations};
use serde_json::{Value, json};

use super::TEXT_OCTETS_MAX;
use crate::tool::{Called, Tool};

/// A tool as clients are told of it.
pub(super) fn described(tool: &Tool) -> Described {
    let hints = ToolAnnotations::with_title(tool.title.clone())
        .read_only(tool.hints.read_only)
        .destructive(tool.hints.destructive)
        .idempotent(tool.hints.idempotent)
        .open_world(false);
    let described = Described::new(tool.name.clone(), tool.description.clone(), tool.input.clone())
        .with_title(tool.title.clone())
        .with_annotations(hints);
    match &tool.output {
        Some(output) => described.with_raw_output_schema(output.clone()),
        None => described,
    }
}

/// What a call came to. A refusal is for the model to read, so it is a result, in the house form; without a structured
/// part, which clients would hold to the schema of success.
pub(super) fn result(called: Called) -> CallToolResult {
    match called {
        Called::Done(value) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text(&value))]);
            result.structured_content = Some(value);
            result
        }
        Called::Refused { code, message } => {
            let text = json!({"error": {"code": code, "message": message}}).to_string();
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    }
}

/// The structured result as text, for clients that read nothing else.
fn text(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= TEXT_OCTETS_MAX {
        return text;
    }
    let kept = cut(&text, TEXT_OCTETS_MAX);
    format!("{kept} … cut after {} of {} octets; structuredContent has all of it", kept.len(), text.len())
}

/// The first so many octets, not within a character.
pub(super) fn cut(text: &str, octets_max: usize) -> &str {
    &text[..text.floor_char_boundary(octets_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(result: &CallToolResult) -> Vec<&str> {
        result.content.iter().map(|block| block.as_text().unwrap().text.as_str()).collect()
    }

    #[test]
    fn a_result_is_structured_and_also_text() {
        let done = result(Called::Done(json!({"b": 1, "a": "x"})));
        assert_eq!(done.structured_content, Some(json!({"a": "x", "b": 1})));
        assert_eq!(texts(&done), [r#"{"a":"x","b":1}"#]);
        assert_eq!(done.is_error, Some(false));
    }

    #[test]
    fn past_its_octets_the_text_is_cut_and_the_structure_is_not() {
        let long = json!({"text": "ä".repeat(TEXT_OCTETS_MAX)});
        let done = result(Called::Done(long.clone()));
        assert_eq!(done.structured_content, Some(long));
        assert!(texts(&done)[0].len() < TEXT_OCTETS_MAX + 100 && texts(&done)[0].contains(" … cut after "));
    }

    #[test]
    fn a_refusal_has_its_code_and_no_structure() {
        let refused = Called::Refused { code: "not_found".into(), message: "Not found.".into() };
        let refused = result(refused);
        assert_eq!((refused.is_error, &refused.structured_content), (Some(true), &None));
        assert_eq!(texts(&refused), [r#"{"error":{"code":"not_found","message":"Not found."}}"#]);
    }
}
