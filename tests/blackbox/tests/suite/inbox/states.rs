//! What has become of a message: only what is true is said.

use blackbox::{Cli, PATIENCE, Server};
use serde_json::{Value, json};

use super::{ack, inbox, state};

#[tokio::test]
async fn by_the_inbox_a_message_is_accepted_delivered_seen_acknowledged() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "hello").await;
    assert_eq!(state(&alice, &id, sequence).await, "accepted");
    let page = inbox(&bob, "").await;
    assert_eq!(state(&alice, &id, sequence).await, "accepted", "whoever looks has marked nothing");
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "delivered"})).await.ok(200);
    assert_eq!(state(&alice, &id, sequence).await, "delivered");
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "seen"})).await.ok(200);
    assert_eq!(state(&alice, &id, sequence).await, "in_context");
    ack(&bob, &page).await;
    assert_eq!(state(&alice, &id, sequence).await, "acknowledged");
    let later = alice.say(&id, "later").await;
    assert_eq!(state(&alice, &id, later).await, "accepted");
}

#[tokio::test]
async fn by_the_session_it_is_seen_when_it_was_read_and_answered_when_the_recipient_had_it() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "hello").await;
    bob.post("/inbox/ack", json!({"session_id": id, "sequence": sequence - 1})).await.ok(200);
    assert_eq!(state(&alice, &id, sequence).await, "accepted", "it was not among what was read");
    bob.post("/inbox/ack", json!({"session_id": id, "sequence": sequence})).await.ok(200);
    assert_eq!(state(&alice, &id, sequence).await, "in_context");
    assert_eq!(inbox(&bob, "").await["unread"], 0);
    let second = alice.say(&id, "and?").await;
    let page = inbox(&bob, "").await;
    bob.say(&id, "yes").await;
    let recipient = async || {
        let path = format!("/sessions/{id}/messages/{second}/status");
        alice.get(&path).await.ok(200)["recipients"][0].clone()
    };
    let unanswered = recipient().await;
    assert_eq!((&unanswered["state"], &unanswered["at"]), (&json!("accepted"), &json!(null)), "{unanswered}");
    assert_eq!(super::texts(&inbox(&bob, "").await), ["and?"], "whoever wrote may not have seen it");
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "delivered"})).await.ok(200);
    let answered = recipient().await;
    assert!(answered["state"] == "answered" && answered["at"].is_string(), "{answered}");
    assert_eq!(inbox(&bob, "").await["unread"], 0);
}

#[tokio::test]
async fn by_the_socket_it_is_answered_when_it_was_confirmed() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut socket = bob.connect().await;
    let sequence = alice.say(&id, "hello").await;
    while socket.event().await["sequence"] != sequence {}
    socket.wait_until_confirmed().await;
    bob.say(&id, "yes").await;
    assert_eq!(inbox(&bob, "").await["unread"], 0);
    assert_eq!(state(&alice, &id, sequence).await, "answered");
}

/// A message that waits for a coding session, or came back from one, is not settled by what the agent writes meanwhile.
#[tokio::test]
async fn what_no_model_was_shown_is_not_answered_by_a_later_message() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let event = async |session: &str, event: &str| {
        let body = json!({"session": session, "client": "claude", "event": event});
        bob.post("/inbox/session", body).await.ok(200);
    };
    let shows = async |session: &str| {
        let page = inbox(&bob, &format!("?coding_session={session}&kinds=session.message")).await;
        let ids: Vec<_> = page["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
        let body = json!({"session": session, "client": "claude", "event": "tool",
            "cursor": page["cursor"], "items": ids});
        bob.post("/inbox/shown", body).await.ok(200);
        super::texts(&page)
    };
    event("s-1", "prompt").await;
    let lost = alice.say(&id, "shown to a session that ends").await;
    assert_eq!(shows("s-1").await, ["shown to a session that ends"]);
    bob.say(&id, "I work").await;
    assert_eq!(state(&alice, &id, lost).await, "shown");
    event("s-1", "gone").await;
    event("s-2", "prompt").await;
    assert_eq!(shows("s-2").await, ["shown to a session that ends"]);
    event("s-2", "tool").await;
    assert_eq!(state(&alice, &id, lost).await, "answered");

    bob.patch("/agents/me", json!({"attention": "dnd"})).await.ok(200);
    let held = alice.say(&id, "held back").await;
    let page = inbox(&bob, "?coding_session=s-2").await;
    assert_eq!(page["items"], json!([]), "{page}");
    bob.say(&id, "I still work").await;
    assert_ne!(state(&alice, &id, held).await, "answered");
    bob.patch("/agents/me", json!({"attention": "open"})).await.ok(200);
    assert_eq!(shows("s-2").await, ["held back"]);
}

