//! Given, when, then: sessions with agents of other networks. What a host decides about guests, and which events of a host go
//! into a copy.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, OwnerName, Stamp, TimestampMs, Version};

use crate::{
    command::{Caller, InviteAgents, JoinSession, SendMessage},
    crossing::{
        Consent, Crossing,
        copying::{Admission, CopyEvents, CopyFacts, CopyRefusal, copy},
    },
    decide::{self, People, Rejection},
    event::{
        AgentInvited, AgentLeft, AgentMoved, LeftReason, MessageSent, SessionCreated, SessionEnded,
        SessionEvent, SessionReopened,
    },
    state::{SessionState, Standing},
    tests::scene::Trust,
};

const GUEST: &str = "@ida-at-rose.bot";

fn handle(text: &str) -> AgentHandle {
    text.parse().unwrap()
}

fn peer() -> OwnerName {
    "acme".parse().unwrap()
}

fn stamp() -> Stamp {
    Stamp::new(TimestampMs(1), [7; 10])
}

fn created(creator: &str, host: Option<OwnerName>) -> SessionEvent {
    SessionEvent::SessionCreated(SessionCreated { creator: handle(creator), topic: None, host })
}

fn invited(invitee: &str, by: &str, elsewhere: bool) -> SessionEvent {
    SessionEvent::AgentInvited(AgentInvited {
        id: "1".into(),
        invitee: handle(invitee),
        by: handle(by),
        inline: false,
        offered: false,
        held: false,
        settles: None,
        denied: false,
        elsewhere,
    })
}

fn joined(agent: &str) -> SessionEvent {
    SessionEvent::AgentJoined(moved(agent))
}

fn moved(agent: &str) -> AgentMoved {
    AgentMoved { id: "2".into(), agent: handle(agent), released: false, settles: None }
}

fn left(agent: &str, reason: LeftReason) -> SessionEvent {
    SessionEvent::AgentLeft(AgentLeft {
        id: "5".into(),
        agent: handle(agent),
        reason,
        forced: false,
        held: false,
        settles: None,
    })
}

fn ended(joined: &[&str]) -> SessionEvent {
    let joined = joined.iter().map(|name| handle(name)).collect();
    SessionEvent::SessionEnded(SessionEnded { id: "4".into(), by: None, joined, uncounted: Vec::new() })
}

fn reopened(by: &str) -> SessionEvent {
    let reopened = SessionReopened { id: "6".into(), by: handle(by), returning: Vec::new(), settles: None };
    SessionEvent::SessionReopened(reopened)
}

fn said(sender: &str) -> SessionEvent {
    SessionEvent::MessageSent(MessageSent {
        id: "3".into(),
        sender: handle(sender),
        origin: None,
        names: None,
        trace: None,
        members: Bytes::from_static(b"\"content\":\"x\""),
    })
}

fn fold(events: &[SessionEvent]) -> (SessionState, Version) {
    let (mut state, mut at) = (SessionState::default(), Version::ZERO);
    for event in events {
        at = at.next();
        state.evolve(at, TimestampMs(1), event);
    }
    (state, at)
}

/// A copy of a session of acme with ida of this network: the creation, the invitation, the joining.
fn events() -> Vec<SessionEvent> {
    vec![
        created("@nick-at-acme.cc", Some(peer())),
        invited("@ida.bot", "@nick-at-acme.cc", false),
        joined("@ida.bot"),
    ]
}

fn facts(holds: bool) -> CopyFacts {
    let from = BTreeSet::from([handle("@nick-at-acme.cc")]);
    let admitting = [(handle("@ida.bot"), Admission { from, holds: false })].into();
    CopyFacts { holds, admitting }
}

fn copied(
    before: &[SessionEvent],
    first: u64,
    new: &[SessionEvent],
) -> Result<Decision<SessionEvent, crate::crossing::copying::CopyReceipt>, CopyRefusal> {
    let (state, at) = fold(before);
    let command = CopyEvents { peer: peer(), first: Version(first), events: new.to_vec() };
    copy(&state, at, &command, &facts(true), &stamp())
}

#[test]
fn given_no_copy_when_events_come_then_each_is_taken_once_and_in_order() {
    let all = events();
    assert_eq!(copied(&[], 1, &all).unwrap().events, all);
    assert_eq!(copied(&all[..2], 1, &all).unwrap().events, all[2..], "those that are new");
    let again = copied(&all, 2, &all[1..]).unwrap();
    assert_eq!((again.events.len(), again.reply.version), (0, Version(3)), "nothing twice");
    assert_eq!(copied(&all[..1], 3, &all[2..]), Err(CopyRefusal::Gap));
}

