//! Compares pages with a plain list of all appended events (CH-11, CH-24, CH-26).

use serde_json::{Value, json};

use super::house::{Answer, House};
use crate::{PAGE_BYTES_MAX, SCAN_BYTES_MAX};

const ANN: &str = "@o.ann";
const KINDS: [&str; 5] = ["log", "status", "a/b", "a%2Fb", "rare"];

fn ids(answer: &Answer) -> Vec<u64> {
    let events = answer.ok();
    events.as_array().unwrap().iter().map(|event| event["id"].as_u64().unwrap()).collect()
}

/// A deterministic random generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// A channel with 400 events of five kinds and closes in between, beside another channel.
async fn filled() -> (House, String, Vec<(u64, &'static str)>) {
    let house = House::new();
    house.agent(ANN).await;
    let (channel, other) = (house.channel(ANN).await, house.channel(ANN).await);
    let (mut dice, mut all) = (Dice(7), Vec::new());
    for n in 0..400 {
        let kind = if n % 131 == 5 { "rare" } else { KINDS[usize::try_from(dice.roll(4)).unwrap()] };
        all.push((house.append(ANN, &channel, kind, json!({ "n": n })).await, kind));
        match dice.roll(10) {
            0 => drop(house.post(ANN, &format!("/agent-channel/{channel}/close"), &json!({})).await.ok()),
            1 => drop(house.append(ANN, &other, "log", json!({})).await),
            _ => {}
        }
    }
    (house, channel, all)
}

fn expected(
    all: &[(u64, &str)],
    kind: Option<&str>,
    before: Option<u64>,
    after: Option<u64>,
    limit: usize,
) -> Vec<u64> {
    let matches = |(id, event_kind): &&(u64, &str)| {
        kind.is_none_or(|kind| kind == *event_kind)
            && before.is_none_or(|before| *id < before)
            && after.is_none_or(|after| *id > after)
    };
    let found: Vec<u64> = all.iter().filter(matches).map(|(id, _)| *id).collect();
    match (after, before) {
        (Some(_), None) => found.into_iter().take(limit).rev().collect(),
        _ => found.into_iter().rev().take(limit).collect(),
    }
}

fn encoded(kind: &str) -> String {
    kind.replace('%', "%25").replace('/', "%2F")
}

#[tokio::test]
async fn ch_11_24_any_page_is_what_the_whole_list_says() {
    let (house, channel, all) = filled().await;
    let mut dice = Dice(11);
    let last = all.last().unwrap().0;
    for _ in 0..300 {
        let kind = (dice.roll(3) > 0).then(|| KINDS[usize::try_from(dice.roll(5)).unwrap()]);
        let before = (dice.roll(2) == 0).then(|| dice.roll(last + 10));
        let after = (dice.roll(2) == 0).then(|| dice.roll(last + 10));
        let limit = usize::try_from(1 + dice.roll(120)).unwrap();
        let mut path = format!("/agent-channel/{channel}/events?limit={limit}");
        kind.iter().for_each(|kind| path.push_str(&format!("&kind={}", encoded(kind))));
        before.iter().for_each(|before| path.push_str(&format!("&before_id={before}")));
        after.iter().for_each(|after| path.push_str(&format!("&after_id={after}")));
        let answer = house.get(ANN, &path).await;
        assert_eq!(ids(&answer), expected(&all, kind, before, after, limit), "{path}");
    }
    let unknown = house.get(ANN, &format!("/agent-channel/{channel}/events?kind=nothing")).await;
    assert_eq!(ids(&unknown), [0; 0]);
}

/// The target of `Link: <…>; rel="next"`, without the base.
fn next(answer: &Answer) -> Option<String> {
    let link = answer.headers.get("link")?.to_str().unwrap();
    let url = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
    Some(url.strip_prefix("http://127.0.0.1:7420").unwrap().to_owned())
}

async fn walk(house: &House, path: String) -> Vec<u64> {
    let (mut found, mut path) = (Vec::new(), Some(path));
    while let Some(page_path) = path {
        let answer = house.get(ANN, &page_path).await;
        found.extend(ids(&answer));
        path = next(&answer);
    }
    found
}

#[tokio::test]
async fn following_the_links_brings_everything_once() {
    let (house, channel, all) = filled().await;
    for kind in KINDS {
        let of_kind = format!("/agent-channel/{channel}/events?kind={}&limit=7", encoded(kind));
        assert_eq!(walk(&house, of_kind).await, expected(&all, Some(kind), None, None, 500), "{kind}");
    }
    let everything = format!("/agent-channel/{channel}/events?limit=37");
    assert_eq!(walk(&house, everything).await, expected(&all, None, None, None, 500));
    let from_the_first = format!("/agent-channel/{channel}/events?limit=37&after_id=0");
    let mut rising = walk(&house, from_the_first).await;
    rising.sort_unstable();
    assert_eq!(rising, all.iter().map(|(id, _)| *id).collect::<Vec<_>>());
}

#[tokio::test]
async fn past_its_bytes_a_page_ends_and_says_where_to_go_on() {
    let house = House::new();
    house.agent(ANN).await;
    let channel = house.channel(ANN).await;
    let large = json!({ "x": "y".repeat(1_000_000) });
    let mut all = Vec::new();
    for n in 0..12 {
        all.push(house.append(ANN, &channel, "log", large.clone()).await);
        if n == 0 {
            all.push(house.append(ANN, &channel, "rare", json!({})).await);
        }
    }
    let path = format!("/agent-channel/{channel}/events");
    let first = house.get(ANN, &path).await;
    let count = ids(&first).len();
    assert_eq!(count, PAGE_BYTES_MAX.div_ceil(1_000_008));
    assert!(next(&first).is_some());
    all.reverse();
    assert_eq!(walk(&house, path).await, all);
    // The rare event is among large ones of the same run.
    const { assert!(SCAN_BYTES_MAX > 12_000_000) };
    let rare = house.get(ANN, &format!("/agent-channel/{channel}/events?kind=rare")).await;
    assert_eq!((ids(&rare).len(), next(&rare)), (1, None));
}

#[tokio::test]
async fn d_6_limits_are_clamped_and_what_is_no_integer_is_422() {
    let (house, channel, all) = filled().await;
    let get = |query: &'static str| {
        let path = format!("/agent-channel/{channel}/events?{query}");
        let house = &house;
        async move { house.get(ANN, &path).await }
    };
    for (query, count) in [
        ("", 50),
        ("limit=0", 1),
        ("limit=-5", 1),
        ("limit=1", 1),
        ("limit=100000000000000000000000", 400),
        ("limit=-100000000000000000000000000000000000000000000", 1),
        ("limit=500&before_id=99999999999999999999999", 400),
        ("limit=500&before_id=-1", 0),
        ("limit=500&after_id=-1", 400),
        ("limit=500&after_id=99999999999999999999999", 0),
        ("kind=&limit=500", 400),
    ] {
        assert_eq!(ids(&get(query).await).len(), count, "{query}");
    }
    assert_eq!(all.len(), 400);
    for (query, code) in [
        ("limit=x", "invalid_limit"),
        ("limit=", "invalid_limit"),
        ("limit=1.5", "invalid_limit"),
        ("limit=1e2", "invalid_limit"),
        ("before_id=x", "invalid_before_id"),
        ("after_id=", "invalid_after_id"),
        ("limit=1&limit=2", "invalid_query"),
    ] {
        get(query).await.refused(422, code);
    }
    let event = house.get(ANN, &format!("/agent-channel/{channel}/events?limit=1")).await.ok();
    let members: Vec<&String> = event[0].as_object().unwrap().keys().collect();
    assert_eq!(members, ["author", "channel_id", "created_at", "id", "kind", "payload", "via"]);
    let _: &Value = &event;
}
