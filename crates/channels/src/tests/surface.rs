//! Behaviour that needs a fixed clock or fixed randomness: collisions of ids, budgets of misses, proxies.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::house::House;
use crate::{Config, MISSES_MAX, TRIES_PER_LENGTH, WATCHERS_PER_OWNER_MAX};

const ANN: &str = "@o.ann";
const BOB: &str = "@p.bob";

async fn house() -> House {
    let house = House::new();
    house.agent(ANN).await;
    house.agent(BOB).await;
    house
}

#[tokio::test]
async fn ch_37_a_taken_id_is_tried_again_and_becomes_longer_where_all_are_taken() {
    let house = house().await;
    // Each creation takes two stamps: one for the id, one for the command.
    house.clock.repeats.store(6, Ordering::Relaxed);
    let first = house.channel(ANN).await;
    let second = house.channel(ANN).await;
    assert_ne!(first, second);
    assert_eq!((first.len(), second.len()), (4, 4));
    house.clock.repeats.store(u64::MAX, Ordering::Relaxed);
    let mut longer = Vec::new();
    for _ in 0..4 {
        longer.push(house.channel(ANN).await);
    }
    let lengths: Vec<_> = longer.iter().map(String::len).collect();
    assert_eq!(lengths, [5, 6, 7, 8], "after {TRIES_PER_LENGTH} tries of each length");
    house.post(ANN, "/agent-channel", &json!({})).await.refused(503, "overloaded");
    house.get(ANN, &format!("/agent-channel/{}", longer[0])).await.ok();
}

#[tokio::test]
async fn ch_30_d_6_misses_are_budgeted_and_the_budget_tells_nothing() {
    let house = house().await;
    let (own, theirs) = (house.channel(ANN).await, house.channel(BOB).await);
    for n in 0..MISSES_MAX {
        let path = if n % 2 == 0 { "/agent-channel/ZZZZ" } else { "/agent-channel/no-id/events" };
        let detail = house.get(ANN, path).await.refused(404, "no_such_channel");
        assert_eq!(detail, "no such channel");
    }
    for path in
        ["/agent-channel/ZZZZ".to_owned(), format!("/agent-channel/{theirs}"), "/agent-channel/!".to_owned()]
    {
        let refused = house.get(ANN, &path).await;
        refused.refused(429, "too_many_misses");
        assert_eq!(refused.headers["retry-after"], "60");
        house
            .post(ANN, &format!("{path}/event"), &json!({"kind": "log", "payload": {}}))
            .await
            .refused(429, "too_many_misses");
        house.post(ANN, &format!("{path}/close"), &json!({})).await.refused(429, "too_many_misses");
    }
    // The agent's own channel still answers, and other owners have their own budget.
    house.append(ANN, &own, "log", json!({})).await;
    house.get(ANN, &format!("/agent-channel/{own}/presence")).await.ok();
    house.get(BOB, "/agent-channel/ZZZZ").await.refused(404, "no_such_channel");
    house.set_clock(59_999);
    house.get(ANN, "/agent-channel/ZZZZ").await.refused(429, "too_many_misses");
    house.set_clock(60_000);
    house.get(ANN, &format!("/agent-channel/{theirs}")).await.ok();
    house.get(ANN, "/agent-channel/ZZZZ").await.refused(404, "no_such_channel");
}

#[tokio::test]
async fn writes_that_miss_count_too() {
    let house = house().await;
    for n in 0..MISSES_MAX {
        let path = if n % 2 == 0 { "/agent-channel/ZZZZ/event" } else { "/agent-channel/ZZZZ/close" };
        house.post(ANN, path, &json!({"kind": "log", "payload": {}})).await.refused(404, "no_such_channel");
    }
    house.post(ANN, "/agent-channel/ZZZZ/close", &json!({})).await.refused(429, "too_many_misses");
}

#[tokio::test]
async fn d_6_misses_are_budgeted_by_address_and_the_loopback_is_nobodys() {
    let house = House::with(Config { open: true, ..Config::default() }, plenary_telemetry::Spans::off());
    house.agent(ANN).await;
    let set_peer = |text: &str| *house.peer.lock() = Some(text.parse().unwrap());
    let (channel, own) = (house.channel("").await, house.channel(ANN).await);
    set_peer("127.0.0.1:9");
    for _ in 0..=MISSES_MAX {
        house.get("", "/agent-channel/ZZZZ").await.refused(404, "no_such_channel");
    }
    set_peer("192.0.2.7:9");
    for _ in 0..MISSES_MAX {
        house.get("", "/agent-channel/ZZZZ").await.refused(404, "no_such_channel");
    }
    house.get("", "/agent-channel/ZZZZ").await.refused(429, "too_many_misses");
    house.get("", &format!("/agent-channel/{own}")).await.refused(429, "too_many_misses");
    house.get(ANN, "/agent-channel/ZZZZ").await.refused(429, "too_many_misses");
    house.get("", &format!("/agent-channel/{channel}")).await.ok();
    house.get(ANN, &format!("/agent-channel/{own}")).await.ok();
    let url = house.get(ANN, &format!("/agent-channel/{own}")).await.ok()["channel"]["url"].clone();
    let path = url.as_str().unwrap().strip_prefix("http://127.0.0.1:7420").unwrap();
    house.get("", path).await.ok();
    set_peer("192.0.2.8:9");
    house.get("", "/agent-channel/ZZZZ").await.refused(404, "no_such_channel");
}

#[tokio::test]
async fn an_owner_has_so_many_live_streams_and_no_more() {
    let house = house().await;
    let id = house.channel(ANN).await.parse().unwrap();
    let budget = || crate::channels::Watcher::Owner("o".parse().unwrap());
    let stream =
        <crate::room::ChannelRoom as plenary_engine::Room>::stream(crate::id::ChannelId::as_str(&id));
    let watching: Vec<_> = (0..WATCHERS_PER_OWNER_MAX)
        .map(|_| house.channels.0.watchers.watch(&stream, plenary_accounts::Follower::new(None), budget()))
        .collect();
    assert!(watching.iter().all(Result::is_ok));
    assert!(
        house.channels.0.watchers.watch(&stream, plenary_accounts::Follower::new(None), budget()).is_err()
    );
    drop(watching);
    assert!(
        house.channels.0.watchers.watch(&stream, plenary_accounts::Follower::new(None), budget()).is_ok()
    );
    house.channels.close();
    assert!(
        house.channels.0.watchers.watch(&stream, plenary_accounts::Follower::new(None), budget()).is_err()
    );
    house.get(ANN, &format!("/agent-channel/{id}/events/stream")).await.refused(503, "stopping");
}
