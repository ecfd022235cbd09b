//! The invariants after every step of every story.

use std::collections::{BTreeMap, BTreeSet};

use plenary_engine::Room;
use plenary_kernel::{AgentHandle, Version};
use plenary_log::IndexOp;
use proptest::prelude::*;

use super::{
    random::{FOUR, Turn, may_read, moves, tell_story},
    scene::{Scene, handle, id, sentence_of, session},
};
use crate::{
    event::SessionEvent,
    room::{AWAY, BY_AGENT, JOINED, SessionRoom},
    state::{Phase, SessionState, Standing},
    views::{ParticipantView, view},
};

/// The versions that an agent may read by its state.
fn reads(scene: &Scene, agent: &str) -> BTreeSet<u64> {
    scene.reads(agent).iter().map(|sequence| sequence + 1).collect()
}

fn standing(scene: &Scene, agent: &str) -> Option<Standing> {
    scene.state.participant(&handle(agent)).map(|participant| participant.standing)
}

fn story(turns: &[Turn]) -> String {
    turns
        .last()
        .map(|turn| turn.after.log.iter().map(sentence_of).collect::<Vec<_>>().join("; "))
        .unwrap_or_default()
}

/// Whether a session is ended by its events.
fn is_over(log: &[SessionEvent]) -> bool {
    let is_ended = log.iter().rev().find_map(|event| match event {
        SessionEvent::SessionEnded(_) => Some(true),
        SessionEvent::SessionReopened(_) | SessionEvent::SessionCreated(_) => Some(false),
        SessionEvent::MessageSent(_)
        | SessionEvent::AgentInvited(_)
        | SessionEvent::AgentJoined(_)
        | SessionEvent::AgentDisconnected(_)
        | SessionEvent::AgentReconnected(_)
        | SessionEvent::AgentLeft(_) => None,
    });
    is_ended.unwrap_or_default()
}

/// The keys of the room's indexes, as the events make them.
fn indexes(log: &[SessionEvent]) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut indexes =
        BTreeMap::from([(BY_AGENT, BTreeSet::new()), (JOINED, BTreeSet::new()), (AWAY, BTreeSet::new())]);
    for op in log.iter().flat_map(|event| SessionRoom::index("s", event)) {
        match op {
            IndexOp::Put { name, key, .. } => indexes.get_mut(name).unwrap().insert(key),
            IndexOp::Delete { name, key } => indexes.get_mut(name).unwrap().remove(&key),
        };
    }
    indexes
}

fn keys<'a>(handles: impl Iterator<Item = &'a AgentHandle>) -> BTreeSet<String> {
    handles.map(|handle| format!("{handle}/s")).collect()
}

fn check_state(scene: &Scene) -> Result<(), TestCaseError> {
    let joined = || scene.state.standing(Standing::Joined);
    prop_assert_eq!(scene.state.phase == Phase::Ended, is_over(&scene.log));
    prop_assert!(
        scene.state.phase == Phase::Ended || joined().next().is_some(),
        "active means that somebody is joined"
    );
    for agent in FOUR {
        prop_assert_eq!(
            scene.reads(agent),
            sequences(&may_read(&scene.log, agent)),
            "what {} may read",
            agent
        );
    }
    let away_agents =
        scene.state.participants.iter().filter(|(_, p)| p.away.is_some()).map(|(handle, _)| handle);
    let active = || joined().filter(|_| scene.state.phase == Phase::Active);
    let indexes = indexes(&scene.log);
    prop_assert_eq!(&indexes[BY_AGENT], &keys(scene.state.participants.keys()));
    prop_assert_eq!(&indexes[JOINED], &keys(active()));
    prop_assert_eq!(&indexes[AWAY], &keys(away_agents));
    let restored: SessionState = serde_json::from_slice(&serde_json::to_vec(&scene.state).unwrap()).unwrap();
    prop_assert_eq!(&restored, &scene.state, "a snapshot gives the state back");
    Ok(())
}

/// The agents that an event names; an end names nobody to those who do not know them.
fn named(event: &SessionEvent) -> Vec<AgentHandle> {
    match event {
        SessionEvent::SessionCreated(event) => vec![event.creator.clone()],
        SessionEvent::MessageSent(event) => vec![event.sender.clone()],
        SessionEvent::AgentInvited(event) => vec![event.invitee.clone(), event.by.clone()],
        SessionEvent::AgentJoined(event)
        | SessionEvent::AgentDisconnected(event)
        | SessionEvent::AgentReconnected(event) => vec![event.agent.clone()],
        SessionEvent::AgentLeft(event) => vec![event.agent.clone()],
        SessionEvent::SessionEnded(_) => Vec::new(),
        SessionEvent::SessionReopened(event) => vec![event.by.clone()],
    }
}

