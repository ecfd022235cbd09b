//! How long a file lasts: over a crash, under a key, until its time is over or its uploader is gone.

use blackbox::{
    Connection, Database, MULTIPART, Server, ShiftedClock, TempDir, TestDependency, eventually, multipart,
    pair,
};

use super::{content, get, kept, send};

/// Thirty days and a little, in seconds.
const PAST_S: i64 = 30 * 24 * 3_600 + 60;

async fn used(who: &blackbox::Caller) -> u64 {
    who.get("/usage").await.ok(200)["stored_bytes"].as_u64().expect("a number")
}

/// A kill in the middle of an upload leaves nothing: no file, no bytes on disk, and the key is free.
#[tokio::test]
async fn a_kill_in_the_middle_of_an_upload_leaves_nothing() {
    let (mut server, [alice]) = Server::with(["@alice.bot"]).await;
    let content = content(3_000_000);
    let body = multipart("a", "text/plain", &content);
    let key = [MULTIPART, ("Idempotency-Key", "k")];
    let request = alice.request("POST", "/files", &key, Some(&body));
    let before = used(&alice).await;
    let mut slow = Connection::open(alice.address().place()).await.expect("a connection");
    slow.send(&request[..request.len() / 2]).await.expect("it is sent");
    eventually("the upload is on its way to the disk", async || {
        kept(&server).iter().any(|file| file.metadata().is_ok_and(|it| it.len() > 500_000)).then_some(())
    })
    .await;
    server.crash().await;
    assert!(kept(&server).is_empty(), "{:?}", kept(&server));
    assert!(used(&alice).await < before + 1_000, "nothing of it counts");
    let made = alice.bytes(&request).await.ok(201);
    let id = made["id"].as_str().expect("an id");
    server.crash().await;
    assert!(get(&alice, id).await.body == content, "what was acknowledged is on disk");
}

/// A client that goes away in the middle leaves nothing that is seen, and a restart removes what is left.
#[tokio::test]
async fn a_client_that_goes_away_leaves_nothing() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let body = multipart("a", "text/plain", &content(3_000_000));
    let request = alice.request("POST", "/files", &[MULTIPART], Some(&body));
    let mut slow = Connection::open(alice.address().place()).await.expect("a connection");
    slow.send(&request[..request.len() / 2]).await.expect("it is sent");
    eventually("the upload is under way", async || (!kept(&server).is_empty()).then_some(())).await;
    drop(slow);
    eventually("nothing is left of it", async || kept(&server).is_empty().then_some(())).await;
}

/// The same file under the same key is kept once, whatever its boundary, and another one is refused.
#[tokio::test]
async fn a_retry_with_the_key_gets_the_same_file() {
    let (mut server, alice, bob, _) = Server::with_pair().await;
    let key = [("Idempotency-Key", "k")];
    let named = ("a.txt", "text/plain");
    let first = alice.upload(named, b"content", &key).await;
    assert!(!first.is_replayed(), "{first}");
    let made = first.ok(201);
    let counted = used(&alice).await;
    for _ in 0..2 {
        let again = alice.upload(named, b"content", &key).await;
        assert!(again.is_replayed(), "{again}");
        assert_eq!(again.ok(201), made);
        let other_type = "multipart/form-data; boundary=another";
        let body = String::from_utf8(multipart("a.txt", "text/plain", b"content")).expect("text");
        let body = body.replace(blackbox::BOUNDARY, "another");
        let head = [("Content-Type", other_type), ("Idempotency-Key", "k")];
        let again = alice.bytes(&alice.request("POST", "/files", &head, Some(body.as_bytes()))).await;
        assert_eq!(again.ok(201), made);
        for (name, kind, content) in [
            ("a.txt", "text/plain", &b"other"[..]),
            ("b.txt", "text/plain", b"content"),
            ("a.txt", "text/html", b"content"),
        ] {
            let other = alice.upload((name, kind), content, &key).await;
            other.assert_refused(409, "idempotency_key_reused");
        }
        assert_eq!(used(&alice).await, counted, "nothing more is kept");
        assert_eq!(kept(&server).len(), 1);
        server.crash().await;
    }
    let others = bob.upload(named, b"content", &key).await.ok(201);
    assert_ne!(others["id"], made["id"], "each agent has its own keys");
    let refused = alice.upload(("..", "text/plain"), b"content", &[("Idempotency-Key", "free")]).await;
    refused.assert_refused(400, "invalid_filename");
    alice.upload(named, b"content", &[("Idempotency-Key", "free")]).await.ok(201);
}

