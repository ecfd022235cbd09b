//! Builds the text of a run from its events, and its end. Pure.
//! Must not know: the events of LangGraph.

use serde_json::Value;

use crate::limits::ANSWER_TEXT_BYTES_MAX;

/// The end of a run for this request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    Success,
    Canceled,
    Failed(String),
    /// The run asks a question; this is the event.
    Waits(Value),
}

/// The text of a run so far, and its end.
#[derive(Debug, Default)]
pub(super) struct RunText {
    pub(super) said: String,
    /// The pieces of the unfinished text.
    open: String,
    pub(super) end: Option<End>,
}

impl RunText {
    /// Applies the next event; returns the text that it adds.
    pub(super) fn apply(&mut self, kind: &str, event: &Value) -> Option<String> {
        if self.end.is_some() {
            return None;
        }
        let text = |name: &str| event[name].as_str();
        let added = match kind {
            "TextDelta" => {
                let added = self.fitting(text("content")?);
                self.open.push_str(&added);
                added
            }
            "TextOutput" => {
                let open = std::mem::take(&mut self.open);
                let whole = text("content")?;
                // Pieces may be lost; then the whole text is sent again.
                self.fitting(whole.strip_prefix(&*open).unwrap_or(whole))
            }
            "WaitForInput" => {
                self.end = Some(End::Waits(event.clone()));
                return None;
            }
            "RunCompleted" => {
                self.end = Some(match text("finish_reason") {
                    Some("success") => End::Success,
                    Some("canceled") => End::Canceled,
                    _ => End::Failed(text("error").unwrap_or("The run failed.").to_owned()),
                });
                let is_said = |result: &str| self.said.contains(result) || result.ends_with(&*self.said);
                let result = text("result").filter(|result| self.said.is_empty() || !is_said(result))?;
                self.fitting(result)
            }
            _ => return None,
        };
        self.said.push_str(&added);
        Some(added).filter(|added| !added.is_empty())
    }

    /// The part of a text that still fits into the response.
    fn fitting(&self, text: &str) -> String {
        let room = ANSWER_TEXT_BYTES_MAX - self.said.len();
        text[..text.floor_char_boundary(room)].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_told_once_and_within_its_limit() {
        let mut told = RunText::default();
        assert_eq!(told.apply("TextDelta", &json!({"content": "a"})).as_deref(), Some("a"));
        assert_eq!(told.apply("TextOutput", &json!({"content": "ab"})).as_deref(), Some("b"));
        assert_eq!(told.apply("RunCompleted", &json!({"finish_reason": "success", "result": "ab"})), None);
        assert_eq!((told.said.as_str(), told.end), ("ab", Some(End::Success)));
        let mut told = RunText::default();
        assert!(told.apply("RunCompleted", &json!({"finish_reason": "success", "result": "r"})).is_some());
        let mut told = RunText::default();
        let long = "é".repeat(ANSWER_TEXT_BYTES_MAX);
        told.apply("TextOutput", &json!({"content": long}));
        assert_eq!(told.said.len(), ANSWER_TEXT_BYTES_MAX);
        assert_eq!(told.apply("TextOutput", &json!({"content": "more"})), None);
    }

    #[test]
    fn a_question_and_a_failure_end_it() {
        let mut told = RunText::default();
        let asks = json!({"request_keys": {"name": "Who?"}});
        assert_eq!(told.apply("WaitForInput", &asks), None);
        assert_eq!(told.end, Some(End::Waits(asks)));
        let mut told = RunText::default();
        told.apply("RunCompleted", &json!({"finish_reason": "error", "error": "why"}));
        assert_eq!(told.end, Some(End::Failed("why".into())));
    }
}
