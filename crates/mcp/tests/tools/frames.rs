//! The ten verbs of the memo's section 9, as tools.

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;
use plenary_mcp::tool::Toolset;
use serde_json::{Value, json};

use crate::house::House;

#[tokio::test]
async fn fo_75_the_ten_verbs_have_their_names() {
    let house = House::new().await;
    let names: Vec<_> = house.tools.in_sets(&[Toolset::Frames]).map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "agent_advise",
            "agent_broadcast",
            "agent_handover",
            "agent_lease_extend",
            "agent_lock_acquire",
            "agent_lock_release",
            "agent_query",
            "agent_roster",
            "agent_send",
            "agent_subscribe",
        ]
    );
}

#[tokio::test]
async fn fo_75_fo_92_every_verb_reaches_who_is_subscribed() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    let subscription = bob.call("agent_subscribe", json!({"session_id": "s1", "tool": "cc"})).await;
    let url = subscription["url"].as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:7420/handles/~nick/stream?"), "{url}");
    assert_eq!((&subscription["expires_in_s"], &subscription["uses"]), (&json!(30), &json!(1)));
    let path = url.strip_prefix("http://127.0.0.1:7420").unwrap();
    let nobody = plenary_mcp::operations::Caller::default();
    let mut stream = house.operations.open(&nobody, Method::GET, path, None).await;
    assert_eq!(stream.status(), 200);

    let roster = alice.call("agent_roster", json!({})).await;
    assert_eq!((&roster["handle"], &roster["roster"][0]["session_id"]), (&json!("~nick"), &json!("s1")));
    let lease = alice.call("agent_lock_acquire", json!({"resource": "a.rs"})).await;
    let lease_id = lease["lease_id"].as_str().unwrap();
    let query = alice.call("agent_query", json!({"query_text": "Ready?"})).await;
    assert!(query["query_id"].is_string());
    for (verb, arguments) in [
        ("agent_advise", json!({"advisory_text": "On it", "file_refs": ["a.rs"]})),
        (
            "agent_broadcast",
            json!({"broadcast_text": "Done", "event_class": "merged", "scope": "~nick/bob*"}),
        ),
        ("agent_handover", json!({"handover_body": "Half done", "session_id": "mine"})),
        ("agent_lease_extend", json!({"lease_id": lease_id})),
        ("agent_lock_release", json!({"lease_id": lease_id})),
        (
            "agent_send",
            json!({"kind": "agent_advisory", "payload": {"advisory_text": "x"}, "scope": "~nick/bob@s1"}),
        ),
    ] {
        let sent = alice.call(verb, arguments).await;
        assert_eq!(sent["delivered_count"], 1, "{verb}");
    }
    let mut kinds = Vec::new();
    while kinds.len() < 8 {
        let next = tokio::time::timeout(Duration::from_secs(5), stream.body_mut().frame());
        let piece = next.await.unwrap().unwrap().unwrap().into_data().unwrap();
        for line in std::str::from_utf8(&piece).unwrap().lines() {
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let frame: Value = serde_json::from_str(data).unwrap();
            if frame["kind"] == "agent_handover" {
                assert_eq!(frame["payload"]["previous_session_id"], "mine");
            }
            kinds.push(frame["kind"].as_str().unwrap().to_owned());
        }
    }
    kinds.sort();
    let all = [
        "agent_advisory",
        "agent_advisory",
        "agent_broadcast",
        "agent_handover",
        "agent_lease_extend",
        "agent_lock_release",
        "agent_lock_request",
        "agent_query",
    ];
    assert_eq!(kinds, all);
}

#[tokio::test]
async fn what_a_frame_may_not_hold_is_refused_with_the_memos_code() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    for (verb, arguments, code) in [
        ("agent_advise", json!({}), "field-missing"),
        ("agent_advise", json!({"advisory_text": "x", "mood": "good"}), "field-unknown"),
        ("agent_broadcast", json!({"broadcast_text": "x", "event_class": "odd"}), "field-invalid"),
        ("agent_advise", json!({"advisory_text": "x", "scope": "~stranger/*"}), "scope-unauthorised"),
        ("agent_advise", json!({"advisory_text": "x", "scope": "bob"}), "invalid_arguments"),
        ("agent_send", json!({"kind": "agent_shout", "payload": {}}), "kind-unknown"),
        ("agent_roster", json!({"handle": "~stranger"}), "scope-unauthorised"),
        ("agent_subscribe", json!({"filter": "mood:good"}), "filter-axis-unknown"),
        ("agent_subscribe", json!({"filter": "kind:agent_shout"}), "filter-value-invalid"),
    ] {
        assert_eq!(alice.refused(verb, arguments).await, code, "{verb}");
    }
}
