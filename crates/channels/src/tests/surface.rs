//! Behaviour that needs a fixed clock or fixed randomness: collisions of ids, budgets of misses, proxies.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::house::{House, OPERATOR};
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
async fn ch_36_where_no_token_is_needed_a_wrong_one_is_still_wrong() {
    let house = House::with(Config { open: true, ..Config::default() }, plenary_telemetry::Spans::off());
    house.agent(ANN).await;
    let channel = house.channel("").await;
    let (path, body) = (format!("/agent-channel/{channel}/event"), json!({"kind": "log", "payload": {}}));
    let event = house.post("", &path, &body).await.ok();
    assert_eq!((&event["author"], &event["via"]), (&json!(""), &json!(null)));
    let theirs = house.append(ANN, &channel, "log", json!({})).await;
    let events = house.get("", &format!("/agent-channel/{channel}/events")).await.ok();
    assert_eq!((&events[0]["id"], &events[0]["via"]), (&json!(theirs), &json!(ANN)));
    house
        .get("pla_unknown", &format!("/agent-channel/{channel}"))
        .await
        .refused(401, "invalid_authorization");
    assert_eq!(house.get("", "/agent-channel").await.ok().as_array().unwrap().len(), 1);
    let view = house.get("", &format!("/agent-channel/{channel}")).await.ok();
    assert!(!view.to_string().contains("Authorization"), "no token is asked for: {view}");
    let own = house.channel(ANN).await;
    house.get("", &format!("/agent-channel/{own}")).await.refused(404, "no_such_channel");
    assert_eq!(house.get("", "/agent-channel").await.ok().as_array().unwrap().len(), 1, "it has an owner");
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
async fn ch_28_the_list_shows_what_ones_owner_takes_part_in() {
    let house = house().await;
    house.agent("@o.other").await;
    let mut channels = Vec::new();
    for n in 0..4 {
        house.set_clock(n * 10);
        channels.push(house.channel(if n == 2 { BOB } else { ANN }).await);
    }
    let list = |token: &'static str, query: &'static str| {
        let house = &house;
        async move {
            let list = house.get(token, &format!("/agent-channel{query}")).await.ok();
            let id = |channel: &serde_json::Value| channel["id"].as_str().unwrap().to_owned();
            list.as_array().unwrap().iter().map(id).collect::<Vec<_>>()
        }
    };
    let channels_at = |indexes: &[usize]| indexes.iter().map(|n| channels[*n].clone()).collect::<Vec<_>>();
    assert_eq!(list(ANN, "").await, channels_at(&[3, 1, 0]));
    assert_eq!(list("@o.other", "").await, channels_at(&[3, 1, 0]), "lists go by owner");
    assert_eq!(list(BOB, "").await, channels_at(&[2]));
    assert_eq!(list(OPERATOR, "").await, channels_at(&[3, 2, 1, 0]));
    house.append(BOB, &channels[0], "log", json!({})).await;
    assert_eq!(list(BOB, "").await, channels_at(&[2, 0]));
    house.post(ANN, &format!("/agent-channel/{}/close", channels[0]), &json!({})).await.ok();
    house.append("@o.other", &channels[0], "log", json!({})).await;
    assert_eq!(list(BOB, "?include_closed=false").await, channels_at(&[2]));
    assert_eq!(list(OPERATOR, "?include_closed=false").await, channels_at(&[3, 2, 1]));
    assert_eq!(list(ANN, "?include_closed=0&limit=1").await, channels_at(&[3]));
    assert_eq!(list(ANN, "?include_closed=TRUE&limit=9999").await, channels_at(&[3, 1, 0]));
    house.get(ANN, "/agent-channel?include_closed=maybe").await.refused(422, "invalid_include_closed");
    house.get(ANN, "/agent-channel?limit=many").await.refused(422, "invalid_limit");
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
