//! Given, when, then: the decisions on requests.

use plenary_accounts::{Actor, Authority, TokenDigest};
use plenary_kernel::{AskId, RuleId, Stamp, TimestampMs, Version};

use crate::{
    AHEAD_MS_MAX, CHANGES_MAX,
    command::{
        Answer, AnswerFacts, AnswerRequest, AnsweredBy, AskFacts, HandleRequest, Handling, MakeRequest,
        PassTime, Source, WithdrawRequest,
    },
    decide::{self, Rejection},
    event::{AnswerAuthor, RequestEvent},
    state::{Progress, RequestState},
    wire::{Allow, AnswerType, Kind, NewRule, OnTimeout},
};

fn stamp(ms: u64) -> Stamp {
    Stamp::new(TimestampMs(ms), [0; 10])
}

fn authority(text: &str) -> Authority {
    Authority { by: text.parse().unwrap(), token: Some(TokenDigest::of("x")) }
}

fn ask_facts() -> AskFacts {
    AskFacts { is_authorized: true, knows_person: true, is_full: false, rule: None }
}

fn answer_facts() -> AnswerFacts {
    AnswerFacts { is_authorized: true, has_all_rules: false, knows_person: true }
}

fn make(deadline: Option<u64>, on_timeout: OnTimeout) -> MakeRequest {
    MakeRequest {
        source: Source::Agent(authority("@ann.cc")),
        agent: "@ann.cc".parse().unwrap(),
        stranger: None,
        kind: Kind::Permission,
        to: None,
        allow: Allow::default(),
        deadline: deadline.map(TimestampMs),
        on_timeout,
        tool: Some("Bash".into()),
        directory: None,
        notifies_inbox: true,
        content: "{}".into(),
    }
}

fn answer(author: &str, answer: AnswerType) -> AnswerRequest {
    AnswerRequest {
        by: AnsweredBy::Person(authority(author), None),
        answer: Answer { answer, content: "{}".into() },
        version: None,
        undo_ms: 0,
        rule: None,
    }
}

fn step(
    state: &mut RequestState,
    decision: Result<plenary_engine::Decision<RequestEvent, ()>, Rejection>,
) -> Result<usize, Rejection> {
    let events = decision?.events;
    for event in &events {
        let version = state.version.next();
        state.evolve(version, event);
    }
    Ok(events.len())
}

fn created(deadline: Option<u64>, on_timeout: OnTimeout) -> RequestState {
    let mut state = RequestState::default();
    let decision = decide::make(&state, &ask_facts(), &stamp(10), &make(deadline, on_timeout));
    assert_eq!(step(&mut state, decision), Ok(1));
    state
}

fn answer_at(state: &mut RequestState, now: u64, command: &AnswerRequest) -> Result<usize, Rejection> {
    let decision = decide::answer(state, &answer_facts(), &stamp(now), command);
    step(state, decision)
}

fn handle_at(
    state: &mut RequestState,
    now: u64,
    author: &str,
    handling: Handling,
) -> Result<usize, Rejection> {
    let command = HandleRequest { authority: authority(author), handling };
    let decision = decide::handle(state, &answer_facts(), &stamp(now), &command);
    step(state, decision)
}

fn pass_time_at(state: &mut RequestState, now: u64) -> usize {
    let decision = Ok(decide::pass_time(state, &stamp(now), PassTime));
    step(state, decision).unwrap()
}

fn withdrawn(state: &mut RequestState, author: &str) -> Result<usize, Rejection> {
    let command = WithdrawRequest { source: Source::Agent(authority(author)) };
    let decision = decide::withdraw(state, true, &stamp(30), &command);
    step(state, decision)
}

#[test]
fn given_a_request_when_two_answer_then_the_first_stands() {
    let mut state = created(None, OnTimeout::None);
    assert_eq!(answer_at(&mut state, 20, &answer("~ann", AnswerType::Ignore)), Ok(1));
    assert_eq!(
        answer_at(&mut state, 20, &answer("operator", AnswerType::Accept)),
        Err(Rejection::AlreadyAnswered)
    );
    assert!(matches!(state.progress, Progress::Answered { answer: AnswerType::Ignore, .. }));
    assert!(state.is_settled());
}

