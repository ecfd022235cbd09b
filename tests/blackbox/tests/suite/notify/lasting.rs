//! What a receiver that is down, a killed server and quiet hours do to notifications.

use std::collections::BTreeSet;

use blackbox::{Behaviour, Collector, ShiftedClock, eventually};
use serde_json::{Value, json};

use super::{House, config, house, json_of};

/// A short patience, so that a test sees its end.
const IMPATIENT: &str = "retry_first = \"50ms\"\nretry_for = \"400ms\"";
const PATIENT: &str = "retry_first = \"50ms\"\nretry_for = \"1h\"";

/// The order in which both were made counts, not their times.
#[tokio::test]
async fn a_subscription_gets_requests_after_the_clock_was_set_back_and_none_from_before_it() {
    let Some(clock) = ShiftedClock::make() else { return };
    let server =
        clock.moving().into_iter().fold(config(""), |builder, (name, value)| builder.env(name, &value));
    let server = server.start().await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.cc").await);
    let house = House { server, owner, agent, receiver: Collector::start().await };
    clock.move_to(-7_200);
    house.ask("before").await;
    clock.move_to(0);
    house.subscribe(house.hook()).await;
    clock.move_to(-3_600);
    let request = house.ask("after").await;
    let calls = house.taken(1).await;
    assert_eq!(json_of(&calls[0])["data"]["request"]["request_id"], json!(request));
    assert_eq!(calls.len(), 1);
}

/// What waits for its next attempt waits for its pause, not for the time that the clock had.
#[tokio::test]
async fn a_retry_does_not_wait_for_a_clock_that_was_set_back() {
    let Some(clock) = ShiftedClock::make() else { return };
    let server =
        clock.moving().into_iter().fold(config(PATIENT), |builder, (name, value)| builder.env(name, &value));
    clock.move_to(7_200);
    let server = server.start().await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.cc").await);
    let house = House { server, owner, agent, receiver: Collector::start().await };
    house.subscribe(house.hook()).await;
    house.receiver.behave(Behaviour::Answer(503));
    house.ask("one").await;
    eventually("an attempt", || async { (!house.receiver.exports().is_empty()).then_some(()) }).await;
    clock.move_to(3_600);
    house.receiver.behave(Behaviour::Take);
    house.taken(1).await;
}

