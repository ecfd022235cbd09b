//! What comes back is what was sent, to the byte: AP-17, AP-18, AP-31, AP-89, AP-90, AP-106.

use blackbox::Response;
use serde_json::json;

use super::canonical::hash_of;
use super::speak::{PROJECT, assert_hash_headers, desk, package_at, packages_of};

/// A package with everything that a careless server would change: order of members, spellings of numbers and of
/// characters, empty and null members, unknown members at every depth.
fn odd(by: &str, id: &str) -> String {
    let mut text = r#"{"x-z":1.0,"x-a":{"z":-0,"a":[1E5,1e5,100000,0.10,5e-324,{"\u0061":null,"x-":[]}]},"title":"caf\u00e9 café \/ \ud83d\ude00 😀","project_id":"PROJECT","package_id":"ID","unknown":{"deep":{"deeper":[{"deepest":4.50}]}},"relay_version":"0.1","status":"draft","package_type":"x-model-eval","review_type":"none","created_at":"2026-04-18T20:00:00.500+00:00","created_by":{"type":"script","x-trust-score":0.70,"id":"BY","git_commit":"abc","session_id":null},"tags":[],"topic":null,"description":"","significance":5,"deliverables":[{"x-more":{"n":1.50},"type":"md","path":"a\u002fb","size_bytes":18432,"hash":"sha256:abc123"}],"":"","relay\u005fhint":9007199254740991,"x-big":1.7976931348623157E+308}"#.to_owned();
    for (place, value) in [("PROJECT", PROJECT), ("ID", id), ("BY", by)] {
        text = text.replacen(place, value, 1);
    }
    text
}