#[tokio::test]
async fn by_the_socket_it_is_delivered_when_the_pong_comes_and_not_before() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut mute = bob.connect_mute().await;
    let unconfirmed = alice.say(&id, "hello").await;
    while mute.event().await["type"] != "session.message" {}
    assert_eq!(state(&alice, &id, unconfirmed).await, "accepted", "written to a socket is not delivered");
    let (mut socket, sequence) = (alice.connect().await, bob.say(&id, "to you").await);
    while socket.event().await["sequence"] != sequence {}
    let began = tokio::time::Instant::now();
    while state(&bob, &id, sequence).await != "delivered" {
        assert!(began.elapsed() < PATIENCE, "the pong was not taken note of");
    }
}

#[tokio::test]
async fn a_message_is_there_for_participants_alone() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "hello").await;
    let carol = server.agent("@carol.bot").await;
    let path = |sequence: i64| format!("/sessions/{id}/messages/{sequence}/status");
    carol.get(&path(sequence)).await.assert_refused(404, "not_found");
    for none in [0, -1, 1, sequence + 1, i64::MAX] {
        alice.get(&path(none)).await.assert_refused(404, "not_found");
    }
    let status = bob.get(&path(sequence)).await.ok(200);
    assert_eq!(status["recipients"][0]["agent"], "@bob.bot", "the sender is no recipient");
    alice.invite(&id, &["@carol.bot"]).await;
    let status = alice.get(&path(sequence)).await.ok(200);
    let states: Vec<_> =
        status["recipients"].as_array().expect("a list").iter().map(|r| &r["state"]).collect();
    assert_eq!(states, ["accepted", "accepted"], "whoever is invited has not got it");
    carol.get(&path(sequence)).await.assert_refused(404, "not_found");
}

#[tokio::test]
async fn a_receipt_comes_when_the_message_has_come_so_far_and_not_before() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "hello").await;
    let path = |query: &str| format!("/sessions/{id}/messages/{sequence}/status{query}");
    let late = alice.get(&path("?timeout_s=1&until=delivered")).await.ok(200);
    assert_eq!((&late["timed_out"], &late["recipients"][0]["state"]), (&json!(true), &json!("accepted")));
    let waiting = {
        let (alice, path) = (alice.clone(), path("?timeout_s=60"));
        tokio::spawn(async move { alice.get(&path).await.ok(200) })
    };
    let page = inbox(&bob, "").await;
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "delivered"})).await.ok(200);
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "seen"})).await.ok(200);
    let receipt = blackbox::in_time("the receipt", waiting).await.expect("a wait");
    assert_eq!(
        (&receipt["timed_out"], &receipt["recipients"][0]["state"]),
        (&json!(null), &json!("in_context"))
    );
    let at_once = alice.get(&path("?timeout_s=60&until=seen")).await.ok(200);
    assert_eq!(at_once["recipients"][0]["state"], "in_context");
    let waiting = {
        let (alice, path) = (alice.clone(), path("?timeout_s=60&until=answered"));
        tokio::spawn(async move { alice.get(&path).await.ok(200) })
    };
    bob.say(&id, "yes").await;
    let receipt = blackbox::in_time("the answer", waiting).await.expect("a wait");
    assert_eq!(receipt["recipients"][0]["state"], "answered");
    alice.get(&path("?timeout_s=61")).await.assert_refused(400, "invalid_timeout");
    alice.get(&path("?until=read")).await.assert_refused(400, "invalid_state");
}

/// The events of a stream that is over: their names are `receipt`, their data recipients.
fn receipts(text: &str) -> Vec<Value> {
    // A block without data is no event (WHATWG HTML, 9.2.6).
    let has_data = |block: &&str| !block.is_empty() && !block.starts_with(':') && !block.starts_with("id: ");
    let blocks = text.split("\n\n").filter(has_data);
    let read = |block: &str| {
        let data = block.strip_prefix("event: receipt\ndata: ").unwrap_or_else(|| panic!("{block:?}"));
        serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {block:?}"))
    };
    blocks.map(read).collect()
}

