//! Packages are found by what they mean, by a model in the server or by one behind an interface of the OpenAI form; and
//! by their words whenever the model is away. Must not know: how vectors are kept.

use std::time::Duration;

use blackbox::{Agent, Embeddings, Mood, Server, TestDependency, eventually};
use serde_json::{Value, json};

use super::speak::{PROJECT, deposited, package_with, packages_of};

/// The ids that a query finds, by a ranking, the nearest first.
pub(super) async fn found(nick: &Agent, query: &str, ranking: &str) -> Vec<String> {
    found_in(nick, PROJECT, query, ranking).await
}

/// The same in another project.
pub(super) async fn found_in(nick: &Agent, project: &str, query: &str, ranking: &str) -> Vec<String> {
    let query = super::speak::enc(query);
    let path = format!("{}?mode=relevant&limit=5&query={query}{ranking}", packages_of(project));
    let answer = nick.get(&path).await.ok(200);
    let packages = answer["packages"].as_array().expect("a list");
    packages.iter().map(|found| found["package"]["package_id"].as_str().expect("an id").to_owned()).collect()
}

pub(super) async fn descriptor(nick: &Agent) -> Value {
    nick.get("/v1/conformance").await.ok(200)
}

/// Waits until the model works and everything is found by it.
pub(super) async fn caught_up(nick: &Agent, patience: Duration) {
    blackbox::eventually_within(patience, "everything is found by meaning", || async {
        let found = descriptor(nick).await;
        let works = found["capabilities"]["semantic_search"] == true && found["x-search"]["lag_events"] == 0;
        (works && found["x-search"]["semantic_lag_events"] == 0).then_some(())
    })
    .await;
}

async fn three(nick: &Agent) {
    for (id, title, text) in [
        ("auto", "Notes of Monday", "The car would not start in the cold."),
        ("pet", "Notes of Tuesday", "The dog had to see the vet."),
        ("boat", "Notes of Wednesday", "The ship left the harbour at noon."),
    ] {
        deposited(nick, &package_with(&nick.handle, id, json!({"title": title, "content_md": text}))).await;
    }
}

/// AP-60, AP-78: a real model in the server; no word is common. A restart embeds nothing again.
#[tokio::test]
async fn ap_60_a_package_is_found_by_its_meaning_and_after_a_restart() {
    let TestDependency::Available(model) = TestDependency::model() else { return };
    let mut server = Server::builder().arg("--embeddings").arg(&format!("local:{model}")).start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    three(&nick).await;
    caught_up(&nick, blackbox::PATIENCE).await;
    let query = "problems with a vehicle in winter";
    assert_eq!(found(&nick, query, "&ranking=lexical").await, Vec::<String>::new());
    assert_eq!(found(&nick, query, "&ranking=semantic").await[0], "auto");
    assert_eq!(found(&nick, query, "").await[0], "auto");
    let capabilities = descriptor(&nick).await["capabilities"].clone();
    assert_eq!(
        (&capabilities["hybrid_search"], &capabilities["keyword_search"]),
        (&json!(true), &json!(true))
    );
    let digest = nick.get("/v1/orchestrate?focus=canine%20health&window_days=3650").await.ok(200);
    assert_eq!(digest["snippets"][0]["package_id"], "pet", "{digest}");
    for ended in ["stopped", "killed"] {
        if ended == "stopped" {
            server.stop().await
        } else {
            server.kill().await
        }
        server.restart().await;
        caught_up(&nick, blackbox::PATIENCE).await;
        assert_eq!(found(&nick, query, "&ranking=semantic").await[0], "auto", "{ended}");
    }
}

/// Whoever names no model gets words, and is told so.
#[tokio::test]
async fn ap_79_without_a_model_meaning_is_not_declared() {
    let (_server, [nick]) = Server::with(["@nick.cc-laptop"]).await;
    three(&nick).await;
    let capabilities = descriptor(&nick).await["capabilities"].clone();
    assert_eq!(
        (&capabilities["hybrid_search"], &capabilities["semantic_search"]),
        (&json!(false), &json!(false))
    );
    for (ranking, capability) in [("semantic", "semantic_search"), ("hybrid", "hybrid_search")] {
        let path = format!("{}?mode=relevant&query=car&ranking={ranking}", packages_of(PROJECT));
        let response = nick.get(&path).await;
        response.assert_refused(501, "not_implemented");
        assert_eq!(response.json()["error"]["capability"], capability);
    }
    nick.get(&format!("{}?mode=relevant&query=car&ranking=best", packages_of(PROJECT)))
        .await
        .refusal_code(400);
}

