//! Given, when, then: the events of a stream, a command, and the decision.

use bytes::Bytes;
use plenary_accounts::{Actor, Authority, TokenDigest};
use plenary_engine::Decision;
use plenary_kernel::{Refusal, Stamp, TimestampMs, Version};

use crate::{
    access::{Access, People, access},
    command::{
        AdmitOwner, AppendEvent, AppendReceipt, Caller, ChangeKey, CloseChannel, CloseReceipt, CreateChannel,
        Draft, KeyChanged,
    },
    decide::{self, Rejection},
    event::{ChannelClosed, ChannelCreated, ChannelEvent, EventAppended, FirstClosing, Joins, OwnerAdmitted},
    key::LinkKey,
    state::{ChannelState, RUN},
};

pub(super) fn key() -> LinkKey {
    "0af7651916cd43dd8448eb211c80319c".parse().unwrap()
}

fn other_key() -> LinkKey {
    "1af7651916cd43dd8448eb211c80319c".parse().unwrap()
}

/// A caller that sends the key of the channel.
pub(super) fn caller(actor: &str) -> Caller {
    let by: Actor = actor.parse().unwrap();
    let authority = Some(Authority { by, token: Some(TokenDigest::of(actor)) });
    Caller { authority, key: Some(key()), open: false }
}

/// A caller that does not send the key.
fn stranger(actor: &str) -> Caller {
    Caller { key: None, ..caller(actor) }
}

pub(super) fn anyone() -> Caller {
    Caller { authority: None, key: Some(key()), open: true }
}

/// A valid token, without the states of agents.
pub(super) fn people() -> People {
    People { is_authorized: true, ..People::default() }
}

fn stamp(ms: u64) -> Stamp {
    Stamp::new(TimestampMs(ms), [7; 10])
}

/// A channel with its version.
#[derive(Default, Clone)]
pub(super) struct Scene {
    pub(super) state: ChannelState,
    pub(super) version: Version,
}

impl Scene {
    /// A channel that `creator` created at 1000 ms.
    pub(super) fn created(creator: Caller) -> Self {
        let mut scene = Self::default();
        let decision = decide::create(&scene.state, &people(), &stamp(1_000), &create(creator));
        scene.happens(1_000, decision.unwrap());
        scene
    }

    fn admit(&mut self, caller: Caller) -> Result<Vec<ChannelEvent>, Rejection> {
        let decision = decide::admit(&self.state, &people(), &AdmitOwner { caller })?;
        self.happens(2_000, decision.clone());
        Ok(decision.events)
    }

    fn change_key(&mut self, by: Caller, only_if_none: bool) -> Result<KeyChanged, Rejection> {
        self.change(&ChangeKey { caller: by, key: other_key(), only_if_none, revokes: false })
    }

    fn change(&mut self, command: &ChangeKey) -> Result<KeyChanged, Rejection> {
        let decision = decide::change_key(&self.state, &people(), command)?;
        let reply = decision.reply.clone();
        self.happens(2_000, decision);
        Ok(reply)
    }

    fn access(&self, by: &Caller) -> Option<Access> {
        access(&self.state, by, &people())
    }

    fn happens<R>(&mut self, at: u64, decision: Decision<ChannelEvent, R>) {
        for event in decision.events {
            self.version = self.version.next();
            self.state.evolve(self.version, TimestampMs(at), &event);
        }
    }

    pub(super) fn decide(
        &self,
        at: u64,
        command: &AppendEvent,
    ) -> Result<Decision<ChannelEvent, AppendReceipt>, Rejection> {
        decide::append(&self.state, self.version, &people(), &stamp(at), command)
    }

    pub(super) fn append(&mut self, at: u64, by: Caller, kind: &str) -> EventAppended {
        let decision = self.decide(at, &append(by, kind)).unwrap();
        let [ChannelEvent::EventAppended(event)] = &decision.events[..] else { panic!("one event") };
        let event = event.clone();
        self.happens(at, decision);
        event
    }

