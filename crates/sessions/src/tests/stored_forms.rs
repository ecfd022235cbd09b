//! The stored form of every event, byte for byte. They are frozen: a change is a new form beside the old one.

use bytes::Bytes;
use plenary_engine::golden::{assert_frozen, stored};
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Fault, StoredEvent};

use super::sentences::handle;
use crate::event::{
    AgentInvited, AgentLeft, AgentMoved, LapsedOffer, LeftReason, MessageHead, MessageSent, NamedFile, Names,
    Origin, Pending, SessionCreated, SessionEnded, SessionEvent, SessionReopened,
};

const ID: &str = "01JZ0000000000000000000001";

/// Ann invites Bob.
fn an_invitation() -> AgentInvited {
    AgentInvited {
        id: ID.into(),
        invitee: handle("bob"),
        by: handle("ann"),
        inline: false,
        offered: false,
        held: false,
        settles: None,
        denied: false,
        elsewhere: false,
    }
}

/// Bob leaves.
fn a_departure() -> AgentLeft {
    let (reason, forced) = (LeftReason::Left, false);
    AgentLeft { id: ID.into(), agent: handle("bob"), reason, forced, held: false, settles: None }
}

/// Messages in every shape, with the kind, envelope and payload.
fn messages() -> Vec<(SessionEvent, &'static str, String, &'static str)> {
    let members = r#""content":"caf\u00e9","idempotency_key":"k","metadata":{ "b" : 1.0 }"#;
    let origin = |hops, notice| Some(Origin { hops, notice });
    let pending = Pending { by: handle("ann"), until: 9 };
    let file = |id: &str, pending| NamedFile { id: id.parse().unwrap(), pending };
    let files = vec![file("file_1", Some(pending)), file("file_2", None)];
    let names = Box::new(Names { at: Version(3), files, elsewhere: false });
    let named =
        r#","names":{"at":3,"files":[{"id":"file_1","pending":{"by":"@o.ann","until":9}},{"id":"file_2"}]}"#;
    let there = Box::new(Names { at: Version(3), files: vec![file("file_3", None)], elsewhere: true });
    let named_there = r#","names":{"at":3,"files":[{"id":"file_3"}],"elsewhere":true}"#;
    [
        (None, None, ""),
        (origin(2, false), None, r#","origin":{"hops":2}"#),
        (origin(1, true), None, r#","origin":{"hops":1,"notice":true}"#),
        (None, Some(names), named),
        (None, Some(there), named_there),
    ]
    .map(|(origin, names, stored)| {
        let (id, members_sent) = (ID.into(), Bytes::from_static(members.as_bytes()));
        let sent =
            MessageSent { id, sender: handle("ann"), origin, names, trace: None, members: members_sent };
        let envelope = format!(r#"{{"id":"{ID}","sender":"@o.ann"{stored}}}"#);
        (SessionEvent::MessageSent(sent), "MessageSent", envelope, members)
    })
    .into()
}

/// A message with the span of its request.
fn traced(members: &'static str) -> (SessionEvent, &'static str, String, &'static str) {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let (id, members_sent) = (ID.into(), Bytes::from_static(members.as_bytes()));
    let (sender, trace) = (handle("ann"), Some(TRACE.into()));
    let sent = MessageSent { id, sender, origin: None, names: None, trace, members: members_sent };
    let envelope = format!(r#"{{"id":"{ID}","sender":"@o.ann","trace":"{TRACE}"}}"#);
    (SessionEvent::MessageSent(sent), "MessageSent", envelope, members)
}

/// Every other event in every shape, with its kind, envelope and payload.
fn others() -> Vec<(SessionEvent, &'static str, String, &'static str)> {
    let (ann, bob) = (handle("ann"), handle("bob"));
    let agent = || format!(r#"{{"id":"{ID}","agent":"@o.bob"}}"#);
    let moved = || AgentMoved { id: ID.into(), agent: bob.clone(), released: false, settles: None };
    let created = |topic: Option<&str>| {
        SessionEvent::SessionCreated(SessionCreated {
            creator: ann.clone(),
            topic: topic.map(str::to_owned),
            host: None,
        })
    };
    let invited = |inline| SessionEvent::AgentInvited(AgentInvited { inline, ..an_invitation() });
    let left = |reason, forced| SessionEvent::AgentLeft(AgentLeft { reason, forced, ..a_departure() });
    let ended = |by: Option<&AgentHandle>, joined| {
        SessionEvent::SessionEnded(SessionEnded {
            id: ID.into(),
            by: by.cloned(),
            joined,
            uncounted: Vec::new(),
        })
    };
    let by = format!(r#"{{"id":"{ID}","invitee":"@o.bob","by":"@o.ann""#);
    let gone = format!(r#"{{"id":"{ID}","agent":"@o.bob","reason""#);
    vec![
        (created(None), "SessionCreated", r#"{"creator":"@o.ann"}"#.into(), ""),
        (
            created(Some("té \"x\"")),
            "SessionCreated",
            r#"{"creator":"@o.ann","topic":"té \"x\""}"#.into(),
            "",
        ),
        (invited(false), "AgentInvited", format!("{by}}}"), ""),
        (invited(true), "AgentInvited", format!(r#"{by},"inline":true}}"#), ""),
        (SessionEvent::AgentJoined(moved()), "AgentJoined", agent(), ""),
        (SessionEvent::AgentDisconnected(moved()), "AgentDisconnected", agent(), ""),
        (SessionEvent::AgentReconnected(moved()), "AgentReconnected", agent(), ""),
        (left(LeftReason::Left, false), "AgentLeft", format!(r#"{gone}:"left"}}"#), ""),
        (left(LeftReason::Left, true), "AgentLeft", format!(r#"{gone}:"left","forced":true}}"#), ""),
        (left(LeftReason::GraceExpired, false), "AgentLeft", format!(r#"{gone}:"grace_expired"}}"#), ""),
        (
            ended(Some(&ann), vec![ann.clone(), bob.clone()]),
            "SessionEnded",
            format!(r#"{{"id":"{ID}","by":"@o.ann","joined":["@o.ann","@o.bob"]}}"#),
            "",
        ),
        (ended(None, vec![]), "SessionEnded", format!(r#"{{"id":"{ID}","joined":[]}}"#), ""),
    ]
}

/// A session that goes on after its end.
fn reopened() -> (SessionEvent, &'static str, String, &'static str) {
    let reopened =
        SessionReopened { id: ID.into(), by: handle("ann"), returning: vec![handle("bob")], settles: None };
    let envelope = format!(r#"{{"id":"{ID}","by":"@o.ann","returning":["@o.bob"]}}"#);
    (SessionEvent::SessionReopened(reopened), "SessionReopened", envelope, "")
}

/// What only sessions have in which agents of other networks take part.
fn crossing() -> Vec<(SessionEvent, &'static str, String, &'static str)> {
    let crossing =
        |denied, elsewhere| SessionEvent::AgentInvited(AgentInvited { denied, elsewhere, ..an_invitation() });
    let revoked = SessionEvent::AgentLeft(AgentLeft { reason: LeftReason::AccordRevoked, ..a_departure() });
    let by = format!(r#"{{"id":"{ID}","invitee":"@o.bob","by":"@o.ann""#);
    let gone = format!(r#"{{"id":"{ID}","agent":"@o.bob","reason":"accord_revoked"}}"#);
    let restored = AgentLeft { reason: LeftReason::HostRestored, forced: true, ..a_departure() };
    let restored = SessionEvent::AgentLeft(restored);
    let over = format!(r#"{{"id":"{ID}","agent":"@o.bob","reason":"host_restored","forced":true}}"#);
    vec![
        (
            SessionEvent::SessionCreated(SessionCreated {
                creator: "@nick-at-acme.cc".parse().unwrap(),
                topic: None,
                host: Some("acme".parse().unwrap()),
            }),
            "SessionCreated",
            r#"{"creator":"@nick-at-acme.cc","host":"acme"}"#.into(),
            "",
        ),
        (crossing(true, false), "AgentInvited", format!(r#"{by},"denied":true}}"#), ""),
        (crossing(false, true), "AgentInvited", format!(r#"{by},"elsewhere":true}}"#), ""),
        (revoked, "AgentLeft", gone, ""),
        (restored, "AgentLeft", over, ""),
    ]
}

/// What strangers offer, and what settles it.
fn offers() -> Vec<(SessionEvent, &'static str, String, &'static str)> {
    let bob = handle("bob");
    let owner = || Some("x".to_owned());
    let moved = || AgentMoved { id: ID.into(), agent: bob.clone(), released: false, settles: None };
    let offered =
        |settles| SessionEvent::AgentInvited(AgentInvited { offered: true, settles, ..an_invitation() });
    let settling = || AgentLeft { forced: true, settles: owner(), ..a_departure() };
    let by = format!(r#"{{"id":"{ID}","invitee":"@o.bob","by":"@o.ann""#);
    let gone = format!(r#"{{"id":"{ID}","agent":"@o.bob","reason""#);
    vec![
        (offered(None), "AgentInvited", format!(r#"{by},"offered":true}}"#), ""),
        (offered(owner()), "AgentInvited", format!(r#"{by},"offered":true,"settles":"x"}}"#), ""),
        (
            SessionEvent::AgentJoined(AgentMoved { settles: owner(), ..moved() }),
            "AgentJoined",
            format!(r#"{{"id":"{ID}","agent":"@o.bob","settles":"x"}}"#),
            "",
        ),
        (
            SessionEvent::AgentLeft(settling()),
            "AgentLeft",
            format!(r#"{gone}:"left","forced":true,"settles":"x"}}"#),
            "",
        ),
        (
            SessionEvent::SessionReopened(SessionReopened {
                id: ID.into(),
                by: bob.clone(),
                returning: Vec::new(),
                settles: owner(),
            }),
            "SessionReopened",
            format!(r#"{{"id":"{ID}","by":"@o.bob","returning":[],"settles":"x"}}"#),
            "",
        ),
        (
            SessionEvent::SessionEnded(SessionEnded {
                id: ID.into(),
                by: None,
                joined: Vec::new(),
                uncounted: vec![LapsedOffer { invitee: bob.clone(), owner: "x".to_owned() }],
            }),
            "SessionEnded",
            format!(r#"{{"id":"{ID}","joined":[],"uncounted":[{{"invitee":"@o.bob","owner":"x"}}]}}"#),
            "",
        ),
    ]
}

/// What waits for a person, and how it ends.
fn holds() -> Vec<(SessionEvent, &'static str, String, &'static str)> {
    let invited = AgentInvited { held: true, ..an_invitation() };
    let joined = AgentMoved { id: ID.into(), agent: handle("bob"), released: true, settles: None };
    let left = AgentLeft { held: true, ..a_departure() };
    vec![
        (
            SessionEvent::AgentInvited(invited),
            "AgentInvited",
            format!(r#"{{"id":"{ID}","invitee":"@o.bob","by":"@o.ann","held":true}}"#),
            "",
        ),
        (
            SessionEvent::AgentJoined(joined),
            "AgentJoined",
            format!(r#"{{"id":"{ID}","agent":"@o.bob","released":true}}"#),
            "",
        ),
        (
            SessionEvent::AgentLeft(left),
            "AgentLeft",
            format!(r#"{{"id":"{ID}","agent":"@o.bob","reason":"left","held":true}}"#),
            "",
        ),
    ]
}

fn forms() -> impl Iterator<Item = (SessionEvent, &'static str, String, &'static str)> {
    messages()
        .into_iter()
        .chain([traced("")])
        .chain(others())
        .chain([reopened()])
        .chain(crossing())
        .chain(offers())
        .chain(holds())
}

#[test]
fn stored_forms_are_frozen() {
    for (event, kind, envelope, payload) in forms() {
        assert_frozen(&event, kind, &envelope, payload);
    }
}

#[test]
fn the_head_of_a_message_is_that_of_the_whole_and_nothing_else_has_one() {
    for (event, ..) in forms() {
        let stored = stored(event.encode());
        let expected = if let SessionEvent::MessageSent(MessageSent { id, sender, .. }) = &event {
            Some(MessageHead { id, sender: sender.as_str() })
        } else {
            None
        };
        assert_eq!(MessageHead::read(&stored).unwrap(), expected);
    }
    let (event, ..) = traced("");
    let newer = StoredEvent { form: 2, ..stored(event.encode()) };
    assert!(matches!(MessageHead::read(&newer), Err(Fault::Corrupt(_))), "an unknown form is not guessed");
}

#[test]
fn every_kind_is_among_the_frozen_ones() {
    let kinds: std::collections::BTreeSet<_> = forms().map(|(_, kind, _, _)| kind).collect();
    assert_eq!(kinds.len(), 9);
}

#[test]
fn an_envelope_that_can_not_be_read_is_corrupt() {
    for (event, _, envelope, _) in forms() {
        let upper_case = envelope.replace("@o.", "O.");
        for bad in ["{}", &upper_case] {
            if bad != envelope {
                let bad = StoredEvent { envelope: Bytes::from(bad.to_owned()), ..stored(event.encode()) };
                assert!(matches!(SessionEvent::decode(&bad), Err(Fault::Corrupt(_))), "{bad:?}");
            }
        }
    }
}