/// The body without the sibling member `content_hash`, wherever it stands.
#[track_caller]
fn without_hash(response: &Response, hash: &str) -> String {
    let text = response.text();
    let member = format!(r#""content_hash":"{hash}""#);
    for spelling in [format!(",{member}"), format!("{member},")] {
        if text.contains(&spelling) {
            return text.replacen(&spelling, "", 1);
        }
    }
    panic!("{member} is a member: {response}");
}

/// AP-18, D.4, D.7: deposit, replay and single read give the very bytes, and lists hold them.
#[tokio::test]
async fn ap_18_106_a_package_comes_back_as_it_was_sent() {
    let (mut server, nick) = desk().await;
    let text = odd(&nick.handle, "odd");
    let hash = hash_of(&text);
    for status in [201, 200] {
        let response = nick.post_raw(&packages_of(PROJECT), text.as_bytes()).await;
        response.ok(status);
        assert_eq!(without_hash(&response, &hash), text, "{status}");
    }
    for round in ["before", "after"] {
        let response = nick.get(&package_at("odd")).await;
        response.ok(200);
        assert_hash_headers(&response, &hash);
        assert_eq!(without_hash(&response, &hash), text, "{round} a crash");
        for path in
            [format!("{}?mode=latest", packages_of(PROJECT)), format!("{}?limit=1", packages_of(PROJECT))]
        {
            let response = nick.get(&path).await;
            response.ok(200);
            assert!(response.text().contains(&text), "a list holds the bare package: {response}");
            assert!(!response.text().contains("content_hash"), "bare: {response}");
        }
        server.crash().await;
    }
}

/// AP-89: the bytes are kept through changes of status too, and orient holds them.
#[tokio::test]
async fn ap_40_nothing_but_status_and_review_type_changes() {
    let (_server, nick) = desk().await;
    let text = odd(&nick.handle, "odd").replace("2026-04-18T20:00:00.500+00:00", &super::speak::ago(60_000));
    nick.post_raw(&packages_of(PROJECT), text.as_bytes()).await.ok(201);
    let flagged = nick.post("/v1/packages/odd/flag", json!({"review_type": "human"})).await;
    flagged.ok(200);
    let text = text.replace(r#""status":"draft""#, r#""status":"awaiting_review""#);
    let text = text.replace(r#""review_type":"none""#, r#""review_type":"human""#);
    let read = nick.get(&package_at("odd")).await;
    for response in [&flagged, &read] {
        assert_eq!(without_hash(response, &hash_of(&text)), text);
        assert_hash_headers(response, &hash_of(&text));
    }
    let oriented = nick.get(&format!("/v1/projects/{PROJECT}/orient")).await;
    oriented.ok(200);
    assert!(oriented.text().contains(&text), "a raw package: {oriented}");
}

/// D.4: an incoming `content_hash` is a claim and no part of the package.
#[tokio::test]
async fn ap_37_the_hash_is_no_member() {
    let (_server, nick) = desk().await;
    let text = odd(&nick.handle, "odd");
    let hash = hash_of(&text);
    let claim = |hash: &str| format!(r#"{{"content_hash":"{hash}",{}"#, &text[1..]);
    let wrong = hash_of(&odd(&nick.handle, "other"));
    let response = nick.post_raw(&packages_of(PROJECT), claim(&wrong).as_bytes()).await;
    response.assert_refused(400, "hash_mismatch");
    nick.get(&package_at("odd")).await.refusal_code(404);
    for bad in ["7", "{}", "\"\"", "\"sha256:\"", "\"md5:00\""] {
        let body = claim("?").replace("\"?\"", bad);
        let code = nick.post_raw(&packages_of(PROJECT), body.as_bytes()).await.refusal_code(400);
        assert!(["hash_mismatch", "invalid_schema"].contains(&code.as_str()), "{bad}: {code}");
    }
    for status in [201, 200] {
        let response = nick.post_raw(&packages_of(PROJECT), claim(&hash).as_bytes()).await;
        response.ok(status);
        assert_eq!(without_hash(&response, &hash), text, "one content_hash, and it is the server's");
    }
    let response = nick.post_raw(&packages_of(PROJECT), claim(&wrong).as_bytes()).await;
    response.assert_refused(400, "hash_mismatch");
    assert_eq!(without_hash(&nick.get(&package_at("odd")).await, &hash), text);
}

/// A body with room between its tokens is the same package, and its literals stay.
#[tokio::test]
async fn ap_94_spaces_do_not_count() {
    let (_server, nick) = desk().await;
    let text = odd(&nick.handle, "odd");
    let spaced = text.replace(",\"", " ,\r\n\t\"").replace("\":", "\" : ");
    let response = nick.post_raw(&packages_of(PROJECT), format!("\n {spaced} \t").as_bytes()).await;
    assert_eq!(response.ok(201)["content_hash"], json!(hash_of(&text)));
    nick.post_raw(&packages_of(PROJECT), text.as_bytes()).await.ok(200);
    let read = nick.get(&package_at("odd")).await.text();
    for literal in ["-0", "1E5", "1e5", "0.10", "4.50", "0.70", "1.7976931348623157E+308", "1.0"] {
        assert!(read.contains(literal), "{literal} is kept: {read}");
    }
}

/// D.4: a claim is the outermost member of that name however it is spelt, and no other.
#[tokio::test]
async fn ap_37_a_claim_is_found_by_its_name() {
    let (_server, nick) = desk().await;
    let inner = r#""x-in":{"content_hash":"sha256:00","a":[{"content_hash":null}]}"#;
    let text = format!("{{{inner},{}", &odd(&nick.handle, "odd")[1..]);
    let hash = hash_of(&text);
    let claim = |hash: &str| format!(r#"{{ "content\u005fhash" : "{hash}" ,{}"#, &text[1..]);
    let wrong = nick.post_raw(&packages_of(PROJECT), claim(&hash_of("{}")).as_bytes()).await;
    wrong.assert_refused(400, "hash_mismatch");
    for status in [201, 200] {
        let response = nick.post_raw(&packages_of(PROJECT), claim(&hash).as_bytes()).await;
        assert_eq!(response.ok(status)["content_hash"], json!(hash));
        assert_eq!(without_hash(&response, &hash), text);
    }
    assert_eq!(without_hash(&nick.get(&package_at("odd")).await, &hash), text);
}

/// AP-40: the two members that change are found by their names, however they are spelt, and only outermost.
#[tokio::test]
async fn ap_40_the_state_is_found_by_its_name() {
    let (_server, nick) = desk().await;
    let inner = r#""x-in":{"status":"draft","review_type":"none","a":[{"status":"draft"}]}"#;
    let text = format!("{{{inner},{}", &odd(&nick.handle, "odd")[1..]);
    let text = text.replacen(r#","status":"draft""#, r#","st\u0061tus" : "dr\u0061ft""#, 2);
    let text =
        text.replacen(r#""review_type":"none","created_at""#, r#""review\u005ftype":"none","created_at""#, 1);
    nick.post_raw(&packages_of(PROJECT), text.as_bytes()).await.ok(201);
    let flagged = nick.post("/v1/packages/odd/flag", json!({"review_type": "agent"})).await;
    let state = flagged.ok(200);
    assert_eq!((&state["status"], &state["review_type"]), (&json!("awaiting_review"), &json!("agent")));
    let now = text.replacen(r#""dr\u0061ft""#, r#""awaiting_review""#, 1);
    let now = now.replacen(r#""review\u005ftype":"none""#, r#""review\u005ftype":"agent""#, 1);
    assert_eq!(without_hash(&flagged, &hash_of(&now)), now);
    assert_hash_headers(&flagged, &hash_of(&now));
}
