//! How an accord comes to be: both operators say yes, each network proves its domain, and nobody else gets in between.

use blackbox::{Cli, Server, eventually};
use serde_json::json;

use super::{Network, linked, played::Played};

#[tokio::test]
async fn two_operators_say_yes_and_each_sees_what_the_other_grants() {
    let (acme, rose) = (Network::start().await, Network::start().await);
    for (network, owner) in [(&acme, "nick"), (&rose, "ida")] {
        network.server.owner(owner).await;
    }
    let body = json!({"network": rose.url(), "peer": "rose", "grants": {"support": ["nick"]}});
    let invited = acme.server.operator().post("/_admin/peers", body).await.ok(201);
    assert_eq!((&invited["standing"], &invited["inviting"]), (&json!("invited"), &json!(acme.url())));
    assert_eq!(invited["granted"], json!([]), "one yes is no accord");
    let body =
        json!({"network": acme.url(), "peer": "acme", "code": invited["code"], "grants": {"sales": ["ida"]}});
    let made = rose.server.operator().post("/_admin/peers/accept", body).await.ok(201);
    assert_eq!(made["granted"], json!(["support"]));
    let (at_acme, at_rose) = (acme.peer("rose").await, rose.peer("acme").await);
    assert_eq!((&at_acme["standing"], &at_rose["standing"]), (&json!("active"), &json!("active")));
    assert_eq!(at_acme["accord_id"], at_rose["accord_id"]);
    assert_eq!((&at_acme["granted"], &at_rose["granted"]), (&json!(["sales"]), &json!(["support"])));
    assert_eq!(
        (&at_acme["grants"], &at_rose["grants"]),
        (&json!({"support": ["nick"]}), &json!({"sales": ["ida"]}))
    );
    assert!(at_acme.get("code").is_none(), "a code is shown once");
    assert!(acme.is_alive("rose").await && rose.is_alive("acme").await);
}

#[tokio::test]
async fn a_network_says_who_it_is() {
    let network = Network::start().await;
    let said = network.server.stranger().get("/.well-known/plenary").await.ok(200);
    assert_eq!(said["network"], network.url());
    let key = &said["keys"][0];
    assert_eq!((&key["kty"], &key["crv"]), (&json!("OKP"), &json!("Ed25519")));
    let again = network.server.stranger().get("/.well-known/plenary").await.ok(200);
    assert_eq!(said, again);
    // A URL with a path names no network.
    let nowhere = Server::builder().arg("--public-url").arg("https://a.example/below").start().await;
    nowhere.stranger().get("/.well-known/plenary").await.assert_refused(404, "not_found");
    let body = json!({"network": "https://other.example", "peer": "other"});
    nowhere.operator().post("/_admin/peers", body).await.assert_refused(409, "no_public_url");
}

#[tokio::test]
async fn an_invitation_is_for_one_network_and_good_once() {
    let (acme, rose, eve) = (Network::start().await, Network::start().await, Network::start().await);
    let code = acme.invite(&rose.url(), "rose").await;
    eve.accept(&acme.url(), "acme", &code).await.assert_refused(409, "no_invitation");
    let other = format!("plp_{}", "0".repeat(64));
    rose.accept(&acme.url(), "acme", &other).await.assert_refused(409, "no_invitation");
    assert_eq!(rose.peers().await.len(), 0, "nothing half-done");
    assert_eq!(acme.peer("rose").await["standing"], "invited");
    let first = rose.accept(&acme.url(), "acme", &code).await.ok(201);
    eve.accept(&acme.url(), "acme", &code).await.assert_refused(409, "no_invitation");
    // As when its answer was lost.
    assert_eq!(rose.accept(&acme.url(), "acme", &code).await.ok(201), first);
    rose.accept(&acme.url(), "other", &code).await.assert_refused(409, "already_linked");
    acme.revoke("rose").await;
    rose.accept(&acme.url(), "acme", &code).await.assert_refused(409, "no_invitation");
}

#[tokio::test]
async fn an_accord_outlives_kills_of_both() {
    let (mut acme, mut rose) = linked().await;
    acme.crash().await;
    rose.crash().await;
    assert!(acme.is_alive("rose").await && rose.is_alive("acme").await);
    rose.relay.cut();
    assert!(!acme.is_alive("rose").await);
    assert_eq!(acme.peer("rose").await["standing"], "active", "a peer that is away is a peer");
    rose.relay.point_at(&rose.server);
    assert!(acme.is_alive("rose").await);
}

