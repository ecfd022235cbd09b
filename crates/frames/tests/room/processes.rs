//! Several processes on one store are one room: numbers, delivery, counts, rosters, resumption.

use crate::house::{House, OPERATOR, frame};

#[tokio::test]
async fn a_frame_reaches_the_subscriptions_of_every_process_and_counts_them() {
    let [here, there] = House::pair();
    let token = here.agent("@nick.a", "open").await;
    let alice = here.agent("@alice.a", "allowlist").await;
    let mut first = here.open(&token, "~nick/stream?session_id=s1").await;
    let mut second = there.open(&token, "~nick/stream?session_id=s2").await;
    let mut narrow = there.open(&token, "~nick/stream?filter=kind:agent_query").await;
    assert_eq!(here.submit(&token, "", &frame("~nick", "~nick", "one")).await.count(), 2);
    let answer = there.submit(&token, "?scope=~nick/a@s1", &frame("~nick", "~nick", "two")).await;
    assert_eq!(answer.count(), 1);
    let (one, two) = (first.event().await, first.event().await);
    assert_eq!(second.event().await, one, "the same bytes under the same number");
    assert_eq!(two.id, answer.event_id());
    assert!(two.id > one.id);

    for house in [&here, &there] {
        let roster = house.rostered(&token, "~nick").await;
        assert_eq!(roster.len(), 3);
        for id in ["s1", "s2"] {
            assert!(roster.iter().any(|entry| entry["session_id"] == id), "{roster:?}");
        }
    }

    // Resumed at the other process, with the trust of the submission.
    let after = one.id.to_string();
    let mut resumed =
        there.open_with(&token, "~nick/stream?session_id=s1", &[("Last-Event-ID", &after)]).await;
    assert_eq!(resumed.event().await, two);
    let _shut = there.open(&alice, "~alice/stream").await;
    let denied = here.submit(&token, "", &frame("~nick", "~alice", "x")).await;
    denied.refused(403, "scope-unauthorised", "-");

    here.send(House::request(OPERATOR, "POST", "/_admin/agents/@nick.a/rotate-token", &[], "")).await.ok(200);
    for stream in [&mut second, &mut narrow, &mut resumed] {
        assert_eq!(stream.block().await, None, "a token that died here ends streams there");
    }
}