#[test]
fn given_a_copy_when_the_accord_is_over_or_the_session_another_ones_then_nothing_is_taken() {
    let (state, at) = fold(&events());
    let command = |peer: &str| CopyEvents {
        peer: peer.parse().unwrap(),
        first: Version(4),
        events: vec![said("@nick-at-acme.cc")],
    };
    assert_eq!(copy(&state, at, &command("acme"), &facts(false), &stamp()), Err(CopyRefusal::Ended));
    assert_eq!(copy(&state, at, &command("other"), &facts(true), &stamp()), Err(CopyRefusal::Taken));
    let (own, at) = fold(&[created("@ida.bot", None)]);
    let command = CopyEvents { first: Version(2), ..command("acme") };
    assert_eq!(copy(&own, at, &command, &facts(true), &stamp()), Err(CopyRefusal::Taken));
}

#[test]
fn given_a_message_with_the_invitation_when_the_session_has_ended_then_the_invitee_reopens_it() {
    let mut sent = events()[..2].to_vec();
    if let SessionEvent::AgentInvited(invited) = &mut sent[1] {
        invited.inline = true;
    }
    let answer = [ended(&["@ida.bot"]), reopened("@ida.bot"), said("@ida.bot")];
    assert_eq!(copied(&sent, 3, &answer).unwrap().events, answer);
}

#[test]
fn given_a_copy_when_an_event_cannot_follow_then_all_of_them_are_refused() {
    let all = events();
    for (before, new) in [
        (&all[..0], vec![said("@nick-at-acme.cc")]),
        (&all[..], vec![created("@nick-at-acme.cc", Some(peer()))]),
        (&all[..], vec![said("@eve-at-acme.cc")]),
        (&all[..], vec![said("@nick-at-acme.cc"), joined("@eve-at-acme.cc")]),
        (&all[..], vec![invited("@ida.bot", "@nick-at-acme.cc", false)]),
        (&all[..2], vec![invited("@ida.second", "@ida.bot", false)]),
        (&all[..], vec![invited("@ida.second", "@eve-at-acme.cc", false)]),
        (&all[..], vec![ended(&[]), ended(&[])]),
        (&all[..], vec![ended(&[]), said("@nick-at-acme.cc")]),
        (&all[..], vec![SessionEvent::AgentDisconnected(moved("@ida.bot"))]),
        (&all[..], vec![left("@ida.bot", LeftReason::AccordRevoked)]),
        // Only who was joined at the end reopens a session, whatever the host says of its end.
        (&all[..], vec![ended(&[]), reopened("@ida.bot")]),
        (&all[..2], vec![ended(&["@ida.bot"]), reopened("@ida.bot")]),
        (
            &all[..2],
            vec![left("@ida.third", LeftReason::Left), ended(&["@ida.third"]), reopened("@ida.third")],
        ),
    ] {
        let first = before.len() as u64 + 1;
        assert!(matches!(copied(before, first, &new), Err(CopyRefusal::Impossible(_))), "{new:?}");
    }
}

#[test]
fn given_a_copy_when_its_session_ended_then_whoever_was_joined_reopens_it() {
    let again = [ended(&["@ida.bot"]), reopened("@ida.bot"), said("@ida.bot")];
    assert_eq!(copied(&events(), 4, &again).unwrap().events, again);
}

#[test]
fn given_an_invitation_that_the_invitee_does_not_admit_then_it_is_none_here() {
    let events = vec![
        created("@nick-at-acme.cc", Some(peer())),
        invited("@ida.other", "@nick-at-acme.cc", false),
        invited("@ida.bot", "@nick-at-acme.cc", false),
    ];
    let taken = copied(&[], 1, &events).unwrap().events;
    let denied: Vec<bool> = taken
        .iter()
        .filter_map(|event| match event {
            SessionEvent::AgentInvited(event) => Some(event.denied),
            SessionEvent::SessionCreated(_)
            | SessionEvent::MessageSent(_)
            | SessionEvent::AgentJoined(_)
            | SessionEvent::AgentDisconnected(_)
            | SessionEvent::AgentReconnected(_)
            | SessionEvent::AgentLeft(_)
            | SessionEvent::SessionEnded(_)
            | SessionEvent::SessionReopened(_) => None,
        })
        .collect();
    assert_eq!(denied, [true, false]);
    let (state, _) = fold(&taken);
    assert!(state.participant(&handle("@ida.other")).is_none());
    let forged = copied(&taken, 4, &[joined("@ida.other")]);
    assert!(matches!(forged, Err(CopyRefusal::Impossible(_))), "nobody is made to join");
}

