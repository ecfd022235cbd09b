//! The open questions of this process, until every process has answered.
//! Must not know: the content of a question.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{ProcessId, QUESTIONS_MAX};

#[derive(Debug, Clone, Default)]
pub(crate) struct Questions(Arc<Mutex<HashMap<u64, OpenQuestion>>>);

#[derive(Debug, Default)]
struct OpenQuestion {
    /// The processes that have answered, with their answers.
    answers: Vec<(ProcessId, Option<Bytes>)>,
    /// The processes to wait for; unknown at first.
    expected: Option<Vec<ProcessId>>,
    all: Arc<Notify>,
}

impl OpenQuestion {
    fn missing(&self) -> Vec<ProcessId> {
        let expected = self.expected.iter().flatten().copied();
        expected.filter(|process| !self.answers.iter().any(|(responder, _)| responder == process)).collect()
    }
    fn look(&self) {
        if self.expected.is_some() && self.missing().is_empty() {
            self.all.notify_one();
        }
    }
}

impl Questions {
    /// Opens a question; `None` if too many are open.
    pub(crate) fn open(&self, number: u64) -> Option<Question> {
        let mut open = self.0.lock();
        if open.len() >= QUESTIONS_MAX {
            return None;
        }
        let question = OpenQuestion::default();
        let all = question.all.clone();
        open.insert(number, question);
        Some(Question { questions: self.clone(), number, all })
    }

    /// Records that a process has answered or declined. The waiter may be gone.
    pub(crate) fn answered(&self, number: u64, process: ProcessId, answer: Option<Bytes>) {
        let mut open = self.0.lock();
        let Some(question) = open.get_mut(&number) else { return };
        if !question.answers.iter().any(|(responder, _)| *responder == process) {
            question.answers.push((process, answer));
            question.look();
        }
    }
}

/// One open question; it is closed when it is dropped.
#[derive(Debug)]
pub(crate) struct Question {
    questions: Questions,
    number: u64,
    all: Arc<Notify>,
}

impl Question {
    /// Sets the processes to wait for.
    pub(crate) fn expect(&mut self, processes: &[ProcessId]) {
        if let Some(question) = self.questions.0.lock().get_mut(&self.number) {
            question.expected = Some(processes.to_vec());
            question.look();
        }
    }
    /// Waits until all of them have answered.
    pub(crate) async fn answered(&self) {
        self.all.notified().await;
    }
    /// The answers, and the processes that did not answer.
    pub(crate) fn close(self) -> (Vec<Bytes>, Vec<ProcessId>) {
        let question = self.questions.0.lock().remove(&self.number).unwrap_or_default();
        let missing = question.missing();
        (question.answers.into_iter().filter_map(|(_, answer)| answer).collect(), missing)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.questions.0.lock().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_their_limit_questions_are_refused_until_one_is_closed() {
        let questions = Questions::default();
        let mut open: Vec<_> = (0..QUESTIONS_MAX as u64).map(|n| questions.open(n).unwrap()).collect();
        assert!(questions.open(u64::MAX).is_none());
        open.pop();
        assert!(questions.open(u64::MAX).is_some());
        drop(open);
        assert!(questions.0.lock().is_empty(), "a question that nobody waits for leaves nothing behind");
    }

    #[tokio::test]
    async fn an_answer_may_come_before_the_processes_are_known_and_counts_once() {
        let questions = Questions::default();
        let mut question = questions.open(7).unwrap();
        for _ in 0..2 {
            questions.answered(7, ProcessId(1), Some("one".into()));
        }
        question.expect(&[ProcessId(1), ProcessId(2)]);
        questions.answered(7, ProcessId(2), None);
        question.answered().await;
        assert_eq!(question.close(), (vec![Bytes::from("one")], Vec::new()));
        questions.answered(7, ProcessId(3), None);
    }

    #[test]
    fn processes_without_an_answer_are_named() {
        let questions = Questions::default();
        let mut question = questions.open(7).unwrap();
        question.expect(&[ProcessId(1), ProcessId(2)]);
        questions.answered(7, ProcessId(2), None);
        assert_eq!(question.close(), (Vec::new(), vec![ProcessId(1)]));
    }
}