#[tokio::test]
async fn the_name_of_a_peer_is_for_no_other_network() {
    let (acme, rose) = linked().await;
    let eve = Network::start().await;
    acme.revoke("rose").await;
    // Allowlists may still say `@ida-at-rose.*`.
    let body = json!({"network": eve.url(), "peer": "rose"});
    acme.server.operator().post("/_admin/peers", body).await.assert_refused(409, "peer_exists");
    let code = eve.invite(&acme.url(), "acme").await;
    acme.accept(&eve.url(), "rose", &code).await.assert_refused(409, "peer_exists");
    assert_eq!(eve.peer("acme").await["standing"], "invited", "nothing half-done");
    acme.accept(&eve.url(), "eve", &code).await.ok(201);
    let code = acme.invite(&rose.url(), "rose").await;
    rose.accept(&acme.url(), "acme", &code).await.ok(201);
}

#[tokio::test]
async fn an_invitation_that_nobody_accepted_ends() {
    let (acme, rose) = (Network::start().await, Network::start().await);
    let code = acme.invite(&rose.url(), "rose").await;
    acme.revoke("rose").await;
    rose.accept(&acme.url(), "acme", &code).await.assert_refused(409, "no_invitation");
    let body = json!({"network": rose.url(), "peer": "rose", "expires_in_s": 1});
    let made = acme.server.operator().post("/_admin/peers", body).await.ok(201);
    eventually("the invitation is over", async || {
        (acme.peer("rose").await["standing"] == "expired").then_some(())
    })
    .await;
    let code = made["code"].as_str().expect("a code");
    rose.accept(&acme.url(), "acme", code).await.assert_refused(409, "no_invitation");
}

#[tokio::test]
async fn what_an_operator_says_wrongly_is_told_by_its_code() {
    let network = Network::start().await;
    let operator = network.server.operator();
    let good = json!({"network": "https://other.example", "peer": "other"});
    for (member, value, code) in [
        ("network", json!("other.example"), "invalid_network"),
        ("network", json!("https://other.example/path"), "invalid_network"),
        ("network", json!("ftp://other.example"), "invalid_network"),
        ("network", json!(network.url()), "invalid_network"),
        ("peer", json!("Other One"), "invalid_peer"),
        ("peer", json!("@other.bot"), "invalid_peer"),
        ("peer", json!("a-at-b"), "invalid_peer"),
        ("peer", json!("at-home"), "invalid_peer"),
        ("peer", json!("x".repeat(33)), "invalid_peer"),
        ("grants", json!({"support": ["nobody-there"]}), "invalid_grants"),
        ("grants", json!({"Support": ["nick"]}), "invalid_grants"),
        ("grants", json!({"support": ["nick-at-other"]}), "invalid_grants"),
        ("grants", json!({"support": []}), "invalid_grants"),
        ("grants", json!([]), "invalid_body"),
        ("expires_in_s", json!(0), "invalid_expires_in"),
        ("expires_in_s", json!(2_592_001), "invalid_expires_in"),
    ] {
        let mut body = good.clone();
        body[member] = value;
        operator.post("/_admin/peers", body).await.assert_refused(400, code);
    }
    let mut bad_code = good.clone();
    bad_code["code"] = json!("plp_1");
    operator.post("/_admin/peers/accept", bad_code).await.assert_refused(400, "invalid_code");
    operator.post("/_admin/peers", good.clone()).await.ok(201);
    let other = json!({"network": "https://another.example", "peer": "other"});
    operator.post("/_admin/peers", other).await.assert_refused(409, "peer_exists");
    let renamed = json!({"network": "https://other.example", "peer": "renamed"});
    operator.post("/_admin/peers", renamed).await.assert_refused(409, "already_linked");
    operator.delete("/_admin/peers/nobody").await.assert_refused(404, "not_found");
    operator.post_empty("/_admin/peers/other/check").await.assert_refused(404, "not_found");
}

#[tokio::test]
async fn a_network_that_does_not_prove_its_domain_gets_no_accord() {
    let (acme, played) = (Network::start().await, Played::start().await);
    let code = acme.invite(&played.url(), "played").await;
    let said = json!({"code": code, "network": played.url(), "grants": []});
    let right = played.document();
    // The code alone is not enough: whoever signs must have a key that stands at the domain.
    let signing = Played::signing(&acme, "POST", "/link/v1/accords", &said);
    Played::sign_as_nobody(&signing).send(&acme.server).await.assert_refused(403, "network_unproven");
    for wrong in
        [json!({"network": "http://127.0.0.1:1", "keys": right["keys"]}), json!({"keys": []}), json!([])]
    {
        played.says(wrong);
        let answer = played.call(&acme, "POST", "/link/v1/accords", &said).await;
        answer.assert_refused(503, "peer_unreachable");
    }
    let mut others = right.clone();
    others["keys"] = json!([{"kty": "EC", "crv": "P-256", "x": "AAAA"}]);
    played.says(others);
    played.call(&acme, "POST", "/link/v1/accords", &said).await.assert_refused(403, "network_unproven");
    assert_eq!(acme.peer("played").await["standing"], "invited");
    played.says(right);
    played.call(&acme, "POST", "/link/v1/accords", &said).await.ok(201);
}

