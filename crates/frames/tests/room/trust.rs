//! Frames between owners pass the trust layer (D.1, D.5).

use serde_json::json;

use crate::house::{House, OPERATOR, frame};

#[tokio::test]
async fn fo_47_only_agents_that_trust_the_sender_get_a_frame() {
    let house = House::new();
    let nick = house.agent("@nick.a", "open").await;
    let (open, shut) =
        (house.agent("@alice.open", "open").await, house.agent("@alice.shut", "allowlist").await);
    let mut of_open = house.open(&open, "~alice/stream").await;
    let mut of_shut = house.open(&shut, "~alice/stream").await;
    let submit = async |tag: &str| house.submit(&nick, "", &frame("~nick", "~alice", tag)).await;
    assert_eq!(submit("one").await.count(), 1);
    house
        .post(OPERATOR, "/_admin/agents/@alice.shut/allowlist", &json!({"entries": ["@nick.*"]}))
        .await
        .ok(200);
    assert_eq!(submit("two").await.count(), 2);
    house.post(OPERATOR, "/_admin/agents/@nick.a/blocks", &json!({"handle": "@alice.open"})).await.ok(201);
    assert_eq!(submit("three").await.count(), 1);
    assert_eq!([of_open.tag().await, of_open.tag().await], ["one", "two"]);
    assert_eq!([of_shut.tag().await, of_shut.tag().await], ["two", "three"]);
    // Within one owner no trust rule applies.
    house
        .post(OPERATOR, "/_admin/agents/@alice.open/blocks", &json!({"handle": "@alice.shut"}))
        .await
        .ok(201);
    assert_eq!(house.submit(&shut, "", &frame("~alice", "~alice", "own")).await.count(), 2);
}

#[tokio::test]
async fn fo_47_unknown_and_unreachable_principals_are_answered_alike() {
    let house = House::new();
    let nick = house.agent("@nick.a", "open").await;
    let shut = house.agent("@alice.shut", "allowlist").await;
    let _stream = house.open(&shut, "~alice/stream").await;
    house.post(OPERATOR, "/_admin/owners", &json!({"owner": "empty"})).await.ok(201);
    let mut answers = Vec::new();
    for to in ["~alice", "~empty", "~nobody"] {
        let answer = house.submit(&nick, "", &frame("~nick", to, "x")).await;
        answer.refused(403, "scope-unauthorised", "-");
        answers.push(answer.body);
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}

#[tokio::test]
async fn trust_as_it_was_at_submission_holds_on_resumption() {
    let house = House::new();
    let nick = house.agent("@nick.a", "open").await;
    let open = house.agent("@alice.open", "open").await;
    let shut = house.agent("@alice.shut", "allowlist").await;
    let before = house.submit(&open, "", &frame("~alice", "~alice", "own")).await.event_id().to_string();
    assert_eq!(house.submit(&nick, "", &frame("~nick", "~alice", "foreign")).await.count(), 0);
    house.submit(&open, "", &frame("~alice", "~alice", "last")).await.ok(200);
    let resumed = [("Last-Event-ID", before.as_str())];
    let mut of_open = house.open_with(&open, "~alice/stream", &resumed).await;
    assert_eq!([of_open.tag().await, of_open.tag().await], ["foreign", "last"]);
    let mut of_shut = house.open_with(&shut, "~alice/stream", &resumed).await;
    assert_eq!(of_shut.tag().await, "last");
}
