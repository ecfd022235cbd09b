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
        copy::{Admission, CopyEvents, CopyFacts, CopyRefusal, Deed, OwnAct, copy},
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

fn creation(creator: &str, host: Option<OwnerName>) -> SessionEvent {
    SessionEvent::SessionCreated(SessionCreated { creator: handle(creator), topic: None, host })
}

fn invitation(invitee: &str, by: &str, elsewhere: bool) -> SessionEvent {
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

fn joining(agent: &str) -> SessionEvent {
    SessionEvent::AgentJoined(change(agent))
}

fn change(agent: &str) -> AgentMoved {
    AgentMoved { id: "2".into(), agent: handle(agent), released: false, settles: None }
}

fn leaving(agent: &str, reason: LeftReason) -> SessionEvent {
    SessionEvent::AgentLeft(AgentLeft {
        id: "5".into(),
        agent: handle(agent),
        reason,
        forced: false,
        held: false,
        settles: None,
    })
}

fn end(participants: &[&str]) -> SessionEvent {
    let participants = participants.iter().map(|name| handle(name)).collect();
    SessionEvent::SessionEnded(SessionEnded {
        id: "4".into(),
        by: None,
        joined: participants,
        uncounted: Vec::new(),
    })
}

fn reopening(by: &str) -> SessionEvent {
    let event = SessionReopened { id: "6".into(), by: handle(by), returning: Vec::new(), settles: None };
    SessionEvent::SessionReopened(event)
}

fn message(sender: &str) -> SessionEvent {
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
        creation("@nick-at-acme.cc", Some(peer())),
        invitation("@ida.bot", "@nick-at-acme.cc", false),
        joining("@ida.bot"),
    ]
}

fn facts(has_accord: bool) -> CopyFacts {
    let from = BTreeSet::from([handle("@nick-at-acme.cc")]);
    let admitting = [(handle("@ida.bot"), Admission { from, needs_consent: false })].into();
    let forwarded = [
        act("@ida.bot", Deed::Join),
        act("@ida.bot", Deed::Reopen),
        act("@ida.bot", Deed::Invite(handle("@ida.second"))),
        act("@ida.other", Deed::Join),
        act("@ida.third", Deed::Reopen),
    ];
    let forwarded = forwarded.into();
    CopyFacts { has_accord, forwarded, admitting }
}

fn act(agent: &str, deed: Deed) -> OwnAct {
    OwnAct { agent: handle(agent), deed }
}

fn copy_result(
    before: &[SessionEvent],
    first: u64,
    new: &[SessionEvent],
) -> Result<Decision<SessionEvent, crate::crossing::copy::CopyReceipt>, CopyRefusal> {
    let (state, at) = fold(before);
    let command = CopyEvents { peer: peer(), first: Version(first), events: new.to_vec(), is_offered: true };
    copy(&state, at, &command, &facts(true), &stamp())
}

#[test]
fn given_no_copy_when_events_come_then_each_is_taken_once_and_in_order() {
    let all = events();
    assert_eq!(copy_result(&[], 1, &all).unwrap().events, all);
    assert_eq!(copy_result(&all[..2], 1, &all).unwrap().events, all[2..], "those that are new");
    let repeated = copy_result(&all, 2, &all[1..]).unwrap();
    assert_eq!((repeated.events.len(), repeated.reply.version), (0, Version(3)), "nothing twice");
    assert_eq!(copy_result(&all[..1], 3, &all[2..]), Err(CopyRefusal::Gap));
}

#[test]
fn given_no_offer_when_the_events_have_an_invitation_that_its_invitee_takes_then_a_copy_begins() {
    let copied = |events: &[SessionEvent]| {
        let (peer, first) = (peer(), Version(1));
        let command = CopyEvents { peer, first, events: events.to_vec(), is_offered: false };
        copy(&SessionState::default(), Version::ZERO, &command, &facts(true), &stamp())
    };
    assert_eq!(copied(&events()).unwrap().events, events());
    let foreign = invitation("@ida.other", "@nick-at-acme.cc", false);
    for uninvited in [&events()[..1], &[events()[0].clone(), foreign][..]] {
        assert_eq!(copied(uninvited), Err(CopyRefusal::Uninvited), "{uninvited:?}");
    }
}

