//! Filters and the frames that they admit, and invalid filters (FO-64 to FO-72).

use proptest::prelude::*;

use crate::{
    catalogue::Kind,
    filter::{Filter, Traits},
    limits::FILTER_CLAUSES_MAX,
};

fn traits() -> Traits {
    Traits {
        kind: Kind::named("agent_advisory").unwrap(),
        sender: "~nick".parse().unwrap(),
        tool: "cc".parse().unwrap(),
        org: None,
    }
}

fn admits(filter: &str, frame: &Traits) -> bool {
    Filter::parse(filter).unwrap().admits(frame)
}

#[test]
fn fo_64_every_clause_must_hold_and_none_admits_everything() {
    for filter in
        ["", "kind:agent_advisory", "sender:~nick", "tool:cc", "kind:agent_advisory,sender:~nick,tool:cc"]
    {
        assert!(admits(filter, &traits()), "{filter}");
    }
    for filter in [
        "kind:agent_query",
        "sender:~alice",
        "tool:codex",
        "kind:agent_advisory,sender:~alice",
        "kind:agent_advisory,kind:agent_query",
        "tool:c",
    ] {
        assert!(!admits(filter, &traits()), "{filter}");
    }
}

#[test]
fn fo_67_no_payload_has_a_content_type() {
    assert!(!admits("content_type:text/plain", &traits()));
    assert!(!admits("kind:agent_advisory,content_type:a:b", &traits()));
}

#[test]
fn fo_69_70_an_org_clause_admits_what_was_scoped_to_it_alone() {
    let scoped = Traits { org: Some("acme".parse().unwrap()), ..traits() };
    assert!(admits("org:acme", &scoped));
    assert!(!admits("org:acme", &traits()) && !admits("org:other", &scoped));
}

#[test]
fn fo_65_66_71_what_can_not_be_read_is_refused() {
    let code = |filter: &str| Filter::parse(filter).unwrap_err().code.as_str();
    for filter in [
        "kid:agent_advisory",
        "kind",
        "KIND:agent_advisory",
        ",",
        "kind:agent_query,",
        ",tool:cc",
        " ",
        "a:b",
        ":",
        ":x",
    ] {
        assert_eq!(code(filter), "filter-axis-unknown", "{filter}");
    }
    for filter in [
        "kind:",
        "kind:agent_gossip",
        "kind:Agent_advisory",
        "sender:nick",
        "sender:~Nick",
        "sender:~a@1",
        "sender:",
        "content_type:",
        "tool:",
        "tool:C C",
        "org:",
        "org:~acme",
        "tool:cc,kind:x",
    ] {
        assert_eq!(code(filter), "filter-value-invalid", "{filter}");
    }
}

#[test]
fn past_its_limit_of_clauses_a_filter_is_refused() {
    let filter = |count: usize| vec!["tool:cc"; count].join(",");
    assert!(Filter::parse(&filter(FILTER_CLAUSES_MAX)).is_ok());
    let fault = Filter::parse(&filter(FILTER_CLAUSES_MAX + 1)).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.field.as_deref()), ("filter-value-invalid", Some("filter")));
}

proptest! {
    // FO-70: another clause only ever takes away.
    #[test]
    fn fo_70_a_clause_never_widens(parts in prop::collection::vec("(kind:agent_(advisory|query)|sender:~(nick|a)|tool:(cc|x)|org:acme|content_type:a)", 1..6)) {
        let whole = parts.join(",");
        if admits(&whole, &traits()) {
            for part in &parts {
                prop_assert!(admits(part, &traits()));
            }
        }
    }

    #[test]
    fn any_text_ends_in_an_answer(text in any::<String>()) {
        let _ = Filter::parse(&text);
    }
}