/// An agent is shown the session as it is now, with the participants that the events name that it may read.
fn check_views(scene: &Scene) -> Result<(), TestCaseError> {
    let state = &scene.state;
    for agent in FOUR {
        let Some(shown) = view(session(), state, &handle(agent)) else {
            prop_assert!(state.participant(&handle(agent)).is_none(), "a stranger sees nothing");
            continue;
        };
        prop_assert_eq!((shown.state, shown.ended_at), (state.phase, state.ended_at));
        let visible = std::iter::once(1).chain(may_read(&scene.log, agent));
        let events = visible.map(|version| &scene.log[usize::try_from(version).unwrap() - 1]);
        let expected: BTreeSet<_> = events.flat_map(named).collect();
        let found: BTreeSet<_> = shown.participants.iter().map(|part| part.handle.clone()).collect();
        prop_assert_eq!(&found, &expected, "the participants that {} sees", agent);
        for ParticipantView { handle, status, left_at, .. } in shown.participants {
            let part = state.participant(&handle).unwrap();
            prop_assert_eq!((status, left_at), (part.standing, part.left_at), "{} to {}", handle, agent);
            prop_assert!(shown.state == Phase::Active || status != Standing::Invited, "ASP-75");
        }
    }
    Ok(())
}

fn sequences(versions: &[u64]) -> Vec<u64> {
    versions.iter().map(|version| version - 1).collect()
}

fn check_turn(turn: &Turn) -> Result<(), TestCaseError> {
    let Turn { request, before, events, after } = turn;
    for agent in FOUR {
        let (readable_before, readable_after) = (reads(before, agent), reads(after, agent));
        prop_assert!(
            readable_before.is_subset(&readable_after),
            "nothing that {} could read is taken back",
            agent
        );
        if standing(before, agent) == Some(Standing::Left) && standing(after, agent) == Some(Standing::Left) {
            prop_assert_eq!(readable_before, readable_after, "{} has left and reads nothing more", agent);
        }
    }
    prop_assert!(reads(after, "eve").is_empty() && standing(after, "eve").is_none());
    prop_assert!(!(request.starts_with("eve") && events.is_some()), "a stranger is refused");
    let is_by_participant =
        ["says", "invites", "leaves", "ends"].iter().any(|verb| request.split(' ').nth(1) == Some(verb));
    if is_by_participant && events.is_some() {
        let actor = request.split(' ').next().unwrap();
        prop_assert_eq!(standing(before, actor), Some(Standing::Joined), "only who is joined acts");
        prop_assert_eq!(before.state.phase, Phase::Active);
    }
    if let Some(SessionEvent::MessageSent(_)) = events.iter().flatten().next()
        && request.ends_with("says ho")
    {
        let (_, reply) = before.decide(request).unwrap();
        prop_assert_eq!(reply, format!("at {}", before.head().0), "the number is the place");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn asp_27_asp_33_asp_78_to_asp_81_every_story_keeps_its_invariants(moves in moves(60)) {
        let turns = tell_story(&moves);
        for turn in &turns {
            check_turn(turn)
                .and_then(|()| check_state(&turn.after))
                .and_then(|()| check_views(&turn.after))
                .map_err(|error| TestCaseError::fail(format!("{error}\nat {}\nin {}", turn.request, story(&turns))))?;
        }
        let last = &turns.last().unwrap().after;
        prop_assert_eq!(last.head(), Version(last.log.len() as u64));
        prop_assert!(matches!(last.log[0], SessionEvent::SessionCreated(_)));
        prop_assert!(!last.log[1..].iter().any(|event| matches!(event, SessionEvent::SessionCreated(_))));
    }

    #[test]
    fn asp_32_no_two_events_of_a_story_have_one_id(moves in moves(60)) {
        let turns = tell_story(&moves);
        let log = &turns.last().unwrap().after.log;
        let ids: BTreeSet<_> = log.iter().filter_map(id).collect();
        prop_assert_eq!(ids.len(), log.len() - 1);
    }

    #[test]
    fn asp_50_returns_follow_drops_one_for_one(moves in moves(80)) {
        let turns = tell_story(&moves);
        let mut away_agents = BTreeSet::new();
        for event in &turns.last().unwrap().after.log {
            match event {
                SessionEvent::AgentDisconnected(event) => prop_assert!(away_agents.insert(event.agent.clone())),
                SessionEvent::AgentReconnected(event) => prop_assert!(away_agents.remove(&event.agent)),
                SessionEvent::AgentLeft(event) => drop(away_agents.remove(&event.agent)),
                SessionEvent::SessionEnded(_) => away_agents.clear(),
                SessionEvent::SessionCreated(_)
                | SessionEvent::MessageSent(_)
                | SessionEvent::AgentInvited(_)
                | SessionEvent::AgentJoined(_)
                | SessionEvent::SessionReopened(_) => {}
            }
        }
    }
}