/// A stream of receipts begins with what is known, reports what changes, and ends when nothing can.
#[tokio::test]
async fn receipts_are_a_stream_that_ends_with_the_last_one() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "hello").await;
    let path = format!("/sessions/{id}/messages/{sequence}/receipts");
    let cli = Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_TOKEN", alice.token())]);
    let number = sequence.to_string();
    let mut follower = cli.start(&["message", "status", &id, &number, "--follow"]);
    let first = follower.line().await;
    assert!(first.starts_with("@bob.bot accepted"), "{first}");
    let mut interrupted = cli.start(&["message", "status", &id, &number, "--follow"]);
    interrupted.line().await;
    interrupted.signal(rustix::process::Signal::INT);
    assert_eq!(interrupted.end().await.code, 0, "Ctrl-C ends it like other commands that follow events");
    let whole = {
        let (alice, path) = (alice.clone(), path.clone());
        tokio::spawn(async move { alice.get(&path).await })
    };
    let page = inbox(&bob, "").await;
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "delivered"})).await.ok(200);
    follower.line_with("@bob.bot delivered").await;
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "seen"})).await.ok(200);
    follower.line_with("@bob.bot in context").await;
    ack(&bob, &page).await;
    follower.line_with("@bob.bot acknowledged").await;
    assert_eq!(follower.end().await.code, 0, "nothing can change any more");
    let whole = blackbox::in_time("the end of the stream", whole).await.expect("a stream");
    assert_eq!(whole.header("content-type"), Some("text/event-stream"));
    let told = receipts(&whole.text());
    let last = told.last().unwrap_or_else(|| panic!("the present state comes first: {whole}"));
    assert_eq!((&last["agent"], &last["state"]), (&json!("@bob.bot"), &json!("acknowledged")));
    let of = |receipt: &Value| (receipt["state"].clone(), receipt["waiting"]["reason"].clone());
    assert!(told.windows(2).all(|pair| of(&pair[0]) != of(&pair[1])), "each is a change: {told:?}");
    // Of what is over, the state alone.
    let again = alice.get(&path).await;
    assert_eq!(receipts(&again.text()).len(), 1, "{again}");
}

/// A browser opens a stream that has ended again, with the last id that it has; only 204 tells it that nothing comes any more.
#[tokio::test]
async fn a_browser_that_comes_back_to_finished_receipts_is_told_so() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "hello").await;
    let path = format!("/sessions/{id}/messages/{sequence}/receipts");
    let with = [("Last-Event-ID", "end")];
    alice.try_stream(&path, &with).await.expect("the state can still change");
    ack(&bob, &inbox(&bob, "").await).await;
    let whole = alice.get(&path).await;
    assert!(whole.status == 200 && whole.text().ends_with("\n\nid: end\n\n"), "{whole}");
    let again = alice.call("GET", &path, &with, None).await;
    assert_eq!((again.status, again.text().as_str()), (204, ""), "{again}");
    let other = [("Last-Event-ID", "7")];
    assert_eq!(alice.call("GET", &path, &other, None).await.status, 200);
    let carol = server.agent("@carol.bot").await;
    carol.call("GET", &path, &with, None).await.assert_refused(404, "not_found");
}

/// A stream of receipts is a wait: for participants, as many as an agent may have, and as long as the token is valid.
#[tokio::test]
async fn a_stream_of_receipts_takes_a_place_among_the_waits() {
    const WAITS_PER_AGENT_MAX: usize = 16;
    let (server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "hello").await;
    let path = format!("/sessions/{id}/messages/{sequence}/receipts");
    let carol = server.agent("@carol.bot").await;
    carol.get(&path).await.assert_refused(404, "not_found");
    alice
        .get(&format!("/sessions/{id}/messages/{}/receipts", sequence + 1))
        .await
        .assert_refused(404, "not_found");
    let mut streams = Vec::new();
    for _ in 0..WAITS_PER_AGENT_MAX {
        streams.push(alice.try_stream(&path, &[]).await.expect("a place"));
    }
    let refused = alice.try_stream(&path, &[]).await.expect_err("no place is left");
    refused.assert_refused(429, "too_many_waits");
    bob.try_stream(&path, &[]).await.expect("another agent has places of its own");
    drop(streams.pop());
    let began = tokio::time::Instant::now();
    while alice.try_stream(&path, &[]).await.is_err() {
        assert!(began.elapsed() < PATIENCE, "the place of a closed stream is not free again");
    }
}