    pub(super) fn close(&mut self, at: u64, by: Caller) -> ChannelClosed {
        let decision =
            decide::close(&self.state, &people(), &stamp(at), &CloseChannel { caller: by }).unwrap();
        assert_eq!(decision.reply, CloseReceipt { at: TimestampMs(at) });
        let [ChannelEvent::ChannelClosed(event)] = &decision.events[..] else { panic!("one event") };
        let event = event.clone();
        self.happens(at, decision);
        event
    }
}

fn create(caller: Caller) -> CreateChannel {
    CreateChannel { caller, id: "VHGC".parse().unwrap(), title: "t".into(), created_by: None, key: key() }
}

fn draft(kind: &str) -> Draft {
    Draft { kind: kind.into(), author: None, payload: Bytes::from_static(b"{}") }
}

pub(super) fn append(caller: Caller, kind: &str) -> AppendEvent {
    AppendEvent { caller, draft: Ok(draft(kind)), trace: None, reject_after_close: false }
}

#[test]
fn ch_21_the_creator_is_the_handle_unless_it_says_otherwise() {
    for (creator, created_by, expected) in [
        (caller("@o.ann"), None, "@o.ann"),
        (caller("~o"), None, "~o"),
        (caller("operator"), None, "operator"),
        (anyone(), None, ""),
        (caller("@o.ann"), Some("claude-linux-a-1a2b"), "claude-linux-a-1a2b"),
    ] {
        let command = CreateChannel { created_by: created_by.map(str::to_owned), ..create(creator.clone()) };
        let decision = decide::create(&ChannelState::default(), &people(), &stamp(5), &command).unwrap();
        let event = ChannelCreated {
            title: "t".into(),
            created_by: expected.into(),
            via: creator.via().cloned(),
            created: TimestampMs(5),
            key: Some(key()),
        };
        assert_eq!(decision.events, [ChannelEvent::ChannelCreated(event)]);
        assert_eq!((decision.reply.created_by.as_str(), decision.reply.at), (expected, TimestampMs(5)));
    }
}

#[test]
fn ch_37_an_id_that_is_taken_is_refused_whatever_became_of_its_channel() {
    let mut scene = Scene::created(caller("@o.ann"));
    let create_again =
        |scene: &Scene| decide::create(&scene.state, &people(), &stamp(9), &create(caller("@p.bob")));
    assert_eq!(create_again(&scene), Err(Rejection::IdTaken));
    scene.close(2_000, caller("@o.ann"));
    assert_eq!(create_again(&scene), Err(Rejection::IdTaken));
}

#[test]
fn a_token_that_is_dead_does_nothing() {
    let scene = Scene::created(caller("@o.ann"));
    let (state, at, by) = (&scene.state, stamp(9), caller("@o.ann"));
    assert_eq!(
        decide::create(&ChannelState::default(), &People::default(), &at, &create(by.clone())),
        Err(Rejection::Unauthenticated)
    );
    let appending = decide::append(state, scene.version, &People::default(), &at, &append(by.clone(), "log"));
    assert_eq!(appending, Err(Rejection::Unauthenticated));
    assert_eq!(
        decide::close(state, &People::default(), &at, &CloseChannel { caller: by }),
        Err(Rejection::Unauthenticated)
    );
}

#[test]
fn ch_30_whether_there_is_a_channel_comes_before_what_is_wrong_with_the_body() {
    let (nothing, by) = (Scene::default(), caller("@o.ann"));
    let wrong = Refusal::malformed("x", "y");
    let command = AppendEvent { draft: Err(wrong.clone()), ..append(by.clone(), "log") };
    assert_eq!(nothing.decide(9, &command), Err(Rejection::NoSuchChannel));
    assert_eq!(Scene::created(by.clone()).decide(9, &command), Err(Rejection::Body(wrong)));
    let closing = decide::close(&nothing.state, &people(), &stamp(9), &CloseChannel { caller: by });
    assert_eq!(closing, Err(Rejection::NoSuchChannel));
}

