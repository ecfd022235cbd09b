//! Given, when, then: the events of a thread, a command, the decision.

use plenary_kernel::TimestampMs;
use serde_json::Map;

use super::thread::{ADMITTED, Thread};
use crate::{
    decide::{self, CallerStanding, INTERRUPTED, Rejection},
    event::{Leaves, RunTrace, ThreadEvent},
    limits::{QUEUED_RUNS_MAX, RUNS_PER_THREAD_MAX, TRACE_NEAR_MS},
    runner::{Event, FinishReason, RunEnd},
    state::RunStatus,
};

fn ends(thread: &Thread) -> Vec<(FinishReason, Option<String>, Leaves)> {
    let ends = thread.events.iter().filter_map(|event| {
        let ThreadEvent::RunCompleted(event) = event else { return None };
        Some((event.finish_reason, event.why.clone(), event.leaves))
    });
    ends.collect()
}

#[test]
fn sc_5_sc_6_sc_15_a_request_without_a_thread_opens_one_and_runs_at_once() {
    let mut thread = Thread::default();
    let begun = thread.start();
    assert!(begun.started);
    assert_eq!(thread.kinds(), ["RunQueued", "RunStarted"]);
    let opened = thread.state.opened.clone().unwrap();
    assert_eq!((&*opened.agent, opened.title.as_deref()), ("echo", Some("hi")));
    assert_eq!(thread.start_by("@a.b", true, true), Err(Rejection::IdTaken));
}

#[test]
fn sc_16_an_unknown_thread_is_not_created() {
    let mut thread = Thread::default();
    assert_eq!(thread.start_by("@a.b", false, true), Err(Rejection::ThreadNotFound));
    assert!(thread.events.is_empty());
}

#[test]
fn only_readers_of_a_thread_may_start_a_run_in_it() {
    let mut thread = Thread::default();
    thread.start();
    for (actor, answer) in [
        ("@a.b", Ok(())),
        ("~nick", Ok(())),
        ("operator", Ok(())),
        ("~a", Err(Rejection::ThreadNotFound)),
        ("@a.c", Err(Rejection::ThreadNotFound)),
        ("@nick.x", Err(Rejection::ThreadNotFound)),
    ] {
        assert_eq!(thread.start_by(actor, false, true).map(drop), answer, "{actor}");
    }
    assert_eq!(thread.start_by("@a.b", false, false), Err(Rejection::Unauthenticated));
}

#[test]
fn sc_8_whom_the_agent_admits_no_more_begins_and_answers_nothing_but_may_stop_what_it_began() {
    let not_admitted = CallerStanding { is_admitted: false, ..ADMITTED };
    let mut thread = Thread::default();
    assert_eq!(thread.start_standing("@a.b", true, not_admitted), Err(Rejection::AgentNotFound));
    let run = thread.start().run;
    thread.emit(run, vec![Event::wait_for_input(&Map::new())]);
    assert_eq!(thread.start_standing("@a.b", false, not_admitted), Err(Rejection::AgentNotFound));
    assert_eq!(thread.resume_standing("@a.b", Some(run), not_admitted), Err(Rejection::AgentNotFound));
    assert_eq!(thread.cancel_standing("@a.c", Some(run), not_admitted), Err(Rejection::RunNotFound));
    assert_eq!(thread.cancel_standing("@a.b", Some(run), not_admitted), Ok(run));
}

#[test]
fn a_configured_agent_owns_threads_of_its_enlisted_name() {
    for (name, answer) in [("nick.echo", Ok(())), ("ann.echo", Err(Rejection::ThreadNotFound))] {
        let mut thread = Thread::default();
        thread.start();
        if let Some(opened) = &mut thread.state.opened {
            opened.agent = name.into();
        }
        assert_eq!(thread.start_by("@a.b", false, true).map(drop), answer, "{name}");
    }
}

#[test]
fn given_a_run_that_is_held_then_it_begins_once_when_it_is_released() {
    let mut thread = Thread::default();
    let held = thread.start_held();
    assert!(held.held && !held.started);
    assert_eq!(thread.kinds(), ["RunQueued"]);
    assert_eq!(thread.settle_held(held.run, true).started, Some(held.run));
    assert_eq!(thread.settle_held(held.run, true).started, None);
    assert_eq!(thread.settle_held(held.run, false).started, None);
    assert_eq!(thread.kinds(), ["RunQueued", "RunReleased", "RunStarted"]);
}

