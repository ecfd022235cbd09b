//! What a submission is refused with, and that nobody gets it then (FO-9, FO-54, FO-63, FO-73, FO-76, FO-78, FO-80).

use serde_json::{Value, json};

use crate::house::{House, OPERATOR, frame};

#[tokio::test]
async fn fo_76_without_a_valid_token_it_is_401_in_this_rooms_form() {
    let house = House::new();
    let body = frame("~nick", "~nick", "x");
    house.submit("", "", &body).await.refused(401, "unauthenticated", "-");
    house.submit("pla_unknown", "", &body).await.refused(401, "unauthenticated", "-");
    let token = house.agent("@nick.a", "open").await;
    let named = House::request(&token, "POST", "/frames", &[("X-ASP-Agent", "@nick.b")], body.to_string());
    house.send(named).await.refused(401, "unauthenticated", "-");
    house.submit(&token, "", &body).await.ok(200);
    house.send(House::request(OPERATOR, "DELETE", "/_admin/agents/@nick.a", &[], "")).await.ok(204);
    house.submit(&token, "", &body).await.refused(401, "unauthenticated", "-");
}

#[tokio::test]
async fn fo_73_a_path_without_an_operation_is_404_in_this_rooms_form() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    for path in [
        "/frames/",
        "/frames/x",
        "/frames/x/y",
        "/handles",
        "/handles/",
        "/handles/~nick",
        "/handles/~nick/",
        "/handles/~nick/nothing",
        "/handles/~nick/roster/",
    ] {
        house.get(&token, path).await.refused(404, "not_found", "-");
        house.post(&token, path, &json!({})).await.refused(404, "not_found", "-");
    }
    house.get(&token, "/handles/~nick/roster").await.ok(200);
    house.get(&token, "/frames").await.refused(405, "method_not_allowed", "-");
}

#[tokio::test]
async fn fo_9_48_63_77_a_refused_frame_reaches_nobody() {
    let house = House::new();
    let nick = house.agent("@nick.a", "open").await;
    house.agent("@alice.a", "open").await;
    let owner = house.post(OPERATOR, "/_admin/owners", &json!({"owner": "nick"})).await.ok(201);
    let owner = owner["token"].as_str().unwrap();
    let mut stream = house.open(&nick, "~nick/stream").await;
    let base = || frame("~nick", "~nick", "refused");
    let with = |name: &str, value: Value| {
        let mut frame = base();
        frame[name] = value;
        frame
    };
    let mismatch = "sender-identity-mismatch";
    house.submit(&nick, "", &frame("~alice", "~nick", "x")).await.refused(403, mismatch, "sender_handle");
    house.submit(&nick, "", &with("acted_by", json!("~alice"))).await.refused(403, mismatch, "acted_by");
    house.submit(owner, "", &base()).await.refused(403, mismatch, "sender_handle");
    house.submit(OPERATOR, "", &base()).await.refused(403, mismatch, "sender_handle");
    house.submit(&nick, "?scope=~alice", &base()).await.refused(403, "scope-unauthorised", "-");
    house.submit(&nick, "?scope=accord:x/grant:y", &base()).await.refused(501, "scope-unimplemented", "-");
    for scope in ["?scope=", "?scope=nick", "?scope=~nick&scope=~nick"] {
        house.submit(&nick, scope, &base()).await.refused(400, "field-invalid", "scope");
    }
    let both = json!({"scope": "~nick", "frame": base()});
    house.submit(&nick, "?scope=~nick", &both).await.refused(400, "field-invalid", "scope");
    house.submit(&nick, "", &with("x", json!(1))).await.refused(400, "field-unknown", "x");
    house.submit(&nick, "", &with("kind", json!("x"))).await.refused(400, "kind-unknown", "kind");
    house.submit(&nick, "?echo=2", &base()).await.refused(400, "field-invalid", "echo");
    for (header, field) in
        [("X-Agent-Instrument", "instrument"), ("X-Agent-Session", "session_id"), ("X-Agent-Tool", "tool")]
    {
        let request = House::request(&nick, "POST", "/frames", &[(header, "A/B")], base().to_string());
        house.send(request).await.refused(400, "field-invalid", field);
        let twice = [(header, "a"), (header, "a")];
        let request = House::request(&nick, "POST", "/frames", &twice, base().to_string());
        house.send(request).await.refused(400, "field-invalid", field);
    }
    for body in ["", "[]", "{", "{\"a\":1,\"a\":1}"] {
        house.send(House::request(&nick, "POST", "/frames", &[], body)).await.refused(
            400,
            "field-invalid",
            "-",
        );
    }
    house
        .submit(&nick, "", &json!({"scope": "~nick/*", "frame": frame("~nick", "~nick", "good")}))
        .await
        .ok(200);
    assert_eq!(stream.tag().await, "good", "nothing came before it");
}

#[tokio::test]
async fn fo_80_what_is_too_large_is_413() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    let padded = |size: usize| {
        let text = frame("~nick", "~nick", "x").to_string();
        format!("{}{}", &text[..text.len() - 1], " ".repeat(size - text.len())) + "}"
    };
    let send = async |body: String| house.send(House::request(&token, "POST", "/frames", &[], body)).await;
    send(padded(32 << 10)).await.ok(200);
    send(format!("{{\"frame\":{}}}", padded(32 << 10))).await.ok(200);
    send(padded((32 << 10) + 1)).await.refused(413, "field-invalid", "-");
    send(format!("{{\"frame\":{}}}", padded((32 << 10) + 1))).await.refused(413, "field-invalid", "-");
    send(" ".repeat((34 << 10) + 1)).await.refused(413, "field-invalid", "-");
}

#[tokio::test(start_paused = true)]
async fn fo_78_past_its_rate_a_sender_is_429_and_others_are_not() {
    let rate = plenary_frames::Rate { per_s: 1, burst: 3 };
    let house = House::with(plenary_frames::Config { rate, ..Default::default() });
    let (a, b) = (house.agent("@nick.a", "open").await, house.agent("@nick.b", "open").await);
    let good = frame("~nick", "~nick", "x");
    for _ in 0..5 {
        house.submit(&a, "", &json!({})).await.refused(400, "field-missing", "envelope_version");
    }
    for _ in 0..3 {
        house.submit(&a, "", &good).await.ok(200);
    }
    let answer = house.submit(&a, "", &good).await;
    answer.refused(429, "rate-limited", "-");
    assert_eq!(answer.headers["retry-after"], "1");
    house.submit(&b, "", &good).await.ok(200);
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    house.submit(&a, "", &good).await.ok(200);
}

#[tokio::test]
async fn fo_11_a_time_too_far_away_is_refused_where_that_is_set() {
    let max_skew = Some(std::time::Duration::from_secs(60));
    let house = House::with(plenary_frames::Config { max_skew, ..Default::default() });
    let token = house.agent("@nick.a", "open").await;
    house.submit(&token, "", &frame("~nick", "~nick", "x")).await.refused(400, "field-invalid", "created_at");
}
