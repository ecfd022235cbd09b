//! Contents of deliverables: kept by their SHA-256, opaque, verified, project by project. AP-78, AP-79, D.7
//! (`blob_storage`).

use std::{path::PathBuf, time::Duration};

use blackbox::{
    Caller, Connection, Database, Response, Server, TempDir, TestDependency, rounds, strike_after,
};
use futures_util::future::join_all;
use serde_json::json;

use super::canonical::sha256;
use super::speak::{PROJECT, deposited, desk, package, package_with, refused};

/// What is verified before its first byte is given out.
const WHOLE_MAX: usize = 1 << 20;

/// Bytes of every value, in no order that a part repeats.
fn content(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    (0..count).map(next).collect()
}

fn path(project: &str, sha256: &str) -> String {
    format!("/v1/projects/{project}/blobs/{sha256}")
}

async fn put(caller: &Caller, project: &str, sha256: &str, content: &[u8]) -> Response {
    let kind = [("Content-Type", "application/octet-stream")];
    caller.bytes(&caller.request("PUT", &path(project, sha256), &kind, Some(content))).await
}

async fn get(caller: &Caller, project: &str, sha256: &str) -> Response {
    caller.get(&path(project, sha256)).await
}

/// A server with a project of `@nick.cc-laptop`.
async fn room() -> (Server, blackbox::Agent) {
    let (server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    (server, nick)
}

/// Every file below a directory.
fn files(below: &std::path::Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(below) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Put, got, put again: the same bytes, as an attachment without a type, after a crash too.
#[tokio::test]
async fn ap_78_a_content_comes_back_as_it_was() {
    let (mut server, nick) = room().await;
    for size in [0, 1, WHOLE_MAX, WHOLE_MAX + 1, 5_000_000] {
        let content = content(size, 7);
        let name = sha256(&content);
        get(&nick, PROJECT, &name).await.assert_refused(404, "blob_not_found");
        let kept = json!({"hash": format!("sha256:{name}"), "size_bytes": size});
        assert_eq!(put(&nick, PROJECT, &name, &content).await.ok(201), kept);
        assert_eq!(put(&nick, PROJECT, &name, &content).await.ok(200), kept, "again is no error");
        server.crash().await;
        let found = get(&nick, PROJECT, &name).await;
        assert_eq!(found.status, 200, "{found}");
        assert!(found.body == content, "the bytes of {size}");
        for (header, value) in [
            ("content-type", "application/octet-stream"),
            ("x-content-type-options", "nosniff"),
            ("content-disposition", "attachment"),
            ("etag", &format!("\"sha256:{name}\"")),
            ("content-length", &size.to_string()),
        ] {
            assert_eq!(found.header(header), Some(value), "{header}");
        }
    }
    assert_eq!(nick.get("/v1/conformance").await.ok(200)["capabilities"]["blob_storage"], true);
}

/// A part of a large content costs about that part: its hash is verified once, and not for each request.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn ap_78_a_byte_of_a_large_content_reads_little() {
    const SIZE: usize = 8 << 20;
    let (server, nick) = room().await;
    let content = content(SIZE, 5);
    let name = sha256(&content);
    put(&nick, PROJECT, &name, &content).await.ok(201);
    let byte = async || {
        let found = nick.call("GET", &path(PROJECT, &name), &[("Range", "bytes=5-5")], None).await;
        assert_eq!((found.status, &*found.body), (206, &content[5..6]));
    };
    byte().await;
    let before = server.read_bytes();
    for _ in 0..8 {
        byte().await;
    }
    let read = server.read_bytes() - before;
    assert!(read < SIZE as u64, "8 requests for a byte read {read} bytes");
}

/// `HEAD`, ranges and conditions as HTTP has them.
#[tokio::test]
async fn ap_78_parts_sizes_and_conditions() {
    let (_server, nick) = room().await;
    for size in [1_000, WHOLE_MAX + 1_000] {
        let content = content(size, 3);
        let name = sha256(&content);
        put(&nick, PROJECT, &name, &content).await.ok(201);
        let path = path(PROJECT, &name);
        let mut connection = Connection::open(nick.address().place()).await.expect("a connection");
        connection.send(&nick.request("HEAD", &path, &[], None)).await.expect("it is sent");
        let head = connection.response_head().await.expect("an answer");
        assert_eq!((head.status, head.header("content-length")), (200, Some(size.to_string().as_str())));
        let ask = async |name: &str, value: &str| nick.call("GET", &path, &[(name, value)], None).await;
        for (range, part) in [
            ("bytes=0-0", 0..1),
            ("bytes=100-199", 100..200),
            ("bytes=990-", 990..size),
            ("bytes=-7", size - 7..size),
            ("bytes=0-99999999", 0..size),
        ] {
            let found = ask("Range", range).await;
            assert_eq!(found.status, 206, "{range}: {found}");
            let said = format!("bytes {}-{}/{size}", part.start, part.end - 1);
            assert_eq!(found.header("content-range"), Some(said.as_str()));
            assert!(found.body == content[part], "{range}");
        }
        let beyond = ask("Range", &format!("bytes={size}-")).await;
        assert_eq!(beyond.status, 416, "{beyond}");
        assert_eq!(beyond.header("content-type"), Some("application/json"), "{beyond}");
        assert_eq!(beyond.header("content-range"), Some(format!("bytes */{size}").as_str()));
        assert_eq!(ask("Range", "bytes=0-1,5-6").await.body.len(), size, "several ranges: the whole");
        let etag = format!("\"sha256:{name}\"");
        let known = ask("If-None-Match", &etag).await;
        assert_eq!((known.status, known.body.len()), (304, 0));
        assert_eq!(ask("If-None-Match", "\"x\"").await.status, 200);
    }
}

/// A13: what is not what its name says is refused, and nothing of it is kept.
#[tokio::test]
async fn ap_78_another_content_is_refused() {
    let (server, nick) = room().await;
    for size in [10, 3_000_000] {
        let (content, other) = (content(size, 5), sha256(b"something else"));
        refused(&put(&nick, PROJECT, &other, &content).await, 400, "hash_mismatch", "sha256");
        get(&nick, PROJECT, &other).await.assert_refused(404, "blob_not_found");
        get(&nick, PROJECT, &sha256(&content)).await.assert_refused(404, "blob_not_found");
    }
    let name = sha256(b"x");
    for bad in ["x", &name[1..], &name.to_uppercase(), &format!("{name}0"), "..%2F..%2Fetc%2Fpasswd"] {
        put(&nick, PROJECT, bad, b"x").await.assert_refused(400, "invalid_parameter");
        get(&nick, PROJECT, bad).await.assert_refused(400, "invalid_parameter");
    }
    let zipped = [("Content-Encoding", "gzip")];
    let request = nick.request("PUT", &path(PROJECT, &name), &zipped, Some(b"x"));
    assert_eq!(nick.bytes(&request).await.status, 415);
    let blobs = server.data().join("blobs");
    blackbox::eventually("nothing is left", || async { files(&blobs).is_empty().then_some(()) }).await;
}

/// Past its limit a content is refused, announced or not; the limit can be set.
#[tokio::test]
async fn ap_78_a_content_has_a_limit() {
    let server = Server::builder().config("blob_octets_max = 2000000").start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let content = content(2_000_001, 9);
    let (name, most) = (sha256(&content), sha256(&content[..2_000_000]));
    put(&nick, PROJECT, &name, &content).await.assert_refused(413, "body_too_large");
    put(&nick, PROJECT, &most, &content[..2_000_000]).await.ok(201);
    let chunked = [("Transfer-Encoding", "chunked")];
    let mut request = nick.request("PUT", &path(PROJECT, &name), &chunked, None);
    for chunk in content.chunks(50_000) {
        request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        request.extend_from_slice(chunk);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    nick.bytes(&request).await.assert_refused(413, "body_too_large");
    get(&nick, PROJECT, &name).await.assert_refused(404, "blob_not_found");
}

/// AP-101: read like packages are read, put like packages are deposited; what one project has, another has not.
#[tokio::test]
async fn ap_101_a_content_belongs_to_its_projects() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let (nick, mallory) = (server.agent("@nick.cc-laptop").await, server.agent("@mallory.bot").await);
    deposited(&nick, &package(&nick.handle, "one")).await;
    deposited(&mallory, &package_with(&mallory.handle, "two", json!({"project_id": "theirs"}))).await;
    let (name, absent) = (sha256(b"secret"), sha256(b"absent"));
    put(&nick, PROJECT, &name, b"secret").await.ok(201);
    for caller in [&mallory as &Caller, &nick] {
        put(caller, "none", &name, b"secret").await.assert_refused(404, "project_not_found");
    }
    put(&mallory, PROJECT, &name, b"secret").await.assert_refused(404, "project_not_found");
    get(&mallory, PROJECT, &name).await.assert_refused(404, "project_not_found");
    let (foreign, nothing) = (get(&mallory, "theirs", &name).await, get(&mallory, "theirs", &absent).await);
    foreign.assert_refused(404, "blob_not_found");
    assert_eq!(foreign.fingerprint(), nothing.fingerprint(), "what others have is like nothing");
    put(&mallory, "theirs", &name, b"secret").await.ok(201);
    assert_eq!(get(&mallory, "theirs", &name).await.body, "secret");
    let role = async |role: &str| {
        let path = format!("/v1/projects/{PROJECT}/members/@mallory.*");
        owner.put(&path, json!({"role": role})).await.ok(200);
    };
    role("reader").await;
    assert_eq!(get(&mallory, PROJECT, &name).await.body, "secret");
    put(&mallory, PROJECT, &absent, b"absent").await.assert_refused(403, "unauthorized");
    role("writer").await;
    put(&mallory, PROJECT, &absent, b"absent").await.ok(201);
    owner.post_empty(&format!("/v1/projects/{PROJECT}/archive")).await.ok(200);
    put(&nick, PROJECT, &sha256(b"late"), b"late").await.assert_refused(403, "project_archived");
    assert_eq!(get(&nick, PROJECT, &name).await.body, "secret", "what is archived can be read");
    assert_eq!(put(&server.stranger(), PROJECT, &name, b"secret").await.status, 401);
}

/// AP-38: a content that the disk has changed is said to be damaged, or never comes to its end; again mends it.
#[tokio::test]
async fn ap_38_a_damaged_content_is_not_given_out() {
    let (server, nick) = room().await;
    for size in [1_000, 4_000_000] {
        let good = content(size, 11);
        let name = sha256(&good);
        put(&nick, PROJECT, &name, &good).await.ok(201);
        let file = server.data().join("blobs/sha256").join(&name[..2]).join(&name[2..]);
        let mut flipped = good.clone();
        flipped[10] ^= 1;
        std::fs::write(&file, &flipped).expect("it is damaged");
        let request = nick.request("GET", &path(PROJECT, &name), &[], None);
        if size <= WHOLE_MAX {
            nick.bytes(&request).await.assert_refused(500, "content_damaged");
        } else {
            let mut connection = Connection::open(nick.address().place()).await.expect("a connection");
            let broken = connection.round_trip(&request).await;
            assert!(broken.is_err(), "it is never served whole: {}", broken.is_ok());
        }
        let part = nick.call("GET", &path(PROJECT, &name), &[("Range", "bytes=0-3")], None).await;
        part.assert_refused(500, "content_damaged");
        for damage in [Some(&good[..size - 1]), None] {
            match damage {
                Some(short) => std::fs::write(&file, short).expect("it is cut short"),
                None => std::fs::remove_file(&file).expect("it is removed"),
            }
            nick.bytes(&request).await.assert_refused(500, "content_damaged");
        }
        put(&nick, PROJECT, &name, &good).await.ok(200);
        assert!(get(&nick, PROJECT, &name).await.body == good);
    }
}

/// Contents that are put at once, the same and others: each comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_78_many_puts_at_once() {
    let (_server, nick) = room().await;
    let contents: Vec<_> = (0..12_u32).map(|number| content(300_000, number / 2 * 2 + 1)).collect();
    let answers =
        join_all(contents.iter().map(async |content| put(&nick, PROJECT, &sha256(content), content).await));
    let new = answers.await.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(new, 6, "each is new once");
    for content in &contents {
        assert!(get(&nick, PROJECT, &sha256(content)).await.body == *content);
    }
}

