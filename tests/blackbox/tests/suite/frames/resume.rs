//! FO-60 to FO-62, FO-88, FO-89: what is retained for who comes back, how long, and for whom.
//! Must not know: how an event looks.

use blackbox::{Agent, Delivery, Server, eventually};
use serde_json::{Value, json};

use super::speak::{
    Sent, advisory, before_fence, encode, frame, id_of, patient_server, payload, resume, sent, stream_path,
    submit, submit_to, subscribe, subscribe_as, texts,
};

/// What a handle retains by default.
const EVENTS_MAX: usize = 256;
const AGE_MAX_MS: u64 = 300_000;

async fn say(from: &Agent, to: &str, text: &str) -> Sent {
    let frame = advisory(from, to, text);
    sent(&submit(from, &frame).await, &frame)
}

/// FO-60: everything behind the named event, once, in order, under its own number; then what is new.
#[tokio::test]
async fn fo_60_resumption() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut first = subscribe(&alice).await;
    let mut numbers = Vec::new();
    for number in 0..10 {
        numbers.push(say(&alice, "~alice", &format!("{number}")).await.event_id);
        if number == 4 {
            let seen = first.event().await;
            assert_eq!(seen.id, numbers[0]);
            first.cut().await;
            first = subscribe(&alice).await;
        }
    }
    for (from, number) in numbers.iter().enumerate() {
        let mut stream = resume(&alice, &number.to_string()).await;
        let fence = advisory(&alice, "~alice", "fence");
        sent(&submit(&alice, &fence).await, &fence);
        let events = stream.until(id_of(&fence)).await;
        let behind: Vec<&Delivery> = events.iter().filter(|e| numbers.contains(&e.id)).collect();
        assert_eq!(behind.iter().map(|event| event.id).collect::<Vec<_>>(), numbers[from + 1..]);
        let wanted: Vec<String> = (from + 1..10).map(|number| number.to_string()).collect();
        let found: Vec<_> =
            behind.iter().map(|event| event.frame["payload"]["advisory_text"].clone()).collect();
        assert_eq!(found, wanted);
        assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id), "numbers rise through the seam");
    }
}

/// Nothing is lost or doubled at the seam between what was retained and what is new.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_60_the_seam() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let start = say(&alice, "~alice", "start").await.event_id;
    for round in 0..10 {
        let before = say(&alice, "~alice", "before").await.event_id;
        let sender = alice.clone();
        let talk = tokio::spawn(async move {
            let mut numbers = Vec::new();
            for number in 0..40 {
                numbers.push(say(&sender, "~alice", &format!("{number}")).await.event_id);
            }
            numbers
        });
        let mut stream = resume(&alice, &before.to_string()).await;
        let numbers = talk.await.expect("the talk ends");
        for number in &numbers {
            assert_eq!(stream.event().await.id, *number, "round {round}: each once, in order");
        }
    }
    assert!(start > 0);
}

/// FO-60: a cursor that means nothing here starts at the present, without an error.
#[tokio::test]
async fn fo_60_unknown_cursors_start_now() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let last = say(&alice, "~alice", "earlier").await.event_id;
    let later = (last + 1_000_000).to_string();
    let garbage = [
        later.as_str(),
        "",
        "abc",
        "-1",
        "1.5",
        "1e3",
        "0x1",
        "١",
        "18446744073709551616",
        "99999999999999999999999999",
        "sess_01HW7AB12CDEFGHJKMNPQRSTVW",
        "1,2",
        "null",
    ];
    for cursor in garbage {
        let mut stream = resume(&alice, cursor).await;
        assert!(before_fence(&alice, &alice, &mut stream).await.is_empty(), "cursor {cursor:?}");
    }
    let mut stream = subscribe(&alice).await;
    assert!(before_fence(&alice, &alice, &mut stream).await.is_empty(), "no cursor, no past");
}