#[test]
fn ch_9_10_an_append_is_one_event_with_its_author_and_its_bearer() {
    let mut scene = Scene::created(caller("@o.ann"));
    let event = scene.append(2_000, caller("@o.ann"), "comms");
    assert_eq!((event.kind.as_str(), event.author.as_str()), ("comms", "@o.ann"));
    let named = AppendEvent {
        draft: Ok(Draft { author: Some("free form".into()), ..draft("any kind at all") }),
        ..append(caller("@o.ann"), "")
    };
    let decision = scene.decide(3_000, &named).unwrap();
    assert_eq!(decision.reply, AppendReceipt { version: Version(3), at: TimestampMs(3_000) });
    let [ChannelEvent::EventAppended(event)] = &decision.events[..] else { panic!("one event") };
    assert_eq!((event.author.as_str(), event.via.clone()), ("free form", Some("@o.ann".parse().unwrap())));
    assert_eq!(scene.append(3_000, anyone(), "log").author, "");
}

#[test]
fn an_owner_takes_part_from_its_first_event_on() {
    let mut scene = Scene::created(caller("@o.ann"));
    assert_eq!(scene.append(2_000, caller("@o.bob"), "log").joins, None, "its owner created the channel");
    let joins = |open| Some(Joins { owner: "p".parse().unwrap(), created: TimestampMs(1_000), open });
    assert_eq!(scene.append(2_000, caller("~p"), "log").joins, joins(true));
    assert_eq!(scene.append(2_000, caller("@p.bob"), "log").joins, None);
    assert_eq!(scene.append(2_000, caller("operator"), "log").joins, None);
    let mut late = Scene::created(caller("@o.ann"));
    late.close(1_500, caller("@o.ann"));
    assert_eq!(late.append(2_000, caller("@p.bob"), "log").joins, joins(false));
}

#[test]
fn ch_27_a_closed_channel_takes_events_unless_it_is_said_otherwise() {
    let mut scene = Scene::created(caller("@o.ann"));
    let strict = AppendEvent { reject_after_close: true, ..append(caller("@p.bob"), "log") };
    assert!(scene.decide(1_500, &strict).is_ok());
    let first = FirstClosing { created: TimestampMs(1_000), owners: vec!["o".parse().unwrap()] };
    assert_eq!(scene.close(2_000, caller("@o.ann")).first, Some(first));
    assert_eq!(scene.state.closed_at, Some(TimestampMs(2_000)));
    assert_eq!(scene.decide(2_500, &strict), Err(Rejection::ChannelClosed));
    scene.append(2_500, caller("@o.ann"), "log");
    assert_eq!(scene.state.closed_at, Some(TimestampMs(2_000)));
    assert_eq!(scene.close(3_000, caller("@p.bob")).first, None);
    assert_eq!(scene.state.closed_at, Some(TimestampMs(3_000)), "a repeat stamps it again");
}

#[test]
fn ch_24_the_first_event_of_a_kind_in_each_run_is_marked() {
    let mut scene = Scene::created(caller("@o.ann"));
    let mut marked = Vec::new();
    for n in 0..(3 * RUN) {
        let kind = if n % 50 == 7 { "rare" } else { "log" };
        if let Some(run) = scene.append(2_000, caller("@o.ann"), kind).run {
            marked.push((run, kind, scene.version.0));
        }
    }
    // The creation has version 1, so the 8th event has version 9.
    let expected = [(0, "log", 2), (0, "rare", 9)];
    assert_eq!(marked[..2], expected[..2]);
    assert_eq!(
        marked[2..],
        [(1, "log", 65), (1, "rare", 109), (2, "log", 129), (2, "rare", 159), (3, "log", 193)]
    );
    assert!(scene.state.kinds.len() <= 2);
}

#[test]
fn d_6_its_owner_the_operator_and_who_has_the_link_may_use_a_channel() {
    let scene = Scene::created(caller("@o.ann"));
    for (reader, expected) in [
        (stranger("@o.ann"), Some(Access::Owner)),
        (stranger("@o.other"), Some(Access::Owner)),
        (stranger("~o"), Some(Access::Owner)),
        (stranger("operator"), Some(Access::Owner)),
        (caller("@p.bob"), Some(Access::Key)),
        (caller("~p"), Some(Access::Key)),
        (anyone(), Some(Access::Key)),
        (stranger("@p.bob"), None),
        (stranger("~p"), None),
        (Caller { key: Some(other_key()), ..caller("@p.bob") }, None),
        (Caller { key: None, ..anyone() }, None),
    ] {
        assert_eq!(scene.access(&reader), expected, "{reader:?}");
    }
    let refused = scene.decide(2_000, &append(stranger("@p.bob"), "log"));
    assert_eq!(refused, Err(Rejection::NoSuchChannel));
    let closing = CloseChannel { caller: stranger("@p.bob") };
    assert_eq!(decide::close(&scene.state, &people(), &stamp(9), &closing), Err(Rejection::NoSuchChannel));
}

