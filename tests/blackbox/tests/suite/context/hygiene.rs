//! Bodies that are no good JSON, too long, or too deep: D.3, D.7, 0.4 #16.

use serde_json::json;

use super::speak::{PROJECT, assert_package, desk, facts_of, package, package_with, packages_of};

/// The writes of this protocol.
fn writes() -> [String; 6] {
    [
        packages_of(PROJECT),
        facts_of(PROJECT),
        "/v1/projects".to_owned(),
        "/v1/packages/one/flag".to_owned(),
        "/v1/packages/one/review".to_owned(),
        format!("/v1/projects/{PROJECT}/sessions"),
    ]
}

/// D.7: malformed JSON is `invalid_json` everywhere.
#[tokio::test]
async fn ap_54_malformed_json_is_refused() {
    let (_server, nick) = desk().await;
    super::speak::deposited(&nick, &package_with(&nick.handle, "one", json!({"status": "draft"}))).await;
    for path in writes() {
        for body in [
            &b""[..],
            b"{",
            b"{]",
            b"{\"a\":1,}",
            b"{'a':1}",
            b"{\"a\":01}",
            b"{\"a\":+1}",
            b"{\"a\":.5}",
            b"{\"a\":NaN}",
            b"{\"a\":Infinity}",
            b"{} {}",
            b"{}x",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":\"\\ud800\"}",
            b"{\"a\":\"\\x\"}",
            b"{\"a\":\"\n\"}",
            b"\xef\xbb\xbf{\"a\":1}",
        ] {
            // No body at all may be told to be no session body only where every member is optional.
            if body.is_empty() && path.ends_with("/sessions") {
                continue;
            }
            nick.post_raw(&path, body).await.refused(400, "invalid_json");
        }
    }
    assert_eq!(super::speak::pull(&nick, "one").await["status"], "draft");
}

/// D.3, D.7: duplicate names, NUL, depth, and numbers that two readers would read differently.
#[tokio::test]
async fn ap_98_ambiguous_json_is_refused() {
    let (_server, nick) = desk().await;
    let text = package(&nick.handle, "one").to_string();
    let with = |more: &str| format!("{},{more}}}", &text[..text.len() - 1]);
    let nested = |depth: usize| format!("\"x-deep\":{}1{}", "[".repeat(depth), "]".repeat(depth));
    for more in [
        r#""title":"again""#.to_owned(),
        r#""x-a":1,"x-a":1"#.to_owned(),
        r#""x-a":1,"\u0078-a":1"#.to_owned(),
        r#""x-a":{"b":[{"c":1,"c":2}]}"#.to_owned(),
        r#""x-a":"\u0000""#.to_owned(),
        r#""x-\u0000":1"#.to_owned(),
        r#""x-a":9007199254740992"#.to_owned(),
        r#""x-a":-9007199254740992"#.to_owned(),
        r#""x-a":[123456789012345678901234567890]"#.to_owned(),
        r#""x-a":1e309"#.to_owned(),
        r#""x-a":-1e400"#.to_owned(),
        r#""x-a":1.8e308"#.to_owned(),
        nested(64),
        nested(10_000),
    ] {
        let response = nick.post_raw(&packages_of(PROJECT), with(&more).as_bytes()).await;
        response.refused_any(400, &["invalid_json", "invalid_schema"]);
        nick.get("/v1/packages/one").await.refused(404, "package_not_found");
    }
    let body = with(&nested(63));
    let package = serde_json::from_str(&body).expect("JSON");
    // The outermost value counts as one.
    assert_package(&nick.post_raw(&packages_of(PROJECT), body.as_bytes()).await, 201, &package);
}

/// D.3: 1 MiB, and no octet more.
#[tokio::test]
async fn ap_54_a_body_is_at_most_1_mib() {
    let (_server, nick) = desk().await;
    let sized = |id: &str, size: usize| {
        let frame = package_with(&nick.handle, id, json!({"content_md": ""})).to_string().len();
        package_with(&nick.handle, id, json!({"content_md": "x".repeat(size - frame)}))
    };
    let most = sized("most", 1 << 20);
    assert_eq!(most.to_string().len(), 1 << 20);
    let response = nick.post(&packages_of(PROJECT), most.clone()).await;
    assert_package(&response, 201, &most);
    let response = nick.post(&packages_of(PROJECT), sized("more", (1 << 20) + 1)).await;
    response.refused_as(413);
    nick.get("/v1/packages/more").await.refused(404, "package_not_found");
    assert_eq!(super::speak::pull(&nick, "most").await, most);
}

/// D.3: errors tell nothing of the inside, and every answer is JSON.
#[tokio::test]
async fn ap_69_every_answer_is_json() {
    let (_server, nick) = desk().await;
    for response in [
        nick.get("/v1/unknown").await,
        nick.get("/v1/packages").await,
        nick.get("/v1/projects/x/unknown").await,
        nick.get("/v1/packages/unknown").await,
        nick.call("PATCH", &packages_of(PROJECT), &[], Some(&json!({}))).await,
        nick.post_raw(&packages_of(PROJECT), b"{").await,
        nick.get("/v1/packages/%ff").await,
        nick.get("/v1/packages/%zz").await,
        nick.get("/v1/packages/%00").await,
        nick.get("/v1/projects/%c3%28/packages").await,
        nick.get("/v1/packages/x?project=%ff").await,
        nick.get("/v1/packages/x?project=a&project=b").await,
        nick.get("/v1/orchestrate?project=%ff").await,
        nick.delete(&format!("{}?subject=%ff&predicate=p", facts_of(PROJECT))).await,
    ] {
        assert!((400..500).contains(&response.status), "{response}");
        response.refused_as(response.status);
        let kind = response.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/json"), "{response}");
        for inside in ["sqlite", "SELECT", ".rs", "panicked", "/tmp/", "postgres"] {
            assert!(!response.text().contains(inside), "{response}");
        }
    }
}
