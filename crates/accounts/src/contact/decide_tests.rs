//! Given, when, then: contact requests and answers of two agents.

use plenary_kernel::{TimestampMs, Version};

use super::{
    command::{AnswerContact, ContactFacts, RequestContact},
    decide::{answer, request},
    event::ContactEvent,
    state::{Answer, ContactState},
};
use crate::{
    Actor, Authority, KnownAgent, Policy, Rejection, TokenDigest,
    agent::event::{AgentEvent, AgentRegistered, AllowedEntries, Block},
    limits::ALLOWLIST_ENTRIES_MAX,
};

fn agent(handle: &str, self_service: bool, further: &[AgentEvent]) -> KnownAgent {
    let mut state = crate::AgentState::default();
    let registered = AgentEvent::AgentRegistered(AgentRegistered {
        by: Actor::Operator,
        policy: Policy::Allowlist,
        allowlist: Vec::new(),
        self_service,
        token: TokenDigest::of(handle),
        through: None,
        kind: crate::AgentKind::Agent,
        profile: crate::agent::profile::ProfileChange::default(),
    });
    for event in [registered].iter().chain(further) {
        state.evolve(Version(1), TimestampMs(1), event);
    }
    KnownAgent { handle: handle.parse().unwrap(), state: state.into(), version: Version(1), upon: None }
}

fn blocks(target: &str) -> Vec<AgentEvent> {
    vec![AgentEvent::AgentBlocked(Block { by: Actor::Operator, blocked: target.parse().unwrap() })]
}

fn full_allowlist() -> Vec<AgentEvent> {
    let entries = (0..ALLOWLIST_ENTRIES_MAX).map(|n| format!("@x.n{n}").parse().unwrap()).collect();
    vec![AgentEvent::EntriesAllowed(AllowedEntries { by: Actor::Operator, entries, counted: true })]
}

fn no_agent(handle: &str) -> KnownAgent {
    KnownAgent {
        handle: handle.parse().unwrap(),
        state: crate::AgentState::default().into(),
        version: Version(0),
        upon: None,
    }
}

fn facts(from: &KnownAgent, to: &KnownAgent) -> ContactFacts {
    let pair = Some((from.clone(), to.clone()));
    ContactFacts { is_authorized: true, is_full: false, unanswered: None, revision: 0, pair }
}

fn authority(actor: &str) -> Authority {
    Authority { by: actor.parse().unwrap(), token: Some(TokenDigest::of(actor)) }
}

fn request_events(state: &ContactState, facts: &ContactFacts) -> Result<Vec<ContactEvent>, Rejection> {
    let (from, to) = facts.pair.as_ref().unwrap();
    let command = RequestContact {
        authority: authority(from.handle.as_str()),
        id: "req_01".parse().unwrap(),
        from: from.handle.clone(),
        to: to.handle.clone(),
        message: Some("hi".into()),
    };
    request(state, facts, &command).map(|decision| decision.events)
}

fn state_after(state: &ContactState, events: &[ContactEvent]) -> ContactState {
    let mut state = state.clone();
    events.iter().for_each(|event| state.evolve(event));
    state
}

fn request_state(from: &KnownAgent, to: &KnownAgent) -> ContactState {
    let state = ContactState::default();
    state_after(&state, &request_events(&state, &facts(from, to)).unwrap())
}

fn answers(
    state: &ContactState,
    facts: &ContactFacts,
    actor: &str,
    given: Answer,
) -> Result<Vec<ContactEvent>, Rejection> {
    let command = AnswerContact { authority: authority(actor), id: "req_01".parse().unwrap(), answer: given };
    answer(state, facts, &command).map(|decision| decision.events)
}

