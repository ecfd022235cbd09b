//! Invitations by strangers: their detection, their index, and their limit.

use std::collections::{BTreeMap, BTreeSet};

use plenary_accounts::{KnownAgent, TokenDigest};
use plenary_engine::Room;
use plenary_kernel::{AgentHandle, TimestampMs, Version};
use plenary_log::IndexOp;
use serde_json::json;

use super::scene::{session, stamp, table};
use crate::{
    OFFER_EVENTS_MAX,
    command::{
        Caller, CreateBody, CreateSession, EndSession, EvictAgent, InviteAgents, JoinSession, LeaveSession,
        ReopenBody, ReopenSession, SettleInvitation,
    },
    crossing::Crossing,
    decide::{self, People, Rejection},
    event::SessionEvent,
    room::{BY_AGENT, OFFERED, OFFERED_BY, SessionRoom},
    state::{SessionState, Standing},
};

fn known_agent(handle: &str, lists: &[&str]) -> KnownAgent {
    let state = json!({
        "created_at": 1, "deleted": false, "policy": "open", "allowlist": lists, "blocks": {}, "self_service": false,
        "hold_invitations": handle == HOLDING_AGENT,
        "profile": {"visibility": "private"},
        "token": TokenDigest::of(handle),
    });
    let state = std::sync::Arc::new(serde_json::from_value(state).unwrap());
    KnownAgent { handle: handle.parse().unwrap(), state, version: Version(1), upon: None }
}

fn caller(handle: &str) -> Caller {
    Caller { handle: handle.parse().unwrap(), token: TokenDigest::of(handle) }
}

/// A session that `@x.ann` creates, and what follows, with its indexes.
#[derive(Default)]
struct Story {
    state: SessionState,
    head: Version,
    indexes: BTreeMap<&'static str, BTreeSet<String>>,
}

const LISTED_AGENT: &str = "@y.friend";
/// Lists everybody of `x`, and people decide about its invitations.
const HOLDING_AGENT: &str = "@y.held";

impl Story {
    fn people(handle: &str) -> People {
        let agents = ["@x.ann", "@z.cid", "@y.bob", "@y.cat", LISTED_AGENT, HOLDING_AGENT];
        let of = |agent: &str| {
            known_agent(agent, if agent == LISTED_AGENT || agent == HOLDING_AGENT { &["@x.*"] } else { &[] })
        };
        let others = agents.into_iter().filter(|other| *other != handle);
        let others = others.map(|other| (other.parse::<AgentHandle>().unwrap(), of(other))).collect();
        People {
            caller: of(handle),
            others,
            crowded_agents: BTreeSet::new(),
            files: BTreeMap::new(),
            consent: None,
            crossing: Crossing::default(),
        }
    }

    fn add(&mut self, events: Vec<SessionEvent>) {
        for event in events {
            self.head = self.head.next();
            self.state.evolve(self.head, TimestampMs(self.head.0), &event);
            for op in SessionRoom::index("s", &event) {
                match op {
                    IndexOp::Put { name, key, .. } => self.indexes.entry(name).or_default().insert(key),
                    IndexOp::Delete { name, key } => self.indexes.entry(name).or_default().remove(&key),
                };
            }
        }
    }

    fn created(invite: &[&str]) -> Self {
        let mut story = Self::default();
        let invite = invite.iter().map(|invitee| invitee.parse().unwrap()).collect();
        let body = Ok(CreateBody { invite, ..CreateBody::default() });
        let command = CreateSession { caller: caller("@x.ann"), body };
        story.add(decide::create(&session(), &command, &Self::people("@x.ann"), &stamp(1)).unwrap().events);
        story
    }

    fn invites(&mut self, by: &str, invitee: &str) {
        let command = InviteAgents { caller: caller(by), invite: Ok(vec![invitee.parse().unwrap()]) };
        self.add(decide::invite(&self.state, &command, &Self::people(by), &stamp(2)).unwrap().events);
    }

    fn joins(&mut self, agent: &str) {
        let command = JoinSession(caller(agent));
        self.add(decide::join(&self.state, &command, &Self::people(agent), &stamp(3)).unwrap().events);
    }

    fn has(&self, index: &str, key: &str) -> bool {
        self.indexes.get(index).is_some_and(|keys| keys.contains(key))
    }

    /// In which of the three indexes an agent's session stands, the offer by its owner.
    fn stands(&self, agent: &str) -> String {
        let key = format!("{agent}/s");
        let offers = self.indexes.get(OFFERED_BY).into_iter().flatten();
        let offers = offers.filter_map(|row| row.strip_prefix(&format!("{agent}/")));
        let by: Vec<_> = offers.map(|rest| rest.trim_end_matches("/s")).collect();
        let own = if self.has(BY_AGENT, &key) { "own" } else { "" };
        let offered = if self.has(OFFERED, &key) { "offered" } else { "" };
        format!("{own}{offered} {}", by.join(" ")).trim().to_owned()
    }
}

