//! A project followed live: what a follower has had does not come again.

use serde_json::json;

use crate::house::{House, package};

#[tokio::test]
async fn a_follower_who_is_ahead_of_the_room_gets_nothing_twice() {
    let house = House::unheard().await;
    house.deposit(&package("a", 0, &json!({"status": "draft"}))).await.ok(201);
    let events = "/v1/projects/p/events";
    let first = house.begins(&house.nick, &format!("{events}?after=0")).await;
    assert!(first.contains("id: 2\n") && !first.contains("id: 3\n"), "{first}");
    house.deposit(&package("b", 0, &json!({"status": "draft"}))).await.ok(201);
    assert!(house.begins(&house.nick, &format!("{events}?after=2")).await.contains("id: 3\n"));
    let again = house.begins(&house.nick, &format!("{events}?after=3")).await;
    assert!(!again.contains("data: "), "{again}");
}
