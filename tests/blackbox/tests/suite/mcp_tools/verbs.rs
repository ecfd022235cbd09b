//! The verbs of the memo and the tools of the protocol's reference, as clients written for them call them.

use blackbox::{Caller, Server};
use serde_json::{Value, json};

use super::{done, listed, refused};

#[tokio::test]
async fn fo_75_the_verbs_send_to_who_is_subscribed() {
    let (server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    assert_eq!(listed(&alice, "frames").await.len(), 10);
    let place = done(&bob, "agent_subscribe", json!({"session_id": "s1"})).await;
    let url = place["url"].as_str().expect("a URL");
    let path = url.strip_prefix(&server.url()).expect("a URL of this server");
    let nobody = Caller::new(server.address().clone(), None);
    let mut stream = nobody.stream(path).await;
    let roster = done(&alice, "agent_roster", json!({})).await;
    assert_eq!(roster["roster"][0]["agent"], "@nick.bob");
    let sent = done(&alice, "agent_advise", json!({"advisory_text": "On it"})).await;
    assert_eq!(sent["delivered_count"], 1);
    let frame = stream.event().await.frame;
    assert_eq!((&frame["kind"], &frame["drafted_with"]), (&json!("agent_advisory"), &json!("~alice")));
    let strange = json!({"advisory_text": "x", "mood": "good"});
    assert_eq!(refused(&alice, "agent_advise", strange).await, "field-unknown");
    let faulty = json!({"filter": "mood:good"});
    assert_eq!(refused(&alice, "agent_subscribe", faulty).await, "filter-axis-unknown");
}

#[tokio::test]
async fn fo_92_94_answers_to_a_question_reach_the_inbox_and_the_stream_of_who_asked() {
    let (server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    let place = done(&alice, "agent_subscribe", json!({})).await;
    let path = place["url"].as_str().expect("a URL").strip_prefix(&server.url()).expect("of this server");
    let mut stream = Caller::new(server.address().clone(), None).stream(path).await;
    for (named, in_inbox) in [(json!({}), true), (json!({"session_id": "mcp"}), false)] {
        let mut asked = json!({"query_text": "Ready?", "scope": "~nick/bob*"});
        asked.as_object_mut().expect("an object").extend(named.as_object().expect("an object").clone());
        let asked = done(&alice, "agent_query", asked).await;
        let waiting = done(&bob, "inbox", json!({"wait_s": 10})).await;
        let question = waiting["items"][0]["text"].as_str().expect("a payload");
        let question: Value = serde_json::from_str(question).expect("JSON");
        assert_eq!(question["query_id"], asked["query_id"]);
        let answer = json!({"query_id": asked["query_id"], "session_id": "b", "response_text": "Yes"});
        let answer =
            json!({"kind": "agent_response", "payload": answer, "scope": question["response_scope"]});
        assert_eq!(done(&bob, "agent_send", answer).await["delivered_count"], 1, "{question}");
        assert_eq!(stream.event().await.frame["payload"]["query_id"], asked["query_id"]);
        let found = done(&alice, "inbox", json!({})).await;
        assert_eq!(found["items"][0]["subject"] == "agent_response", in_inbox, "{found}");
        done(&bob, "inbox", json!({"ack": waiting["cursor"]})).await;
    }
}

#[tokio::test]
async fn fo_52_the_verbs_send_to_an_accord_as_the_operation_does() {
    let (_server, [alice]) = Server::with(["@nick.alice"]).await;
    let advisory = json!({"advisory_text": "On it", "scope": "accord:rose/grant:sales"});
    assert_eq!(refused(&alice, "agent_advise", advisory).await, "scope-unimplemented");
}

#[tokio::test]
async fn the_references_tools_answer_in_its_shapes() {
    let (_server, [alice]) = Server::with(["@nick.alice"]).await;
    let kept = json!({"title": "Use SQLite", "handoff_note": "Go on", "project_id": "p"});
    let kept = done(&alice, "relay_deposit", kept).await;
    let begun = done(&alice, "relay_session_start", json!({"project_id": "p"})).await;
    let recent = json!({
        "id": kept["package_id"], "title": "Use SQLite", "status": "complete", "handoff_note": "Go on",
        "created_at": kept["created_at"],
    });
    assert_eq!(begun["recent_packages"], json!([recent]));
    let within = json!({"title": "In the session", "project_id": "p"});
    let within = done(&alice, "relay_deposit", within).await;
    assert_eq!(within["created_by"]["session_id"], begun["session"]["session_id"]);
    let named =
        format!("/v1/projects/p/sessions?callsign={}", begun["session"]["callsign"].as_str().expect("one"));
    let sessions = alice.get(&named).await.ok(200);
    assert_eq!(sessions["sessions"][0]["packages_deposited"], json!([within["package_id"]]), "{sessions}");
    assert_eq!(kept["created_by"]["session_id"], Value::Null);
    let pulled = done(&alice, "relay_pull_context", json!({})).await;
    assert_eq!(pulled[0]["package_id"], within["package_id"], "a list, as text alone");
    let nothing = json!({"mode": "specific", "package_id": "none"});
    assert_eq!(done(&alice, "relay_pull_context", nothing).await, Value::Null);
    let fact = json!({"subject": "log", "relation": "in", "object": "SQLite"});
    let first = done(&alice, "relay_assert_fact", fact.clone()).await;
    assert_eq!(done(&alice, "relay_assert_fact", fact).await["id"], first["id"]);
    let ended = done(&alice, "relay_invalidate_fact", json!({"subject": "log", "relation": "in"})).await;
    assert_eq!(ended, json!({"invalidated": 1}));
    let oriented = done(&alice, "relay_session_orient", json!({})).await;
    assert!(oriented.as_str().expect("markdown").starts_with("**active run `"), "{oriented}");
}
