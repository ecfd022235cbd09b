//! Rights that were taken back are gone at once, and leave no trace of what they showed: AP-71, AP-101, D.1, D.4.

use blackbox::{Caller, Connection};
use serde_json::json;

use super::speak::{PROJECT, deposit, deposited, package, package_with, packages_of};
use super::{canonical::sha256, matrix::Site};

/// Everything is 404 as it was before the share.
async fn sees_nothing(site: &mut Site, who: &Caller, actor: &str) {
    let operations = site.operations(actor).await;
    for (_, response) in Site::ask(who, operations).await {
        response.assert_refused_any(404, &["project_not_found", "package_not_found"]);
    }
    let listed = who.get("/v1/projects").await.ok(200).to_string();
    assert!(!listed.contains(PROJECT), "{listed}");
    let digest = who.get("/v1/orchestrate").await.ok(200).to_string();
    assert!(!digest.contains(PROJECT), "{digest}");
}

fn member(who: &str) -> String {
    format!("/v1/projects/{PROJECT}/members/{who}")
}

/// A membership that was taken back, also after a restart; what was deposited stays.
#[tokio::test]
async fn ap_101_a_membership_ends_at_once() {
    let mut site = Site::new().await;
    let guest = site.server.agent("@guest.bot").await;
    let before = guest.get(&packages_of(PROJECT)).await.fingerprint();
    site.share("@guest.bot", "writer").await;
    deposited(&guest, &package(&guest.handle, "mine")).await;
    let gone = site.owner.delete(&member("@guest.bot")).await;
    assert!((200..300).contains(&gone.status), "{gone}");
    assert_eq!(guest.get(&packages_of(PROJECT)).await.fingerprint(), before);
    sees_nothing(&mut site, &guest, "@guest.bot").await;
    let into = json!({"project_id": format!("host:{PROJECT}")});
    deposit(&guest, &package_with(&guest.handle, "mine", into))
        .await
        .assert_refused(404, "project_not_found");
    guest.get("/v1/packages/mine").await.assert_refused(404, "package_not_found");
    site.server.crash().await;
    sees_nothing(&mut site, &guest, "@guest.bot").await;
    assert_eq!(site.host.get("/v1/packages/mine").await.ok(200)["created_by"]["id"], "@guest.bot");
    site.share("@guest.bot", "reader").await;
    assert_eq!(guest.get("/v1/packages/mine").await.status, 200);
}

/// Of two shares that fit, one goes and the other stays.
#[tokio::test]
async fn ap_101_a_share_with_the_owner_outlives_that_with_the_agent() {
    let mut site = Site::new().await;
    let guest = site.server.agent("@guest.bot").await;
    site.share("@guest.bot", "writer").await;
    site.share("@guest.*", "reader").await;
    deposited(&guest, &package(&guest.handle, "one")).await;
    site.owner.delete(&member("@guest.bot")).await;
    deposit(&guest, &package(&guest.handle, "two")).await.assert_refused(403, "unauthorized");
    assert_eq!(guest.get("/v1/packages/one").await.status, 200);
    site.owner.delete(&member("@guest.*")).await;
    sees_nothing(&mut site, &guest, "@guest.bot").await;
}

/// D.1: a replaced token and a deleted agent speak no more; the new token speaks for the same actor.
#[tokio::test]
async fn ap_71_a_dead_token_is_unknown() {
    let mut site = Site::new().await;
    let guest = site.server.agent("@guest.bot").await;
    site.share("@guest.bot", "writer").await;
    deposited(&guest, &package(&guest.handle, "one")).await;
    let operator = site.server.operator();
    let made = operator.post_empty("/_admin/agents/@guest.bot/rotate-token").await.ok(200);
    let renewed = site.server.bearer(made["token"].as_str().expect("a token"));
    let operations = site.operations("@guest.bot").await;
    for (_, response) in Site::ask(&guest, operations).await {
        response.refusal_code(401);
    }
    deposited(&renewed, &package("@guest.bot", "two")).await;
    assert_eq!(operator.delete("/_admin/agents/@guest.bot").await.status, 204);
    let operations = site.operations("@guest.bot").await;
    for (_, response) in Site::ask(&renewed, operations).await {
        response.refusal_code(401);
    }
    site.server.crash().await;
    renewed.get("/v1/packages/two").await.refusal_code(401);
    assert_eq!(site.host.get("/v1/packages/two").await.ok(200)["created_by"]["id"], "@guest.bot");
}

