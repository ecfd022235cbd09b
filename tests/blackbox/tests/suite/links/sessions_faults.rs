//! Sessions across networks over partitions and kills of either side: per origin nothing is lost, doubled or in another order.
//! Must not know: how anything of it is kept.

use std::time::Duration;

use blackbox::{Agent, content_of, eventually_within, sequences, strike_after};
use serde_json::{Value, json};

use super::sessions::{Scene, sees};

const PATIENCE: Duration = Duration::from_secs(60);

/// Sends a message until it is acknowledged: with the same key, so that it is one.
async fn insist(agent: &Agent, id: &str, text: &str) {
    let body = json!({"content": text, "idempotency_key": text});
    let path = format!("/sessions/{id}/messages");
    eventually_within(PATIENCE, "it is acknowledged", async || {
        (agent.post(&path, body.clone()).await.status == 201).then_some(())
    })
    .await;
}

#[tokio::test]
async fn over_partitions_and_kills_each_message_is_there_once_and_in_order() {
    let mut scene = Scene::new().await;
    let id = scene.joined().await;
    let rounds = 6;
    for round in 0..rounds {
        match round % 3 {
            0 => {
                scene.acme.relay.cut();
                scene.nick.say(&id, format!("nick {round} away")).await;
                let path = format!("/sessions/{id}/messages");
                scene.ida.post(&path, json!({"content": "x"})).await.assert_refused(503, "peer_unreachable");
                scene.acme.relay.point_at(&scene.acme.server);
            }
            1 => {
                scene.nick.say(&id, format!("nick {round} before")).await;
                scene.acme.crash().await;
                scene.nick = scene.nick.at(&scene.acme.server);
            }
            _ => {
                scene.nick.say(&id, format!("nick {round} before")).await;
                scene.rose.crash().await;
                scene.ida = scene.ida.at(&scene.rose.server);
            }
        }
        for number in 0..5 {
            insist(&scene.ida, &id, &format!("ida {round} {number}")).await;
            insist(&scene.nick, &id, &format!("nick {round} {number}")).await;
        }
    }
    let here = scene.nick.history(&id).await;
    let there = sees(&scene.ida, &id, here.len()).await;
    assert_eq!(content_of(&here), content_of(&there));
    assert_eq!(sequences(&here), sequences(&there));
    let texts = content_of(&here);
    for name in ["ida", "nick"] {
        let own: Vec<_> = texts.iter().filter(|text| text.starts_with(name)).collect();
        let mut in_order: Vec<_> = (0..rounds)
            .flat_map(|round| (0..5).map(move |number| format!("{name} {round} {number}")))
            .collect();
        in_order.retain(|text| own.iter().filter(|one| **one == text).count() == 1);
        assert_eq!(in_order.len(), rounds * 5, "each once: {texts:?}");
        let positions: Vec<_> =
            in_order.iter().map(|text| texts.iter().position(|one| one == text)).collect();
        assert!(positions.is_sorted(), "{texts:?}");
    }
}

/// The home is killed at some moment while the host goes on: its copy has everything once it is back.
#[tokio::test]
async fn a_home_that_is_killed_at_any_moment_catches_up() {
    let mut scene = Scene::new().await;
    let id = scene.joined().await;
    for round in 0..4_u64 {
        let talk = async {
            for number in 0..20 {
                scene.nick.say(&id, format!("{round} {number}")).await;
            }
        };
        let strike = async {
            strike_after(Duration::from_millis(20 + 37 * round)).await;
            scene.rose.crash().await;
        };
        tokio::join!(talk, strike);
        scene.ida = scene.ida.at(&scene.rose.server);
        let here = scene.nick.history(&id).await;
        let there = sees(&scene.ida, &id, here.len()).await;
        assert_eq!(content_of(&here), content_of(&there));
        let times =
            |events: &[Value]| events.iter().map(|event| event["created_at"].clone()).collect::<Vec<_>>();
        assert_eq!(times(&here), times(&there), "those of the host");
    }
    let mut socket = scene.ida.connect().await;
    let heard = socket.until_text("3 19").await;
    assert_eq!(content_of(&heard).len(), 80, "each once over the WebSocket");
}
