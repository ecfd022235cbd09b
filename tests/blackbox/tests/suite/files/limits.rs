//! What an upload may be, and what one owner may have: past it, it is refused with a code, and nothing is kept.

use blackbox::{BOUNDARY, Connection, Database, MULTIPART, Server, TestDependency, multipart, pair};
use serde_json::json;

use super::{content, get, kept, send};

async fn used(who: &blackbox::Caller) -> u64 {
    who.get("/usage").await.ok(200)["stored_bytes"].as_u64().expect("a number")
}

/// Past the size of a file it is 413, announced or not, and nothing is left of it.
#[tokio::test]
async fn a_file_that_is_too_large_is_not_kept() {
    const MAX: usize = 2_000_000;
    let server = Server::builder().config(&format!("[files]\nbytes_max = {MAX}\n")).start().await;
    let alice = server.agent("@alice.bot").await;
    let file = alice.upload(("a", "text/plain"), &content(MAX), &[]).await.ok(201);
    assert_eq!(file["size_bytes"], json!(MAX));
    let files = kept(&server).len();
    for size in [MAX + 1, MAX + 1_000_000] {
        alice.upload(("a", "text/plain"), &content(size), &[]).await.assert_refused(413, "body_too_large");
    }
    let body = multipart("a", "text/plain", &content(MAX + 1));
    let mut chunked = format!("{:x}\r\n", body.len()).into_bytes();
    chunked.extend([&body[..], b"\r\n0\r\n\r\n"].concat());
    let head = [MULTIPART, ("Transfer-Encoding", "chunked")];
    let mut request = alice.request("POST", "/files", &head, None);
    request.extend(chunked);
    alice.bytes(&request).await.assert_refused(413, "body_too_large");
    assert_eq!(kept(&server).len(), files, "nothing is left of what was refused");
}

/// Files count towards what an owner stores; one that does not fit is refused by the rule's name, and nothing is kept.
#[tokio::test]
async fn files_count_towards_what_an_owner_stores() {
    const MAX: u64 = 100_000;
    let server = Server::builder().config(&format!("[quota]\nstored_bytes_max = {MAX}\n")).start().await;
    let (alice, bob, id) = pair(&server).await;
    let second = server.agent("@alice.second").await;
    let before = used(&alice).await;
    let file = alice.upload_file("a", &content(60_000)).await;
    let after = used(&alice).await;
    assert!((before + 60_000..before + 62_000).contains(&after), "{before} {after}");
    for who in [&alice, &second] {
        let refused = who.upload(("a", "text/plain"), &content(60_000), &[]).await;
        refused.assert_refused(403, "quota_exceeded");
        assert!(refused.text().contains("stored_bytes_max"), "{refused}");
    }
    assert_eq!(kept(&server).len(), 1, "nothing is kept of what was refused");
    bob.upload_file("a", &content(60_000)).await;
    send(&alice, &id, &file).await.ok(201);
    assert_eq!(get(&bob, &file).await.body.len(), 60_000);
    assert_eq!(used(&bob).await, used(&server.owner("bob").await).await);
}

/// One owner has so many uploads under way; the others have theirs.
#[tokio::test]
async fn an_owner_has_a_share_of_the_uploads() {
    let server = Server::builder().config("[quota]\nuploads_per_owner_max = 1\n").start().await;
    let (alice, bob) = (server.agent("@alice.bot").await, server.agent("@bob.bot").await);
    let second = server.agent("@alice.second").await;
    let body = multipart("a", "text/plain", &content(1_000_000));
    let request = alice.request("POST", "/files", &[MULTIPART], Some(&body));
    let mut slow = Connection::open(alice.address().place()).await.expect("a connection");
    slow.send(&request[..request.len() - 10]).await.expect("it is sent");
    blackbox::eventually("the upload is under way", async || (kept(&server).len() == 1).then_some(())).await;
    let refused = second.upload(("a", "text/plain"), b"x", &[]).await;
    refused.assert_refused(429, "too_many_uploads");
    assert!(refused.header("retry-after").is_some(), "{refused}");
    bob.upload_file("a", b"x").await;
    slow.send(&request[request.len() - 10..]).await.expect("it is sent");
    assert_eq!(slow.response().await.expect("an answer").status, 201);
    second.upload_file("a", b"x").await;
}

