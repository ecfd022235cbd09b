//! Names, topics and other one-line texts: nothing that a reader does not see, or sees as something else.

use blackbox::{Server, content_of};
use serde_json::json;

const HIDDEN: [&str; 10] = [
    "two\nlines",
    "\u{1b}[2J",
    "\u{7f}",
    "\u{9b}31m",
    "\u{202e}gpj.exe",
    "\u{2066}x",
    "ad\u{200b}min",
    "x\u{e0041}",
    "a\u{2028}b",
    "\u{feff}x",
];

#[tokio::test]
async fn a_text_of_one_line_hides_nothing() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let owner = server.owner("nick").await;
    for text in HIDDEN {
        alice.post("/sessions", json!({"topic": text})).await.assert_refused(400, "invalid_topic");
        let channel = alice.post("/agent-channel", json!({"title": text})).await;
        assert_eq!(
            (channel.status, channel.json()["code"].as_str()),
            (422, Some("invalid_title")),
            "{text:?}"
        );
        let channel = alice.post("/agent-channel", json!({"title": "t", "created_by": text})).await;
        assert_eq!(channel.status, 422, "{text:?}");
        let project = owner.post("/v1/projects", json!({"project_id": "p", "name": text})).await;
        assert_eq!(project.status, 400, "{text:?}");
        let project = owner.post("/v1/projects", json!({ "project_id": text })).await;
        assert_eq!(project.status, 400, "{text:?}");
    }
    for text in ["Größe – naïve 🙂", "日本語", "👩\u{200d}💻 at work"] {
        let made = alice.open(json!({"topic": text})).await;
        assert_eq!(alice.show(made["session_id"].as_str().expect("an id")).await["topic"], text);
        alice.post("/agent-channel", json!({"title": text})).await.ok(200);
    }
}

/// What is said is kept as it was said.
#[tokio::test]
async fn a_body_is_kept_verbatim() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let id = alice.create(&[]).await;
    for text in HIDDEN {
        alice.say(&id, text).await;
    }
    assert_eq!(content_of(&alice.history(&id).await), HIDDEN);
}
