//! The part of a thread that was not read yet: a run may go on, end or begin while the thread is read. Pure.
//! Must not know: how a thread is read.

use plenary_client::runs::{EventBody, RunEvent};

/// The last event of a thread that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastRead {
    run: String,
    /// Its id in the run.
    event: Option<u64>,
    /// Whether it ends the run.
    is_end: bool,
}

impl LastRead {
    pub(super) fn new(event: &RunEvent) -> Self {
        let is_end = matches!(event.body, EventBody::RunCompleted { .. });
        Self { run: event.run_id.clone(), event: event.id, is_end }
    }
}

/// The runs of which something was not read, oldest first, each with the id of its last event that was read. `runs` are those
/// of the thread, oldest first.
pub(super) fn unread(runs: &[String], last: Option<&LastRead>) -> Vec<(String, Option<u64>)> {
    let Some(last) = last else { return runs.iter().map(|run| (run.clone(), None)).collect() };
    let later = match runs.iter().rposition(|run| *run == last.run) {
        Some(index) => &runs[index + 1..],
        None => &[],
    };
    let begun = (!last.is_end).then(|| (last.run.clone(), last.event));
    begun.into_iter().chain(later.iter().map(|run| (run.clone(), None))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn last(run: &str, kind: &str) -> LastRead {
        let event = json!({"id": 3, "run_id": run, "thread_id": "t", "agent": "a", "type": kind, "content": "x",
            "finish_reason": "success"});
        LastRead::new(&RunEvent::read(&event.to_string()).unwrap())
    }

    #[test]
    fn a_run_is_read_on_from_its_last_event_and_later_ones_from_their_beginning() {
        let runs = ["a", "b", "c"].map(str::to_owned);
        let unread = |last: Option<&LastRead>| {
            let unread = unread(&runs, last).into_iter();
            unread.map(|(run, event)| format!("{run}{}", event.unwrap_or(0))).collect::<Vec<_>>()
        };
        assert_eq!(unread(None), ["a0", "b0", "c0"]);
        assert_eq!(unread(Some(&last("b", "TextOutput"))), ["b3", "c0"], "also if it has ended since");
        assert_eq!(unread(Some(&last("b", "RunCompleted"))), ["c0"]);
        assert_eq!(unread(Some(&last("c", "RunCompleted"))), [""; 0]);
        assert_eq!(unread(Some(&last("d", "TextOutput"))), ["d3"], "a list that lacks it");
    }
}