#[test]
fn given_a_person_of_the_owner_when_it_answers_then_the_answer_names_it() {
    let mo: plenary_kernel::AgentHandle = "@ann.mo".parse().unwrap();
    for person in [Some(mo), None] {
        let command = AnswerRequest {
            by: AnsweredBy::Person(authority("~ann"), person.clone()),
            ..answer("~ann", AnswerType::Accept)
        };
        let state = created(None, OnTimeout::None);
        let events = decide::answer(&state, &answer_facts(), &stamp(20), &command).unwrap().events;
        let [RequestEvent::RequestAnswered(event)] = &events[..] else { panic!("{events:?}") };
        let author = AnswerAuthor::Person("~ann".parse().unwrap());
        assert_eq!((&event.by, &event.person), (&author, &person));
    }
}

#[test]
fn given_a_request_when_others_answer_then_it_is_not_there() {
    let mut state = created(None, OnTimeout::None);
    for author in ["~bob", "@ann.cc", "@ann.other", "seed"] {
        assert_eq!(
            answer_at(&mut state, 20, &answer(author, AnswerType::Accept)),
            Err(Rejection::NoSuchRequest)
        );
        assert_eq!(handle_at(&mut state, 20, author, Handling::Undo), Err(Rejection::NoSuchRequest));
    }
    let mut absent = RequestState::default();
    assert_eq!(
        answer_at(&mut absent, 20, &answer("~ann", AnswerType::Accept)),
        Err(Rejection::NoSuchRequest)
    );
    let dead = AnswerFacts { is_authorized: false, ..answer_facts() };
    let command = answer("~ann", AnswerType::Accept);
    assert_eq!(decide::answer(&state, &dead, &stamp(20), &command), Err(Rejection::Unauthenticated));
}

#[test]
fn given_a_request_when_it_takes_no_such_answer_or_has_changed_then_it_is_refused() {
    let mut state = created(None, OnTimeout::None);
    assert_eq!(answer_at(&mut state, 20, &answer("~ann", AnswerType::Edit)), Err(Rejection::NotAllowed));
    let stale = AnswerRequest { version: Some(Version(7)), ..answer("~ann", AnswerType::Accept) };
    assert_eq!(answer_at(&mut state, 20, &stale), Err(Rejection::StaleVersion));
    let fresh = AnswerRequest { version: Some(Version(1)), ..stale };
    assert_eq!(answer_at(&mut state, 20, &fresh), Ok(1));
}

#[test]
fn given_an_answer_that_may_be_taken_back_then_it_stands_only_when_its_time_is_over() {
    let mut state = created(None, OnTimeout::None);
    let undoable = AnswerRequest { undo_ms: 100, ..answer("~ann", AnswerType::Accept) };
    assert_eq!(answer_at(&mut state, 20, &undoable), Ok(1));
    assert!(!state.is_settled());
    assert_eq!(pass_time_at(&mut state, 119), 0);
    assert_eq!(handle_at(&mut state, 119, "~ann", Handling::Undo), Ok(1));
    assert_eq!(state.progress, Progress::Open);
    assert_eq!(answer_at(&mut state, 200, &undoable), Ok(1));
    assert_eq!(handle_at(&mut state, 300, "~ann", Handling::Undo), Err(Rejection::TooLate));
    assert_eq!(pass_time_at(&mut state, 300), 1);
    assert!(state.is_settled());
    assert_eq!(pass_time_at(&mut state, 301), 0);
    assert_eq!(handle_at(&mut state, 301, "~ann", Handling::Undo), Err(Rejection::TooLate));
}

#[test]
fn given_a_clock_that_was_set_back_by_more_than_the_window_then_the_answer_stands() {
    let undoable = AnswerRequest { undo_ms: 100, ..answer("~ann", AnswerType::Accept) };
    for (now, is_over) in [(900, true), (901, false)] {
        let mut state = created(None, OnTimeout::None);
        assert_eq!(answer_at(&mut state, 1_000, &undoable), Ok(1));
        let undone = handle_at(&mut state.clone(), now, "~ann", Handling::Undo);
        assert_eq!(undone, if is_over { Err(Rejection::TooLate) } else { Ok(1) });
        assert_eq!(pass_time_at(&mut state, now), usize::from(is_over));
    }
}