/// A kill in the middle of puts: what was acknowledged is there, and nothing is there by halves.
#[tokio::test]
async fn ap_78_a_kill_leaves_no_half_contents() {
    let (mut server, nick) = room().await;
    for round in 0..rounds(6, 2) {
        let seed = u32::try_from(round).expect("few") * 100;
        let contents: Vec<_> = (0..8).map(|number| content(400_000, seed + 2 * number + 1)).collect();
        let puts = contents.iter().map(|content| async {
            let mut connection = Connection::open(nick.address().place()).await.ok()?;
            let request = nick.request("PUT", &path(PROJECT, &sha256(content)), &[], Some(content));
            connection.round_trip(&request).await.ok()
        });
        let strike = strike_after(Duration::from_millis(40 + 30 * u64::from(seed / 100)));
        let (answers, ()) = tokio::join!(join_all(puts), async {
            strike.await;
            server.kill().await;
        });
        server.restart().await;
        for (content, answer) in contents.iter().zip(answers) {
            let name = sha256(content);
            let found = get(&nick, PROJECT, &name).await;
            match answer.filter(|answer| answer.status == 201) {
                Some(_) => assert!(found.body == *content, "it was acknowledged"),
                None if found.status == 404 => {}
                None => assert!(
                    found.status == 200 && found.body == *content,
                    "whole or not at all: {}",
                    found.status
                ),
            }
            let again = put(&nick, PROJECT, &name, content).await;
            assert!([200, 201].contains(&again.status), "{again}");
            assert!(get(&nick, PROJECT, &name).await.body == *content);
        }
    }
}