#[tokio::test]
async fn who_has_a_code_makes_the_server_ask_so_often_a_minute() {
    let (acme, played) = (Network::start().await, Played::start().await);
    let code = acme.invite(&played.url(), "played").await;
    let said = json!({"code": code, "network": played.url(), "grants": []});
    let mut tried = 0;
    let signing = || Played::signing(&acme, "POST", "/link/v1/accords", &said);
    while Played::sign_as_nobody(&signing()).send(&acme.server).await.status == 403 && tried < 2_000 {
        tried += 1;
    }
    assert_eq!((tried, played.asked()), (600, 600));
    played.call(&acme, "POST", "/link/v1/accords", &said).await.assert_refused(429, "too_many_requests");
}

#[tokio::test]
async fn only_networks_at_public_addresses_are_asked() {
    let acme = Network::with("").await;
    let operator = acme.server.operator();
    for url in [
        "http://127.0.0.1:7420",
        "https://127.0.0.1:7420",
        "https://10.0.0.1",
        "https://[::1]",
        "http://other.example",
    ] {
        let body = json!({"network": url, "peer": "other"});
        operator.post("/_admin/peers", body).await.assert_refused(400, "invalid_network");
    }
    // A name is looked up when it is asked, and leads to this machine.
    let code = format!("plp_{}", "0".repeat(64));
    let body = json!({"network": "https://localhost:7420", "peer": "other", "code": code});
    operator.post("/_admin/peers/accept", body).await.assert_refused(503, "peer_unreachable");
}

#[tokio::test]
async fn the_command_line_says_of_an_expired_invitation_that_it_has_expired() {
    let acme = Network::start().await;
    let operator = acme.server.operator();
    let cli = Cli::new(&[("PLENARY_URL", &acme.server.url()), ("PLENARY_OPERATOR_TOKEN", operator.token())]);
    let body = json!({"network": "http://127.0.0.1:1", "peer": "rose", "expires_in_s": 600});
    operator.post("/_admin/peers", body).await.ok(201);
    let ran = cli.run(&["peer", "check", "rose"]).await;
    assert!(ran.code == 1 && ran.err.contains("has not accepted the invitation yet"), "{ran:?}");
    operator.delete("/_admin/peers/rose").await.ok(204);
    let body = json!({"network": "http://127.0.0.1:1", "peer": "rose", "expires_in_s": 1});
    operator.post("/_admin/peers", body).await.ok(201);
    eventually("it expires", async || (acme.peer("rose").await["standing"] == "expired").then_some(())).await;
    for command in ["check", "revoke"] {
        let ran = cli.run(&["peer", command, "rose"]).await;
        assert!(ran.code == 1 && ran.err.contains("the invitation of rose has expired"), "{ran:?}");
        assert!(ran.err.contains("plenary peer invite rose http://127.0.0.1:1"), "{ran:?}");
    }
}

/// Both operators invite, and both accept at the same moment.
#[tokio::test]
async fn networks_that_invite_each_other_get_one_accord() {
    let (acme, rose) = (Network::start().await, Network::start().await);
    for _ in 0..5 {
        let to_rose = acme.invite(&rose.url(), "rose").await;
        let to_acme = rose.invite(&acme.url(), "acme").await;
        let by_acme = async || acme.accept(&rose.url(), "rose", &to_acme).await;
        let by_rose = async || rose.accept(&acme.url(), "acme", &to_rose).await;
        for answer in <[_; 2]>::from(tokio::join!(by_acme(), by_rose())) {
            assert!([201, 503].contains(&answer.status), "made, or to be repeated: {answer}");
        }
        by_acme().await.ok(201);
        by_rose().await.ok(201);
        assert_eq!(acme.peer("rose").await["accord_id"], rose.peer("acme").await["accord_id"]);
        assert!(acme.is_alive("rose").await && rose.is_alive("acme").await);
        acme.revoke("rose").await;
        let heard = async || (rose.peer("acme").await["standing"] == "revoked").then_some(());
        eventually("the other side hears of it", heard).await;
    }
}

/// The accord holds here and not there, as after a restore: the invitation that replaces it there is refused here, and is over.
#[tokio::test]
async fn an_accord_that_is_refused_here_is_not_left_active_there() {
    let acme = Network::start().await;
    let played = Played::start().await;
    played.link(&acme, "played").await;
    let agreed = json!({"accord_id": "acc_01J0000000000000000000000A", "grants": []});
    played.answer("/accords", &agreed);
    let (code, asked) = (format!("plp_{}", "0".repeat(64)), played.asked());
    acme.accept(&played.url(), "played", &code).await.assert_refused(409, "already_linked");
    assert_eq!(played.asked(), asked + 3, "who it is, whether it agrees, and that the accord is revoked");
}