/// The model behind an interface: its key, its death in the middle, its return, another size of vectors.
#[tokio::test]
async fn ap_60_a_model_that_dies_holds_nothing_up_and_comes_back() {
    let mut model = Embeddings::start(Mood::Vectors(8)).await;
    let mut server = Server::builder()
        .env("PLENARY_EMBEDDINGS", &model.source())
        .env("PLENARY_EMBEDDINGS_API_KEY", "key-of-the-test")
        .start()
        .await;
    let nick = server.agent("@nick.cc-laptop").await;
    three(&nick).await;
    caught_up(&nick, blackbox::PATIENCE).await;
    assert_eq!(found(&nick, "automobile", "&ranking=semantic").await[0], "auto");
    let (headers, body) = model.requests().pop().expect("it was asked");
    assert_eq!(headers["authorization"], "Bearer key-of-the-test");
    assert_eq!(body["model"], "things");

    model.kill().await;
    deposited(&nick, &package_with(&nick.handle, "late", json!({"content_md": "A downpour all day."}))).await;
    eventually("words are found while the model is away", || async {
        (found(&nick, "downpour", "").await == ["late"]).then_some(())
    })
    .await;
    eventually("it is no longer declared", || async {
        (descriptor(&nick).await["capabilities"]["semantic_search"] == false).then_some(())
    })
    .await;

    model.set(Mood::Vectors(6));
    model.restart().await;
    caught_up(&nick, blackbox::PATIENCE).await;
    eventually("vectors of the new size are there", || async {
        let rain = found(&nick, "rain", "&ranking=semantic").await;
        let old = found(&nick, "automobile", "&ranking=semantic").await;
        (rain.first().is_some_and(|id| id == "late") && old.first().is_some_and(|id| id == "auto"))
            .then_some(())
    })
    .await;
    server.stop().await;
    assert!(!server.log_text().contains("key-of-the-test"));
}

/// A package that the model refuses is found by words, and the others by meaning.
#[tokio::test]
async fn ap_60_a_text_that_the_model_refuses_stops_no_other() {
    let model = Embeddings::start(Mood::Vectors(8)).await;
    let server = Server::builder().arg("--embeddings").arg(&model.source()).start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    let refused = json!({"content_md": "A forbidden word."});
    deposited(&nick, &package_with(&nick.handle, "refused", refused)).await;
    three(&nick).await;
    caught_up(&nick, blackbox::PATIENCE).await;
    assert_eq!(found(&nick, "automobile", "&ranking=semantic").await[0], "auto");
    assert_eq!(found(&nick, "forbidden", "").await, ["refused"], "a query that is refused searches words");
    assert_eq!(found(&nick, "automobile", "&ranking=semantic").await[0], "auto");
}

/// A server that hangs or refuses costs a query no more than its second, and a deposit nothing.
#[tokio::test]
async fn ap_60_a_model_that_never_worked_leaves_search_by_words() {
    for mood in [Mood::Hang, Mood::Status(400), Mood::Status(401), Mood::Status(503)] {
        let model = Embeddings::start(mood).await;
        let server = Server::builder().arg("--embeddings").arg(&model.source()).start().await;
        let nick = server.agent("@nick.cc-laptop").await;
        three(&nick).await;
        eventually("words are found", || async {
            (found(&nick, "harbour", "").await == ["boat"]).then_some(())
        })
        .await;
        assert_eq!(descriptor(&nick).await["capabilities"]["hybrid_search"], false, "{mood:?}");
    }
}

/// What is no model ends the start and says what to do.
#[tokio::test]
async fn a_directory_without_a_model_is_refused_at_the_start() {
    let binary = std::env::var_os("PLENARY_BIN").map_or_else(
        || std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/plenary"),
        std::path::PathBuf::from,
    );
    let empty = tempdir();
    let ran = std::process::Command::new(binary)
        .args(["serve", "--data", ":memory:", "--listen", "127.0.0.1:0", "--embeddings"])
        .arg(format!("local:{}", empty.path().display()))
        .env("PLENARY_OPERATOR_TOKEN", "x".repeat(64))
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains("modules.json is missing"), "{said}");
}

fn tempdir() -> blackbox::TempDir {
    blackbox::TempDir::new()
}