#[test]
fn given_a_deadline_when_it_passes_then_what_was_said_counts_once() {
    for (on_timeout, expected) in [
        (OnTimeout::Accept, Some(AnswerType::Accept)),
        (OnTimeout::Ignore, Some(AnswerType::Ignore)),
        (OnTimeout::None, None),
    ] {
        let mut state = created(Some(50), on_timeout);
        assert_eq!(pass_time_at(&mut state, 49), 0);
        // The timer may be late: an answer after the deadline is refused all the same.
        let late = answer("~ann", AnswerType::Accept);
        assert_eq!(answer_at(&mut state, 50, &late), Err(Rejection::Expired));
        let decision = decide::pass_time(&state, &stamp(50), PassTime);
        let RequestEvent::RequestExpired(event) = &decision.events[0] else { panic!("{decision:?}") };
        assert_eq!(event.answer, expected);
        assert_eq!(pass_time_at(&mut state, 50), 1);
        assert_eq!(pass_time_at(&mut state, 51), 0);
        assert_eq!(withdrawn(&mut state, "@ann.cc"), Err(Rejection::Expired));
    }
    let mut in_time = created(Some(50), OnTimeout::Ignore);
    assert_eq!(answer_at(&mut in_time, 49, &answer("~ann", AnswerType::Accept)), Ok(1));
    assert_eq!(pass_time_at(&mut in_time, 50), 0, "an answer in time stands");
}

#[test]
fn given_a_deadline_that_is_not_ahead_or_too_far_then_nothing_is_asked() {
    for deadline in [0, 10, 10 + AHEAD_MS_MAX + 1] {
        let command = make(Some(deadline), OnTimeout::None);
        let decision = decide::make(&RequestState::default(), &ask_facts(), &stamp(10), &command);
        assert_eq!(decision, Err(Rejection::InvalidDeadline));
    }
}

#[test]
fn given_a_rule_that_fits_then_it_answers_at_once_even_where_no_more_may_wait() {
    let rule = RuleId::mint(&stamp(1), 0);
    let with = |answer| AskFacts { is_full: true, rule: Some((rule.clone(), answer)), ..ask_facts() };
    let command = make(None, OnTimeout::None);
    let mut state = RequestState::default();
    let decision = decide::make(&state, &with(AnswerType::Accept), &stamp(10), &command);
    assert_eq!(step(&mut state, decision), Ok(2));
    assert!(matches!(&state.progress, Progress::Answered { by: AnswerAuthor::Rule(id), .. } if *id == rule));
    assert!(state.is_settled());
    let deaf = MakeRequest { allow: Allow { accept: false, ..Allow::default() }, ..command };
    let decision = decide::make(&RequestState::default(), &with(AnswerType::Accept), &stamp(10), &deaf);
    assert_eq!(decision, Err(Rejection::TooMany), "what a request does not take, no rule says");
}

#[test]
fn given_an_answer_with_a_rule_then_only_a_plain_one_of_a_person_makes_it() {
    let rule = |agent: &str| {
        let (agent, tool) = (agent.parse().unwrap(), "Bash".to_owned());
        Some(NewRule { agent, tool, directory: None, expires_in_days: 7 })
    };
    let with =
        |author, answer_type, agent| AnswerRequest { rule: rule(agent), ..answer(author, answer_type) };
    let mut state = created(None, OnTimeout::None);
    for wrong in [
        with("~ann", AnswerType::Respond, "@ann.cc"),
        with("~ann", AnswerType::Accept, "@bob.cc"),
        AnswerRequest { by: AnsweredBy::Link, ..with("~ann", AnswerType::Accept, "@ann.cc") },
    ] {
        assert_eq!(answer_at(&mut state, 20, &wrong), Err(Rejection::InvalidRule));
    }
    let full = AnswerFacts { has_all_rules: true, ..answer_facts() };
    let right = AnswerRequest { undo_ms: 10, ..with("~ann", AnswerType::Accept, "@ann.cc") };
    assert_eq!(decide::answer(&state, &full, &stamp(20), &right), Err(Rejection::TooManyRules));
    assert_eq!(answer_at(&mut state, 20, &right), Ok(1));
    let decision = decide::pass_time(&state, &stamp(30), PassTime);
    let RequestEvent::AnswerSettled(settled) = &decision.events[0] else { panic!("{decision:?}") };
    let rule_of_answer = settled.rule.as_ref().expect("the rule of the answer");
    assert_eq!(
        (&rule_of_answer.by, rule_of_answer.answer),
        (&Actor::Owner("ann".parse().unwrap()), AnswerType::Accept)
    );
}