/// Whoever has left learns nothing of what the others did since: no answer, and no mark.
#[tokio::test]
async fn asp_27_a_former_participant_is_told_no_state_of_later() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    carol.join(&id).await;
    let sequence = carol.say(&id, "before I leave").await;
    carol.leave(&id).await;
    let path = format!("/sessions/{id}/messages/{sequence}/status");
    let before = carol.get(&path).await.ok(200);
    alice.say(&id, "after she left").await;
    let page = inbox(&bob, "").await;
    ack(&bob, &page).await;
    assert_eq!(carol.get(&path).await.ok(200), before);
    let others = before["recipients"].as_array().expect("a list");
    assert!(others.iter().all(|recipient| recipient["state"] == "accepted"), "{before}");
}

/// A state that was told before is not taken back: neither from whoever left, nor from whoever is invited again.
#[tokio::test]
async fn a_former_participant_is_told_no_less_than_before() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    carol.join(&id).await;
    let sequence = alice.say(&id, "hello").await;
    ack(&bob, &inbox(&bob, "").await).await;
    let path = format!("/sessions/{id}/messages/{sequence}/status");
    let states = async |who: &blackbox::Agent| {
        let status = who.get(&path).await.ok(200);
        let states = status["recipients"].as_array().expect("a list").clone();
        states.into_iter().map(|one| one["state"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(states(&alice).await, ["acknowledged", "accepted"]);
    alice.end(&id).await;
    bob.reopen(&id, json!({})).await;
    ack(&carol, &inbox(&carol, "").await).await;
    assert_eq!(states(&alice).await, ["acknowledged", "accepted"], "invited again");
    server.crash().await;
    assert_eq!(states(&alice).await, ["acknowledged", "accepted"]);
    alice.join(&id).await;
    assert_eq!(states(&alice).await, ["acknowledged", "acknowledged"]);
    let later = alice.say(&id, "bye").await;
    alice.leave(&id).await;
    assert_eq!(states(&alice).await, ["acknowledged", "acknowledged"], "it left");
    let last = alice.get(&format!("/sessions/{id}/messages/{later}/status")).await.ok(200);
    assert_eq!(last["recipients"][0]["state"], "accepted", "{last}");
}

/// A recipient that left may still read what came before, so the message has not expired, and the sender is told why it
/// waits.
#[tokio::test]
async fn a_recipient_that_left_gets_what_came_before_and_then_nothing() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "before it left").await;
    bob.leave(&id).await;
    let recipient = async |sequence: i64| {
        let path = format!("/sessions/{id}/messages/{sequence}/status");
        alice.get(&path).await.ok(200)["recipients"][0].clone()
    };
    let told = recipient(sequence).await;
    assert_eq!((&told["state"], &told["waiting"]["reason"]), (&json!("accepted"), &json!("left")), "{told}");
    assert!(told["waiting"]["since"].is_string(), "{told}");
    let mut socket = bob.connect().await;
    while socket.event().await["type"] != "session.left" {}
    socket.wait_until_confirmed().await;
    assert_eq!(recipient(sequence).await["state"], "delivered");
    let later = alice.say(&id, "after it left").await;
    assert_eq!(recipient(later).await, Value::Null, "it is no recipient");
    // Whoever is invited and leaves again can never get it.
    alice.invite(&id, &["@bob.bot"]).await;
    assert_eq!(recipient(later).await["waiting"]["reason"], "not_joined");
    alice.end(&id).await;
    assert_eq!(recipient(later).await["state"], "expired");
}

/// ASP-12: what an agent does after it blocked the sender does not show in the states of earlier messages.
#[tokio::test]
async fn asp_12_after_a_block_the_states_stay_as_they_were_last_reported() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "before the end").await;
    alice.end(&id).await;
    let path = format!("/sessions/{id}/messages/{sequence}/status");
    let status = async || alice.get(&path).await.ok(200)["recipients"][0].clone();
    let reported = status().await["state"].clone();
    let block = json!({"handle": alice.handle});
    server.operator().post(&format!("/_admin/agents/{}/blocks", bob.handle), block).await.ok(201);
    server
        .operator()
        .patch(&format!("/_admin/agents/{}", bob.handle), json!({"attention": "dnd"}))
        .await
        .ok(200);
    let mut socket = bob.connect().await;
    while socket.event().await["type"] != "session.ended" {}
    socket.wait_until_confirmed().await;
    let shown = status().await;
    assert_eq!((&shown["state"], &shown["waiting"]), (&reported, &Value::Null), "{shown}");
}