#[test]
fn given_a_copy_when_the_accord_is_over_or_the_session_another_ones_then_nothing_is_taken() {
    let (state, at) = fold(&events());
    let command = |peer: &str| CopyEvents {
        peer: peer.parse().unwrap(),
        first: Version(4),
        events: vec![message("@nick-at-acme.cc")],
        is_offered: true,
    };
    assert_eq!(copy(&state, at, &command("acme"), &facts(false), &stamp()), Err(CopyRefusal::Ended));
    assert_eq!(copy(&state, at, &command("other"), &facts(true), &stamp()), Err(CopyRefusal::Taken));
    let (own, at) = fold(&[creation("@ida.bot", None)]);
    let command = CopyEvents { first: Version(2), ..command("acme") };
    assert_eq!(copy(&own, at, &command, &facts(true), &stamp()), Err(CopyRefusal::Taken));
}

#[test]
fn given_a_message_with_the_invitation_when_the_session_has_ended_then_the_invitee_reopens_it() {
    let mut events_before = events()[..2].to_vec();
    if let SessionEvent::AgentInvited(invitation) = &mut events_before[1] {
        invitation.inline = true;
    }
    let answer = [end(&["@ida.bot"]), reopening("@ida.bot"), message("@ida.bot")];
    assert_eq!(copy_result(&events_before, 3, &answer).unwrap().events, answer);
}

#[test]
fn given_a_copy_when_an_event_cannot_follow_then_all_of_them_are_refused() {
    let all = events();
    for (before, new) in [
        (&all[..0], vec![message("@nick-at-acme.cc")]),
        (&all[..], vec![creation("@nick-at-acme.cc", Some(peer()))]),
        (&all[..], vec![message("@eve-at-acme.cc")]),
        (&all[..], vec![message("@nick-at-acme.cc"), joining("@eve-at-acme.cc")]),
        (&all[..], vec![invitation("@ida.bot", "@nick-at-acme.cc", false)]),
        (&all[..2], vec![invitation("@ida.second", "@ida.bot", false)]),
        (&all[..], vec![invitation("@ida.second", "@eve-at-acme.cc", false)]),
        (&all[..], vec![end(&[]), end(&[])]),
        (&all[..], vec![end(&[]), message("@nick-at-acme.cc")]),
        (&all[..], vec![SessionEvent::AgentDisconnected(change("@ida.bot"))]),
        (&all[..], vec![leaving("@ida.bot", LeftReason::AccordRevoked)]),
        (&all[..], vec![leaving("@ida.bot", LeftReason::HostRestored)]),
        // Only who was joined at the end reopens a session, whatever the host says of its end.
        (&all[..], vec![end(&[]), reopening("@ida.bot")]),
        (&all[..2], vec![end(&["@ida.bot"]), reopening("@ida.bot")]),
        (
            &all[..2],
            vec![leaving("@ida.third", LeftReason::Left), end(&["@ida.third"]), reopening("@ida.third")],
        ),
    ] {
        let first = before.len() as u64 + 1;
        assert!(matches!(copy_result(before, first, &new), Err(CopyRefusal::Impossible(_))), "{new:?}");
    }
}

#[test]
fn given_a_copy_when_its_session_ended_then_whoever_was_joined_reopens_it() {
    let new_events = [end(&["@ida.bot"]), reopening("@ida.bot"), message("@ida.bot")];
    assert_eq!(copy_result(&events(), 4, &new_events).unwrap().events, new_events);
}

