//! Who may read a file, and who may name it: for everybody else it does not exist.

use blackbox::{Agent, Caller, Connection, Response, Server, enter, room};
use serde_json::json;

use super::{content, get, message, send};

const ABSENT: &str = "file_01HW7AB12CDEFGHJKMNPQRSTVW";

/// Status, headers and body are those of a file that never was.
#[track_caller]
fn is_absent(found: &Response, absent: &Response, who: &str) {
    assert_eq!(absent.status, 404, "{absent}");
    assert_eq!(found.fingerprint(), absent.fingerprint(), "{who}");
    assert_eq!(found.body, absent.body, "{who}");
}

async fn cannot_read(who: &Caller, file: &str, name: &str) {
    is_absent(&get(who, file).await, &get(who, ABSENT).await, name);
    let (range, method) = ([("Range", "bytes=0-0")], "GET");
    let part = who.call(method, &format!("/files/{file}"), &range, None).await;
    is_absent(&part, &who.call(method, &format!("/files/{ABSENT}"), &range, None).await, name);
}

async fn can_read(who: &Caller, file: &str, name: &str) {
    let found = get(who, file).await;
    assert_eq!((found.status, &*found.body), (200, &b"content"[..]), "{name}: {found}");
}

/// A message that names it is refused like one that names a file that never was.
async fn cannot_name(who: &Agent, session: &str, file: &str, name: &str) {
    let (found, absent) = (send(who, session, file).await, send(who, session, ABSENT).await);
    absent.assert_refused(400, "unknown_file");
    assert_eq!((found.fingerprint(), found.body), (absent.fingerprint(), absent.body), "{name}");
}

#[tokio::test]
async fn a_file_is_for_its_uploader_its_owner_and_those_who_may_read_a_message_that_names_it() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let sibling = server.agent("@alice.second").await;
    let stranger = server.agent("@cid.bot").await;
    let invited = server.agent("@dan.bot").await;
    alice.invite(&id, &[&invited.handle]).await;
    let gone = enter(&server, &alice, &id, "@eve.bot").await;
    gone.leave(&id).await;
    let (owner, others_owner) = (server.owner("alice").await, server.owner("bob").await);
    let operator = server.operator();
    let file = alice.upload_file("q3.pdf", b"content").await;

    can_read(&alice, &file, "its uploader").await;
    can_read(&owner, &file, "its owner").await;
    let apart: [(&Caller, &str); 6] = [
        (&sibling, "another agent of the owner"),
        (&stranger, "a stranger"),
        (&invited, "who is invited"),
        (&gone, "who has left before"),
        (&others_owner, "another owner"),
        (&operator, "the operator"),
    ];
    for (who, name) in apart.iter().chain(&[(&*bob as &Caller, "a participant before it is named")]) {
        cannot_read(who, &file, name).await;
    }
    cannot_name(&bob, &id, &file, "a participant before it is named").await;
    let own = sibling.create(&[]).await;
    cannot_name(&sibling, &own, &file, "another agent of the owner").await;
    server.stranger().get(&format!("/files/{file}")).await.refusal_code(401);
    owner.upload(("a", "text/plain"), b"x", &[]).await.refusal_code(401);
    operator.upload(("a", "text/plain"), b"x", &[]).await.refusal_code(401);

    send(&alice, &id, &file).await.ok(201);
    can_read(&bob, &file, "a participant").await;
    for (who, name) in apart {
        cannot_read(who, &file, name).await;
    }
    // Who may read it may pass it on, and those who read that message read it too.
    let (other, third) = (server.agent("@fay.bot").await, server.agent("@gus.bot").await);
    let elsewhere = room(&[&bob, &other]).await;
    cannot_name(&other, &elsewhere, &file, "before it is passed on").await;
    send(&bob, &elsewhere, &file).await.ok(201);
    can_read(&other, &file, "whom it was passed on to").await;
    cannot_read(&third, &file, "who takes part in neither").await;
    send(&alice, &id, &file).await.ok(201);
}

