//! Last-Event-ID, retention, what is forgotten (FO-59 to FO-62, FO-88, FO-89).

use serde_json::{Value, json};

use crate::house::{House, OPERATOR, frame};

#[tokio::test]
async fn fo_59_60_a_stream_goes_on_behind_the_last_event_with_the_same_bytes() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    let mut live = house.open(&token, "~nick/stream").await;
    for tag in ["one", "two", "three"] {
        house.submit(&token, "", &frame("~nick", "~nick", tag)).await.ok(200);
    }
    let events = [live.event().await, live.event().await, live.event().await];
    let after = events[0].id.to_string();
    let mut resumed = house.open_with(&token, "~nick/stream", &[("Last-Event-ID", &after)]).await;
    assert_eq!([resumed.event().await, resumed.event().await], [events[1].clone(), events[2].clone()]);
    house.submit(&token, "", &frame("~nick", "~nick", "four")).await.ok(200);
    assert_eq!(resumed.tag().await, "four");
}

#[tokio::test]
async fn fo_60_an_event_that_is_not_known_means_from_now() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    house.submit(&token, "", &frame("~nick", "~nick", "before")).await.ok(200);
    let later = u64::MAX.to_string();
    for last in ["", "0", "1", "garbage", "-1", "+1", "1.5", "99999999999999999999999", &later] {
        let mut stream = house.open_with(&token, "~nick/stream", &[("Last-Event-ID", last)]).await;
        house.submit(&token, "", &frame("~nick", "~nick", "after")).await.ok(200);
        assert_eq!(stream.tag().await, "after", "{last}");
    }
}

#[tokio::test]
async fn fo_62_past_retention_a_stream_goes_on_from_now_without_a_word() {
    let house = House::with(plenary_frames::Config { max_events: 2, ..Default::default() });
    let token = house.agent("@nick.a", "open").await;
    let mut ids = Vec::new();
    for tag in ["one", "two", "three", "four"] {
        ids.push(house.submit(&token, "", &frame("~nick", "~nick", tag)).await.event_id().to_string());
    }
    let mut within = house.open_with(&token, "~nick/stream", &[("Last-Event-ID", &ids[1])]).await;
    assert_eq!([within.tag().await, within.tag().await], ["three", "four"]);
    let mut past = house.open_with(&token, "~nick/stream", &[("Last-Event-ID", &ids[0])]).await;
    house.submit(&token, "", &frame("~nick", "~nick", "five")).await.ok(200);
    assert_eq!(past.tag().await, "five");
}

#[tokio::test]
async fn fo_89_an_intent_is_forgotten_when_it_says_so_and_whoever_is_there_gets_it() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    let mut live = house.open(&token, "~nick/stream").await;
    let before = house.submit(&token, "", &frame("~nick", "~nick", "before")).await.event_id().to_string();
    let intent = |tag: &str, ttl: u64| {
        let mut intent = frame("~nick", "~nick", tag);
        intent["kind"] = "intent_declare".into();
        intent["payload"] = json!({
            "convergence_class": "vcs.pr", "payload_ref": "p", "acted_by": "~nick", "drafted_with": "~cc",
            "declared_at": "2020-01-01T00:00:00Z", "ttl": ttl, "withdrawable": true,
        });
        intent
    };
    assert_eq!(house.submit(&token, "", &intent("over", 1)).await.count(), 1);
    let far: Value = 9_007_199_254_740_991_u64.into();
    house.submit(&token, "", &intent("kept", far.as_u64().unwrap())).await.ok(200);
    assert_eq!([live.tag().await, live.tag().await, live.tag().await], ["before", "over", "kept"]);
    let mut resumed = house.open_with(&token, "~nick/stream", &[("Last-Event-ID", &before)]).await;
    assert_eq!(resumed.tag().await, "kept");
}

#[tokio::test]
async fn fo_88_whoever_has_a_token_may_know_what_is_retained() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    let expected = json!({"max_events": 256, "max_age_ms": 300_000});
    for (token, handle) in [(token.as_str(), "~nick"), (&token, "~alice"), (OPERATOR, "~nick")] {
        assert_eq!(house.get(token, &format!("/handles/{handle}/retention")).await.ok(200), expected);
    }
    house.get("", "/handles/~nick/retention").await.refused(401, "unauthenticated", "-");
    house.get(&token, "/handles/nick/retention").await.refused(400, "field-invalid", "handle");
}
