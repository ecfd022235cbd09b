//! Who gets a frame: scopes, filters, echo, organisations, counts (FO-43 to FO-46, FO-53 to FO-56, FO-64 to FO-72).

use serde_json::{Value, json};

use crate::house::{House, OPERATOR, UUID, frame};

#[tokio::test]
async fn fo_43_44_53_56_a_frame_reaches_every_session_of_its_recipient_as_it_was_sent() {
    let house = House::new();
    let (laptop, phone) =
        (house.agent("@nick.cc-laptop", "open").await, house.agent("@nick.phone", "open").await);
    let mut first = house.open(&laptop, "~nick/stream").await;
    let mut second = house.open(&phone, "~nick/stream").await;
    // Its time span has ended already, which is for the recipients to judge (FO-13, FO-82).
    let text = frame("~nick", "~nick", "one").to_string().replacen('{', "{ \"ttl_ms\" : 1000 ,\r\n  ", 1);
    let answer = house.send(House::request(&laptop, "POST", "/frames", &[], text.clone())).await;
    assert_eq!(answer.count(), 2);
    assert_eq!(answer.ok(200)["frame_id"], UUID);
    for stream in [&mut first, &mut second] {
        let event = stream.event().await;
        assert_eq!(event.id, answer.event_id());
        assert_eq!(event.data, text.replace(['\r', '\n'], ""));
    }
    // The same frame again is delivered again (FO-8, FO-83), with a higher id.
    let again = house.send(House::request(&phone, "POST", "/frames", &[], text)).await;
    assert_eq!(again.count(), 2);
    assert!(again.event_id() > answer.event_id());
    assert_eq!(first.event().await.id, again.event_id());
}

#[tokio::test]
async fn fo_55_an_empty_set_is_no_error_and_the_number_rises() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    let mut ids = Vec::new();
    for scope in ["", "?scope=~nick", "?scope=~nick/*", "?scope=~nick/none*", "?scope=~nick/a@nobody"] {
        let answer = house.submit(&token, scope, &frame("~nick", "~nick", "x")).await;
        assert_eq!(answer.count(), 0);
        ids.push(answer.event_id());
    }
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
}

#[tokio::test]
async fn fo_45_46_scopes_name_sessions_by_prefix_and_one_by_one() {
    let house = House::new();
    let token = house.agent("@nick.cc-laptop", "open").await;
    let mut own = house.open(&token, "~nick/stream?session_id=s1").await;
    let mut twin = house.open(&token, "~nick/stream?session_id=s1").await;
    let mut codex = house.open(&token, "~nick/stream?instrument=codex&session_id=s2").await;
    let submit = async |scope: &str, tag: &str| {
        house.submit(&token, &format!("?scope={scope}"), &frame("~nick", "~nick", tag)).await.count()
    };
    assert_eq!(submit("~nick/cc-*", "prefix").await, 2);
    assert_eq!(submit("~nick/codex@s2", "one").await, 1);
    assert_eq!(submit("~nick/cc-laptop@s1", "pair").await, 2);
    assert_eq!(submit("~nick/cc-laptop@s2", "none").await, 0);
    assert_eq!(submit("~nick/*", "all").await, 3);
    for (stream, tags) in [
        (&mut own, vec!["prefix", "pair", "all"]),
        (&mut codex, vec!["one", "all"]),
        (&mut twin, vec!["prefix", "pair", "all"]),
    ] {
        for tag in tags {
            assert_eq!(stream.tag().await, tag);
        }
    }
}

#[tokio::test]
async fn fo_64_68_72_a_filter_narrows_and_counts_are_behind_it() {
    let house = House::new();
    let token = house.agent("@nick.cc-laptop", "open").await;
    let mut advisories = house.open(&token, "~nick/stream?filter=kind:agent_advisory,tool:cc").await;
    let mut nobody = house.open(&token, "~nick/stream?filter=sender:~alice").await;
    let untyped = house.open(&token, "~nick/stream?filter=content_type:text/plain").await;
    assert_eq!(house.submit(&token, "", &frame("~nick", "~nick", "one")).await.count(), 1);
    let headers = [("X-Agent-Tool", "codex")];
    let other =
        House::request(&token, "POST", "/frames", &headers, frame("~nick", "~nick", "two").to_string());
    assert_eq!(house.send(other).await.count(), 0);
    assert_eq!(house.submit(&token, "", &frame("~nick", "~nick", "three")).await.count(), 1);
    assert_eq!(advisories.tag().await, "one");
    assert_eq!(advisories.tag().await, "three");
    drop(untyped);
    let alice = house.agent("@alice.a", "open").await;
    assert_eq!(house.submit(&alice, "", &frame("~alice", "~nick", "four")).await.count(), 1);
    assert_eq!(nobody.tag().await, "four");
}

#[tokio::test]
async fn echo_0_leaves_out_the_session_that_names_itself() {
    let house = House::new();
    let token = house.agent("@nick.cc", "open").await;
    let _one = house.open(&token, "~nick/stream?session_id=s1").await;
    let _other = house.open(&token, "~nick/stream?session_id=s2").await;
    let submit = async |query: &str, headers: &[(&str, &str)]| {
        let body = frame("~nick", "~nick", "x").to_string();
        house.send(House::request(&token, "POST", &format!("/frames{query}"), headers, body)).await.count()
    };
    assert_eq!(submit("", &[("X-Agent-Session", "s1")]).await, 2);
    assert_eq!(submit("?echo=0", &[("X-Agent-Session", "s1")]).await, 1);
    assert_eq!(submit("?echo=0&scope=~nick/cc@s1", &[("X-Agent-Session", "s1")]).await, 0);
    assert_eq!(submit("?echo=0", &[("X-Agent-Session", "s1"), ("X-Agent-Instrument", "codex")]).await, 2);
    assert_eq!(submit("?echo=0", &[]).await, 2, "who names no session has none to leave out");
    assert_eq!(submit("?echo=1", &[("X-Agent-Session", "s1")]).await, 2);
}