#[test]
fn given_a_run_that_is_held_when_it_is_refused_then_it_is_over_and_the_others_went_before_it() {
    let mut thread = Thread::default();
    let held = thread.start_held();
    let next = thread.start();
    assert!(next.started, "nothing waits for a run that is held");
    assert_eq!(thread.end(next.run, RunEnd::with("a")).started, None);
    assert_eq!(ends(&thread)[0].2, Leaves::Idle);
    thread.settle_held(held.run, false);
    assert_eq!(thread.state.run(held.run).unwrap().status, RunStatus::Canceled);
    assert_eq!(thread.settle_held(held.run, true).started, None);
}

#[test]
fn given_an_active_run_when_a_held_one_is_released_then_it_has_its_turn() {
    let mut thread = Thread::default();
    let held = thread.start_held();
    let active = thread.start();
    assert_eq!(thread.settle_held(held.run, true).started, None);
    assert_eq!(thread.end(active.run, RunEnd::with("a")).started, Some(held.run));
    // What is held is canceled by whoever asked for it, too.
    let other = thread.start_held();
    assert_eq!(thread.cancel_standing("@a.b", Some(other.run), ADMITTED), Ok(other.run));
    assert_eq!(thread.settle_held(other.run, true).started, None);
}

#[test]
fn sc_3_one_run_of_a_thread_goes_on_and_the_others_follow_in_order() {
    let mut thread = Thread::default();
    let (first, second, third) = (thread.start(), thread.start(), thread.start());
    assert!(first.started && !second.started && !third.started);
    let progressed = thread.end(first.run, RunEnd::with("a"));
    assert_eq!(progressed.started, Some(second.run));
    assert_eq!(thread.kinds()[4..], ["RunCompleted", "RunStarted"]);
    assert_eq!(
        (thread.status(second.run), thread.status(third.run)),
        (RunStatus::Running, RunStatus::Queued)
    );
    thread.end(second.run, RunEnd::error("no"));
    thread.end(third.run, RunEnd::canceled());
    let leaves: Vec<_> = ends(&thread).into_iter().map(|(_, _, leaves)| leaves).collect();
    assert_eq!(leaves, [Leaves::Next, Leaves::Next, Leaves::Idle]);
}

#[test]
fn sc_46_given_one_that_goes_on_and_others_when_all_are_canceled_then_none_begins() {
    let mut thread = Thread::default();
    let (first, second) = (thread.start(), thread.start());
    assert_eq!(thread.cancel_all(), 2);
    assert_eq!(thread.kinds()[3..], ["QueuedRunCanceled", "CancelRequested"]);
    assert_eq!(thread.cancel_all(), 0, "it is told once");
    assert_eq!(thread.status(second.run), RunStatus::Canceled);
    assert_eq!(thread.end(first.run, RunEnd::with("a")).started, None);
    assert_eq!(ends(&thread), [(FinishReason::Canceled, None, Leaves::Idle)]);
}

#[test]
fn sc_46_given_one_that_goes_on_when_all_are_canceled_then_it_is_not_idle_yet() {
    let mut thread = Thread::default();
    assert_eq!(thread.cancel_all(), 0);
    let (first, _, _) = (thread.start(), thread.start(), thread.start());
    thread.cancel_all();
    let idle = thread.events.iter().filter_map(|event| {
        let ThreadEvent::QueuedRunCanceled(event) = event else { return None };
        Some(event.idle)
    });
    assert_eq!(idle.collect::<Vec<_>>(), [false, false], "one goes on still");
    assert_eq!(thread.status(first.run), RunStatus::Running);
}

#[test]
fn past_their_limits_runs_are_refused() {
    let mut thread = Thread::default();
    let first = thread.start();
    for _ in 0..QUEUED_RUNS_MAX {
        thread.start();
    }
    assert_eq!(thread.start_by("@a.b", false, true), Err(Rejection::TooManyQueued));
    thread.end(first.run, RunEnd::success());
    thread.start();

    let mut thread = Thread::default();
    for _ in 0..RUNS_PER_THREAD_MAX {
        let run = thread.start().run;
        thread.end(run, RunEnd::success());
    }
    assert_eq!(thread.start_by("@a.b", false, true), Err(Rejection::ThreadFull));
}