#[test]
fn asking_is_recorded_alike_whoever_is_there_and_only_the_notice_is_withheld() {
    let alice = agent("@alice.bot", false, &[]);
    let bob = agent("@bob.bot", false, &[]);
    let cases = [
        (alice.clone(), bob.clone(), false),
        (alice.clone(), no_agent("@bob.bot"), true),
        (alice, agent("@bob.bot", false, &blocks("@alice.bot")), true),
        (agent("@alice.bot", false, &blocks("@bob.bot")), bob, true),
    ];
    for (from, to, withheld) in cases {
        let events = request_events(&ContactState::default(), &facts(&from, &to)).unwrap();
        let [ContactEvent::ContactRequested(event)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((&event.from, &event.to, event.withheld), (&from.handle, &to.handle, withheld));
    }
}

#[test]
fn asking_oneself_too_often_or_with_a_dead_token_is_refused() {
    let alice = agent("@alice.bot", false, &[]);
    let bob = agent("@bob.bot", false, &[]);
    let state = ContactState::default();
    assert_eq!(request_events(&state, &facts(&alice, &alice)), Err(Rejection::OwnContact));
    let is_full = ContactFacts { is_full: true, ..facts(&alice, &bob) };
    assert_eq!(request_events(&state, &is_full), Err(Rejection::TooManyContacts));
    assert!(
        request_events(&request_state(&alice, &bob), &is_full).is_ok(),
        "the same request again is no further one"
    );
    let revoked = ContactFacts { is_authorized: false, ..facts(&alice, &bob) };
    assert_eq!(request_events(&state, &revoked), Err(Rejection::Revoked));
}

#[test]
fn asked_again_a_request_is_told_once_as_soon_as_it_may_be() {
    let alice = agent("@alice.bot", false, &[]);
    let (bob, no_bob) = (agent("@bob.bot", false, &[]), no_agent("@bob.bot"));
    let delivered = request_state(&alice, &bob);
    assert_eq!(request_events(&delivered, &facts(&alice, &bob)), Ok(vec![]));
    assert_eq!(request_events(&delivered, &facts(&alice, &no_bob)), Ok(vec![]));
    let withheld = request_state(&alice, &no_bob);
    assert_eq!(request_events(&withheld, &facts(&alice, &no_bob)), Ok(vec![]));
    let events = request_events(&withheld, &facts(&alice, &bob)).unwrap();
    assert!(matches!(&events[..], [ContactEvent::ContactRepeated(_)]), "{events:?}");
    assert_eq!(request_events(&state_after(&withheld, &events), &facts(&alice, &bob)), Ok(vec![]));
}

#[test]
fn asp_3_accepting_needs_the_owner_or_leave_to_configure_oneself() {
    let alice = agent("@alice.bot", false, &[]);
    let (bound, free) = (agent("@bob.bot", false, &[]), agent("@bob.bot", true, &[]));
    let state = request_state(&alice, &bound);
    for (actor, to, expected) in [
        ("operator", &bound, Ok(1)),
        ("~bob", &bound, Ok(1)),
        ("@bob.bot", &free, Ok(1)),
        ("@bob.bot", &bound, Err(Rejection::Forbidden)),
        ("@alice.bot", &bound, Err(Rejection::NotFound)),
        ("~alice", &bound, Err(Rejection::NotFound)),
        ("@eve.bot", &free, Err(Rejection::NotFound)),
        ("@bob.other", &free, Err(Rejection::NotFound)),
    ] {
        let events = answers(&state, &facts(&alice, to), actor, Answer::Accepted);
        assert_eq!(events.map(|events| events.len()), expected, "{actor}");
    }
    let declined = answers(&state, &facts(&alice, &bound), "@bob.bot", Answer::Declined).unwrap();
    assert!(matches!(&declined[..], [ContactEvent::ContactDeclined(_)]), "declining changes no trust");
    let revoked = ContactFacts { is_authorized: false, ..facts(&alice, &free) };
    assert_eq!(answers(&state, &revoked, "@bob.bot", Answer::Accepted), Err(Rejection::Revoked));
}

#[test]
fn asp_103_accepting_lists_each_with_the_other() {
    let (alice, bob) = (agent("@alice.bot", false, &[]), agent("@bob.bot", true, &[]));
    let state = request_state(&alice, &bob);
    let accept = |from: &KnownAgent, to: &KnownAgent| {
        let events = answers(&state, &facts(from, to), "~bob", Answer::Accepted)?;
        let [ContactEvent::ContactAccepted(event)] = &events[..] else { panic!("{events:?}") };
        Ok((event.listed_by_from, event.listed_by_to, event.withheld))
    };
    assert_eq!(accept(&alice, &bob), Ok((true, true, false)));
    let entries = vec!["@bob.bot".parse().unwrap()];
    let lists_bob = AllowedEntries { by: Actor::Operator, entries, counted: true };
    let listing = agent("@alice.bot", false, &[AgentEvent::EntriesAllowed(lists_bob)]);
    assert_eq!(accept(&listing, &bob), Ok((false, true, false)));
    // After a block nothing that the other does reaches the blocker, its list included.
    assert_eq!(accept(&agent("@alice.bot", false, &blocks("@bob.bot")), &bob), Ok((false, true, true)));
    assert_eq!(accept(&no_agent("@alice.bot"), &bob), Ok((false, true, true)));
    assert_eq!(accept(&agent("@alice.bot", false, &full_allowlist()), &bob), Ok((false, true, false)));
    assert_eq!(accept(&alice, &agent("@bob.bot", true, &full_allowlist())), Err(Rejection::AllowlistFull));
}

#[test]
fn an_answer_is_given_once_and_only_to_what_was_told() {
    let (alice, bob) = (agent("@alice.bot", false, &[]), agent("@bob.bot", true, &[]));
    let both = facts(&alice, &bob);
    let state = request_state(&alice, &bob);
    let accepted = state_after(&state, &answers(&state, &both, "~bob", Answer::Accepted).unwrap());
    assert_eq!(answers(&accepted, &both, "~bob", Answer::Accepted), Ok(vec![]));
    assert_eq!(answers(&accepted, &both, "~bob", Answer::Declined), Err(Rejection::ContactAnswered));
    let absent = ContactFacts { pair: None, ..both.clone() };
    let nothing = ContactState::default();
    assert_eq!(answers(&nothing, &absent, "operator", Answer::Accepted), Err(Rejection::NotFound));
    let undelivered = request_state(&alice, &no_agent("@bob.bot"));
    assert_eq!(answers(&undelivered, &both, "~bob", Answer::Accepted), Err(Rejection::NotFound));
}

#[test]
fn a_request_whose_answer_was_withheld_is_open_for_the_asking_one_and_asks_again_later() {
    let (alice, bob) = (agent("@alice.bot", false, &[]), agent("@bob.bot", true, &[]));
    let blocking = agent("@bob.bot", true, &blocks("@alice.bot"));
    let state = request_state(&alice, &bob);
    let declined = answers(&state, &facts(&alice, &blocking), "@bob.bot", Answer::Declined).unwrap();
    let state = state_after(&state, &declined);
    assert_eq!(request_events(&state, &facts(&alice, &blocking)).unwrap(), []);
    let repeated = request_events(&state, &facts(&alice, &bob)).unwrap();
    assert!(matches!(&repeated[..], [ContactEvent::ContactRepeated(_)]), "{repeated:?}");
    let state = state_after(&state, &repeated);
    assert_eq!((state.answer, state.withheld), (None, false));
    answers(&state, &facts(&alice, &bob), "@bob.bot", Answer::Accepted).unwrap();
}

#[test]
fn a_request_beside_an_unanswered_one_is_the_same() {
    let (alice, bob) = (agent("@alice.bot", false, &[]), agent("@bob.bot", false, &[]));
    let other = ContactFacts { unanswered: Some("req_02".parse().unwrap()), ..facts(&alice, &bob) };
    assert_eq!(request_events(&ContactState::default(), &other).unwrap(), []);
}