#[test]
fn given_a_copy_when_its_host_claims_what_no_agent_did_then_it_takes_only_what_comes_before() {
    let by_ida = invitation("@ida.second", "@ida.bot", false);
    let claims = [
        (&events()[..2], joining("@ida.bot"), vec![act("@ida.bot", Deed::Join)]),
        (&events()[..], by_ida.clone(), vec![act("@ida.bot", Deed::Invite(handle("@ida.second")))]),
        (
            &[&events()[..], &[end(&["@ida.bot"])]].concat(),
            reopening("@ida.bot"),
            vec![act("@ida.bot", Deed::Reopen)],
        ),
        // A reopening for whoever took part invites nobody new.
        (
            &[
                &events()[..],
                &[
                    invitation("@ida.second", "@nick-at-acme.cc", false),
                    leaving("@ida.second", LeftReason::Left),
                ],
            ]
            .concat(),
            by_ida.clone(),
            vec![act("@ida.bot", Deed::InviteReturning)],
        ),
    ];
    let from = BTreeSet::from([handle("@ida.bot")]);
    let with = |forwarded: &[OwnAct]| CopyFacts {
        has_accord: true,
        forwarded: forwarded.iter().cloned().collect(),
        admitting: [(handle("@ida.second"), Admission { from: from.clone(), needs_consent: false })].into(),
    };
    for (before, claim, needed) in claims {
        let (state, at) = fold(before);
        let said = leaving("@pia-at-acme.cc", LeftReason::Left);
        let both = CopyEvents {
            peer: peer(),
            first: at.next(),
            events: vec![said.clone(), claim.clone()],
            is_offered: true,
        };
        let alone = CopyEvents { events: vec![claim.clone()], ..both.clone() };
        let others = [act("@ida.second", Deed::Join), act("@ida.bot", Deed::Invite(handle("@ida.third")))];
        let taken = copy(&state, at, &both, &with(&others), &stamp()).unwrap().events;
        assert_eq!(taken, [said], "what comes before");
        assert_eq!(copy(&state, at, &alone, &with(&others), &stamp()), Err(CopyRefusal::NotForwarded));
        assert_eq!(copy(&state, at, &alone, &with(&needed), &stamp()).unwrap().events, [claim]);
    }
    let (state, at) = fold(&events());
    let new = CopyEvents { peer: peer(), first: at.next(), events: vec![by_ida], is_offered: true };
    let reopened = with(&[act("@ida.bot", Deed::InviteReturning)]);
    assert_eq!(copy(&state, at, &new, &reopened, &stamp()), Err(CopyRefusal::NotForwarded));
}

#[test]
fn given_an_invitation_that_the_invitee_does_not_admit_then_it_is_none_here() {
    let events = vec![
        creation("@nick-at-acme.cc", Some(peer())),
        invitation("@ida.other", "@nick-at-acme.cc", false),
        invitation("@ida.bot", "@nick-at-acme.cc", false),
    ];
    let copied_events = copy_result(&[], 1, &events).unwrap().events;
    let denied_flags: Vec<bool> = copied_events
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
    assert_eq!(denied_flags, [true, false]);
    let (state, _) = fold(&copied_events);
    assert!(state.participant(&handle("@ida.other")).is_none());
    let forged = copy_result(&copied_events, 4, &[joining("@ida.other")]);
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
    let command = SendMessage { caller: caller.clone(), draft };
    assert_eq!(decide::send(&state, at, &command, &people, &stamp()), Err(Rejection::Elsewhere(peer())));
    let join = decide::join(&state, &JoinSession(caller), &people, &stamp());
    assert_eq!(join, Err(Rejection::Elsewhere(peer())));
    let eviction = crate::command::EvictAgent { agent: handle("@nick-at-acme.cc"), blocker: None };
    let eviction = decide::evict(&state, &eviction, &stamp());
    assert_eq!((eviction.events.len(), eviction.reply.ok), (0, false));
}

/// The trust data of ann of this network, who invites guests of rose.
fn people(consents: &[(&str, Option<Consent>)]) -> People {
    let mut people = Trust::default().people("ann", &[]);
    let known_agent = |name: &str| plenary_accounts::KnownAgent {
        handle: handle(name),
        state: Default::default(),
        version: Version::ZERO,
        upon: None,
    };
    people.others.insert(handle(GUEST), known_agent(GUEST));
    people.crossing = Crossing {
        caller: None,
        peer_agents: [handle(GUEST)].into(),
        nonparticipants: BTreeSet::new(),
        consents: consents.iter().map(|(name, consent)| (handle(name), *consent)).collect::<BTreeMap<_, _>>(),
    };
    people
}

fn invite_command() -> InviteAgents {
    let caller = Caller { handle: handle("@o.ann"), token: plenary_accounts::TokenDigest::of("ann") };
    InviteAgents { caller, invite: Ok(vec![handle(GUEST)]) }
}

#[test]
fn given_a_guest_when_it_is_invited_then_its_network_is_asked_first() {
    let (state, _) = fold(&[creation("@o.ann", None)]);
    let decide_with = |consents: &[(&str, Option<Consent>)]| {
        decide::invite(&state, &invite_command(), &people(consents), &stamp())
    };
    assert_eq!(decide_with(&[]).unwrap_err(), Rejection::AskElsewhere(vec![handle(GUEST)]));
    assert_eq!(decide_with(&[(GUEST, None)]).unwrap_err(), Rejection::NotFound);
    let decision = decide_with(&[(GUEST, Some(Consent { held: true }))]).unwrap();
    let [SessionEvent::AgentInvited(event)] = &decision.events[..] else { panic!("{decision:?}") };
    assert_eq!((event.elsewhere, event.held, event.offered), (true, true, false));
}