#[test]
fn sc_22_events_are_numbered_from_one_and_a_repeat_writes_nothing() {
    let mut thread = Thread::default();
    let run = thread.start().run;
    let texts = || vec![Event::text("a"), Event::text("b").deeper(3)];
    thread.progress(run, "0", 2, texts(), None, true);
    let before = thread.events.len();
    thread.progress(run, "0", 2, texts(), None, true);
    assert_eq!(thread.events.len(), before, "its outcome was not heard, and it is written once");
    thread.progress(run, "0", 3, vec![Event::text("b"), Event::text("c")], Some(RunEnd::success()), true);
    let ids: Vec<_> = thread
        .events
        .iter()
        .filter_map(|event| {
            if let ThreadEvent::EventEmitted(event) = event {
                return Some((event.id, event.depth));
            }
            let ThreadEvent::RunCompleted(event) = event else { return None };
            Some((event.id, event.depth))
        })
        .collect();
    assert_eq!(ids, [(2, 2), (3, 5), (4, 2), (5, 2)]);
    let mut other = Thread::default();
    let run_alone = other.start().run;
    other.progress(run_alone, "0", 0, Vec::new(), Some(RunEnd::error("broken")), true);
    assert_eq!(other.state.run(run_alone).unwrap().last_event_id, 2, "an end alone finds its number");
    let late = thread.progress(run, "0", 6, texts(), Some(RunEnd::success()), true);
    assert!(late.over && ends(&thread).len() == 1, "a run that is over says nothing more");
}

#[test]
fn what_another_process_says_of_a_run_is_nothing() {
    let mut thread = Thread::default();
    let run = thread.start().run;
    let before = thread.events.len();
    assert!(thread.progress(run, "7", 2, vec![Event::text("a")], None, true).over);
    assert_eq!(thread.events.len(), before);
}

#[test]
fn sc_44_sc_45_only_a_run_that_waits_is_resumed() {
    let mut thread = Thread::default();
    let run = thread.start().run;
    assert_eq!(thread.resume("@a.b", Some(run)), Err(Rejection::RunNotActive));
    thread.emit(run, vec![Event::wait_for_input(&Map::new())]);
    assert_eq!(thread.status(run), RunStatus::Waiting);
    assert_eq!(thread.resume("@a.c", Some(run)), Err(Rejection::RunNotFound));
    assert_eq!(thread.resume("@a.c", None), Err(Rejection::ThreadNotFound));
    assert_eq!(thread.resume("@a.b", None), Ok(run));
    assert_eq!(thread.status(run), RunStatus::Running);
    assert_eq!(thread.resume("@a.b", Some(run)), Err(Rejection::RunNotActive), "one answer for one question");
}

#[test]
fn an_answer_to_one_question_is_none_to_the_next() {
    let mut thread = Thread::default();
    let run = thread.start().run;
    let ask = |thread: &mut Thread| {
        // What is said while it waits changes nothing.
        thread.emit(run, vec![Event::wait_for_input(&Map::new()), Event::text("…")]);
        let run = thread.state.run(run).unwrap();
        (run.asks, run.waits)
    };
    let (first, first_at) = ask(&mut thread);
    let answer =
        |thread: &mut Thread, question| thread.resume_question("@a.b", Some(run), (ADMITTED, question));
    assert_eq!(answer(&mut thread, Some(first)), Ok(run));
    assert_eq!(thread.events.last().unwrap().ends_question(), Some(first_at));
    let (second, second_at) = ask(&mut thread);
    assert_eq!(answer(&mut thread, Some(first)), Err(Rejection::RunNotActive));
    assert_eq!(thread.status(run), RunStatus::Waiting);
    let (third, _) = ask(&mut thread);
    let replaced = thread.events.iter().filter_map(ThreadEvent::ends_question).last();
    assert_eq!(replaced, Some(second_at), "who asks anew waits for no answer to the question before");
    assert_eq!(answer(&mut thread, Some(second)), Err(Rejection::RunNotActive));
    assert_eq!(answer(&mut thread, Some(third)), Ok(run));
    ask(&mut thread);
    assert_eq!(answer(&mut thread, None), Ok(run), "who names none answers what is asked now");
}