/// Who joins later reads the transcript and its files; who left or was blocked reads what it could read then, and nothing
/// that was named afterwards.
#[tokio::test]
async fn late_gone_and_blocked_participants_read_what_their_messages_name() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let leaver = enter(&server, &alice, &id, "@cid.bot").await;
    let before = alice.upload_file("before", b"content").await;
    send(&alice, &id, &before).await.ok(201);
    leaver.leave(&id).await;
    let third = enter(&server, &alice, &id, "@dan.bot").await;
    server.block(&alice, &bob.handle).await;
    let after = alice.upload_file("after", b"content").await;
    send(&alice, &id, &after).await.ok(201);
    for (who, name) in [(&leaver, "who left"), (&bob, "who was blocked")] {
        can_read(who, &before, name).await;
        cannot_read(who, &after, name).await;
    }
    can_read(&third, &before, "who joined later").await;
    let late = server.agent("@eve.bot").await;
    alice.invite(&id, &[&late.handle]).await;
    cannot_read(&late, &after, "who has not joined yet").await;
    late.join(&id).await;
    for file in [&before, &after] {
        can_read(&late, file, "who joined late").await;
    }
    alice.end(&id).await;
    can_read(&late, &after, "after the end").await;
    cannot_read(&bob, &after, "after the end").await;
    // Named once more: who was there for the first time reads it still.
    alice.reopen(&id, json!({"initial_message": message(&before)})).await;
    can_read(&leaver, &before, "who left, after it was named again").await;
}

/// ASP-29: what is sent and ended comes with the invitation, its files too.
#[tokio::test]
async fn a_message_that_comes_with_an_invitation_brings_its_files() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let file = alice.upload_file("q3.pdf", b"content").await;
    let open = json!({"invite": [bob.handle], "initial_message": message(&file)});
    alice.post("/sessions", open.clone()).await.ok(201);
    cannot_read(&bob, &file, "who was invited to a session that goes on").await;
    let mut ends = open;
    ends["end_after_send"] = true.into();
    alice.post("/sessions", ends).await.ok(201);
    can_read(&bob, &file, "who got the message with the invitation").await;
    let absent = json!({"invite": [], "initial_message": message(ABSENT)});
    alice.post("/sessions", absent).await.assert_refused(400, "unknown_file");
}

/// What a model reads of a message says what the file is and how one gets it.
#[tokio::test]
async fn a_model_is_told_how_a_file_is_got() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let file = alice.upload_file("q3.pdf", b"content").await;
    send(&alice, &id, &file).await.ok(201);
    let inbox = bob.get("/inbox").await.ok(200).to_string();
    assert!(inbox.contains(&file) && inbox.contains("q3.pdf"), "{inbox}");
    let read = crate::mcp_tools::done(&bob, "read", json!({"session_id": id})).await;
    let events = read["events"].as_array().expect("events");
    let parts = &events.last().expect("a message")["parts"];
    assert_eq!((&parts[0]["name"], &parts[0]["size"]), (&json!("q3.pdf"), &json!(7)), "{read}");
    assert_eq!((&parts[0]["mime_type"], &parts[0]["file_id"]), (&json!("application/pdf"), &json!(file)));
    let how = parts[0]["get"].as_str().unwrap_or_default();
    assert!(how.contains(&format!("plenary session file {file}")), "{read}");
}

/// A download under way breaks off when the token ends, or the agent may no longer read the file.
#[tokio::test]
async fn a_download_under_way_breaks_off_with_the_right_to_it() {
    let (server, alice, bob, session) = Server::with_pair().await;
    let file = alice.upload_file("big.bin", &content(16 << 20)).await;
    send(&alice, &session, &file).await.ok(201);
    let made = bob.post("/agents/me/tokens", json!({"scope": "read"})).await.ok(201);
    let text = |name: &str| made[name].as_str().expect("a text").to_owned();
    for (reader, ends_token) in [(&server.bearer(&text("token")), true), (&*bob, false)] {
        let mut connection = Connection::open(reader.address().place()).await.expect("a connection");
        let request = reader.request("GET", &format!("/files/{file}"), &[], None);
        connection.send(&request).await.expect("a request");
        let head = connection.response_head().await.expect("an answer");
        assert_eq!(head.status, 200);
        if ends_token {
            bob.delete(&format!("/agents/me/tokens/{}", text("id"))).await.ok(204);
        } else {
            server.operator().delete(&format!("/_admin/agents/{}", bob.handle)).await.ok(204);
        }
        assert!(connection.complete(head).await.is_err(), "it is cut short");
    }
}