#[test]
fn given_a_guest_when_it_invites_then_only_agents_that_take_part_in_the_accord_are_reached() {
    let mut trust = Trust::default();
    trust.add_fact(&format!("bob lists {GUEST}"));
    let guest = [creation("@o.ann", None), invitation(GUEST, "@o.ann", true), joining(GUEST)];
    let (state, _) = fold(&guest);
    let caller = Caller { handle: handle(GUEST), token: plenary_accounts::TokenDigest::of("") };
    let command = InviteAgents { caller, invite: Ok(vec![handle("@o.bob")]) };
    let decide_with = |nonparticipants: &[&str]| {
        let mut people = people(&[]);
        people.caller = people.others[&handle(GUEST)].clone();
        people.others.insert(handle("@o.bob"), trust.known_agent("bob"));
        people.crossing.caller = Some(true);
        people.crossing.nonparticipants = nonparticipants.iter().map(|name| handle(name)).collect();
        decide::invite(&state, &command, &people, &stamp())
    };
    assert_eq!(decide_with(&[]).unwrap().reply.invited, [handle("@o.bob")]);
    assert_eq!(decide_with(&["@o.bob"]).unwrap_err(), Rejection::NotFound);
}

#[test]
fn given_a_guest_when_the_accord_ends_then_it_leaves() {
    let guest = [creation("@o.ann", None), invitation(GUEST, "@o.ann", true), joining(GUEST)];
    let (state, _) = fold(&guest);
    assert!(state.crosses);
    let rose = "rose".parse().unwrap();
    let departures = decide::part(&state, &rose, LeftReason::AccordRevoked, &stamp()).events;
    let [SessionEvent::AgentLeft(AgentLeft { agent, reason: LeftReason::AccordRevoked, .. })] =
        &departures[..]
    else {
        panic!("{departures:?}")
    };
    assert_eq!(*agent, handle(GUEST));
    assert!(
        decide::part(&state, &peer(), LeftReason::AccordRevoked, &stamp()).events.is_empty(),
        "that of another accord"
    );
    let (state, _) = fold(&[&guest[..], &departures[..]].concat());
    assert_eq!(state.participant(agent).map(|part| part.standing), Some(Standing::Left));
    assert!(decide::part(&state, &rose, LeftReason::AccordRevoked, &stamp()).events.is_empty(), "once");
    assert!(!state.closed, "it is a session of this network");
}

#[test]
fn given_a_copy_when_the_accord_ends_then_its_members_leave_and_it_is_complete_for_ever() {
    let (state, _) = fold(&events());
    let departures = decide::part(&state, &peer(), LeftReason::AccordRevoked, &stamp()).events;
    let all = [&events()[..], &departures[..]].concat();
    let (state, at) = fold(&all);
    assert!(state.closed);
    assert_eq!(state.participant(&handle("@ida.bot")).map(|part| part.standing), Some(Standing::Left));
    let command = CopyEvents {
        peer: peer(),
        first: at.next(),
        events: vec![message("@nick-at-acme.cc")],
        is_offered: true,
    };
    assert_eq!(copy(&state, at, &command, &facts(true), &stamp()), Err(CopyRefusal::Taken));
}

#[test]
fn given_a_copy_when_its_host_was_restored_then_it_is_over_and_says_so() {
    let (state, _) = fold(&events());
    let departures = decide::part(&state, &peer(), LeftReason::HostRestored, &stamp()).events;
    let (state, at) = fold(&[&events()[..], &departures[..]].concat());
    assert!(state.closed);
    let mut people = people(&[]);
    let caller = Caller { handle: handle("@ida.bot"), token: plenary_accounts::TokenDigest::of("ann") };
    people.caller.handle = caller.handle.clone();
    let join = JoinSession(caller);
    assert_eq!(decide::join(&state, &join, &people, &stamp()).unwrap_err(), Rejection::CopyOver);
    let command = CopyEvents {
        peer: peer(),
        first: at.next(),
        events: vec![message("@nick-at-acme.cc")],
        is_offered: true,
    };
    assert_eq!(copy(&state, at, &command, &facts(true), &stamp()), Err(CopyRefusal::Taken));
}
