//! A reranker puts the first packages of a search in order; while it is away, the order stays as it is.
//! Must not know: how a reranker works.

use blackbox::{Agent, Embeddings, Mood, Server, eventually};
use serde_json::{Value, json};

use super::meaning::{caught_up, descriptor, found};
use super::speak::{PROJECT, deposited, package_with, packages_of};

/// Words find the first of these, since its words are the query's; the reranker knows better.
async fn two(nick: &Agent) {
    for (id, text) in [
        ("words", "The hound question: which problem, which answer, which vet?"),
        ("answer", "Our dog met a vet on the ship."),
    ] {
        deposited(nick, &package_with(&nick.handle, id, json!({"title": "Note", "content_md": text}))).await;
    }
    eventually("both are found", || async {
        (found(nick, "vet", "&ranking=lexical").await.len() == 2).then_some(())
    })
    .await;
}

const QUERY: &str = "which problem had the hound on the vessel, which vet";

/// AP-60: with words alone, and with both rankings.
#[tokio::test]
async fn ap_60_a_reranker_puts_the_first_packages_in_order() {
    let model = Embeddings::start(Mood::Vectors(8)).await;
    for with_meaning in [false, true] {
        let mut server = Server::builder()
            .arg("--rerank")
            .arg(&model.reranker())
            .env("PLENARY_RERANK_API_KEY", "key-of-the-reranker");
        if with_meaning {
            server = server.arg("--embeddings").arg(&model.source());
        }
        let mut server = server.start().await;
        let nick = server.agent("@nick.cc-laptop").await;
        two(&nick).await;
        if with_meaning {
            caught_up(&nick, blackbox::PATIENCE).await;
        }
        assert_eq!(descriptor(&nick).await["capabilities"]["reranked_search"], true);
        assert_eq!(found(&nick, QUERY, "&ranking=lexical").await, ["words", "answer"]);
        assert_eq!(found(&nick, QUERY, "").await, ["answer", "words"]);
        assert_eq!(found(&nick, QUERY, "&ranking=reranked").await, ["answer", "words"]);
        let asked: Vec<_> =
            model.requests().into_iter().filter(|(_, body)| body["documents"].is_array()).collect();
        let (headers, body) = asked.last().expect("it was asked");
        assert_eq!(headers["authorization"], "Bearer key-of-the-reranker");
        assert_eq!(
            (&body["model"], &body["query"], &body["top_n"]),
            (&json!("judge"), &json!(QUERY), &json!(2))
        );
        assert!(
            body["documents"]
                .as_array()
                .expect("a list")
                .iter()
                .any(|text| text == "Note\nOur dog met a vet on the ship.")
        );
        let path =
            format!("{}?mode=relevant&limit=1&query={}", packages_of(PROJECT), super::speak::enc(QUERY));
        let scores: Value = nick.get(&path).await.ok(200);
        assert_eq!(scores["packages"].as_array().map(Vec::len), Some(1));
        assert_eq!(scores["packages"][0]["package"]["package_id"], "answer");
        server.stop().await;
        assert!(!server.log_text().contains("key-of-the-reranker"));
    }
}

/// Refused, unreachable and too slow are all the old order, and whoever asks for the new one expressly is told.
#[tokio::test]
async fn ap_60_a_reranker_that_is_away_leaves_the_order() {
    let model = Embeddings::start(Mood::Status(500)).await;
    let server = Server::builder().arg("--rerank").arg(&model.reranker()).start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    two(&nick).await;
    assert_eq!(found(&nick, QUERY, "").await, ["words", "answer"]);
    assert_eq!(descriptor(&nick).await["capabilities"]["reranked_search"], false);
    let path = format!("{}?mode=relevant&query=vet&ranking=reranked", packages_of(PROJECT));
    nick.get(&path).await.assert_refused(501, "not_implemented");
    model.set(Mood::Vectors(8));
    eventually("it is asked again after its rest", || async {
        (found(&nick, QUERY, "").await == ["answer", "words"]).then_some(())
    })
    .await;
    model.set(Mood::Hang);
    assert_eq!(found(&nick, QUERY, "").await, ["words", "answer"], "nobody waits for long");
}

/// A server without one says so.
#[tokio::test]
async fn ap_79_without_a_reranker_it_is_not_declared() {
    let (_server, [nick]) = Server::with(["@nick.cc-laptop"]).await;
    assert_eq!(descriptor(&nick).await["capabilities"]["reranked_search"], false);
    two(&nick).await;
    let path = format!("{}?mode=relevant&query=vet&ranking=reranked", packages_of(PROJECT));
    nick.get(&path).await.assert_refused(501, "not_implemented");
}
