//! Bodies that are not what they should be: SC-23, SC-27; D.3, D.8 (bad JSON 400, wrong shape 422).

use serde_json::{Value, json};

use super::speak::{ECHO, at, chat, echoing, list, outcome, refused, said, whole};

const MIB: usize = 1_048_576;

/// Not JSON, or JSON that two readers may understand differently.
pub(super) const BROKEN: &[(&str, &[u8])] = &[
    ("cut", br#"{"input":"x""#),
    ("invalid UTF-8", b"{\"input\":\"\xff\"}"),
    ("escaped NUL", br#"{"input":"a\u0000b"}"#),
    ("duplicate deep down", br#"{"input":"x","args":{},"request_metadata":{"a":[{"b":1,"b":2}]}}"#),
    ("2^53", br#"{"input":"x","request_metadata":{"n":9007199254740992}}"#),
];

/// D.8: 400 at every place that takes a request.
#[tokio::test]
async fn sc_23_broken_json_is_400() {
    let (_server, nick) = echoing().await;
    for (what, body) in BROKEN {
        for path in ["run", "run?wait=true", "run?wait=result", "stream_request"] {
            let response = nick.post_raw(&at(ECHO, path), body).await;
            assert_eq!(response.status, 400, "{path}, {what}: {response}");
            refused(&response, 400);
        }
    }
    // No body at all is bad JSON, or a body that lacks everything.
    for body in [&b""[..], b"  "] {
        for path in ["run", "stream_request"] {
            let response = nick.post_raw(&at(ECHO, path), body).await;
            assert!([400, 422].contains(&response.status), "{response}");
            refused(&response, response.status);
        }
    }
    assert_eq!(list(nick.get(&at(ECHO, "threads")).await.ok(200)), Vec::<Value>::new(), "nothing was begun");
}

fn nested(depth: usize) -> Vec<u8> {
    // The body is 1, the metadata 2.
    let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
    format!(r#"{{"input":"x","request_metadata":{{"a":{open}{close}}}}}"#).into_bytes()
}

/// D.3: depth 64, 1 MiB.
#[tokio::test]
async fn sc_23_depth_and_size_have_their_limits() {
    let (_server, nick) = echoing().await;
    let path = at(ECHO, "run");
    assert_eq!(nick.post_raw(&path, &nested(64)).await.status, 202);
    refused(&nick.post_raw(&path, &nested(65)).await, 400);
    refused(&nick.post_raw(&path, &nested(50_000)).await, 400);
    let sized = |bytes: usize| {
        let body = json!({"input": ""}).to_string();
        body.replace("\"\"", &format!("\"{}\"", "x".repeat(bytes - body.len()))).into_bytes()
    };
    assert_eq!(nick.post_raw(&path, &sized(MIB)).await.status, 202);
    assert_eq!(nick.post_raw(&path, &sized(MIB + 1)).await.status, 413);
}

/// D.8: good JSON of the wrong shape is 422, and says so without the parser's inner words.
#[tokio::test]
async fn sc_27_a_wrong_shape_is_422() {
    let (_server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "x").await;
    whole(&nick, &run).await;
    let id = &run.id;
    for body in [
        json!(null),
        json!([]),
        json!({}),
        json!({"input": ["x"]}),
        json!({"type": "RunStarted", "input": "x"}),
        json!({"type": 5, "input": "x"}),
        json!({"input": "x", "request_metadata": []}),
        json!({"type": "CancelRequest"}),
        json!({"type": "ResumeWithInput", "run_id": id, "request_keys": []}),
        json!({"run_id": {}}),
    ] {
        let response = nick.post(&at(ECHO, "run"), body.clone()).await;
        assert_eq!(response.status, 422, "{body}: {response}");
        refused(&response, 422);
        for words in ["line 1", "column", "serde", "crates/", "expected `"] {
            assert!(!response.text().contains(words), "{words}: {response}");
        }
    }
    assert_eq!(list(nick.get(&at(ECHO, "threads")).await.ok(200)).len(), 1, "nothing was begun");
}

/// Parameters that are none.
#[tokio::test]
async fn sc_38_odd_parameters_are_422() {
    let (_server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "x").await;
    whole(&nick, &run).await;
    for query in ["?wait=maybe", "?wait=2", "?wait=true&wait=false"] {
        refused(&nick.post(&at(ECHO, &format!("run{query}")), json!({"input": "x"})).await, 422);
    }
    for query in ["?since=x", "?since=-1", "?since=1.5", "?stream=maybe", "?since=1&since=2"] {
        refused(&nick.get(&at(ECHO, &format!("get_events/{}{query}", run.id))).await, 422);
    }
    refused(&nick.get(&at(ECHO, "get_events")).await, 422);
}

/// Texts that are hard to carry come back as they were.
#[tokio::test]
async fn sc_14_any_text_comes_back() {
    let (_server, nick) = echoing().await;
    for text in [
        "",
        " ",
        "\n",
        "a\r\nb\n\ndata: x\nevent: y\n\n",
        ": comment",
        "\u{1f600}\u{e9}\u{2028}\u{2029}\u{7f}\u{85}\u{feff}\u{10ffff}",
        "{\"type\":\"RunCompleted\"}",
        "\u{1b}[31m \\ \" / \u{8}",
        &"long ".repeat(50_000),
    ] {
        let events = outcome(&nick, ECHO, text).await;
        assert_eq!(said(&events).concat(), text, "the contents join to the input");
        assert_eq!(events.last().expect("an end")["result"], text);
    }
}
