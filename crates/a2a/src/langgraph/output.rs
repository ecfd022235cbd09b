//! Builds the text of a run from its events, and its end. Pure.
//! Must not know: the events of LangGraph.

use serde_json::{Value, json};

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

impl End {
    /// The end in the report of a run that is over or waits.
    pub(super) fn of(report: &Value) -> Option<Self> {
        match report["status"].as_str()? {
            "completed" => Some(Self::Success),
            "canceled" => Some(Self::Canceled),
            "error" => Some(Self::failed(report)),
            "waiting" => {
                Some(Self::Waits(json!({"id": report["event_id"], "request_keys": report["request_keys"]})))
            }
            _ => None,
        }
    }

    fn failed(told: &Value) -> Self {
        Self::Failed(failure(told).to_owned())
    }
}

/// The reason in an event or a report of a run that failed.
pub(super) fn failure(told: &Value) -> &str {
    told["error"].as_str().unwrap_or("The run failed.")
}

/// The text of a run so far, and its end.
#[derive(Debug, Default)]
pub(super) struct RunText {
    pub(super) text: String,
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
                    _ => End::failed(event),
                });
                let is_contained = |result: &str| self.text.contains(result) || result.ends_with(&*self.text);
                let is_first = self.text.is_empty();
                let result = text("result").filter(|result| is_first || !is_contained(result.trim()))?;
                self.fitting(&if is_first { result.to_owned() } else { format!("\n\n{result}") })
            }
            _ => return None,
        };
        self.text.push_str(&added);
        Some(added).filter(|added| !added.is_empty())
    }

    /// The part of a text that still fits into the response.
    fn fitting(&self, text: &str) -> String {
        let room = ANSWER_TEXT_BYTES_MAX - self.text.len();
        text[..text.floor_char_boundary(room)].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_appears_once_and_within_its_limit() {
        let mut run_text = RunText::default();
        assert_eq!(run_text.apply("TextDelta", &json!({"content": "a"})).as_deref(), Some("a"));
        assert_eq!(run_text.apply("TextOutput", &json!({"content": "ab"})).as_deref(), Some("b"));
        assert_eq!(
            run_text.apply("RunCompleted", &json!({"finish_reason": "success", "result": "ab"})),
            None
        );
        assert_eq!((run_text.text.as_str(), run_text.end), ("ab", Some(End::Success)));
        let mut run_text = RunText::default();
        assert!(
            run_text.apply("RunCompleted", &json!({"finish_reason": "success", "result": "r"})).is_some()
        );
        run_text = RunText::default();
        run_text.apply("TextOutput", &json!({"content": "Hello"}));
        run_text.apply("RunCompleted", &json!({"finish_reason": "success", "result": "done"}));
        assert_eq!(run_text.text, "Hello\n\ndone");
        let mut run_text = RunText::default();
        let long = "é".repeat(ANSWER_TEXT_BYTES_MAX);
        run_text.apply("TextOutput", &json!({"content": long}));
        assert_eq!(run_text.text.len(), ANSWER_TEXT_BYTES_MAX);
        assert_eq!(run_text.apply("TextOutput", &json!({"content": "more"})), None);
    }

    #[test]
    fn the_report_of_a_run_tells_its_end() {
        for (report, end) in [
            (json!({"status": "completed"}), Some(End::Success)),
            (json!({"status": "canceled"}), Some(End::Canceled)),
            (json!({"status": "error", "error": "no"}), Some(End::Failed("no".into()))),
            (
                json!({"status": "waiting", "event_id": 3, "request_keys": {"name": "Who?"}, "run_id": "r"}),
                Some(End::Waits(json!({"id": 3, "request_keys": {"name": "Who?"}}))),
            ),
            (json!({"status": "running"}), None),
            (json!({"status": "queued"}), None),
        ] {
            assert_eq!(End::of(&report), end, "{report}");
        }
    }

    #[test]
    fn a_question_and_a_failure_end_it() {
        let mut run_text = RunText::default();
        let question = json!({"request_keys": {"name": "Who?"}});
        assert_eq!(run_text.apply("WaitForInput", &question), None);
        assert_eq!(run_text.end, Some(End::Waits(question)));
        let mut run_text = RunText::default();
        run_text.apply("RunCompleted", &json!({"finish_reason": "error", "error": "why"}));
        assert_eq!(run_text.end, Some(End::Failed("why".into())));
    }
}
