//! Strict JSON at the edge, and the limit of a body (ASP-63, ASP-90; D.3, A2, A15).

use blackbox::{Agent, Response, Server, content_of};

const MIB: usize = 1_048_576;

async fn send(agent: &Agent, id: &str, body: &[u8]) -> Response {
    agent.post_raw(&format!("/sessions/{id}/messages"), body).await
}

/// Texts that are not JSON, or JSON that two readers may understand differently.
const BROKEN: &[(&str, &[u8])] = &[
    ("empty", b""),
    ("cut", br#"{"content":"x""#),
    ("two values", br#"{"content":"x"}{"content":"y"}"#),
    ("byte order mark", b"\xef\xbb\xbf{\"content\":\"x\"}"),
    ("invalid UTF-8", b"{\"content\":\"\xff\xfe\"}"),
    ("overlong UTF-8", b"{\"content\":\"\xc0\xaf\"}"),
    ("lone high surrogate", br#"{"content":"\ud83d"}"#),
    ("escaped NUL", br#"{"content":"a\u0000b"}"#),
    ("duplicate name by escape", br#"{"content":"x","c\u006fntent":"y"}"#),
    ("duplicate in an ignored member", br#"{"content":"x","other":{"a":1,"a":1}}"#),
    ("2^53 itself", br#"{"content":"x","metadata":{"n":9007199254740992}}"#),
    ("overflow of a double", br#"{"content":"x","metadata":{"n":1e400}}"#),
];

#[tokio::test]
async fn broken_json_is_refused() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    for (what, body) in BROKEN {
        let response = send(&alice, &id, body).await;
        assert_eq!(response.status, 400, "{what}: {response}");
        response.assert_refused(400, "invalid_json");
        assert!(!response.text().contains("line 1"), "no parser's inner words: {response}");
    }
    assert!(content_of(&bob.history(&id).await).is_empty());
}

/// The same at every endpoint that takes a body.
#[tokio::test]
async fn asp_90_broken_json_is_refused_everywhere() {
    let (server, alice, _, id) = Server::with_pair().await;
    let operator = server.operator();
    for body in [&br#"{"a":1,"a":2}"#[..], br#"{"a":"\u0000"}"#, b"{", br#"{"a":1e999}"#] {
        for path in
            ["/sessions".to_owned(), format!("/sessions/{id}/invite"), format!("/sessions/{id}/reopen")]
        {
            alice.post_raw(&path, body).await.assert_refused(400, "invalid_json");
        }
        alice.post_raw("/contacts", body).await.assert_refused(400, "invalid_json");
        for path in ["/_admin/agents", "/_admin/owners", "/_admin/agents/@alice.bot/allowlist"] {
            operator.post_raw(path, body).await.assert_refused(400, "invalid_json");
        }
    }
}

/// Operations that need no body refuse a broken one, and their description says so.
#[tokio::test]
async fn asp_65_broken_json_is_refused_where_no_body_is_needed() {
    let (server, alice, _, id) = Server::with_pair().await;
    let document = server.stranger().get("/openapi.json").await.ok(200);
    for verb in ["join", "leave", "end"] {
        alice.post_raw(&format!("/sessions/{id}/{verb}"), b"{").await.assert_refused(400, "invalid_json");
        let described = &document["paths"][format!("/sessions/{{id}}/{verb}")]["post"]["responses"]["400"];
        let codes = described["x-plenary-codes"].as_array().expect("a list of codes");
        assert!(codes.iter().any(|code| code == "invalid_json"), "{verb}: {described}");
    }
    assert_eq!(alice.show(&id).await["state"], "active");
}

/// Hard cases that are good JSON.
#[tokio::test]
async fn asp_90_good_json_is_taken() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let good: &[&[u8]] = &[
        b" \t\r\n{\"content\":\"x\"}\r\n ",
        br#"{"content":"\ud83d\ude00 \u00e9 \/ \b\f\n\r\t"}"#,
        "{\"content\":\"\u{1f600} \u{e9} \u{7f} \u{2028}\"}".as_bytes(),
        br#"{"content":"x","metadata":{"n":9007199254740991,"m":-9007199254740991}}"#,
        br#"{"content":"x","a":null,"b":[[]]}"#,
    ];
    for body in good {
        send(&alice, &id, body).await.ok(201);
    }
    assert_eq!(content_of(&bob.history(&id).await).len(), good.len());
}

fn nested(depth: usize) -> Vec<u8> {
    // The body is 1, metadata is 2, so depth - 2 arrays follow.
    let arrays = depth - 2;
    let text =
        format!(r#"{{"content":"x","metadata":{{"a":{}{}}}}}"#, "[".repeat(arrays), "]".repeat(arrays));
    text.into_bytes()
}

/// D.3, D.9: depth 64 with the outermost counted as 1.
#[tokio::test]
async fn depth_ends_at_64() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    send(&alice, &id, &nested(64)).await.ok(201);
    for depth in [65, 66, 127, 128, 1_000, 100_000] {
        send(&alice, &id, &nested(depth)).await.assert_refused(400, "invalid_json");
    }
    let objects = |depth: usize| {
        let inner = depth - 2;
        format!(r#"{{"content":"x","metadata":{}1{}}}"#, r#"{"a":"#.repeat(inner + 1), "}".repeat(inner + 1))
    };
    send(&alice, &id, objects(64).as_bytes()).await.ok(201);
    send(&alice, &id, objects(65).as_bytes()).await.assert_refused(400, "invalid_json");
    assert_eq!(content_of(&bob.history(&id).await).len(), 2);
}

fn sized(bytes: usize) -> Vec<u8> {
    let frame = r#"{"content":""}"#.len();
    format!(r#"{{"content":"{}"}}"#, "x".repeat(bytes - frame)).into_bytes()
}

/// D.3: a body of 1 MiB is taken and arrives whole; one byte more is 413, on every endpoint.
#[tokio::test]
async fn a_body_ends_at_one_mebibyte() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let mut to_bob = bob.connect().await;
    to_bob.until_kind("session.joined").await;
    send(&alice, &id, &sized(MIB)).await.ok(201);
    let message = to_bob.event().await;
    assert_eq!(message["payload"]["content"].as_str().map(str::len), Some(MIB - 14));
    for bytes in [MIB + 1, 2 * MIB, 8 * MIB] {
        let response = send(&alice, &id, &sized(bytes)).await;
        assert_eq!(response.status, 413, "{response}");
        assert!(response.json()["error"]["code"].is_string(), "{response}");
    }
    let create = format!(r#"{{"topic":"{}"}}"#, "x".repeat(MIB));
    assert_eq!(alice.post_raw("/sessions", create.as_bytes()).await.status, 413);
    assert_eq!(server.operator().post_raw("/_admin/agents", create.as_bytes()).await.status, 413);
    assert_eq!(content_of(&bob.history(&id).await).len(), 1);
}

/// The same for a body without a length: the limit holds on what arrives.
#[tokio::test]
async fn a_chunked_body_ends_there_too() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let path = format!("/sessions/{id}/messages");
    let chunked = |body: &[u8]| {
        let headers = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")];
        let mut request = alice.request("POST", &path, &headers, None);
        for chunk in body.chunks(60_000) {
            request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            request.extend_from_slice(chunk);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"0\r\n\r\n");
        request
    };
    alice.bytes(&chunked(&sized(MIB))).await.ok(201);
    let response = alice.bytes(&chunked(&sized(MIB + 1))).await;
    assert_eq!(response.status, 413, "{response}");
    assert_eq!(content_of(&bob.history(&id).await).len(), 1);
}
