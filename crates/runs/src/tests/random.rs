//! A thread keeps its invariants for any commands in any order.

use proptest::prelude::*;
use serde_json::Map;

use super::thread::Thread;
use crate::{
    event::{Leaves, ThreadEvent},
    runner::{Event, RunEnd},
    state::{RunStatus, ThreadState},
};

#[derive(Debug, Clone, Copy)]
enum Step {
    Start,
    Say(u8),
    Ask,
    Resume,
    Cancel(u8),
    End(bool),
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        Just(Step::Start),
        (1..4u8).prop_map(Step::Say),
        Just(Step::Ask),
        Just(Step::Resume),
        any::<u8>().prop_map(Step::Cancel),
        any::<bool>().prop_map(Step::End),
        Just(Step::Crash),
    ];
    prop::collection::vec(step, 1..80)
}

fn take(thread: &mut Thread, step: Step) {
    let active = thread.state.active().map(|run| (run.id, run.node.clone(), run.last_event_id + 1));
    match (step, active) {
        (Step::Start, _) => drop(thread.start()),
        (Step::Cancel(nth), _) if !thread.state.runs.is_empty() => {
            let run = thread.state.runs[usize::from(nth) % thread.state.runs.len()].id;
            let _refused = thread.cancel("@a.b", Some(run));
        }
        (Step::Say(count), Some((run, node, next))) => {
            let events = (0..count).map(|n| Event::text(&n.to_string())).collect();
            thread.progress(run, &node, next, events, None, true);
        }
        (Step::Ask, Some((run, node, next))) => {
            thread.progress(run, &node, next, vec![Event::wait_for_input(&Map::new())], None, true);
        }
        (Step::Resume, Some((run, ..))) => drop(thread.resume("@a.b", Some(run))),
        (Step::End(goes_on), Some((run, node, next))) => {
            thread.progress(run, &node, next, Vec::new(), Some(RunEnd::success()), goes_on);
        }
        (Step::Crash, Some((_, node, _))) => drop(thread.take_over(&node)),
        (Step::Crash, None) => drop(thread.take_over("")),
        (Step::Say(_) | Step::Ask | Step::Resume | Step::Cancel(_) | Step::End(_), _) => {}
    }
}

fn check(state: &ThreadState, events: &[ThreadEvent]) {
    let active = state.runs.iter().filter(|run| run.status.is_active()).count();
    assert!(active <= 1, "one run at a time");
    for run in &state.runs {
        let ids: Vec<u64> = events
            .iter()
            .filter(|event| event.run() == run.id)
            .flat_map(|event| match event {
                ThreadEvent::RunStarted(_) => vec![1],
                ThreadEvent::EventEmitted(event) => vec![event.id],
                ThreadEvent::RunCompleted(event) => vec![event.id],
                ThreadEvent::QueuedRunCanceled(_) => vec![1, 2],
                ThreadEvent::RunQueued(_)
                | ThreadEvent::RunReleased(_)
                | ThreadEvent::RunResumed(_)
                | ThreadEvent::CancelRequested(_) => {
                    vec![]
                }
            })
            .collect();
        let expected: Vec<u64> = (1..=run.last_event_id).collect();
        assert_eq!(ids, expected, "numbers rise by one from 1");
        let ends = events.iter().filter(|event| event.run() == run.id).filter(|event| {
            matches!(event, ThreadEvent::RunCompleted(_) | ThreadEvent::QueuedRunCanceled(_))
        });
        assert_eq!(ends.count(), usize::from(run.status.is_over()), "over once");
        if run.cancel_requested && run.status.is_over() {
            assert_eq!(run.status, RunStatus::Canceled);
        }
    }
    let starts = events.iter().filter_map(|event| {
        let ThreadEvent::RunStarted(event) = event else { return None };
        Some(event.run)
    });
    let starts: Vec<_> = starts.collect();
    let order: Vec<_> = state.runs.iter().map(|run| run.id).filter(|run| starts.contains(run)).collect();
    assert_eq!(starts, order, "in the order in which they were asked for");
}

/// What the index of busy threads says, from the events alone.
fn is_busy(events: &[ThreadEvent]) -> bool {
    events.iter().fold(false, |busy, event| match event {
        ThreadEvent::RunStarted(_) => true,
        ThreadEvent::RunCompleted(event) => event.leaves != Leaves::Idle,
        ThreadEvent::QueuedRunCanceled(event) => busy && !event.idle,
        ThreadEvent::RunQueued(_)
        | ThreadEvent::RunReleased(_)
        | ThreadEvent::EventEmitted(_)
        | ThreadEvent::RunResumed(_)
        | ThreadEvent::CancelRequested(_) => busy,
    })
}

proptest! {
    #[test]
    fn sc_2_sc_7_a_thread_keeps_its_promises(steps in steps()) {
        let mut thread = Thread::default();
        for step in steps {
            take(&mut thread, step);
            check(&thread.state, &thread.events);
            let waits = thread.state.runs.iter().any(|run| !run.status.is_over());
            prop_assert_eq!(is_busy(&thread.events), waits, "what waits is found again");
        }
    }
}