async fn organisation(house: &House, members: &[(&str, &[&str])]) {
    house.send(House::request(OPERATOR, "PUT", "/_admin/orgs/acme", &[], "")).await.ok(201);
    for (member, roles) in members {
        let path = format!("/_admin/orgs/acme/members/{member}");
        let body = json!({"roles": roles}).to_string();
        house.send(House::request(OPERATOR, "PUT", &path, &[], body)).await.ok(200);
    }
}

#[tokio::test]
async fn fo_49_69_an_organisations_members_get_its_frames_each_on_its_own_stream() {
    let house = House::new();
    organisation(&house, &[("~nick", &["dev"]), ("~alice", &["dev", "ops"]), ("~bob", &[])]).await;
    let nick = house.agent("@nick.a", "open").await;
    let alice = house.agent("@alice.a", "open").await;
    let bob = house.agent("@bob.a", "open").await;
    let eve = house.agent("@eve.a", "open").await;
    let acme = house.agent("@acme.a", "open").await;
    let mut of_nick = house.open(&nick, "~nick/stream").await;
    let mut of_alice = house.open(&alice, "~alice/stream?filter=org:acme").await;
    let mut of_bob = house.open(&bob, "~bob/stream").await;
    let of_acme = house.open(&acme, "~acme/stream").await;
    let submit = async |token: &str, from: &str, scope: &str, tag: &str| {
        house.submit(token, &format!("?scope={scope}"), &frame(from, "~acme", tag)).await
    };
    assert_eq!(submit(&nick, "~nick", "org:acme/members/*", "all").await.count(), 3);
    assert_eq!(submit(&bob, "~bob", "org:acme/members/ops/*", "ops").await.count(), 1);
    assert_eq!(submit(&bob, "~bob", "org:acme/members/none/*", "none").await.count(), 0);
    assert_eq!(of_nick.tag().await, "all");
    assert_eq!(of_alice.tag().await, "all");
    assert_eq!(of_alice.tag().await, "ops");
    assert_eq!(of_bob.tag().await, "all");
    // The organisation's own agents are not members, and have another scope.
    assert_eq!(submit(&nick, "~nick", "~acme/*", "own").await.count(), 1);
    drop(of_acme);
    submit(&eve, "~eve", "org:acme/members/*", "x").await.refused(403, "scope-unauthorised", "-");
    submit(&acme, "~acme", "org:acme/members/*", "x").await.refused(403, "scope-unauthorised", "-");
    let unknown = frame("~nick", "~nobody", "x");
    house.submit(&nick, "?scope=org:nobody/members/*", &unknown).await.refused(
        403,
        "scope-unauthorised",
        "-",
    );
    // Trust rules apply between members as well (D.5).
    house.post(OPERATOR, "/_admin/agents/@alice.a/blocks", &json!({"handle": "@nick.a"})).await.ok(201);
    assert_eq!(submit(&nick, "~nick", "org:acme/members/*", "two").await.count(), 2);
}

#[tokio::test]
async fn fo_85_a_count_may_be_coarse() {
    let house = House::with(plenary_frames::Config { coarse_counts: true, ..Default::default() });
    let token = house.agent("@nick.a", "open").await;
    let mut streams = Vec::new();
    for expected in [0, 1, 1, 1] {
        assert_eq!(house.submit(&token, "", &frame("~nick", "~nick", "x")).await.count(), expected);
        streams.push(house.open(&token, "~nick/stream").await);
    }
}

#[tokio::test]
async fn fo_79_past_the_cap_of_an_expansion_nobody_gets_anything() {
    let house = House::with(plenary_frames::Config { expansion_max: 2, ..Default::default() });
    let token = house.agent("@nick.a", "open").await;
    let mut streams =
        vec![house.open(&token, "~nick/stream").await, house.open(&token, "~nick/stream").await];
    assert_eq!(house.submit(&token, "", &frame("~nick", "~nick", "two")).await.count(), 2);
    let third = house.open(&token, "~nick/stream").await;
    let refused = house.submit(&token, "", &frame("~nick", "~nick", "three")).await;
    refused.refused(403, "scope-unauthorised", "-");
    drop(third);
    assert_eq!(house.submit(&token, "", &frame("~nick", "~nick", "four")).await.count(), 2);
    for stream in &mut streams {
        assert_eq!([stream.tag().await, stream.tag().await], ["two", "four"]);
    }
}

#[tokio::test]
async fn fo_18_19_20_21_22_locks_and_leases_bind_nobody() {
    let house = House::new();
    let (a, b) = (house.agent("@nick.a", "open").await, house.agent("@nick.b", "open").await);
    let frame_of = |kind: &str, payload: Value| {
        let mut frame = frame("~nick", "~nick", "x");
        frame["kind"] = kind.into();
        frame["payload"] = payload;
        frame
    };
    let request = frame_of("agent_lock_request", json!({"resource": "r", "lease_id": UUID, "ttl_ms": 1}));
    let release = frame_of("agent_lock_release", json!({"lease_id": UUID}));
    let flush = frame_of(
        "flush_executed",
        json!({"convergence_class": "a.b", "result_ref": "r", "executed_at": "2026-05-22T10:00:00Z"}),
    );
    for (token, frame) in
        [(&a, &release), (&a, &request), (&b, &request), (&b, &release), (&a, &release), (&b, &flush)]
    {
        house.submit(token, "", frame).await.ok(200);
    }
}
