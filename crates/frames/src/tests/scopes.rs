//! Scopes and their recipients (FO-44 to FO-46, section 6).

use proptest::prelude::*;

use super::samples::bytes;
use crate::{
    scope::{Scope, Sessions},
    session::{Instrument, Session, SessionNames},
};

fn read(text: &str) -> Option<Scope> {
    text.parse().ok()
}

fn session(instrument: &str, id: &str) -> Session {
    let named = SessionNames { instrument: Some(instrument), tool: None, session_id: Some(id) };
    Session::named("@nick.bot".parse().unwrap(), &named, "unused").unwrap()
}

#[test]
fn fo_44_a_handle_alone_is_all_its_sessions() {
    let all = Some(Scope::Handle("~nick".parse().unwrap(), Sessions::All));
    assert_eq!(read("~nick"), all);
    assert_eq!(read("~nick/*"), all);
}

#[test]
fn fo_45_46_sessions_are_named_by_prefix_or_one_by_one() {
    let contain = |scope: &str, instrument: &str, id: &str| match read(scope) {
        Some(Scope::Handle(_, sessions)) => sessions.contain(&session(instrument, id)),
        other => panic!("{scope}: {other:?}"),
    };
    assert!(contain("~nick/cc-*", "cc-laptop", "1") && contain("~nick/cc-laptop*", "cc-laptop", "1"));
    assert!(contain("~nick/c*", "cc-laptop", "1") && contain("~nick/a_-*", "a_-b", "1"));
    assert!(!contain("~nick/cc-*", "cc", "1") && !contain("~nick/cc-*", "codex", "1"));
    assert!(contain("~nick/cc@s 1", "cc", "s 1") && !contain("~nick/cc@s", "cc", "s1"));
    assert!(!contain("~nick/cc@s1", "cc-laptop", "s1"));
}

#[test]
fn organisations_and_accords() {
    assert_eq!(read("org:acme/members/*"), Some(Scope::Org("acme".parse().unwrap(), None)));
    let role = Some("release-crew".parse().unwrap());
    assert_eq!(read("org:acme/members/release-crew/*"), Some(Scope::Org("acme".parse().unwrap(), role)));
    assert_eq!(
        read("accord:peer/grant:read.only"),
        Some(Scope::Accord("peer".parse().unwrap(), "read.only".into()))
    );
}

#[test]
fn what_is_none_of_the_forms_is_refused() {
    let long = format!("accord:peer/grant:{}", bytes(512));
    let session = format!("~nick/cc@{}", bytes(129));
    for text in [
        "",
        "~",
        "nick",
        "~Nick",
        "~nick/",
        "~nick/cc",
        "~nick/**",
        "~nick/*cc",
        "~nick/c*c",
        "~nick/-*",
        "~nick/C*",
        "~nick/*/*",
        "~nick/cc@",
        "~nick/@s",
        "~nick/CC@s",
        "~nick/cc@s/1",
        "~nick/cc@s*",
        "~nick/cc@s@1",
        "~nick/cc@é",
        "~nick/cc@\u{7f}",
        " ~nick",
        "~nick ",
        "*",
        "~*",
        "~nick-",
        "~nick//*",
        "~nick/cc-@s",
        "~nick@s",
        "~nick,~bob",
        "@nick.a",
        "org:",
        "org:acme",
        "org:acme/members",
        "org:acme/members/",
        "org:acme/members//*",
        "org:acme/*",
        "org:Acme/members/*",
        "accord:Acme/grant:x",
        "https://acme.example/",
        "org:acme/members/*/*",
        "org:acme/members/role",
        "org:acme/members/Role/*",
        "org:~acme/members/*",
        "org:/members/*",
        "ORG:acme/members/*",
        "accord:peer",
        "accord:peer/grant:",
        "accord:/grant:x",
        "accord:peer/grant:a b",
        "group:acme/*",
        &long,
        &session,
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    assert!(read(&format!("~nick/cc@{}", bytes(128))).is_some());
}

#[test]
fn what_a_session_leaves_out_is_its_agents() {
    let agent = || "@nick.cc-laptop".parse().unwrap();
    let read = |named: SessionNames<'_>| Session::named(agent(), &named, "fresh");
    let session = read(SessionNames::default()).unwrap();
    assert_eq!(
        (session.instrument.as_str(), session.tool.as_str(), session.id.as_str()),
        ("cc-laptop", "cc", "fresh")
    );
    let session = read(SessionNames { instrument: Some("codex"), ..SessionNames::default() }).unwrap();
    assert_eq!((session.instrument.as_str(), session.tool.as_str()), ("codex", "codex"));
    let session = read(SessionNames { tool: Some("cursor"), ..SessionNames::default() }).unwrap();
    assert_eq!((session.instrument.as_str(), session.tool.as_str()), ("cc-laptop", "cursor"));
    for (named, field) in [
        (SessionNames { instrument: Some("CC"), ..SessionNames::default() }, "instrument"),
        (SessionNames { instrument: Some(""), ..SessionNames::default() }, "instrument"),
        (SessionNames { tool: Some("a/b"), ..SessionNames::default() }, "tool"),
        (SessionNames { session_id: Some(""), ..SessionNames::default() }, "session_id"),
        (SessionNames { session_id: Some("a@b"), ..SessionNames::default() }, "session_id"),
    ] {
        let fault = read(named).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.field.as_deref()), ("field-invalid", Some(field)));
    }
}

proptest! {
    #[test]
    fn any_instrument_has_a_class(text in "[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?") {
        let instrument: Instrument = text.parse().unwrap();
        prop_assert!(text.starts_with(instrument.class().as_str()));
        let (prefix, one) = (format!("~nick/{text}*"), format!("~nick/{text}@1"));
        prop_assert!(read(&prefix).is_some() && read(&one).is_some());
    }

    #[test]
    fn any_text_ends_in_an_answer(text in "(org:|accord:|~)?[a-z@/*:~-]{0,24}") {
        let _ = read(&text);
    }

    #[test]
    fn any_characters_end_in_an_answer(text in any::<String>()) {
        let _ = read(&text);
    }
}