/// D.5: past the horizon a cursor starts at the present too; within it, it resumes.
#[tokio::test]
async fn fo_60_62_aged_cursors_start_now() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut numbers = Vec::new();
    for number in 0..EVENTS_MAX + 50 {
        numbers.push(say(&alice, "~alice", &format!("{number}")).await.event_id);
    }
    let mut aged = resume(&alice, &numbers[0].to_string()).await;
    assert!(before_fence(&alice, &alice, &mut aged).await.is_empty(), "no part of it, and no gap event");
    let within = numbers.len() - 200;
    let mut stream = resume(&alice, &numbers[within].to_string()).await;
    let heard = before_fence(&alice, &alice, &mut stream).await;
    let heard: Vec<_> = heard.iter().filter(|text| *text != "fence").collect();
    let wanted: Vec<String> = (within + 1..numbers.len()).map(|number| number.to_string()).collect();
    assert_eq!(heard, wanted.iter().collect::<Vec<_>>());
}

/// FO-88: the horizon is told to whom it concerns.
#[tokio::test]
async fn fo_88_the_horizon_is_told() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let body = alice.get("/handles/~alice/retention").await.ok(200);
    assert_eq!(body, json!({"max_events": EVENTS_MAX, "max_age_ms": AGE_MAX_MS}));
}

/// What was kept is shown to the sessions that the scope named, through their filters.
#[tokio::test]
async fn fo_60_scopes_and_filters_hold_for_the_past() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let start = say(&alice, "~alice", "start").await.event_id.to_string();
    for scope in ["~alice/cc-laptop@s1", "~alice/cc-*", "~alice/cursor*", "~alice"] {
        let frame = advisory(&alice, "~alice", scope);
        sent(&submit_to(&alice, scope, &frame).await, &frame);
    }
    let query = frame(&alice, "~alice", "agent_query", payload("agent_query", false));
    sent(&submit(&alice, &query).await, &query);
    let rows: [(&str, &[&str]); 4] = [
        ("instrument=cc-laptop&session_id=s1", &["~alice/cc-laptop@s1", "~alice/cc-*", "~alice"]),
        ("instrument=cc-laptop&session_id=s2", &["~alice/cc-*", "~alice"]),
        ("instrument=cursor&session_id=s1", &["~alice/cursor*", "~alice"]),
        ("instrument=codex", &["~alice"]),
    ];
    for (query, wanted) in rows {
        let path = stream_path(&alice, query);
        let last = [("Last-Event-ID", start.as_str())];
        let mut stream = alice.try_stream(&path, &last).await.expect("a stream");
        let heard = before_fence(&alice, &alice, &mut stream).await;
        let heard: Vec<_> = heard.iter().filter(|text| *text != "fence").collect();
        assert_eq!(heard, wanted.iter().collect::<Vec<_>>(), "{query}");
    }
    let path = stream_path(&alice, &format!("filter={}", encode("kind:agent_query")));
    let mut stream = alice.try_stream(&path, &[("Last-Event-ID", &start)]).await.expect("a stream");
    assert_eq!(stream.event().await.frame, query, "and no advisory before it");
}

/// What did not pass an agent's gate is not shown to it later either.
#[tokio::test]
async fn fo_60_gates_hold_for_the_past() {
    let (server, [alice, open]) = Server::with(["@alice.bot", "@bob.open"]).await;
    let closed = server.closed_agent("@bob.closed", &[]).await;
    let start = say(&open, "~bob", "start").await.event_id.to_string();
    assert_eq!(say(&alice, "~bob", "from alice").await.count, 0);
    say(&open, "~bob", "from bob").await;
    let mut stream = resume(&open, &start).await;
    assert_eq!(before_fence(&open, &open, &mut stream).await, ["from alice", "from bob"]);
    let mut stream = resume(&closed, &start).await;
    let heard = before_fence(&open, &closed, &mut stream).await;
    assert_eq!(heard[0], "from bob");
    assert!(!heard.contains(&"from alice".to_owned()), "{heard:?}");
}