#[test]
fn d_6_a_channel_without_an_owner_is_open_where_no_token_is_needed() {
    let scene = Scene::created(anyone());
    let open = |who: Caller| Caller { open: true, ..who };
    assert_eq!(scene.access(&Caller { key: None, ..anyone() }), Some(Access::Open));
    assert_eq!(scene.access(&open(stranger("@p.bob"))), Some(Access::Open));
    assert_eq!(scene.access(&stranger("@p.bob")), None);
    assert_eq!(scene.access(&stranger("operator")), Some(Access::Owner));
    let theirs = Scene::created(caller("operator"));
    assert_eq!(theirs.access(&Caller { key: None, ..anyone() }), None, "a token created it");
}

#[test]
fn d_6_an_owner_that_has_shown_the_key_is_remembered_once() {
    let mut scene = Scene::created(caller("@o.ann"));
    let event = OwnerAdmitted { owner: "p".parse().unwrap(), via: Some("@p.bob".parse().unwrap()) };
    assert_eq!(scene.admit(stranger("@p.bob")), Err(Rejection::NoSuchChannel));
    assert_eq!(scene.admit(caller("@p.bob")), Ok(vec![ChannelEvent::OwnerAdmitted(event)]));
    for member in ["@p.bob", "@p.other", "~p"] {
        assert_eq!(scene.access(&stranger(member)), Some(Access::Admitted), "{member}");
        assert_eq!(scene.admit(caller(member)), Ok(Vec::new()), "{member}");
    }
    for nobody in [caller("@o.other"), caller("operator"), anyone()] {
        assert_eq!(scene.admit(nobody), Ok(Vec::new()), "needs no key, or has no owner");
    }
    assert_eq!(scene.access(&stranger("@q.eve")), None);
}

#[test]
fn d_6_its_owner_changes_the_key_and_admitted_owners_stay_unless_it_revokes() {
    let mut scene = Scene::created(caller("@o.ann"));
    scene.admit(caller("@p.bob")).unwrap();
    assert_eq!(scene.change_key(stranger("@q.eve"), false), Err(Rejection::NoSuchChannel));
    assert_eq!(scene.change_key(stranger("@p.bob"), false), Err(Rejection::NotItsOwner));
    assert_eq!(scene.change_key(caller("@q.eve"), false), Err(Rejection::NotItsOwner));
    assert_eq!(scene.change_key(stranger("~o"), true), Ok(KeyChanged { key: key() }), "there is one");
    for owner in ["~o", "@o.other", "operator"] {
        assert_eq!(scene.change_key(stranger(owner), false), Ok(KeyChanged { key: other_key() }), "{owner}");
    }
    assert_eq!(scene.access(&caller("@q.eve")), None, "the former key");
    assert_eq!(scene.access(&Caller { key: Some(other_key()), ..caller("@q.eve") }), Some(Access::Key));
    assert_eq!(scene.access(&stranger("@p.bob")), Some(Access::Admitted));
    let command = ChangeKey { caller: caller("@o.ann"), key: key(), only_if_none: false, revokes: true };
    scene.change(&command).unwrap();
    assert_eq!(scene.access(&stranger("@p.bob")), None, "it must show the new key");
}

#[test]
fn d_6_a_channel_from_before_links_had_keys_gets_one() {
    let mut scene = Scene::created(caller("@o.ann"));
    scene.state.key = None;
    assert_eq!(scene.access(&caller("@p.bob")), None, "no key fits where there is none");
    assert_eq!(scene.change_key(stranger("@o.ann"), true), Ok(KeyChanged { key: other_key() }));
    assert_eq!(scene.state.key, Some(other_key()));
}