#[test]
fn given_a_copy_when_a_member_does_something_then_its_host_decides() {
    let (state, at) = fold(&events());
    let trust = Trust::default();
    let mut people = trust.people("ann", &[]);
    people.crossing.caller = Some(true);
    let caller = Caller { handle: handle("@ida.bot"), token: plenary_accounts::TokenDigest::of("") };
    let draft = crate::request::Fields::read(br#"{"content":"x"}"#).unwrap().message(None);
    let sent = SendMessage { caller: caller.clone(), draft };
    assert_eq!(decide::send(&state, at, &sent, &people, &stamp()), Err(Rejection::Elsewhere(peer())));
    let join = decide::join(&state, &JoinSession(caller), &people, &stamp());
    assert_eq!(join, Err(Rejection::Elsewhere(peer())));
    let evicted = crate::command::EvictAgent { agent: handle("@nick-at-acme.cc"), blocker: None };
    let evicted = decide::evict(&state, &evicted, &stamp());
    assert_eq!((evicted.events.len(), evicted.reply.ok), (0, false));
}

/// What is known of ann of this network, who invites guests of rose.
fn people(consents: &[(&str, Option<Consent>)]) -> People {
    let mut people = Trust::default().people("ann", &[]);
    let known = |name: &str| plenary_accounts::KnownAgent {
        handle: handle(name),
        state: Default::default(),
        version: Version::ZERO,
        upon: None,
    };
    people.others.insert(handle(GUEST), known(GUEST));
    people.crossing = Crossing {
        caller: None,
        elsewhere: [handle(GUEST)].into(),
        apart: BTreeSet::new(),
        consents: consents.iter().map(|(name, consent)| (handle(name), *consent)).collect::<BTreeMap<_, _>>(),
    };
    people
}

fn inviting() -> InviteAgents {
    let caller = Caller { handle: handle("@o.ann"), token: plenary_accounts::TokenDigest::of("ann") };
    InviteAgents { caller, invite: Ok(vec![handle(GUEST)]) }
}

#[test]
fn given_a_guest_when_it_is_invited_then_its_network_is_asked_first() {
    let (state, _) = fold(&[created("@o.ann", None)]);
    let decided = |consents: &[(&str, Option<Consent>)]| {
        decide::invite(&state, &inviting(), &people(consents), &stamp())
    };
    assert_eq!(decided(&[]).unwrap_err(), Rejection::AskElsewhere(vec![handle(GUEST)]));
    assert_eq!(decided(&[(GUEST, None)]).unwrap_err(), Rejection::NotFound);
    let taken = decided(&[(GUEST, Some(Consent { held: true }))]).unwrap();
    let [SessionEvent::AgentInvited(event)] = &taken.events[..] else { panic!("{taken:?}") };
    assert_eq!((event.elsewhere, event.held, event.offered), (true, true, false));
}

#[test]
fn given_a_guest_when_it_invites_then_only_agents_that_take_part_in_the_accord_are_reached() {
    let mut trust = Trust::default();
    trust.learn(&format!("bob lists {GUEST}"));
    let guest = [created("@o.ann", None), invited(GUEST, "@o.ann", true), joined(GUEST)];
    let (state, _) = fold(&guest);
    let caller = Caller { handle: handle(GUEST), token: plenary_accounts::TokenDigest::of("") };
    let command = InviteAgents { caller, invite: Ok(vec![handle("@o.bob")]) };
    let decided = |apart: &[&str]| {
        let mut people = people(&[]);
        people.caller = people.others[&handle(GUEST)].clone();
        people.others.insert(handle("@o.bob"), trust.known("bob"));
        people.crossing.caller = Some(true);
        people.crossing.apart = apart.iter().map(|name| handle(name)).collect();
        decide::invite(&state, &command, &people, &stamp())
    };
    assert_eq!(decided(&[]).unwrap().reply.invited, [handle("@o.bob")]);
    assert_eq!(decided(&["@o.bob"]).unwrap_err(), Rejection::NotFound);
}

#[test]
fn given_a_guest_when_the_accord_ends_then_it_leaves() {
    let guest = [created("@o.ann", None), invited(GUEST, "@o.ann", true), joined(GUEST)];
    let (state, _) = fold(&guest);
    assert!(state.crosses);
    let rose = "rose".parse().unwrap();
    let parted = decide::part(&state, &rose, &stamp()).events;
    let [SessionEvent::AgentLeft(AgentLeft { agent, reason: LeftReason::AccordRevoked, .. })] = &parted[..]
    else {
        panic!("{parted:?}")
    };
    assert_eq!(*agent, handle(GUEST));
    assert!(decide::part(&state, &peer(), &stamp()).events.is_empty(), "that of another accord");
    let (state, _) = fold(&[&guest[..], &parted[..]].concat());
    assert_eq!(state.participant(agent).map(|part| part.standing), Some(Standing::Left));
    assert!(decide::part(&state, &rose, &stamp()).events.is_empty(), "once");
    assert!(!state.closed, "it is a session of this network");
}

#[test]
fn given_a_copy_when_the_accord_ends_then_its_members_leave_and_it_is_complete_for_ever() {
    let (state, _) = fold(&events());
    let parted = decide::part(&state, &peer(), &stamp()).events;
    let all = [&events()[..], &parted[..]].concat();
    let (state, at) = fold(&all);
    assert!(state.closed);
    assert_eq!(state.participant(&handle("@ida.bot")).map(|part| part.standing), Some(Standing::Left));
    let command = CopyEvents { peer: peer(), first: at.next(), events: vec![said("@nick-at-acme.cc")] };
    assert_eq!(copy(&state, at, &command, &facts(true), &stamp()), Err(CopyRefusal::Taken));
}