#[tokio::test]
async fn a_receiver_that_was_down_gets_it_under_the_same_id() {
    let house = house(PATIENT).await;
    house.subscribe(house.hook()).await;
    house.receiver.behave(Behaviour::HangUp);
    house.ask("one").await;
    eventually("two attempts", || async { (house.receiver.exports().len() >= 2).then_some(()) }).await;
    house.receiver.behave(Behaviour::Answer(503));
    eventually("more attempts", || async { (house.receiver.exports().len() >= 3).then_some(()) }).await;
    house.receiver.behave(Behaviour::Take);
    let taken = house.taken(1).await;
    let ids: BTreeSet<_> =
        house.receiver.exports().iter().map(|call| call.headers["webhook-id"].clone()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let bodies: BTreeSet<_> = house.receiver.exports().iter().map(|call| call.bytes.clone()).collect();
    assert_eq!(bodies.len(), 1, "each attempt says the same");
    house.ask("two").await;
    let taken = (taken.len(), house.taken(2).await);
    assert_eq!(taken.0, 1);
    assert_ne!(taken.1[0].headers["webhook-id"], taken.1[1].headers["webhook-id"]);
}

#[tokio::test]
async fn nothing_is_lost_by_a_kill_and_repetition_is_told_by_the_id() {
    let mut house = house(PATIENT).await;
    house.subscribe(house.hook()).await;
    let mut asked = BTreeSet::new();
    for nth in 0..8 {
        asked.insert(house.ask(&format!("number {nth}")).await);
        if nth % 2 == 0 {
            house.server.crash().await;
        }
    }
    let by_request = |house: &House| {
        let taken = house.receiver.exports().into_iter().filter(|call| call.accepted);
        let pairs = taken.map(|call| {
            let id = json_of(&call)["data"]["request"]["request_id"].as_str().expect("an id").to_owned();
            (id, call.headers["webhook-id"].clone())
        });
        pairs.collect::<BTreeSet<_>>()
    };
    let pairs = eventually("all of them", || async {
        let pairs = by_request(&house);
        let told: BTreeSet<_> = pairs.iter().map(|(request, _)| request.clone()).collect();
        (told == asked).then_some(pairs)
    })
    .await;
    assert_eq!(pairs.len(), asked.len(), "one id for each: {pairs:?}");
}

#[tokio::test]
async fn what_is_asked_while_the_receiver_is_down_comes_after_a_restart() {
    let mut house = house(PATIENT).await;
    house.subscribe(house.hook()).await;
    house.receiver.behave(Behaviour::Answer(500));
    let request = house.ask("one").await;
    eventually("an attempt", || async { (!house.receiver.exports().is_empty()).then_some(()) }).await;
    house.server.kill().await;
    house.receiver.behave(Behaviour::Take);
    house.server.restart().await;
    assert_eq!(json_of(&house.taken(1).await[0])["data"]["request"]["request_id"], json!(request));
}

async fn dead(house: &House) -> Vec<Value> {
    let list = house.owner.get("/notifications/dead").await.ok(200);
    list["notifications"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn what_never_arrives_is_listed_and_can_be_sent_once_more() {
    let house = house(IMPATIENT).await;
    let (subscription, _) = house.subscribe(house.hook()).await;
    house.receiver.behave(Behaviour::Answer(503));
    let request = house.ask("one").await;
    let list = eventually("it is given up", || async {
        let list = dead(&house).await;
        (!list.is_empty()).then_some(list)
    })
    .await;
    assert_eq!(list.len(), 1);
    let one = &list[0];
    assert_eq!((&one["subscription_id"], &one["request_id"]), (&json!(subscription), &json!(request)));
    assert_eq!(
        (&one["event"], &one["error"]),
        (&json!("request.created"), &json!("the receiver answered 503"))
    );
    assert!(one["attempts"].as_u64() >= Some(2), "{one}");
    let tried = house.receiver.exports().len();
    assert_eq!(one["attempts"], json!(tried));
    house.receiver.behave(Behaviour::Take);
    let id = one["notice_id"].as_str().expect("an id");
    let path = format!("/notifications/dead/{id}/retry");
    assert_eq!(house.owner.post_empty(&path).await.status, 204);
    assert_eq!(house.taken(1).await[0].headers["webhook-id"], id);
    eventually("the list is empty", || async { dead(&house).await.is_empty().then_some(()) }).await;
    house.owner.post_empty(&path).await.assert_refused(404, "not_found");
    let stranger = house.server.owner("eve").await;
    stranger.post_empty(&path).await.assert_refused(404, "not_found");
}

#[tokio::test]
async fn a_receiver_that_says_it_is_gone_gets_nothing_more() {
    let house = house(PATIENT).await;
    let (id, _) = house.subscribe(house.hook()).await;
    house.receiver.behave(Behaviour::Answer(410));
    house.ask("one").await;
    let path = format!("/notifications/{id}");
    eventually("it is off", || async {
        let one = house.owner.get(&path).await.ok(200);
        (one["gone"] == true && one["enabled"] == false).then_some(())
    })
    .await;
    eventually("it is dead", || async { (!dead(&house).await.is_empty()).then_some(()) }).await;
    assert_eq!(house.receiver.exports().len(), 1);
    house.receiver.behave(Behaviour::Take);
    // Once another subscription has this one, it was decided that the first does not get it.
    house.subscribe(house.hook()).await;
    house.ask("two").await;
    house.taken(1).await;
    house.owner.patch(&path, json!({"enabled": true})).await.ok(200);
    house.ask("three").await;
    let taken = house.taken(3).await;
    let mut titles: Vec<_> =
        taken.iter().map(|one| json_of(one)["data"]["request"]["title"].clone()).collect();
    titles.sort_by_key(Value::to_string);
    assert_eq!(titles, ["three", "three", "two"]);
}

#[tokio::test]
async fn nobody_is_told_of_what_waits_no_more_but_programs_are() {
    let house = house(PATIENT).await;
    house.receiver.behave(Behaviour::Answer(503));
    let ntfy = json!({"target": {"kind": "ntfy", "url": format!("{}/topic", house.receiver.url())}});
    house.subscribe(ntfy).await;
    let request = house.ask("one").await;
    eventually("an attempt", || async { (!house.receiver.exports().is_empty()).then_some(()) }).await;
    let accept = json!({"type": "accept", "version": 1});
    house.owner.post(&format!("/requests/{request}/answer"), accept).await.ok(200);
    house.subscribe(house.hook()).await;
    house.receiver.behave(Behaviour::Take);
    let second = house.ask("two").await;
    let taken = house.taken(2).await;
    assert!(
        !taken.iter().any(|call| String::from_utf8_lossy(&call.bytes).contains("asks: one")),
        "{taken:?}"
    );
    assert!(taken.iter().any(|call| json_of(call)["data"]["request"]["request_id"] == json!(second)));
}

/// The clock is shifted to half past midnight, and then behind the end of the quiet hours.
#[tokio::test]
async fn what_comes_in_quiet_hours_comes_together_at_their_end() {
    let Some(clock) = ShiftedClock::make() else { return };
    let mut server = config(PATIENT).start().await;
    let day = 24 * 3_600;
    let night = day - blackbox::epoch_ms() / 1_000 % day + 1_800;
    server.kill().await;
    clock.set_ahead(&mut server, night);
    server.restart().await;
    let owner = server.owner("nick").await;
    let agent = server.agent("@nick.cc").await;
    let mut house = House { server, owner, agent, receiver: Collector::start().await };
    let mut body = house.hook();
    body["quiet"] = json!({"time_zone": "UTC", "from": "00:00", "to": "05:00"});
    let (id, _) = house.subscribe(body).await;
    // A sample is sent whatever the hours.
    let tested = house.owner.post_empty(&format!("/notifications/{id}/test")).await.ok(200);
    assert_eq!(tested["delivered"], true);
    let asked = [house.ask("one").await, house.ask("two").await];
    let unquiet = house.hook();
    house.subscribe(unquiet).await;
    house.ask("three").await;
    let alone = house.taken(2).await;
    assert_eq!(
        json_of(&alone[1])["data"]["request"]["title"],
        "three",
        "the other subscription is not quiet"
    );
    house.server.kill().await;
    assert_eq!(house.receiver.exports().len(), 2, "and this one is");
    clock.set_ahead(&mut house.server, night + 5 * 3_600);
    house.server.restart().await;
    // What was taken just before the kill may come once more.
    let digest = eventually("the digest", || async {
        house.receiver.exports().iter().map(json_of).find(|call| call["type"] == "request.digest")
    })
    .await;
    let items = digest["data"]["items"].as_array().expect("items");
    assert_eq!(items.len(), 3, "{digest}");
    for (item, id) in items.iter().zip(&asked) {
        assert_eq!(
            (&item["type"], &item["data"]["request"]["request_id"]),
            (&json!("request.created"), &json!(id))
        );
        assert!(item["data"]["link"].is_string(), "{item}");
    }
    // Events that are heard again after the restart come under no second id.
    house.ask("four").await;
    eventually("what was asked last, twice", || async {
        let calls = house.receiver.exports();
        let last = calls.iter().filter(|call| json_of(call)["data"]["request"]["title"] == "four");
        (last.count() >= 2).then_some(())
    })
    .await;
    let calls = house.receiver.exports();
    let earlier = calls.iter().filter(|call| {
        let title = json_of(call)["data"]["request"]["title"].clone();
        ["one", "two", "three"].iter().any(|one| title == *one)
    });
    let ids: BTreeSet<_> = earlier.map(|call| call.headers["webhook-id"].clone()).collect();
    assert_eq!(ids.len(), 1, "{calls:?}");
}

/// The clock is shifted to a while before the quiet hours, into them, and behind their end.
#[tokio::test]
async fn what_was_not_taken_before_quiet_hours_waits_for_their_end() {
    let Some(clock) = ShiftedClock::make() else { return };
    let mut server = config(PATIENT).start().await;
    let day = 24 * 3_600;
    let evening = 2 * day - blackbox::epoch_ms() / 1_000 % day - 1_200;
    server.kill().await;
    clock.set_ahead(&mut server, evening);
    server.restart().await;
    let owner = server.owner("nick").await;
    let agent = server.agent("@nick.cc").await;
    let mut house = House { server, owner, agent, receiver: Collector::start().await };
    let mut quiet = house.hook();
    quiet["target"]["url"] = format!("{}/quiet", house.receiver.url()).into();
    quiet["quiet"] = json!({"time_zone": "UTC", "from": "00:00", "to": "05:00"});
    house.subscribe(quiet).await;
    house.receiver.behave(Behaviour::Answer(503));
    house.ask("one").await;
    eventually("an attempt", || async { (!house.receiver.exports().is_empty()).then_some(()) }).await;
    house.server.kill().await;
    clock.set_ahead(&mut house.server, evening + 2_400);
    house.server.restart().await;
    house.receiver.behave(Behaviour::Take);
    house.subscribe(house.hook()).await;
    house.ask("two").await;
    let taken = house.taken(1).await;
    assert!(taken.iter().all(|call| call.target == "/hook"), "nothing is sent in quiet hours: {taken:?}");
    house.server.kill().await;
    clock.set_ahead(&mut house.server, evening + 1_200 + 5 * 3_600 + 60);
    house.server.restart().await;
    eventually("the one that waited", || async {
        let calls = house.receiver.exports();
        let mut quiet = calls.iter().filter(|call| call.accepted && call.target == "/quiet").map(json_of);
        quiet.any(|call| call["data"]["request"]["title"] == "one").then_some(())
    })
    .await;
}

/// Sent once more after the link that it had is over, a notification has one that answers.
#[tokio::test]
async fn what_is_sent_after_its_link_is_over_has_a_link_that_answers() {
    let Some(clock) = ShiftedClock::make() else { return };
    let mut house = house(IMPATIENT).await;
    house.subscribe(house.hook()).await;
    house.receiver.behave(Behaviour::Answer(503));
    house.ask("one").await;
    let list = eventually("it is given up", || async {
        let list = dead(&house).await;
        (!list.is_empty()).then_some(list)
    })
    .await;
    house.server.kill().await;
    clock.set_ahead(&mut house.server, 8 * 24 * 3_600);
    house.server.restart().await;
    house.receiver.behave(Behaviour::Take);
    let id = list[0]["notice_id"].as_str().expect("an id");
    let path = format!("/notifications/dead/{id}/retry");
    assert_eq!(house.owner.post_empty(&path).await.status, 204);
    let call = json_of(&house.taken(1).await[0]);
    let link = call["data"]["link"].as_str().expect("a link");
    let (_, secret) = link.rsplit_once('/').expect("a path");
    let page = house.owner.get(&format!("/tap/{secret}")).await;
    assert!(page.status == 200 && page.text().contains("Accept"), "{page}");
}
