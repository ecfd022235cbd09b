//! The stored forms of requests and rules are frozen.

use plenary_engine::golden::{assert_frozen, assert_frozen_with};

use crate::{event::RequestEvent, rules::event::RuleEvent};

const REQUEST_FORMS: &[(&str, &str, &str)] = &[
    (
        "RequestMade",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"to":"@ann.ann","allow":{"accept":true,"edit":false,"respond":true,"ignore":true},"on_timeout":"ignore","tool":"Bash","told":true}"#,
        r#"{"title":"t"}"#,
    ),
    (
        "RequestAnswered",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"answer":"accept","by":{"person":"~ann"},"at":2,"undo_until":3,"rule":{"agent":"@ann.cc","tool":"Bash","directory":"/src","expires_in_days":7},"told":true}"#,
        "{}",
    ),
    (
        "RequestAnswered",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"answer":"ignore","by":{"person":"~ann"},"person":"@ann.mo","at":2,"told":true}"#,
        "{}",
    ),
    (
        "RequestAnswered",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"answer":"accept","by":"deadline","at":2,"told":true}"#,
        "{}",
    ),
    (
        "RequestAnswered",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"answer":"accept","by":"link","at":2,"told":true}"#,
        "{}",
    ),
    (
        "RequestAnswered",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"answer":"accept","by":{"rule":"rule_00000000010000000000000000"},"at":2,"told":true}"#,
        "{}",
    ),
    (
        "AnswerSettled",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"undo_until":3,"at":4,"rule":{"rule":{"agent":"@ann.cc","tool":"Bash","directory":"/src","expires_in_days":7},"answer":"accept","by":"~ann"},"told":true}"#,
        "",
    ),
    (
        "AnswerUndone",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"by":"~ann","answered":2,"undo_until":3}"#,
        "",
    ),
    (
        "RequestSnoozed",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"by":"~ann","until":5}"#,
        "",
    ),
    (
        "RequestDelegated",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"by":"~ann","to":"@ann.mo"}"#,
        "",
    ),
    (
        "RequestWithdrawn",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"at":4}"#,
        "",
    ),
    (
        "RequestExpired",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"at":9,"told":false}"#,
        "",
    ),
    (
        "LinkMade",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"digest":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","until":5}"#,
        "",
    ),
    (
        "LinkMade",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"digest":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","until":5,"through":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}"#,
        "",
    ),
    (
        "LinkMade",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9},"digest":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","until":5,"person":"@ann.mo","receiver":"sub_00000000010000000000000000"}"#,
        "",
    ),
    (
        "RequestExpired",
        r#"{"of":{"agent":"@ann.cc","kind":"permission","created":1,"deadline":9,"stranger":"bob"},"at":9,"told":false}"#,
        "",
    ),
];

#[test]
fn requests_are_stored_as_they_were() {
    assert_frozen_with::<RequestEvent>(REQUEST_FORMS);
}

#[test]
fn rules_are_stored_as_they_were() {
    assert_frozen::<RuleEvent>(&[
        (
            "RuleMade",
            r#"{"rule":"rule_00000000010000000000000000","agent":"@ann.cc","tool":"Bash","answer":"ignore","by":"~ann","request":"ask_S2D711642B726B04401627CA9FBAC32F5","until":7}"#,
        ),
        ("RuleRemoved", r#"{"rule":"rule_00000000010000000000000000","by":"~ann"}"#),
    ]);
}
