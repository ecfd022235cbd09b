//! A tool and the result of its call, in the protocol's form.
//! Must not know: the list of tools, or how one is carried out.

use rmcp::model::{CallToolResult, ContentBlock, Tool as Described, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::TEXT_BYTES_MAX;
use crate::tool::{CallOutcome, Hints, Tool};

/// The member by which Claude Code loads a tool at once; it loads other tools only when they are searched for.
const AT_ONCE: &str = "anthropic/alwaysLoad";

/// A tool in a list for clients. Omits everything that equals the protocol's defaults, because models read the lists, and
/// each word costs tokens; for the same reason the list of every tool has no result schemas.
pub(super) fn described(tool: &Tool, with_results: bool) -> Described {
    let Hints { read_only, destructive, idempotent, open_world } = tool.hints;
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = read_only.then_some(true);
    hints.destructive_hint = (!read_only && !destructive).then_some(false);
    hints.idempotent_hint = (!read_only && idempotent).then_some(true);
    hints.open_world_hint = (!open_world).then_some(false);
    let mut described = Described::new(tool.name.clone(), tool.description.clone(), tool.input.clone());
    described.title = Some(tool.title.clone()).filter(|title| !title.is_empty());
    described.annotations = Some(hints).filter(|hints| *hints != ToolAnnotations::new());
    described.output_schema = tool.output.clone().filter(|_| with_results);
    if tool.at_once {
        let meta = Map::from_iter([(AT_ONCE.to_owned(), Value::Bool(true))]);
        described.meta = Some(meta.into());
    }
    described
}

/// The result of a call. A refusal is a result too, in our own form, because the model must read it; it has no structured
/// part, which clients would check against the schema of success.
pub(super) fn result(called: CallOutcome) -> CallToolResult {
    match called {
        CallOutcome::Done(value) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text(&value))]);
            // Structured content must be an object; a list or a text is sent as text only.
            result.structured_content = Some(value).filter(Value::is_object);
            result
        }
        CallOutcome::Refused { code, message } => {
            let text = json!({"error": {"code": code, "message": message}}).to_string();
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    }
}

/// The structured result as text, for clients that read only text.
fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.len() <= TEXT_BYTES_MAX {
        return text;
    }
    let start = cut(&text, TEXT_BYTES_MAX);
    format!("{start} … cut after {} of {} bytes; structuredContent has all of it", start.len(), text.len())
}

/// The first bytes up to a limit, without splitting a character.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(result: &CallToolResult) -> Vec<&str> {
        result.content.iter().map(|block| block.as_text().unwrap().text.as_str()).collect()
    }

    #[test]
    fn a_result_is_structured_and_also_text() {
        let done = result(CallOutcome::Done(json!({"b": 1, "a": "x"})));
        assert_eq!(done.structured_content, Some(json!({"a": "x", "b": 1})));
        assert_eq!(texts(&done), [r#"{"a":"x","b":1}"#]);
        assert_eq!(done.is_error, Some(false));
    }

    #[test]
    fn past_its_bytes_the_text_is_cut_and_the_structure_is_not() {
        let long = json!({"text": "ä".repeat(TEXT_BYTES_MAX)});
        let done = result(CallOutcome::Done(long.clone()));
        assert_eq!(done.structured_content, Some(long));
        assert!(texts(&done)[0].len() < TEXT_BYTES_MAX + 100 && texts(&done)[0].contains(" … cut after "));
    }

    #[test]
    fn what_is_no_object_is_text_alone() {
        for (value, text) in [(json!([1]), "[1]"), (json!("# Title"), "# Title"), (Value::Null, "null")] {
            let done = result(CallOutcome::Done(value));
            assert_eq!((texts(&done), &done.structured_content), (vec![text], &None));
        }
    }

    #[test]
    fn a_refusal_has_its_code_and_no_structure() {
        let refused = CallOutcome::Refused { code: "not_found".into(), message: "Not found.".into() };
        let refused = result(refused);
        assert_eq!((refused.is_error, &refused.structured_content), (Some(true), &None));
        assert_eq!(texts(&refused), [r#"{"error":{"code":"not_found","message":"Not found."}}"#]);
    }
}
