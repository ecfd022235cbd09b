//! Contents by their SHA-256, which the server must declare as `blob_storage`: who may keep and read them, and what is no
//! content of a name: AP-56, AP-78, AP-101, D.7.

use blackbox::{Agent, Caller, Connection, Response, Server, eventually};
use serde_json::json;

use super::canonical::sha256;
use super::descriptor::declares;
use super::speak::{PROJECT, deposited, enc, package};

fn blob(project: &str, name: &str) -> String {
    format!("/v1/projects/{}/blobs/{name}", enc(project))
}

async fn put(who: &Caller, project: &str, name: &str, content: &[u8]) -> Response {
    let length = content.len().to_string();
    let headers = [("Content-Type", "application/octet-stream"), ("Content-Length", length.as_str())];
    let mut request = who.request("PUT", &blob(project, name), &headers, None);
    request.extend_from_slice(content);
    who.bytes(&request).await
}

/// A server that keeps contents, with a project of `@nick.cc-laptop`.
async fn store() -> (Server, Caller, Agent) {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let nick = server.agent("@nick.cc-laptop").await;
    assert!(declares(&nick, "blob_storage").await, "AP-78");
    deposited(&nick, &package(&nick.handle, "one")).await;
    (server, owner, nick)
}

#[track_caller]
fn taken(response: &Response) {
    assert!((200..300).contains(&response.status), "{response}");
}

/// Any octets come back under the name of their digest, twice the same, and after a kill.
#[tokio::test]
async fn ap_78_octets_come_back() {
    let (mut server, _, nick) = store().await;
    let contents: [Vec<u8>; 5] = [
        b"".to_vec(),
        b"{\"a\":1,\"a\":2}".to_vec(),
        (0..=255).collect(),
        vec![0; 4_096],
        b"\r\n\r\n0\r\n\r\n".to_vec(),
    ];
    for content in &contents {
        let name = sha256(content);
        nick.get(&blob(PROJECT, &name)).await.refused_as(404);
        for _ in 0..2 {
            taken(&put(&nick, PROJECT, &name, content).await);
        }
    }
    server.crash().await;
    for content in &contents {
        let response = nick.get(&blob(PROJECT, &sha256(content))).await;
        assert_eq!((response.status, &response.body[..]), (200, &content[..]), "{response}");
    }
}

/// A content that is not what its name says is not kept; a name that is no digest names nothing.
#[tokio::test]
async fn ap_78_a_name_is_the_digest() {
    let (_server, _, nick) = store().await;
    let name = sha256(b"this");
    put(&nick, PROJECT, &name, b"that").await.refused_as(400);
    put(&nick, PROJECT, &name, b"").await.refused_as(400);
    nick.get(&blob(PROJECT, &name)).await.refused_as(404);
    taken(&put(&nick, PROJECT, &name, b"this").await);
    put(&nick, PROJECT, &name, b"that").await.refused_as(400);
    assert_eq!(&nick.get(&blob(PROJECT, &name)).await.body[..], b"this");
    let longer = format!("{name}0");
    for bad in [
        &name[1..],
        &longer,
        &name.to_uppercase(),
        "x",
        "..",
        "%2e%2e%2f",
        "%2Fetc%2Fpasswd",
        &"g".repeat(64),
    ] {
        for response in [put(&nick, PROJECT, bad, b"this").await, nick.get(&blob(PROJECT, bad)).await] {
            assert!((400..500).contains(&response.status), "{bad}: {response}");
            response.refused_as(response.status);
        }
    }
}