#[test]
fn a_strangers_invitation_stands_apart_until_it_is_answered() {
    let mut story = Story::created(&["@y.bob", LISTED_AGENT]);
    assert_eq!((story.stands("@y.bob").as_str(), story.stands(LISTED_AGENT).as_str()), ("offered x", "own"));
    story.joins("@y.bob");
    assert_eq!(story.stands("@y.bob"), "own");
    // Bob and cat belong to one owner.
    story.invites("@y.bob", "@y.cat");
    assert_eq!(story.stands("@y.cat"), "own");
}

fn ended(joined: Vec<AgentHandle>) -> SessionEvent {
    SessionEvent::SessionEnded(crate::event::SessionEnded {
        id: String::new(),
        by: None,
        joined,
        uncounted: Vec::new(),
    })
}

#[test]
fn the_last_who_invited_is_who_offers() {
    let mut story = Story::created(&["@y.bob", "@y.cat", "@z.cid"]);
    story.joins("@z.cid");
    let reopened = SessionEvent::SessionReopened(crate::event::SessionReopened {
        id: String::new(),
        by: "@z.cid".parse().unwrap(),
        returning: Vec::new(),
        settles: None,
    });
    story.add(vec![ended(vec!["@x.ann".parse().unwrap(), "@z.cid".parse().unwrap()]), reopened]);
    assert_eq!(story.stands("@y.bob"), "offered x", "it has not answered");
    story.invites("@z.cid", "@y.bob");
    assert_eq!(story.stands("@y.bob"), "offered z");
    story.joins("@y.bob");
    assert_eq!(story.stands("@y.bob"), "own");
    story.invites("@y.bob", "@y.cat");
    assert_eq!(story.stands("@y.cat"), "own", "an agent of its own owner is no stranger");
}

#[test]
fn past_the_limit_an_owner_offers_nothing_more() {
    table(&[
        ("bob is-crowded", "ann creates bob", "! 429 too_many_invitations"),
        ("bob is-crowded; cid is-closed", "ann creates bob cid", "! 404 not_found"),
        ("ann creates; bob is-crowded", "ann invites bob", "! 429 too_many_invitations"),
        ("ann creates; bob is-crowded", "ann invites bob cid", "ann invites cid => invited cid"),
        // Who took part already was counted when it was invited.
        (
            "ann creates; ann invites bob; bob joins; bob leaves; bob is-crowded",
            "ann invites bob",
            "ann invites bob => invited bob",
        ),
    ]);
}

#[test]
fn one_session_is_not_offered_again_and_again_to_an_agent_that_does_not_answer() {
    let mut story = Story::created(&["@y.bob"]);
    let reopened = |story: &Story| {
        let body = ReopenBody { invite: Some(vec!["@y.bob".parse().unwrap()]), ..ReopenBody::default() };
        let command = ReopenSession { caller: caller("@x.ann"), body: Ok(body) };
        let people = Story::people("@x.ann");
        decide::reopen(&story.state, Version(99), &command, &people, &stamp(9)).unwrap().events
    };
    let mut offers = 1;
    for _ in 0..OFFER_EVENTS_MAX {
        story.add(vec![ended(vec!["@x.ann".parse().unwrap()])]);
        let events = reopened(&story);
        offers += events.iter().filter(|event| matches!(event, SessionEvent::AgentInvited(_))).count();
        story.add(events);
    }
    assert_eq!(offers, 1 + OFFER_EVENTS_MAX / 3);
}

#[test]
fn an_invitation_that_is_held_waits_for_a_person() {
    let mut story = Story::created(&[HOLDING_AGENT]);
    let agent: AgentHandle = HOLDING_AGENT.parse().unwrap();
    let joins = |story: &Story| {
        decide::join(
            &story.state,
            &JoinSession(caller(HOLDING_AGENT)),
            &Story::people(HOLDING_AGENT),
            &stamp(3),
        )
    };
    assert_eq!(joins(&story).map(|decision| decision.events), Err(Rejection::InvitationHeld));
    let at = story.state.participant(&agent).unwrap().held.unwrap();
    let settled = |story: &Story, at, accepted| {
        let command = SettleInvitation { agent: HOLDING_AGENT.parse().unwrap(), at, accepted };
        decide::settle(&story.state, &command, &stamp(4)).events
    };
    assert_eq!(settled(&story, Version(at.0 + 1), true), [], "of another invitation");
    let declined = settled(&story, at, false);
    assert!(matches!(&declined[..], [SessionEvent::AgentLeft(left)] if left.held && left.agent == agent));
    story.add(declined);
    assert_eq!(settled(&story, at, true), [], "it is decided");
    story.invites("@x.ann", HOLDING_AGENT);
    let at = story.state.participant(&agent).unwrap().held.expect("held again");
    let accepted = settled(&story, at, true);
    assert!(matches!(&accepted[..], [SessionEvent::AgentJoined(joined)] if joined.released));
    story.add(accepted);
    assert_eq!(story.state.participant(&agent).unwrap().standing, Standing::Joined);
    // Who was let in once comes back by itself, and those of its own owner need nobody.
    let leaves = LeaveSession(caller(HOLDING_AGENT));
    story.add(decide::leave(&story.state, &leaves, &Story::people(HOLDING_AGENT), &stamp(5)).unwrap().events);
    story.invites("@x.ann", HOLDING_AGENT);
    assert!(joins(&story).is_ok());
    let mut own = Story::created(&["@y.bob"]);
    own.joins("@y.bob");
    own.invites("@y.bob", HOLDING_AGENT);
    assert!(joins(&own).is_ok());
}