/// Two uploads at once under one key are one file.
#[tokio::test]
async fn uploads_at_once_under_one_key_are_one_file() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let content = content(500_000);
    let upload = || alice.upload(("a", "text/plain"), &content, &[("Idempotency-Key", "k")]);
    let (one, two, three) = tokio::join!(upload(), upload(), upload());
    let made = one.ok(201);
    assert_eq!((two.ok(201), three.ok(201)), (made.clone(), made));
    assert_eq!(kept(&server).len(), 1);
}

/// A file that no message names goes when its time is over, with its bytes; one that a message names stays.
#[tokio::test]
async fn a_file_that_no_message_names_goes_when_its_time_is_over() {
    let Some(clock) = ShiftedClock::make() else { return };
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let (named, other) =
        (alice.upload_file("named", b"named").await, alice.upload_file("other", b"other").await);
    let before = used(&alice).await;
    let large = alice.upload_file("large", &content(300_000)).await;
    send(&alice, &id, &named).await.ok(201);
    assert_eq!(kept(&server).len(), 3);
    server.stop().await;
    clock.set_ahead(&mut server, PAST_S);
    server.restart().await;
    let absent = get(&alice, "file_01HW7AB12CDEFGHJKMNPQRSTVW").await;
    for file in [&other, &large] {
        let found = get(&alice, file).await;
        assert_eq!((found.fingerprint(), found.body), (absent.fingerprint(), absent.body.clone()));
        send(&alice, &id, file).await.assert_refused(400, "unknown_file");
    }
    eventually("the contents go", async || (kept(&server).len() == 1).then_some(())).await;
    for who in [&alice, &bob] {
        assert_eq!(&*get(who, &named).await.body, b"named");
    }
    eventually("they do not count any more", async || (used(&alice).await < before + 2_000).then_some(()))
        .await;
    server.crash().await;
    assert_eq!(&*get(&bob, &named).await.body, b"named");
    assert_eq!(kept(&server).len(), 1);
}

/// What was freed may be used again.
#[tokio::test]
async fn what_is_removed_leaves_its_place() {
    let Some(clock) = ShiftedClock::make() else { return };
    let config = "[files]\nunnamed_max = \"1h\"\n[quota]\nstored_bytes_max = 100000\n";
    let mut server = Server::builder().config(config).start().await;
    let alice = server.agent("@alice.bot").await;
    alice.upload_file("a", &content(90_000)).await;
    alice.upload(("b", "text/plain"), &content(90_000), &[]).await.assert_refused(403, "quota_exceeded");
    server.stop().await;
    clock.set_ahead(&mut server, 3_700);
    server.restart().await;
    eventually("there is room again", async || {
        let answer = alice.upload(("b", "text/plain"), &content(90_000), &[]).await;
        (answer.status == 201).then_some(())
    })
    .await;
}

/// With its uploader goes a file that no message names; what messages name stays with them.
#[tokio::test]
async fn files_of_a_deleted_agent_go_unless_a_message_names_them() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let owner = server.owner("alice").await;
    let (named, other) =
        (alice.upload_file("named", b"named").await, alice.upload_file("other", b"other").await);
    send(&alice, &id, &named).await.ok(201);
    assert_eq!(&*get(&owner, &other).await.body, b"other");
    server.operator().delete(&format!("/_admin/agents/{}", alice.handle)).await;
    eventually("it is gone", async || (get(&owner, &other).await.status == 404).then_some(())).await;
    get(&alice, &named).await.refusal_code(401);
    for who in [&*bob as &blackbox::Caller, &owner] {
        assert_eq!(&*get(who, &named).await.body, b"named");
    }
}

/// Two processes on one store and one place share files: what one takes, the other gives out, names and counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_files() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let place = TempDir::new();
    let at = format!("file://{}", place.path().display());
    let start = || Server::builder().database(database.url()).arg("--blobs").arg(&at).start();
    let (a, b) = tokio::join!(start(), start());
    let (alice, bob, id) = pair(&a).await;
    let (alice_b, bob_b) = (alice.at(&b), bob.at(&b));
    let file = alice.upload_file("a", b"content").await;
    assert_eq!(&*get(&alice_b, &file).await.body, b"content");
    get(&bob_b, &file).await.assert_refused(404, "not_found");
    let body = super::message(&file);
    alice_b.post(&format!("/sessions/{id}/messages"), body).await.ok(201);
    for who in [&bob, &bob_b] {
        assert_eq!(&*get(who, &file).await.body, b"content");
    }
    let key = [("Idempotency-Key", "k")];
    let first = alice.upload(("k", "text/plain"), b"x", &key).await.ok(201);
    assert_eq!(alice_b.upload(("k", "text/plain"), b"x", &key).await.ok(201), first);
    assert_eq!(used(&alice).await, used(&alice_b).await);
    drop((a, b));
    database.remove().await;
}
