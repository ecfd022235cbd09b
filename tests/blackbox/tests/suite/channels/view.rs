//! The onboarding view (CH-5, CH-22), as somebody gets it who has never seen a channel.

use blackbox::{Caller, Response, Server, assert_keys};
use serde_json::{Value, json};

use super::{append, channel};

async fn view(who: &Caller, channel: &str, query: &str, accept: &str) -> Response {
    let headers: &[(&str, &str)] = if accept.is_empty() { &[] } else { &[("Accept", accept)] };
    who.call("GET", &format!("/agent-channel/{channel}{query}"), headers, None).await
}

/// CH-5: the members, exactly; the newest payloads, null while there are none; twenty events at most.
#[tokio::test]
async fn ch_5_the_view_explains_the_channel() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let id = channel(&ann).await;
    let fresh = view(&ann, &id, "", "").await.ok(200);
    assert_keys(&fresh, &["channel", "onboarding", "participate", "spec", "state", "recent_events"], &[]);
    let commands = [
        "read_this",
        "read_spec",
        "read_state",
        "read_events",
        "append_event",
        "formats",
        "auth",
        "your_name",
    ];
    assert_keys(&fresh["participate"], &commands, &[]);
    assert_eq!(
        (&fresh["spec"], &fresh["state"], &fresh["recent_events"]),
        (&Value::Null, &Value::Null, &json!([]))
    );
    assert_keys(&fresh["channel"], &["id", "title", "created_by", "created_at", "closed_at", "url"], &[]);
    assert!(fresh["onboarding"].as_str().is_some_and(|text| text.contains("nobody has posted a status yet")));
    assert!(fresh["participate"]["your_name"].as_str().is_some_and(|text| text.contains("@nick.ann")));

    append(&ann, &id, "spec", json!({"mission": "m"})).await;
    append(&ann, &id, "state", json!({"handoff": {"holder": "@nick.ann", "expected_action": "go on"}})).await;
    for n in 0..24 {
        append(&ann, &id, "comms", json!({ "n": n })).await;
    }
    let full = view(&ann, &id, "", "").await.ok(200);
    assert_eq!(
        (&full["spec"]["mission"], &full["state"]["handoff"]["holder"]),
        (&json!("m"), &json!("@nick.ann"))
    );
    let numbers: Vec<_> = full["recent_events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| event["payload"]["n"].as_i64())
        .collect();
    assert_eq!(numbers, (4..24).rev().map(Some).collect::<Vec<_>>());
}

/// CH-22: `?format=` and `Accept` with weights; what nobody knows is JSON.
#[tokio::test]
async fn ch_22_the_format_is_negotiated() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let id = channel(&ann).await;
    append(&ann, &id, "status", json!({"agent": "yes", "phase": "1.5", "note": "2026-11-21"})).await;
    const JSON: &str = "application/json";
    const YAML: &str = "application/yaml";
    const MARKDOWN: &str = "text/markdown; charset=utf-8";
    for (query, accept, expected) in [
        ("", "", JSON),
        ("", "*/*", JSON),
        ("?format=json", "text/markdown", JSON),
        ("?format=yaml", "", YAML),
        ("?format=yml", "", YAML),
        ("?format=markdown", "", MARKDOWN),
        ("?format=md", "application/yaml", MARKDOWN),
        ("?format=toml", "text/markdown", JSON),
        ("", "text/markdown", MARKDOWN),
        ("", "application/yaml", YAML),
        ("", "text/yaml", YAML),
        ("", "application/x-yaml", YAML),
        ("", "text/html, */*;q=0.1", JSON),
        ("", "text/markdown;q=0.4, application/yaml;q=0.5", YAML),
        ("", "application/json;q=0.9, text/markdown", MARKDOWN),
        ("", "text/markdown;q=0, */*", JSON),
        ("", "image/png", JSON),
    ] {
        let response = view(&ann, &id, query, accept).await;
        assert_eq!(
            (response.status, response.header("content-type")),
            (200, Some(expected)),
            "{accept}: {response}"
        );
    }
    let yaml = view(&ann, &id, "?format=yaml", "").await.text();
    for line in [r#"agent: "yes""#, r#"phase: "1.5""#, r#"note: "2026-11-21""#, "state: null"] {
        assert!(yaml.lines().any(|found| found.trim_start_matches([' ', '-']) == line), "{line} in:\n{yaml}");
    }
    let markdown = view(&ann, &id, "?format=md", "").await.text();
    let headings: Vec<&str> = markdown.lines().filter(|line| line.starts_with('#')).collect();
    let title = format!("# Agent Channel {id}");
    let sections =
        ["## Onboarding", "## How to take part", "## Charter", "## Current state", "## Recent events"];
    assert_eq!(headings[0], title);
    assert_eq!(headings[1..6], sections);
    assert!(
        headings[6].starts_with("### #") && headings[6].contains(" - status - @nick.ann - 20"),
        "{headings:?}"
    );
}
