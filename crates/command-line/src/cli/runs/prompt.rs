//! Questions of a run at the terminal: one for each key, answered with one line each.
//! Must not know: runs.

use std::collections::VecDeque;

use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::out::{Out, clean};

/// Number of typed lines that are read ahead; further lines wait in the terminal.
const LINES_AHEAD: usize = 1;

/// The open questions of a run, and the answers so far.
pub(super) struct Prompt {
    out: Out,
    lines: Option<mpsc::Receiver<String>>,
    open: VecDeque<(String, String)>,
    answers: Map<String, Value>,
}

impl Prompt {
    pub(super) fn new(out: Out) -> Self {
        Self { out, lines: None, open: VecDeque::new(), answers: Map::new() }
    }

    /// Starts to ask for these keys.
    pub(super) fn ask(&mut self, keys: &Map<String, Value>) {
        self.answers = Map::new();
        self.open = keys.iter().map(|(key, description)| (key.clone(), described(description))).collect();
        self.question();
    }

    /// Drops the questions: somebody else has answered.
    pub(super) fn drop_questions(&mut self) {
        if !self.open.is_empty() {
            self.open.clear();
            self.out.note("");
        }
    }

    /// The keys without an answer.
    pub(super) fn unanswered(&self) -> Vec<String> {
        self.open.iter().map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn has_question(&self) -> bool {
        !self.open.is_empty()
    }

    fn question(&self) {
        let Some((key, description)) = self.open.front() else { return };
        let key = clean(key);
        if description.is_empty() {
            self.out.ask(&format!("{key}: "));
        } else {
            self.out.ask(&format!("{} ({key}): ", clean(description)));
        }
    }

    /// The next typed line; `None` when the terminal is closed. May be dropped and called again.
    pub(super) async fn line(&mut self) -> Option<String> {
        self.lines.get_or_insert_with(read_lines).recv().await
    }

    /// Records an answer; returns all answers once the last question has one.
    pub(super) fn answer(&mut self, line: &str) -> Option<Map<String, Value>> {
        let (key, _) = self.open.pop_front()?;
        self.answers.insert(key, line.trim_end_matches(['\n', '\r']).into());
        self.question();
        self.open.is_empty().then(|| std::mem::take(&mut self.answers))
    }
}

/// The description of a key: its text, or any other value as JSON.
pub(super) fn described(description: &Value) -> String {
    if description.is_null() {
        return String::new();
    }
    description.as_str().map_or_else(|| description.to_string(), str::to_owned)
}

/// Reads lines on a thread of its own, because a read of the terminal cannot be canceled.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(LINES_AHEAD);
    std::thread::spawn(move || {
        let mut line = String::new();
        while std::io::stdin().read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if sender.blocking_send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc_44_each_key_has_its_question_and_its_answer() {
        let mut prompt = Prompt::new(Out::new(true, true));
        let keys = serde_json::json!({"name": "Your name", "size": null});
        prompt.ask(keys.as_object().unwrap());
        assert!(prompt.has_question() && prompt.answer("Ann\r\n").is_none());
        let answers = prompt.answer("").unwrap();
        assert_eq!(Value::Object(answers), serde_json::json!({"name": "Ann", "size": ""}));
        assert!(!prompt.has_question() && prompt.answer("late").is_none());
        prompt.ask(keys.as_object().unwrap());
        prompt.drop_questions();
        assert!(!prompt.has_question());
    }
}