/// One handle's cursor does not open another's past.
#[tokio::test]
async fn fo_60_each_handle_has_its_own_past() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let start = say(&alice, "~alice", "start").await.event_id;
    let own = say(&bob, "~bob", "start").await.event_id;
    say(&alice, "~alice", "alice to herself").await;
    say(&alice, "~bob", "alice to bob").await;
    let mut stream = resume(&bob, &own.min(start).to_string()).await;
    let heard = before_fence(&bob, &bob, &mut stream).await;
    assert!(!heard.contains(&"alice to herself".to_owned()), "{heard:?}");
    let mut stream = resume(&bob, &own.to_string()).await;
    assert_eq!(before_fence(&bob, &bob, &mut stream).await[0], "alice to bob");
}

fn intent(from: &Agent, declared_at: &str, ttl: u64) -> Value {
    let mut payload = payload("intent_declare", false);
    payload["declared_at"] = json!(declared_at);
    payload["ttl"] = json!(ttl);
    frame(from, "~alice", "intent_declare", payload)
}

/// The frame ids that a stream behind `after` brings before its fence.
async fn past(alice: &Agent, after: &str) -> Vec<String> {
    let mut stream = resume(alice, after).await;
    let fence = advisory(alice, "~alice", "fence");
    sent(&submit(alice, &fence).await, &fence);
    let events = stream.until(id_of(&fence)).await;
    assert!(texts(&events).ends_with(&["fence"]));
    events.iter().map(|event| event.frame_id().to_owned()).collect()
}

/// FO-89: a declared intent whose horizon is past is delivered, for delivery is now, and not retained.
#[tokio::test]
async fn fo_89_expired_intents_are_not_retained() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut live = subscribe_as(&alice, "cc", "s1").await;
    let start = say(&alice, "~alice", "start").await.event_id.to_string();
    live.event().await;
    let old = intent(&alice, "2020-01-01T00:00:00Z", 1_000);
    let new = intent(&alice, "2020-01-01T00:00:00Z", 9_000_000_000_000);
    for frame in [&old, &new] {
        assert_eq!(sent(&submit(&alice, frame).await, frame).count, 1);
        assert_eq!(live.event().await.frame, *frame);
    }
    let ids = past(&alice, &start).await;
    assert!(!ids.contains(&id_of(&old).to_owned()), "its window was closed before it came");
    assert!(ids.contains(&id_of(&new).to_owned()), "its window is open");
}

/// FO-89: it is there until `declared_at` + `ttl`, and not afterwards; other frames stay.
#[tokio::test]
async fn fo_89_intents_are_forgotten_in_time() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let start = say(&alice, "~alice", "start").await.event_id.to_string();
    // Both declared at the beginning of 2020: the one horizon lies three seconds from now, the other an hour.
    let since = u64::try_from(blackbox::epoch_ms()).expect("after 1970") - 1_577_836_800_000;
    let brief = intent(&alice, "2020-01-01T00:00:00Z", since + 3_000);
    let long = intent(&alice, "2020-01-01T00:00:00Z", since + 3_600_000);
    let kept = advisory(&alice, "~alice", "kept");
    for frame in [&brief, &long, &kept] {
        sent(&submit(&alice, frame).await, frame);
    }
    let ids = eventually("the intent is forgotten", || async {
        let ids = past(&alice, &start).await;
        (!ids.contains(&id_of(&brief).to_owned())).then_some(ids)
    })
    .await;
    let after = u64::try_from(blackbox::epoch_ms()).expect("after 1970") - 1_577_836_800_000;
    assert!(after >= since + 3_000, "not before its time");
    assert!(ids.contains(&id_of(&long).to_owned()), "the other window is open");
    assert!(ids.contains(&id_of(&kept).to_owned()), "an advisory has no horizon of this kind");
}
