//! The permissions of senders (FO-9, FO-11, FO-47 to FO-52, FO-77, FO-85, D.5).

use std::{sync::Arc, time::Duration};

use plenary_accounts::{TokenOwner, org::state::OrgState};
use plenary_kernel::{AgentHandle, SovereignHandle, TimestampMs};
use serde_json::json;

use super::samples::{advisory, frame, payload, read, with};
use crate::{
    decide::{Agents, Audience, Target, check_created_at, coarse, identity, members, reached, target},
    frame::Frame,
    rejection::Rejection,
    scope::{Scope, Sessions},
    session::{Session, SessionNames},
};

fn agent(handle: &str) -> TokenOwner {
    TokenOwner::Agent(handle.parse().unwrap())
}

fn to(recipient: &str) -> Frame {
    read(&with(advisory(), "recipient_handle", recipient)).unwrap()
}

#[test]
fn fo_9_77_a_frame_speaks_for_the_tokens_own_principal_alone() {
    let field = |frame: &Frame, caller: &TokenOwner| match identity(frame, caller) {
        Ok(_) => String::new(),
        Err(Rejection::SenderIdentityMismatch { field }) => field,
        Err(other) => panic!("{other:?}"),
    };
    let own = read(&advisory()).unwrap();
    assert_eq!(field(&own, &agent("@nick.bot")), "");
    assert_eq!(field(&own, &agent("@nicky.bot")), "sender_handle");
    assert_eq!(field(&own, &TokenOwner::Owner("nick".parse().unwrap())), "sender_handle");
    assert_eq!(field(&own, &TokenOwner::Operator), "sender_handle");
    let acted = read(&with(advisory(), "acted_by", "~alice")).unwrap();
    assert_eq!(field(&acted, &agent("@nick.bot")), "acted_by");
    let declared = with(payload("intent_declare").into(), "acted_by", "~alice");
    let declared = read(&frame("intent_declare", declared)).unwrap();
    assert_eq!(field(&declared, &agent("@nick.bot")), "payload.acted_by");
}

#[test]
fn fo_48_a_scope_names_the_recipient() {
    let aim = |recipient: &str, scope: &str| target(&to(recipient), &scope.parse::<Scope>().unwrap());
    assert_eq!(aim("~nick", "~nick/cc*"), Ok(Target::Own(Sessions::Prefix("cc".into()))));
    assert_eq!(aim("~alice", "~alice"), Ok(Target::Other("alice".parse().unwrap(), Sessions::All)));
    let org = Target::Members("acme".parse().unwrap(), None);
    assert_eq!(aim("~acme", "org:acme/members/*"), Ok(org));
    for (recipient, scope) in [("~nick", "~alice"), ("~alice", "~nick"), ("~nick", "org:acme/members/*")] {
        assert_eq!(aim(recipient, scope), Err(Rejection::ScopeUnauthorised));
    }
}

#[test]
fn fo_50_51_the_recipient_under_an_accord_is_the_peer() {
    let accord = "accord:peer/grant:x".parse::<Scope>().unwrap();
    assert_eq!(target(&to("~peer"), &accord), Ok(Target::Peer("peer".parse().unwrap(), "x".into())));
    assert_eq!(target(&to("~nick"), &accord), Err(Rejection::ScopeUnauthorised));
}

#[test]
fn fo_47_a_principal_none_of_whose_agents_can_be_reached_is_the_same_as_none() {
    assert_eq!(reached(Sessions::All, Arc::from([])), Err(Rejection::ScopeUnauthorised));
    let audience = reached(Sessions::All, Arc::from(["@a.x".parse().unwrap()])).unwrap();
    let session = |handle: &str| {
        Session::named(handle.parse::<AgentHandle>().unwrap(), &SessionNames::default(), "s").unwrap()
    };
    assert!(audience.admits(&session("@a.x")) && !audience.admits(&session("@a.y")));
    let every = Audience { sessions: Sessions::Prefix("x".into()), agents: Agents::Every };
    assert!(every.admits(&session("@a.x")) && !every.admits(&session("@a.y")));
}

#[test]
fn fo_49_an_organisation_is_for_its_members() {
    let state = json!({"created_at": 1, "members": {"~nick": ["dev"], "~alice": ["dev", "ops"], "~bob": []}});
    let org: OrgState = serde_json::from_value(state).unwrap();
    let ask = |sender: &str, role: Option<&str>| {
        let sender: SovereignHandle = sender.parse().unwrap();
        let role = role.map(|role| role.parse().unwrap());
        members(&org, &sender, role.as_ref())
            .map(|found| found.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(ask("~nick", None).unwrap(), ["~alice", "~bob", "~nick"]);
    assert_eq!(ask("~bob", Some("dev")).unwrap(), ["~alice", "~nick"]);
    assert_eq!(ask("~bob", Some("none")).unwrap(), [""; 0]);
    assert_eq!(ask("~eve", None), Err(Rejection::ScopeUnauthorised));
    let nobody = members(&OrgState::default(), &"~nick".parse().unwrap(), None);
    assert_eq!(nobody, Err(Rejection::ScopeUnauthorised));
}

#[test]
fn fo_11_a_time_is_refused_only_beyond_the_skew_that_is_set() {
    let frame = read(&advisory()).unwrap();
    let clock = |ms: i64| TimestampMs(u64::try_from(1_779_444_000_000 + ms).unwrap());
    let skew = Some(Duration::from_secs(60));
    for ms in [-60_000, 0, 60_000] {
        assert_eq!(check_created_at(&frame, clock(ms), skew), Ok(()));
    }
    for ms in [-60_001, 60_001] {
        let fault = check_created_at(&frame, clock(ms), skew).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.field.as_deref()), ("field-invalid", Some("created_at")));
        assert_eq!(check_created_at(&frame, clock(ms), None), Ok(()));
    }
    assert_eq!(check_created_at(&frame, TimestampMs(0), None), Ok(()));
}

#[test]
fn fo_85_a_coarse_count_tells_the_magnitude() {
    for (count, expected) in [(0, 0), (1, 1), (2, 1), (9, 1), (10, 10), (99, 10), (1_234, 1_000)] {
        assert_eq!(coarse(count), expected);
    }
}
