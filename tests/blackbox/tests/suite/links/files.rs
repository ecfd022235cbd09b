//! Files of the host: a guest reads those that messages name, and no others.
//! Must not know: how anything of it is kept.

use blackbox::{Agent, Connection, Response, eventually};
use serde_json::{Value, json};

use super::{
    sessions::{Scene, sees},
    sessions_refused::{SESSION, hosted, joins},
};

pub(super) fn naming(file: &str) -> Value {
    json!([{"type": "file", "file_id": file, "name": "q3.pdf", "mime_type": "application/pdf", "size": 7}])
}

pub(super) async fn get(agent: &Agent, file: &str, headers: &[(&str, &str)]) -> Response {
    agent.call("GET", &format!("/files/{file}"), headers, None).await
}

/// A file of the host that a message of the session names.
async fn shared(scene: &Scene, id: &str, content: &[u8]) -> String {
    let file = scene.nick.upload_file("q3.pdf", content).await;
    get(&scene.ida, &file, &[]).await.assert_refused(404, "not_found");
    let known = sees(&scene.ida, id, 1).await.len();
    scene.nick.say(id, naming(&file)).await;
    sees(&scene.ida, id, known + 1).await;
    file
}

#[tokio::test]
async fn a_guest_reads_a_file_that_a_message_of_the_host_names() {
    let scene = Scene::new().await;
    let Scene { nick, ida, rose, .. } = &scene;
    let id = scene.joined().await;
    let content: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[(n % 4) as usize]).collect();
    let file = shared(&scene, &id, &content).await;
    let (here, there) = (get(nick, &file, &[]).await, get(ida, &file, &[]).await);
    assert!(there.status == 200 && *there.body == content[..], "{} bytes", there.body.len());
    for name in ["content-length", "content-disposition", "content-type", "etag", "accept-ranges"] {
        assert!(there.header(name).is_some() && there.header(name) == here.header(name), "{name}");
    }
    let etag = there.header("etag").expect("an ETag").to_owned();
    let part = get(ida, &file, &[("Range", "bytes=2-4"), ("If-Range", &etag)]).await;
    assert_eq!((part.status, &*part.body), (206, &content[2..5]));
    assert_eq!(part.header("content-range"), Some("bytes 2-4/3000000"));
    assert_eq!(get(ida, &file, &[("If-None-Match", &etag)]).await.status, 304);
    get(ida, &file, &[("Range", "bytes=3000000-")]).await.refusal_code(416);
    let mut connection = Connection::open(ida.address().place()).await.expect("a connection");
    let request = ida.request("HEAD", &format!("/files/{file}"), &[], None);
    connection.send(&request).await.expect("it is sent");
    let head = connection.response_head().await.expect("an answer");
    assert_eq!((head.status, head.header("content-length")), (200, Some("3000000")));
    let sibling = rose.server.agent("@ida.other").await;
    get(&sibling, &file, &[]).await.assert_refused(404, "not_found");
}

#[tokio::test]
async fn a_file_of_the_host_is_there_as_long_as_the_accord() {
    let scene = Scene::new().await;
    let Scene { nick, ida, acme, rose } = &scene;
    let id = scene.joined().await;
    let file = shared(&scene, &id, b"content").await;
    acme.relay.cut();
    get(ida, &file, &[]).await.assert_refused(503, "peer_unreachable");
    acme.relay.point_at(&acme.server);
    let again = async || (get(ida, &file, &[]).await.status == 200).then_some(());
    eventually("the peer is there again", again).await;
    // A message that was read before the guest left stays readable, and so does its file.
    ida.leave(&id).await;
    assert_eq!(get(ida, &file, &[]).await.status, 200);
    let later = nick.upload_file("later.pdf", b"later").await;
    nick.say(&id, naming(&later)).await;
    get(ida, &later, &[]).await.assert_refused(404, "not_found");
    rose.server.operator().delete("/_admin/peers/acme").await.ok(204);
    get(ida, &file, &[]).await.assert_refused(404, "not_found");
}

/// A host that names a file of the guest's own network opens it to nobody.
#[tokio::test]
async fn a_host_opens_no_file_of_the_guests_network() {
    let (rose, played, ida, accord) = hosted().await;
    let eve = rose.server.agent("@eve.bot").await;
    let secret = eve.upload_file("secret.pdf", b"secret").await;
    let offer = json!({"you": "us", "session_id": SESSION, "by": "@nick.cc", "invite": ["@ida-at-us.bot"]});
    played.call(&rose, "POST", &format!("{accord}/offers"), &offer).await.ok(200);
    let joined = json!({"joined": {"id": "01J00000000000000000000002", "agent": "@ida-at-us.bot"}});
    let said = json!({"message": {"id": "01J00000000000000000000003", "sender": "@nick.cc",
        "message": {"content": naming(&secret)}}});
    joins(&played, &ida, &json!([joined, said])).await;
    sees(&ida, SESSION, 3).await;
    let found = get(&ida, &secret, &[]).await;
    assert!(found.status >= 400 && !found.text().contains("secret"), "{found}");
}
