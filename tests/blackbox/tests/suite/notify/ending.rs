//! What one-tap links and subscriptions end with: the token, the person and the subscription behind them.

use blackbox::{Caller, Response, eventually};
use serde_json::{Value, json};

use super::{House, house, json_of};

/// The path of a link, from the URL in an answer.
fn path(url: &Value) -> String {
    let url = url.as_str().expect("a link");
    url[url.find("/tap/").expect("a path")..].to_owned()
}

/// Sends the form of a link's page.
async fn tap(house: &House, path: &str) -> Response {
    let anybody = house.server.stranger();
    let form = [("content-type", "application/x-www-form-urlencoded")];
    anybody.bytes(&anybody.request("POST", path, &form, Some(b"answer=accept"))).await
}

async fn link(caller: &Caller, request: &str, headers: &[(&str, &str)]) -> String {
    path(&caller.call("POST", &format!("/requests/{request}/link"), headers, None).await.ok(201)["url"])
}

#[tokio::test]
async fn a_link_ends_with_the_token_that_made_it() {
    let house = house("").await;
    let request = house.ask("one").await;
    let old = link(&house.owner, &request, &[]).await;
    let of_operator = link(&house.server.operator(), &request, &[]).await;
    assert_eq!(tap(&house, "/tap/none").await.status, 404);
    assert_eq!(house.server.stranger().get(&old).await.status, 200);
    let rotated = house.owner.post_empty("/_admin/owners/nick/rotate-token").await.ok(200);
    let owner = house.server.bearer(rotated["token"].as_str().expect("a token"));
    assert_eq!(house.server.stranger().get(&old).await.status, 404);
    assert_eq!(tap(&house, &old).await.status, 404);
    let seen = owner.get(&format!("/requests/{request}")).await.ok(200);
    assert_eq!(seen["state"], "open", "nobody answered");
    assert_eq!(house.server.stranger().get(&of_operator).await.status, 200);
    let new = link(&owner, &request, &[]).await;
    assert_eq!(tap(&house, &new).await.status, 200);
}

/// A receiver stays when the token is replaced, as agents do; its links end with its subscription.
#[tokio::test]
async fn a_link_in_a_notification_ends_with_its_subscription() {
    let house = house("").await;
    let (id, _) = house.subscribe(house.hook()).await;
    let request = house.ask("one").await;
    let link = path(&json_of(&house.taken(1).await[0])["data"]["link"]);
    let rotated = house.owner.post_empty("/_admin/owners/nick/rotate-token").await.ok(200);
    let owner = house.server.bearer(rotated["token"].as_str().expect("a token"));
    assert_eq!(house.server.stranger().get(&link).await.status, 200);
    owner.delete(&format!("/notifications/{id}")).await.ok(204);
    assert_eq!(house.server.stranger().get(&link).await.status, 404);
    assert_eq!(tap(&house, &link).await.status, 404);
    let seen = owner.get(&format!("/requests/{request}")).await.ok(200);
    assert_eq!(seen["state"], "open", "nobody answered");
}

#[tokio::test]
async fn subscriptions_and_links_of_a_person_end_with_it() {
    let house = house("").await;
    house.owner.post("/_admin/people", json!({"handle": "@nick.mara"})).await.ok(201);
    let mut body = house.hook();
    body["person"] = "@nick.mara".into();
    let (of_mara, _) = house.subscribe(body).await;
    let request = house.ask("one").await;
    let sent = path(&json_of(&house.taken(1).await[0])["data"]["link"]);
    let made = link(&house.owner, &request, &[("X-ASP-Agent", "@nick.mara")]).await;
    let others = link(&house.owner, &request, &[]).await;
    let (stays, _) = house.subscribe(house.hook()).await;
    for path in [&sent, &made, &others] {
        assert_eq!(house.server.stranger().get(path).await.status, 200, "{path}");
    }
    house.owner.delete("/_admin/agents/@nick.mara").await.ok(204);
    for (path, status) in [(&sent, 404), (&made, 404), (&others, 200)] {
        assert_eq!(house.server.stranger().get(path).await.status, status, "{path}");
    }
    eventually("the subscription of the person is not listed", || async {
        let listed = house.owner.get("/notifications").await.ok(200);
        let ids: Vec<_> = listed["subscriptions"].as_array().expect("a list").iter().collect();
        (ids.len() == 1 && ids[0]["subscription_id"] == json!(stays)).then_some(())
    })
    .await;
    house.owner.get(&format!("/notifications/{of_mara}")).await.assert_refused(404, "not_found");
}