/// D.7: a content is told of when it is put.
#[tokio::test]
async fn ap_78_a_content_is_told_of() {
    let (_server, nick) = room().await;
    let events = format!("/v1/projects/{PROJECT}/events?types=blob");
    let mut stream = crate::sse::Stream::open(&nick, &events, &[]).await;
    let kept = put(&nick, PROJECT, &sha256(b"x"), b"x").await.ok(201);
    assert_eq!(stream.event().await["blob"], kept);
}

/// A bucket that speaks S3: whole, in parts, refused, and shared by two servers that know nothing of each other's store.
#[tokio::test]
async fn ap_78_contents_may_be_kept_in_a_bucket() {
    let TestDependency::Available(url) = TestDependency::s3() else { return };
    let bucket = format!("plenary-{}-{}", std::process::id(), blackbox::epoch_ms());
    let address: std::net::SocketAddr =
        url.trim_start_matches("http://").parse().expect("http://address:port");
    let make = blackbox::render("PUT", &format!("/{bucket}"), &[], Some(b""));
    let mut connection = Connection::open(blackbox::Place::from(address)).await.expect("the bucket's server");
    assert_eq!(connection.round_trip(&make).await.expect("an answer").status, 200);
    let start = || {
        let builder = Server::builder().arg("--blobs").arg(&format!("s3://{bucket}/contents"));
        let keys = builder.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        keys.env("AWS_ENDPOINT_URL", &url)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .start()
    };
    let (one, two) = (start().await, start().await);
    for server in [&one, &two] {
        let nick = server.agent("@nick.cc-laptop").await;
        deposited(&nick, &package(&nick.handle, "one")).await;
        // A part of a bucket's content has at least 5 MiB: the last one is of one part and a piece.
        for size in [0, 1_000, WHOLE_MAX + 1, (5 << 20) + 1_000] {
            let content = content(size, 13);
            let name = sha256(&content);
            get(&nick, PROJECT, &name).await.assert_refused(404, "blob_not_found");
            put(&nick, PROJECT, &name, &content).await.ok(201);
            assert!(get(&nick, PROJECT, &name).await.body == content, "{size}");
            let other = sha256(&[&content[..], b"x"].concat());
            put(&nick, PROJECT, &other, &content).await.assert_refused(400, "hash_mismatch");
        }
        let name = sha256(&content(WHOLE_MAX + 1, 13));
        let part = nick.call("GET", &path(PROJECT, &name), &[("Range", "bytes=5-9")], None).await;
        assert!(part.status == 206 && part.body == content(WHOLE_MAX + 1, 13)[5..10], "{part}");
    }
}

