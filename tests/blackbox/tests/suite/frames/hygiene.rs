//! FO-63, FO-73; D.3: JSON that two readers may understand differently is no frame. Must not know: any frame rule.

use blackbox::{Agent, Response, Server};
use serde_json::json;

use super::speak::{Field, advisory, before_fence, patient_server, refused, refused_as, sent, subscribe};

/// Texts that stand in the place of `"hello"`, each of which spoils the frame.
const SPOILERS: &[(&str, &[u8])] = &[
    ("an escaped NUL", br#""a\u0000b""#),
    ("invalid UTF-8", b"\"\xff\xfe\""),
    ("a lone high surrogate", br#""\ud83d""#),
    ("a duplicate member by escape", br#""hello","advisory_te\u0078t":"other""#),
    ("a cut text", br#""hello"#),
];

/// Members that are put into the frame, each of which spoils it.
const MEMBERS: &[(&str, &str)] = &[
    ("a duplicate of the frame's", r#""kind":"agent_advisory""#),
    ("2^53 itself", r#""ttl_ms":9007199254740992"#),
    ("a leading zero", r#""ttl_ms":01"#),
    ("a duplicate inside an unknown member", r#""x":{"a":1,"a":1}"#),
];

/// Whole bodies.
const BODIES: &[(&str, &[u8])] = &[
    ("nothing", b""),
    ("an array", b"[]"),
    ("a byte order mark", b"\xef\xbb\xbf{}"),
    ("two values", b"{}{}"),
];

#[track_caller]
fn malformed(response: &Response, what: &str) {
    assert_eq!(response.status, 400, "{what}: {response}");
    refused_as(response, 400);
    assert!(!response.text().contains("line 1"), "no parser's inner words: {response}");
}

/// The bytes of a frame with something in the place of its text, and something after its first brace.
fn body(from: &Agent, text: &[u8], member: &str) -> Vec<u8> {
    let frame = advisory(from, "~alice", "hello").to_string();
    let (before, after) = frame.split_once("\"hello\"").expect("the text is there");
    let start = if member.is_empty() { "{".to_owned() } else { format!("{{{member},") };
    let mut body = start.into_bytes();
    body.extend_from_slice(&before.as_bytes()[1..]);
    body.extend_from_slice(text);
    body.extend_from_slice(after.as_bytes());
    body
}

#[tokio::test]
async fn fo_73_broken_json_is_refused() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut stream = subscribe(&alice).await;
    let good = alice.post_raw("/frames", &body(&alice, b"\"hello\"", "")).await;
    assert_eq!(good.status, 200, "the mould is good: {good}");
    let wrap = |frame: &[u8]| [&b"{\"scope\":\"~alice\",\"frame\":"[..], frame, b"}"].concat();
    for (what, text) in SPOILERS {
        let body = body(&alice, text, "");
        malformed(&alice.post_raw("/frames", &body).await, what);
        malformed(&alice.post_raw("/frames", &wrap(&body)).await, what);
    }
    for (what, member) in MEMBERS {
        let body = body(&alice, b"\"hello\"", member);
        malformed(&alice.post_raw("/frames", &body).await, what);
        malformed(&alice.post_raw("/frames", &wrap(&body)).await, what);
    }
    for (what, body) in BODIES {
        malformed(&alice.post_raw("/frames", body).await, what);
        malformed(&alice.post_raw("/frames?scope=~alice", body).await, what);
    }
    malformed(&alice.post_empty("/frames").await, "no body");
    let twice = br#"{"scope":"~alice","scope":"~alice","frame":{}}"#;
    malformed(&alice.post_raw("/frames", twice).await, "two scopes");
    assert_eq!(before_fence(&alice, &alice, &mut stream).await, ["hello"], "FO-63");
}

/// Depth 64 is the limit; what is deeper than a frame's own shape is refused either way, and never a fault.
#[tokio::test]
async fn fo_73_bombs_are_refused() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    for depth in [64, 65, 127, 128, 1_000, 5_000] {
        let deep = format!(r#""x":{}{}"#, "[".repeat(depth), "]".repeat(depth));
        malformed(&alice.post_raw("/frames", &body(&alice, b"\"hello\"", &deep)).await, "an abyss");
    }
    let many: Vec<String> = (0..2_000).map(|number| format!(r#""x{number}":0"#)).collect();
    malformed(&alice.post_raw("/frames", &body(&alice, b"\"hello\"", &many.join(","))).await, "many members");
    assert_eq!(super::speak::tell(&alice, "~alice", "~alice", "alive").await, 0);
}

/// A path without an operation, and a header that names no session, are refused in the same form.
#[tokio::test]
async fn fo_73_paths_and_headers_are_refused_in_this_form() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    for path in ["/frames/", "/frames/x/y", "/handles", "/handles/~alice/", "/handles/~alice/nothing"] {
        refused(&alice.get(path).await, 404, "not_found", Field::Any);
        refused(&alice.post(path, json!({})).await, 404, "not_found", Field::Any);
    }
    refused(&alice.get("/frames").await, 405, "method_not_allowed", Field::Any);
    let frame = advisory(&alice, "~alice", "hello");
    for (header, field) in
        [("X-Agent-Instrument", "instrument"), ("X-Agent-Session", "session_id"), ("X-Agent-Tool", "tool")]
    {
        for headers in [&[(header, "A/B")][..], &[(header, "a"), (header, "a")]] {
            let answer = alice.call("POST", "/frames", headers, Some(&frame)).await;
            refused(&answer, 400, "field-invalid", Field::At(field));
        }
    }
}

/// Hard cases that are good JSON arrive as they were meant.
#[tokio::test]
async fn fo_4_good_json_is_taken() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut stream = subscribe(&alice).await;
    let cases: &[(&[u8], &str)] = &[
        (br#""\ud83d\ude00 \u00e9 \/ \b\f\n\r\t""#, "\u{1f600} \u{e9} / \u{8}\u{c}\n\r\t"),
        ("\"\u{1f600} \u{e9} \u{7f} \u{2028}\"".as_bytes(), "\u{1f600} \u{e9} \u{7f} \u{2028}"),
        (b" \t\r\n\"x\"\r\n ", "x"),
    ];
    for (text, meant) in cases {
        let body = body(&alice, text, "");
        let frame = advisory(&alice, "~alice", meant);
        let answer = alice.post_raw("/frames", &body).await;
        assert_eq!(answer.status, 200, "{answer}");
        let heard = stream.event().await.frame;
        assert_eq!(heard["payload"], frame["payload"]);
        assert_eq!(sent(&answer, &heard).count, 1);
    }
    // Names by escapes are the same names.
    let escaped =
        String::from_utf8(body(&alice, b"\"x\"", "")).expect("text").replace("\"kind\"", "\"k\\u0069nd\"");
    let answer = alice.post_raw("/frames", escaped.as_bytes()).await;
    assert_eq!(answer.status, 200, "{answer}");
    assert_eq!(stream.event().await.frame["payload"], json!({"advisory_text": "x"}));
}