#[test]
fn sc_46_who_was_told_to_stop_was_canceled_whatever_it_says() {
    let mut thread = Thread::default();
    let run = thread.start().run;
    assert_eq!(thread.cancel("@a.c", Some(run)), Err(Rejection::RunNotFound));
    assert_eq!(thread.cancel("@a.b", Some(run)), Ok(run));
    let before = thread.events.len();
    assert_eq!(thread.cancel("@a.b", Some(run)), Ok(run));
    assert_eq!(thread.events.len(), before, "told once");
    thread.end(run, RunEnd::error("no time for that"));
    assert_eq!(ends(&thread), [(FinishReason::Canceled, None, Leaves::Idle)]);
    assert_eq!(thread.cancel("@a.b", Some(run)), Err(Rejection::RunNotActive));
}

#[test]
fn sc_46_who_was_told_to_stop_waits_for_no_answer() {
    let mut thread = Thread::default();
    let run = thread.start().run;
    for _ in 0..2 {
        thread.emit(run, vec![Event::wait_for_input(&Map::new())]);
        thread.cancel("@a.b", Some(run)).unwrap();
        assert_eq!(thread.status(run), RunStatus::Running);
        assert_eq!(thread.resume("@a.b", Some(run)), Err(Rejection::RunNotActive));
    }
}

#[test]
fn sc_46_a_queued_run_is_over_at_once() {
    let mut thread = Thread::default();
    let (first, second) = (thread.start(), thread.start());
    thread.cancel("@a.b", Some(second.run)).unwrap();
    assert_eq!(thread.status(second.run), RunStatus::Canceled);
    assert_eq!(thread.state.run(second.run).unwrap().last_event_id, 2);
    assert_eq!(thread.end(first.run, RunEnd::success()).started, None);
    assert_eq!(ends(&thread)[0].2, Leaves::Idle);
}

#[test]
fn after_a_crash_what_went_on_ends_with_an_error_and_what_waited_begins() {
    let mut thread = Thread::default();
    let (first, second) = (thread.start(), thread.start());
    thread.emit(first.run, vec![Event::text("a"), Event::wait_for_input(&Map::new())]);
    assert_eq!(thread.take_over("7").started, None, "its process is not the one that is gone");
    assert_eq!(thread.status(first.run), RunStatus::Waiting);
    assert_eq!(thread.take_over("0").started, Some(second.run));
    assert_eq!(ends(&thread), [(FinishReason::Error, Some(INTERRUPTED.into()), Leaves::Next)]);
    assert_eq!(&*thread.state.run(second.run).unwrap().node, "1");
    assert_eq!(thread.state.run(first.run).unwrap().last_event_id, 4);
}

#[test]
fn what_a_stopping_process_leaves_is_begun_by_the_next() {
    let mut thread = Thread::default();
    let (first, second) = (thread.start(), thread.start());
    let ended = thread.progress(first.run, "0", 2, Vec::new(), Some(RunEnd::error("stopped")), false);
    assert_eq!(ended.started, None);
    assert_eq!(ends(&thread)[0].2, Leaves::Waiting);
    assert!(!thread.start().started, "what waits comes first");
    assert_eq!(thread.take_over("").started, Some(second.run));
}

#[test]
fn given_a_message_when_a_run_answers_it_soon_then_it_is_of_its_trace_and_later_only_linked() {
    let trace = RunTrace { answers: Some("of the message".into()), ..RunTrace::default() };
    let at = |ms: u64| {
        decide::link_trace(Some((Box::new(trace.clone()), TimestampMs(1_000))), TimestampMs(ms)).unwrap()
    };
    assert_eq!(at(1_000 + TRACE_NEAR_MS).parent, trace.answers);
    assert_eq!(at(1_001 + TRACE_NEAR_MS).parent, None);
    assert_eq!(at(1_001 + TRACE_NEAR_MS).answers, trace.answers, "it points at it");
    let trace = RunTrace { parent: Some("of the request".into()), ..RunTrace::default() };
    let trace = decide::link_trace(Some((Box::new(trace), TimestampMs(0))), TimestampMs(7)).unwrap();
    assert_eq!(trace.parent.as_deref(), Some("of the request"));
    assert_eq!(decide::link_trace(None, TimestampMs(7)), None);
}