/// A role that is changed is the new one at once, down as well as up.
#[tokio::test]
async fn ap_101_a_role_changes_at_once() {
    let site = Site::new().await;
    let guest = site.server.agent("@guest.bot").await;
    for (round, role) in ["reader", "writer", "reviewer", "writer", "reader"].iter().enumerate() {
        site.share("@guest.bot", role).await;
        let response = deposit(&guest, &package(&guest.handle, &format!("p{round}"))).await;
        if *role == "writer" {
            response.ok(201);
        } else {
            response.assert_refused(403, "unauthorized");
        }
        let review = guest.post("/v1/packages/draft/review", json!({"status": "draft"})).await;
        let wanted = if *role == "reviewer" { 400 } else { 403 };
        assert_eq!(review.status, wanted, "{role}: {review}");
    }
}

/// Reads the head of an answer and, once `end` has ended the right to it, what was still sent.
async fn cut(reader: &Caller, path: &str, end: impl Future<Output = ()>) -> String {
    let mut connection = Connection::open(reader.address().place()).await.expect("a connection");
    let request = reader.request("GET", path, &[("Connection", "close")], None);
    connection.send(&request).await.expect("a request");
    assert_eq!(connection.response_head().await.expect("an answer").status, 200);
    end.await;
    String::from_utf8_lossy(&connection.read_to_end().await.expect("an end")).into_owned()
}

/// An export or a download under way breaks off: what was deposited afterwards is not in it, and nobody takes it for complete.
#[tokio::test]
async fn d_1_what_is_being_sent_breaks_off_with_the_right_to_it() {
    const BLOB_BYTES: usize = 8 << 20;
    let site = Site::new().await;
    let guest = site.server.agent("@guest.bot").await;
    let long = "x".repeat(200_000);
    for nth in 0..60 {
        let more = json!({"content_md": long});
        deposited(&site.host, &package_with(&site.host.handle, &format!("long-{nth}"), more)).await;
    }
    let content = vec![7; BLOB_BYTES];
    let blob = format!("/v1/projects/host:{PROJECT}/blobs/{}", sha256(&content));
    let put = site.host.request("PUT", &blob, &[], Some(&content));
    assert_eq!(site.host.bytes(&put).await.status, 201);
    let export = format!("/v1/projects/host:{PROJECT}/export");
    for (nth, (path, ends_token)) in
        [(&*export, false), (&*export, true), ("/v1/export", false), (&*blob, false), (&*blob, true)]
            .into_iter()
            .enumerate()
    {
        site.share("@guest.bot", "reader").await;
        let made = guest.post("/agents/me/tokens", json!({"scope": "read"})).await.ok(201);
        let text = |name: &str| made[name].as_str().expect("a text").to_owned();
        let reader = site.server.bearer(&text("token"));
        let late = format!("late-{nth}");
        let sent = cut(&reader, path, async {
            let gone = if ends_token {
                guest.delete(&format!("/agents/me/tokens/{}", text("id"))).await
            } else {
                site.owner.delete(&member("@guest.bot")).await
            };
            assert!((200..300).contains(&gone.status), "{gone}");
            deposited(&site.host, &package(&site.host.handle, &late)).await;
        })
        .await;
        assert!(!sent.contains(&late) && !sent.contains("\"record\":\"end\""), "{path} {ends_token}");
        assert!(sent.len() < BLOB_BYTES, "{path} {ends_token}");
    }
}
