//! Vectors are made once, whatever keeps them: the data directory or PostgreSQL, for one process or for several.
//! Must not know: how they are kept.

use blackbox::{Agent, Database, Embeddings, Mood, PATIENCE, Server, TestDependency, eventually};
use serde_json::json;

use super::meaning::{caught_up, found};
use super::speak::{deposited, package_with};

const NOTES: [(&str, &str); 3] = [
    ("auto", "The car would not start."),
    ("pet", "The dog saw the vet."),
    ("boat", "The ship left at noon."),
];

async fn deposit_notes(nick: &Agent) {
    for (id, text) in NOTES {
        deposited(nick, &package_with(&nick.handle, id, json!({"title": "Notes", "content_md": text}))).await;
    }
}

/// How often the model was given each of the notes.
fn embedded(model: &Embeddings) -> [usize; 3] {
    let requests = model.requests();
    let texts = || requests.iter().flat_map(|(_, body)| body["input"].as_array().into_iter().flatten());
    NOTES.map(|(_, note)| texts().filter(|text| *text == note).count())
}

async fn nearest(nick: &Agent, query: &str) -> String {
    found(nick, query, "&ranking=semantic").await.first().cloned().unwrap_or_default()
}

/// A server on a database, or in its data directory.
async fn start(database: Option<&Database>, source: &str) -> Server {
    let builder = Server::builder().arg("--embeddings").arg(source);
    match database {
        Some(database) => builder.database(database.url()).start().await,
        None => builder.start().await,
    }
}

async fn a_restart_makes_no_vectors(database: Option<&Database>) {
    let model = Embeddings::start(Mood::Vectors(8)).await;
    let mut server = start(database, &model.source()).await;
    let nick = server.agent("@nick.cc-laptop").await;
    deposit_notes(&nick).await;
    caught_up(&nick, PATIENCE).await;
    for ended in ["stopped", "killed"] {
        if ended == "stopped" {
            server.stop().await;
        } else {
            server.kill().await;
        }
        server.restart().await;
        caught_up(&nick, PATIENCE).await;
        assert_eq!(nearest(&nick, "automobile").await, "auto", "{ended}");
        assert_eq!(embedded(&model), [1; 3], "{ended}");
    }
}

/// AP-60, AP-78: in the data directory.
#[tokio::test]
async fn ap_60_after_a_restart_vectors_are_read_from_the_directory() {
    a_restart_makes_no_vectors(None).await;
}

/// AP-60, AP-78: in PostgreSQL. What a restart finds there is not embedded again; another model's is.
#[tokio::test]
async fn ap_60_after_a_restart_vectors_are_read_from_postgres() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    a_restart_makes_no_vectors(Some(&database)).await;
    let model = Embeddings::start(Mood::Vectors(6)).await;
    let server = start(Some(&database), &model.source()).await;
    let nick = server.agent("@nick.cc-tower").await;
    caught_up(&nick, PATIENCE).await;
    eventually("another model makes all of them anew", || async {
        (embedded(&model) == [1; 3] && nearest(&nick, "hound").await == "pet").then_some(())
    })
    .await;
    drop(server);
    database.remove().await;
}

/// AP-60: of two processes one embeds, both find, and who is left goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_60_processes_on_one_database_share_vectors() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let model = Embeddings::start(Mood::Vectors(8)).await;
    let source = model.source();
    let (mut a, b) = tokio::join!(start(Some(&database), &source), start(Some(&database), &source));
    let nick = a.agent("@nick.cc-laptop").await;
    let nick_b = nick.at(&b);
    deposit_notes(&nick).await;
    for nick in [&nick, &nick_b] {
        caught_up(nick, PATIENCE).await;
        eventually("both find by meaning", || async {
            (nearest(nick, "automobile").await == "auto" && nearest(nick, "vessel").await == "boat")
                .then_some(())
        })
        .await;
    }
    assert_eq!(embedded(&model), [1; 3]);
    a.kill().await;
    deposited(&nick_b, &package_with(&nick.handle, "late", json!({"content_md": "A downpour all day."})))
        .await;
    eventually("the other one goes on", || async {
        (nearest(&nick_b, "rain").await == "late" && nearest(&nick_b, "hound").await == "pet").then_some(())
    })
    .await;
    assert_eq!(embedded(&model), [1; 3]);
    drop(b);
    database.remove().await;
}
