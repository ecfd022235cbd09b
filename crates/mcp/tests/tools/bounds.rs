//! No result is larger than a model is to be given at once, and what is more can be read on.

use plenary_mcp::tools::bounds::{RESULT_TOKENS_MAX, tokens};
use serde_json::{Value, json};

use crate::{budgets::count, house::House};

const PROSE: &str =
    "The quick brown fox jumps over the lazy dog, and nobody in the village remembers why it ever did. ";

fn samples() -> Vec<(&'static str, String)> {
    let mixed = "xQ9vTz7LmPw2Rk8sYb4Nc6Hd1Jf3Gg5Aa0".repeat(40);
    vec![
        ("prose", PROSE.repeat(40)),
        (
            "german",
            "Die Geschwindigkeitsbegrenzung gilt selbstverständlich für alle Verkehrsteilnehmer. ".repeat(30),
        ),
        (
            "json",
            json!([{"id": "01JD9X4Z7QK2M8N5R3T6V1W0YB", "at": 1_790_000_000_123_u64, "ok": true}])
                .to_string()
                .repeat(30),
        ),
        ("hex", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".repeat(30)),
        ("mixed", mixed),
        (
            "code",
            "fn main() { let x: Vec<_> = (0..10).map(|n| n * n).collect(); println!(\"{x:?}\"); }\n"
                .repeat(30),
        ),
        ("chinese", "今天天气很好我们去公园散步吧然后一起吃晚饭讨论新的计划".repeat(30)),
        ("russian", "Быстрая коричневая лиса перепрыгивает через ленивую собаку. ".repeat(30)),
        ("emoji", "😀🚀🧵🦀✨🔒📦🎉".repeat(60)),
        ("lines", "|---|---|\n=====\n***\n".repeat(80)),
    ]
}

#[test]
fn the_estimate_errs_upwards() {
    for (name, text) in samples() {
        let (estimated, counted) = (tokens(&text), count(&text));
        println!("{name}: {estimated} estimated, {counted} counted");
        assert!(estimated >= counted, "{name}: {estimated} estimated, {counted} counted");
        assert!(estimated <= 4 * counted, "{name}: {estimated} estimated, {counted} counted");
    }
}

#[track_caller]
fn within(value: &Value) {
    let counted = count(&value.to_string());
    assert!(counted <= RESULT_TOKENS_MAX, "{counted} tokens");
}

#[tokio::test]
async fn a_package_too_large_for_one_answer_comes_in_parts() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    for (name, text) in samples() {
        let content: String = text.repeat(6);
        let deposit = alice.call("deposit", json!({"title": name, "content_md": content})).await;
        within(&deposit);
        let (mut json, mut next) = (String::new(), json!({"package_id": deposit["package_id"]}));
        while !next.is_null() {
            let part = alice.call("recall", next.clone()).await;
            within(&part);
            json.push_str(part["part"].as_str().unwrap());
            next = part["next"].clone();
        }
        let whole: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(whole["content_md"], content, "{name}");
    }
    within(&alice.call("recall", json!({"query": "quick fox"})).await);
    within(&alice.call("context_pull", json!({"project_id": "nick"})).await);
}

#[tokio::test]
async fn a_large_result_of_what_was_done_is_read_on_without_doing_it_again() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    let input = PROSE.repeat(200);
    let mut part = alice.call("run_agent", json!({"agent": "echo", "input": input})).await;
    let run = part["next"]["run_id"].clone();
    let mut json = String::new();
    loop {
        within(&part);
        json.push_str(part["part"].as_str().unwrap());
        if part["next"].is_null() {
            break;
        }
        assert_eq!(part["next"]["run_id"], run);
        part = alice.call("run_agent", part["next"].clone()).await;
    }
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["result"], input);

    let channel = alice.call("channel", json!({"action": "create", "title": "Large"})).await;
    alice.call("channel", json!({"action": "post", "id": channel["id"], "text": input})).await;
    let part = alice.call("channel", json!({"action": "read", "id": channel["id"]})).await;
    within(&part);
    within(&alice.call("channel", part["next"].clone()).await);

    for (kind, text) in [("spec", "one"), ("comms", "two"), ("spec", "three"), ("comms", "four")] {
        let post = json!({"action": "post", "id": channel["id"], "kind": kind, "text": text});
        alice.call("channel", post).await;
    }
    let read = json!({"action": "read", "id": channel["id"], "kind": "spec", "after_id": 1});
    let page = alice.call("channel", read).await;
    assert_eq!(page["events"].as_array().map(Vec::len), Some(2), "{page}");
    assert_eq!(page["next"]["kind"], "spec", "the next page is filtered too: {page}");
}

#[tokio::test]
async fn a_long_conversation_is_read_page_by_page() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    let mut session = Value::Null;
    for nth in 0..30 {
        let sent = alice
            .call("send", json!({"to": ["@nick.bob"], "text": format!("{nth}: {}", PROSE.repeat(4))}))
            .await;
        session = sent["session_id"].clone();
    }
    let (mut read, mut next) = (0, json!({"session_id": session}));
    while !next.is_null() {
        let page = bob.call("read", next.clone()).await;
        within(&page);
        read += page["events"].as_array().unwrap().iter().filter(|event| event["text"].is_string()).count();
        next = page["next"].clone();
    }
    assert_eq!(read, 30);
    let page = bob.call("session_events", json!({"id": session})).await;
    within(&page);
    assert!(page["next_cursor"].is_string() && !page["events"].as_array().unwrap().is_empty());
    let huge = alice.call("session_send", json!({"id": session, "content": PROSE.repeat(2_000)})).await;
    let after = huge["sequence"].as_u64().unwrap() - 1;
    let part = bob.call("read", json!({"session_id": session, "after_sequence": after})).await;
    within(&part);
    assert!(part["next"]["offset"].is_u64(), "{part}");
}