/// What is for one session of a coding agent is left out for another, however much it is, and comes to the first whole.
#[tokio::test]
async fn more_than_a_hundred_messages_for_one_session_hold_no_other_up() {
    const MANY: usize = 130;
    let (_server, [one, two]) = Server::with(["@nick.one", "@nick.two"]).await;
    let moment = async |session: &str| {
        let body = json!({"session": session, "client": "claude", "event": "prompt"});
        two.post("/inbox/session", body).await.ok(200);
    };
    moment("s-1").await;
    moment("s-2").await;
    let (theirs, any) = (blackbox::room(&[&one, &two]).await, blackbox::room(&[&one, &two]).await);
    let address = json!({"agent": "@nick.two", "coding_session": "s-1", "session_id": theirs});
    one.post("/inbox/address", address).await.ok(200);
    for number in 0..MANY {
        one.say(&theirs, format!("for one {number}")).await;
    }
    one.say(&any, "for whoever works").await;
    moment("s-2").await;
    let page = inbox(&two, "?coding_session=s-2&kinds=session.message").await;
    assert_eq!(super::texts(&page), ["for whoever works"]);
    assert_eq!(page["held"].as_array().map(Vec::len), Some(MANY));
    let ids = [&page["items"][0]["id"]];
    let shown = json!({"session": "s-2", "client": "claude", "event": "tool", "cursor": page["cursor"],
        "items": ids, "held": page["held"]});
    two.post("/inbox/shown", shown).await.ok(200);
    moment("s-2").await;
    let (mut read, mut query) =
        (Vec::new(), "?coding_session=s-1&kinds=session.message&limit=100".to_owned());
    loop {
        let page = inbox(&two, &query).await;
        read.extend(super::texts(&page));
        if page["more"] != true {
            break;
        }
        query = format!("?coding_session=s-1&kinds=session.message&limit=100&after={}", super::cursor(&page));
    }
    let expected: Vec<String> = (0..MANY).map(|number| format!("for one {number}")).collect();
    assert_eq!(read.iter().filter(|text| text.starts_with("for one")).cloned().collect::<Vec<_>>(), expected);
}

/// Items that came back from a coding session are refused a further handover only while they are unread.
#[tokio::test]
async fn items_that_came_back_do_not_block_a_coding_session_for_ever() {
    const RETURNED_MAX: usize = 2_048;
    let (_server, [one, two]) = Server::with(["@nick.one", "@nick.two"]).await;
    let event = async |session: &str, event: &str| {
        let body = json!({"session": session, "client": "claude", "event": event});
        two.post("/inbox/session", body).await.ok(200);
    };
    let show = async |session: &str, ids: &[Value], cursor: &Value| {
        let body =
            json!({"session": session, "client": "claude", "event": "tool", "cursor": cursor, "items": ids});
        two.post("/inbox/shown", body).await
    };
    let room = blackbox::room(&[&one, &two]).await;
    event("s-1", "prompt").await;
    for number in 0..=RETURNED_MAX {
        one.say(&room, format!("message {number}")).await;
    }
    let (mut query, mut first) = ("?coding_session=s-1&kinds=session.message&limit=100".to_owned(), None);
    loop {
        let page = inbox(&two, &query).await;
        let items = page["items"].as_array().unwrap();
        let ids: Vec<Value> = items.iter().map(|item| item["id"].clone()).collect();
        show("s-1", &ids, &page["cursor"]).await.ok(200);
        first.get_or_insert((ids, page["cursor"].clone()));
        query = format!("?coding_session=s-1&kinds=session.message&limit=100&after={}", super::cursor(&page));
        if page["more"] != true {
            break;
        }
    }
    event("s-1", "gone").await;
    event("s-2", "prompt").await;
    one.say(&room, "one more").await;
    let page = inbox(&two, &query.replace("s-1", "s-2")).await;
    assert_eq!(super::texts(&page), ["one more"]);
    let last = [page["items"][0]["id"].clone()];
    show("s-2", &last, &page["cursor"]).await.assert_refused(429, "too_many_shown");
    let (ids, cursor) = first.unwrap();
    show("s-2", &ids, &cursor).await.ok(200);
    event("s-2", "gone").await;
    event("s-3", "prompt").await;
    show("s-3", &last, &page["cursor"]).await.assert_refused(429, "too_many_shown");
    let read = json!({"session_id": room, "sequence": RETURNED_MAX + 100});
    two.post("/inbox/ack", read).await.ok(200);
    show("s-3", &last, &page["cursor"]).await.ok(200);
}