/// Bodies that are no upload, and names that no file may have.
#[tokio::test]
async fn what_is_no_upload_is_refused() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    alice.post("/files", json!({"file": "x"})).await.assert_refused(415, "unsupported_media_type");
    alice.post_empty("/files").await.assert_refused(415, "unsupported_media_type");
    let post = async |body: &str| {
        alice.bytes(&alice.request("POST", "/files", &[MULTIPART], Some(body.as_bytes()))).await
    };
    let part = |name: &str, content: &str| {
        format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a\"\r\n\r\n{content}\r\n"
        )
    };
    let end = format!("--{BOUNDARY}--\r\n");
    for body in [
        String::new(),
        end.clone(),
        "no parts at all".to_owned(),
        part("file", "x"),
        part("other", "x") + &end,
        part("file", "x") + &part("file", "y") + &end,
    ] {
        post(&body).await.assert_refused(400, "invalid_multipart");
    }
    let long = "x".repeat(256);
    for name in ["", "..", "a/b", "..\\b", "\u{202e}gpj.exe", "two\tparts", &long] {
        alice.upload((name, "text/plain"), b"x", &[]).await.assert_refused(400, "invalid_filename");
    }
    let key = [("Idempotency-Key", "")];
    alice.upload(("a", "text/plain"), b"x", &key).await.assert_refused(400, "invalid_idempotency_key");
    assert!(kept(&server).is_empty(), "nothing is kept of what was refused");
    alice.upload((&"x".repeat(255), "text/plain"), b"x", &[]).await.ok(201);
}

/// What stands around a content is bounded: the head of a part does not fill the memory.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_head_without_end_costs_little() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    alice.upload_file("a", &content(1_000_000)).await;
    let before = server.peak_kib();
    let head = format!("--{BOUNDARY}\r\nX-A: ");
    let body = [head.as_bytes(), &vec![b'x'; 100_000]].concat();
    let refused = alice.bytes(&alice.request("POST", "/files", &[MULTIPART], Some(&body))).await;
    refused.assert_refused(400, "invalid_multipart");
    let body = [head.as_bytes(), &vec![b'x'; 50_000_000]].concat();
    let request = alice.request("POST", "/files", &[MULTIPART], Some(&body));
    let mut connection = Connection::open(alice.address().place()).await.expect("a connection");
    // The server answers and closes before it has read it all.
    let _cut = connection.send(&request).await;
    alice.upload_file("b", b"x").await;
    let more = server.peak_kib().saturating_sub(before);
    assert!(more < 20_000, "a head of 50 MB cost {more} KiB");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_large_file_passes_through_little_memory() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    alice.upload_file("a", &content(1_000_000)).await;
    let before = server.peak_kib();
    let content = content(60 << 20);
    let id = alice.upload_file("a", &content).await;
    assert!(alice.get_large(&format!("/files/{id}")).await.body == content);
    let more = server.peak_kib().saturating_sub(before);
    assert!(more < 30_000, "60 MiB cost {more} KiB");
}

/// Where nobody said where contents go, there are no files.
#[tokio::test]
async fn without_a_place_for_contents_there_are_no_files() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let server = Server::builder().database(database.url()).start().await;
    let (alice, _bob, id) = pair(&server).await;
    alice.upload(("a", "text/plain"), b"x", &[]).await.assert_refused(501, "not_implemented");
    get(&alice, "file_01HW7AB12CDEFGHJKMNPQRSTVW").await.assert_refused(404, "not_found");
    send(&alice, &id, "file_01HW7AB12CDEFGHJKMNPQRSTVW").await.assert_refused(400, "unknown_file");
    drop(server);
    database.remove().await;
}