/// Who reads reads, who writes writes, and of a foreign project's contents nobody learns, not even by their digest.
#[tokio::test]
async fn ap_101_contents_belong_to_their_project() {
    let (server, owner, nick) = store().await;
    let (name, secret) = (sha256(b"shared"), sha256(b"secret"));
    taken(&put(&nick, PROJECT, &secret, b"secret").await);
    let eve = server.agent("@eve.bot").await;
    let unknown = eve.get(&blob("proj_not_there", &secret)).await;
    let foreign = eve.get(&blob(PROJECT, &secret)).await;
    foreign.refused(404, "project_not_found");
    assert_eq!(foreign.fingerprint(), unknown.fingerprint());
    let foreign = put(&eve, PROJECT, &secret, b"secret").await;
    foreign.refused(404, "project_not_found");
    // The same octets in a project of one's own do not open the other's, nor the other way.
    eve.post("/v1/projects", json!({"project_id": "eves"})).await.ok(201);
    eve.get(&blob("eves", &secret)).await.refused_as(404);
    taken(&put(&eve, "eves", &secret, b"secret").await);
    eve.get(&blob(PROJECT, &secret)).await.refused(404, "project_not_found");
    let share = format!("/v1/projects/{PROJECT}/members/@eve.bot");
    for (role, writes) in [("reader", false), ("reviewer", false), ("writer", true)] {
        owner.put(&share, json!({ "role": role })).await.ok(200);
        assert_eq!(&eve.get(&blob(PROJECT, &secret)).await.body[..], b"secret", "{role}");
        let response = put(&eve, PROJECT, &name, b"shared").await;
        if writes {
            taken(&response);
        } else {
            response.refused(403, "unauthorized");
            nick.get(&blob(PROJECT, &name)).await.refused_as(404);
        }
    }
    owner.delete(&share).await;
    eve.get(&blob(PROJECT, &secret)).await.refused(404, "project_not_found");
    for who in [server.stranger(), server.bearer("pla_unknown")] {
        who.get(&blob(PROJECT, &secret)).await.refused_as(401);
        put(&who, PROJECT, &name, b"shared").await.refused_as(401);
    }
}

/// AP-56: an archive is read and takes nothing.
#[tokio::test]
async fn ap_56_an_archive_takes_no_contents() {
    let (_server, owner, nick) = store().await;
    let (old, new) = (sha256(b"old"), sha256(b"new"));
    taken(&put(&nick, PROJECT, &old, b"old").await);
    owner.post_empty(&format!("/v1/projects/{PROJECT}/archive")).await.ok(200);
    put(&nick, PROJECT, &new, b"new").await.refused(403, "project_archived");
    assert_eq!(&nick.get(&blob(PROJECT, &old)).await.body[..], b"old");
    nick.get(&blob(PROJECT, &new)).await.refused_as(404);
    owner.post_empty(&format!("/v1/projects/{PROJECT}/unarchive")).await.ok(200);
    taken(&put(&nick, PROJECT, &new, b"new").await);
}

/// Files of uploads that are under way, or were cut, in a server's data directory.
fn parts(server: &Server) -> Vec<std::path::PathBuf> {
    let shelves = std::fs::read_dir(server.data().join("blobs/sha256")).into_iter().flatten().flatten();
    let files = shelves.flat_map(|shelf| std::fs::read_dir(shelf.path()).into_iter().flatten().flatten());
    files.map(|file| file.path()).filter(|path| path.to_string_lossy().contains('#')).collect()
}

/// What an upload left behind that was cut with the server is gone at the next start, and what is kept stays.
#[tokio::test]
async fn ap_78_parts_of_cut_uploads_are_swept_at_the_start() {
    let (mut server, _, nick) = store().await;
    let path = |content: &[u8]| format!("/v1/projects/{PROJECT}/blobs/{}", sha256(content));
    let (kept, cut) = (b"kept".to_vec(), vec![b'x'; 2_000_000]);
    let put = nick.request("PUT", &path(&kept), &[], Some(&kept));
    nick.bytes(&put).await.ok(201);
    let request = nick.request("PUT", &path(&cut), &[], Some(&cut));
    let mut connection = Connection::open(nick.address().place()).await.expect("a connection");
    connection.send(&request[..request.len() - 1_000]).await.expect("all but the end");
    eventually("a part is on the disk", async || (!parts(&server).is_empty()).then_some(())).await;
    server.kill().await;
    assert!(!parts(&server).is_empty(), "nobody has removed it");
    server.start_again().await;
    assert_eq!(parts(&server), Vec::<std::path::PathBuf>::new());
    assert_eq!(nick.get(&path(&kept)).await.body, "kept");
    nick.get(&path(&cut)).await.refused(404, "blob_not_found");
}
