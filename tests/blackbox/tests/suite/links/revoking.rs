//! Either side revokes an accord: it is dead there at once, and on the other side as soon as that is reached.

use std::time::Duration;

use blackbox::eventually_within;
use serde_json::json;

use super::{Network, linked, played::Played};

/// What the issue of this room demands of two sides that are reachable.
const SOON: Duration = Duration::from_secs(1);

async fn is_revoked_by(network: &Network, peer: &str, by: &str) -> Option<()> {
    let peer = network.peer(peer).await;
    (peer["standing"] == "revoked" && peer["revoked_by"] == by).then_some(())
}

#[tokio::test]
async fn a_revoked_accord_is_dead_on_both_sides_within_a_second() {
    for inviting_side_revokes in [true, false] {
        let (acme, rose) = linked().await;
        // The one that revokes, what it calls the other, and the other.
        let (ending, its_peer, other, other_peer) = if inviting_side_revokes {
            (&acme, "rose", &rose, "acme")
        } else {
            (&rose, "acme", &acme, "rose")
        };
        ending.revoke(its_peer).await;
        is_revoked_by(ending, its_peer, "us").await.expect("it is dead here at once");
        let heard = async || is_revoked_by(other, other_peer, "peer").await;
        eventually_within(SOON, "the other side hears of it", heard).await;
        let told = async || (ending.peer(its_peer).await["told"] == true).then_some(());
        eventually_within(SOON, "that it was told is recorded", told).await;
        for (network, peer) in [(ending, its_peer), (other, other_peer)] {
            let check = format!("/_admin/peers/{peer}/check");
            network.server.operator().post_empty(&check).await.assert_refused(404, "not_found");
            network
                .server
                .operator()
                .delete(&format!("/_admin/peers/{peer}"))
                .await
                .assert_refused(404, "not_found");
        }
        // And they may agree anew.
        let code = other.invite(&ending.url(), other_peer).await;
        ending.accept(&other.url(), its_peer, &code).await.ok(201);
        assert!(ending.is_alive(its_peer).await && other.is_alive(other_peer).await);
    }
}

#[tokio::test]
async fn a_revocation_reaches_a_peer_that_was_away_although_the_server_was_killed_meanwhile() {
    let (mut acme, rose) = linked().await;
    rose.relay.cut();
    acme.revoke("rose").await;
    assert_eq!(acme.peer("rose").await["told"], false);
    // On this side nothing crosses any more, whether the other has heard or not.
    assert!(!rose.is_alive("acme").await);
    acme.crash().await;
    assert_eq!(acme.peer("rose").await["told"], false);
    rose.relay.point_at(&rose.server);
    blackbox::eventually("the peer hears of it", async || is_revoked_by(&rose, "acme", "peer").await).await;
    let told = async || (acme.peer("rose").await["told"] == true).then_some(());
    blackbox::eventually("that it was told is recorded", told).await;
}

#[tokio::test]
async fn peers_that_are_away_hold_up_nobody() {
    let acme = Network::start().await;
    let (away, rose) = (Network::start().await, Network::start().await);
    for (network, name) in [(&away, "away"), (&rose, "rose")] {
        let code = acme.invite(&network.url(), name).await;
        network.accept(&acme.url(), "acme", &code).await.ok(201);
    }
    away.relay.cut();
    acme.revoke("away").await;
    acme.revoke("rose").await;
    let heard = async || is_revoked_by(&rose, "acme", "peer").await;
    eventually_within(SOON, "the peer that is there hears of it", heard).await;
}

#[tokio::test]
async fn a_peer_is_told_once() {
    let (acme, played) = (Network::start().await, Played::start().await);
    let accord = played.link(&acme, "played").await;
    played.call(&acme, "GET", &accord, &json!(null)).await.ok(200);
    let asked = played.asked();
    acme.revoke("played").await;
    let told = async || (acme.peer("played").await["told"] == true).then_some(());
    blackbox::eventually("it is told", told).await;
    assert_eq!(played.asked(), asked + 1, "once");
}

/// Whatever is in front of a peer may answer in its place.
#[tokio::test]
async fn a_peer_has_heard_of_a_revocation_only_if_it_confirms_it() {
    let (acme, played) = (Network::start().await, Played::start().await);
    played.link(&acme, "played").await;
    played.answer("/revoke", &json!({}));
    let asked = played.asked();
    acme.revoke("played").await;
    blackbox::eventually("the peer is asked again", async || (played.asked() >= asked + 2).then_some(()))
        .await;
    assert_eq!(acme.peer("played").await["told"], false);
    played.agree("/revoke");
    let told = async || (acme.peer("played").await["told"] == true).then_some(());
    blackbox::eventually("that it was told is recorded", told).await;
}

#[tokio::test]
async fn a_revocation_of_an_earlier_accord_does_not_end_the_next() {
    let (acme, played) = (Network::start().await, Played::start().await);
    let first = played.link(&acme, "played").await;
    played.call(&acme, "POST", &format!("{first}/revoke"), &json!(null)).await.ok(204);
    assert_eq!(acme.peer("played").await["revoked_by"], "peer");
    let second = played.link(&acme, "played").await;
    played
        .call(&acme, "POST", &format!("{first}/revoke"), &json!(null))
        .await
        .assert_refused(404, "not_found");
    played.call(&acme, "GET", &second, &json!(null)).await.ok(200);
}