#[test]
fn given_that_it_was_given_up_then_no_answer_is_taken() {
    let mut state = created(None, OnTimeout::None);
    for author in ["@ann.other", "@bob.cc", "~ann", "operator"] {
        assert_eq!(withdrawn(&mut state, author), Err(Rejection::NoSuchRequest));
    }
    assert_eq!(withdrawn(&mut state, "@ann.cc"), Ok(1));
    assert_eq!(withdrawn(&mut state, "@ann.cc"), Ok(0));
    assert_eq!(answer_at(&mut state, 40, &answer("~ann", AnswerType::Accept)), Err(Rejection::Withdrawn));
    let mut answered_before = created(None, OnTimeout::None);
    assert_eq!(answer_at(&mut answered_before, 20, &answer("~ann", AnswerType::Accept)), Ok(1));
    assert_eq!(withdrawn(&mut answered_before, "@ann.cc"), Err(Rejection::AlreadyAnswered));
}

#[test]
fn given_a_request_that_waits_then_it_may_be_put_off_and_left_to_somebody_of_the_owner() {
    let mut state = created(None, OnTimeout::None);
    assert_eq!(
        handle_at(&mut state, 20, "~ann", Handling::Snooze(TimestampMs(20))),
        Err(Rejection::InvalidUntil)
    );
    assert_eq!(handle_at(&mut state, 20, "~ann", Handling::Snooze(TimestampMs(90))), Ok(1));
    assert_eq!(state.snoozed_until, Some(TimestampMs(90)));
    let to = |handle: &str| Handling::Delegate(handle.parse().unwrap());
    assert_eq!(handle_at(&mut state, 20, "~ann", to("@bob.maria")), Err(Rejection::UnknownPerson));
    assert_eq!(handle_at(&mut state, 20, "~ann", to("@ann.cc")), Err(Rejection::UnknownPerson));
    assert_eq!(handle_at(&mut state, 20, "~ann", to("@ann.maria")), Ok(1));
    assert_eq!(state.version, Version(3));
    for _ in 2..CHANGES_MAX {
        assert_eq!(handle_at(&mut state, 20, "~ann", to("@ann.maria")), Ok(1));
    }
    assert_eq!(handle_at(&mut state, 20, "~ann", to("@ann.maria")), Err(Rejection::TooManyChanges));
    assert_eq!(answer_at(&mut state, 20, &answer("~ann", AnswerType::Accept)), Ok(1), "it can be ended");
}

#[test]
fn given_the_server_itself_asks_then_only_it_gives_up_and_asking_again_changes_nothing() {
    let mut state = RequestState::default();
    let command = MakeRequest { source: Source::Server, ..make(None, OnTimeout::None) };
    let decision = decide::make(&state, &ask_facts(), &stamp(10), &command);
    assert_eq!(step(&mut state, decision), Ok(1));
    let decision = decide::make(&state, &ask_facts(), &stamp(11), &command);
    assert_eq!(step(&mut state, decision), Ok(0));
    assert_eq!(withdrawn(&mut state, "@ann.cc"), Err(Rejection::NoSuchRequest));
    let by_server = WithdrawRequest { source: Source::Server };
    let decision = decide::withdraw(&state, true, &stamp(12), &by_server);
    assert_eq!(step(&mut state, decision), Ok(1));
    assert_eq!(AskId::of_source("run-1"), AskId::of_source("run-1"));
    assert_ne!(AskId::of_source("run-1"), AskId::of_source("run-2"));
    let mut of_deleted_agent = created(None, OnTimeout::None);
    let decision = decide::withdraw(&of_deleted_agent, true, &stamp(12), &by_server);
    assert_eq!(step(&mut of_deleted_agent, decision), Ok(1));
}