/// AP-79: on a shared database there is no place that all processes have, unless it is said; with one, they share it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_79_two_processes_need_one_place() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let alone = Server::builder().database(database.url()).start().await;
    let nick = alone.agent("@nick.cc-laptop").await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    assert_eq!(nick.get("/v1/conformance").await.ok(200)["capabilities"]["blob_storage"], false);
    let name = sha256(b"shared");
    for answer in [put(&nick, PROJECT, &name, b"shared").await, get(&nick, PROJECT, &name).await] {
        answer.assert_refused(501, "not_implemented");
        assert_eq!(answer.json()["error"]["capability"], "blob_storage");
    }
    let directory = TempDir::new();
    let place = format!("file://{}", directory.path().display());
    let start = || Server::builder().database(database.url()).arg("--blobs").arg(&place).start();
    let (a, b) = tokio::join!(start(), start());
    let (nick_a, nick_b) = (nick.at(&a), nick.at(&b));
    put(&nick_a, PROJECT, &name, b"shared").await.ok(201);
    assert_eq!(get(&nick_b, PROJECT, &name).await.body, "shared");
    put(&nick_b, PROJECT, &name, b"shared").await.ok(200);
    drop((alone, a, b));
    database.remove().await;
}

/// Files of uploads that are under way, or were cut, in a server's data directory.
fn parts(server: &Server) -> Vec<PathBuf> {
    let shelves = std::fs::read_dir(server.data().join("blobs/sha256")).into_iter().flatten().flatten();
    let files = shelves.flat_map(|shelf| std::fs::read_dir(shelf.path()).into_iter().flatten().flatten());
    files.map(|file| file.path()).filter(|path| path.to_string_lossy().contains('#')).collect()
}

/// What an upload left behind that was cut with the server is gone at the next start, and what is kept stays.
#[tokio::test]
async fn ap_78_parts_of_cut_uploads_are_swept_at_the_start() {
    let (mut server, nick) = room().await;
    let (kept, cut) = (b"kept".to_vec(), vec![b'x'; 2_000_000]);
    put(&nick, PROJECT, &sha256(&kept), &kept).await.ok(201);
    let request = nick.request("PUT", &path(PROJECT, &sha256(&cut)), &[], Some(&cut));
    let mut connection = Connection::open(nick.address().place()).await.expect("a connection");
    connection.send(&request[..request.len() - 1_000]).await.expect("all but the end");
    blackbox::eventually("a part is on the disk", async || (!parts(&server).is_empty()).then_some(())).await;
    server.kill().await;
    assert!(!parts(&server).is_empty(), "nobody has removed it");
    server.restart().await;
    assert_eq!(parts(&server), Vec::<PathBuf>::new());
    assert_eq!(get(&nick, PROJECT, &sha256(&kept)).await.body, "kept");
    get(&nick, PROJECT, &sha256(&cut)).await.assert_refused(404, "blob_not_found");
}