fn sent_and_ended(invite: &[&str]) -> Story {
    let mut story = Story::default();
    let invite = invite.iter().map(|invitee| invitee.parse().unwrap()).collect();
    let initial_message = Some(super::sentences::draft("hello"));
    let body = CreateBody { invite, initial_message, end_after_send: true, ..CreateBody::default() };
    let command = CreateSession { caller: caller("@x.ann"), body: Ok(body) };
    story.add(decide::create(&session(), &command, &Story::people("@x.ann"), &stamp(1)).unwrap().events);
    story
}

fn reopened(story: &Story, agent: &str, consent: Option<bool>) -> Result<Vec<SessionEvent>, Rejection> {
    let command = ReopenSession { caller: caller(agent), body: Ok(ReopenBody::default()) };
    let people = People { consent, ..Story::people(agent) };
    decide::reopen(&story.state, story.head, &command, &people, &stamp(4)).map(|decision| decision.events)
}

#[test]
fn a_held_invitee_reopens_what_was_sent_and_ended_once_a_person_has_accepted() {
    let story = sent_and_ended(&[HOLDING_AGENT, LISTED_AGENT]);
    assert!(reopened(&story, LISTED_AGENT, None).is_ok());
    assert_eq!(reopened(&story, HOLDING_AGENT, None), Err(Rejection::InvitationHeld));
    assert_eq!(reopened(&story, HOLDING_AGENT, Some(false)), Err(Rejection::NotReopenable));
    assert!(reopened(&story, HOLDING_AGENT, Some(true)).is_ok());
    let again = reopened(&story, "@x.ann", None).unwrap();
    let held = |event: &SessionEvent| {
        let SessionEvent::AgentInvited(invited) = event else { return None };
        Some((invited.invitee.to_string(), invited.held))
    };
    let invited: Vec<_> = again.iter().filter_map(held).collect();
    assert_eq!(invited, [(LISTED_AGENT.to_owned(), false), (HOLDING_AGENT.to_owned(), true)]);
}

#[test]
fn reopening_answers_the_offer_of_a_send_and_end() {
    let mut story = sent_and_ended(&["@y.bob"]);
    assert_eq!(story.stands("@y.bob"), "offered x");
    let events = reopened(&story, "@y.bob", None).unwrap();
    story.add(events);
    assert_eq!(story.stands("@y.bob"), "own");
}

#[test]
fn an_offer_that_lapses_counts_unless_the_invitees_own_side_ended_the_session() {
    let ends = |story: &Story, agent: &str| {
        decide::end(&story.state, &EndSession(caller(agent)), &Story::people(agent), &stamp(5))
            .unwrap()
            .events
    };
    let mut story = Story::created(&["@y.bob", "@y.cat"]);
    let events = ends(&story, "@x.ann");
    story.add(events);
    assert_eq!(story.stands("@y.bob"), "offered x", "to invite and end again and again has a limit");
    let mut story = Story::created(&["@y.bob", "@y.cat"]);
    story.joins("@y.cat");
    let events = ends(&story, "@y.cat");
    story.add(events);
    assert_eq!(story.stands("@y.bob"), "offered");
    let mut story = Story::created(&["@y.bob"]);
    let evicts = EvictAgent { agent: "@x.ann".parse().unwrap(), blocker: Some("@y.bob".parse().unwrap()) };
    let events = decide::evict(&story.state, &evicts, &stamp(5)).events;
    story.add(events);
    assert_eq!(story.stands("@y.bob"), "offered", "it blocked the inviter");
}

#[test]
fn an_invitation_by_the_invitees_own_owner_replaces_a_held_one() {
    let mut story = Story::created(&[HOLDING_AGENT, "@y.bob"]);
    let agent: AgentHandle = HOLDING_AGENT.parse().unwrap();
    story.joins("@y.bob");
    story.invites("@x.ann", HOLDING_AGENT);
    assert!(story.state.participant(&agent).unwrap().held.is_some(), "a stranger's changes nothing");
    story.invites("@y.bob", HOLDING_AGENT);
    assert_eq!(story.state.participant(&agent).unwrap().held, None);
    story.joins(HOLDING_AGENT);
    assert_eq!(story.state.participant(&agent).unwrap().standing, Standing::Joined);
}
