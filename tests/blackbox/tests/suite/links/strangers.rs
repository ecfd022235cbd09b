//! Whoever is no peer learns nothing: not which networks are linked, not which accords there are, and makes the server ask nobody.

use blackbox::Response;
use serde_json::{Value, json};

use super::{Network, played::Played};

/// All that can be told from an answer.
fn seen(answer: &Response) -> String {
    answer.fingerprint()
}

#[tokio::test]
async fn strangers_see_the_404_that_they_always_saw() {
    let (acme, played, eve) = (Network::start().await, Played::start().await, Played::start().await);
    let accord = played.link(&acme, "played").await;
    let open = acme.invite("http://127.0.0.1:1", "open").await;
    let nothing = "/link/v1/accords/acc_00000000000000000000000000".to_owned();
    let absent = seen(&acme.server.stranger().get("/link/v1/nothing").await);
    let code = format!("plp_{}", "0".repeat(64));
    let mut answers = Vec::new();
    for path in [&accord, &nothing] {
        answers.push(acme.server.stranger().get(path).await);
        answers.push(acme.server.operator().get(path).await);
        answers.push(acme.server.stranger().post_empty(&format!("{path}/revoke")).await);
        // A peer of nobody, and one that signs well.
        answers.push(eve.call(&acme, "GET", path, &Value::Null).await);
        answers.push(eve.call(&acme, "POST", &format!("{path}/revoke"), &json!({})).await);
    }
    for body in [
        json!({"code": code, "network": eve.url(), "grants": []}),
        // The invitation of somebody else.
        json!({"code": open, "network": eve.url(), "grants": []}),
        json!({"code": code, "network": played.url(), "grants": []}),
        json!({"code": code, "network": "http://127.0.0.1:1", "grants": ["No Name"]}),
        json!({"code": code}),
        json!([]),
    ] {
        answers.push(acme.server.stranger().post("/link/v1/accords", body.clone()).await);
        answers.push(eve.call(&acme, "POST", "/link/v1/accords", &body).await);
    }
    answers.push(acme.server.stranger().post_raw("/link/v1/accords", b"{\"code\":").await);
    for answer in &answers {
        assert_eq!(seen(answer), absent, "{answer}");
    }
    assert_eq!(eve.asked(), 0, "nobody makes the server ask whom its operator did not name");
    // One peer is as much a stranger to the accord of another.
    let others = eve.link(&acme, "eve").await;
    eve.call(&acme, "GET", &others, &Value::Null).await.ok(200);
    assert_eq!(seen(&eve.call(&acme, "GET", &accord, &Value::Null).await), absent);
    assert_eq!(seen(&eve.call(&acme, "POST", &format!("{accord}/revoke"), &Value::Null).await), absent);
    played.call(&acme, "GET", &accord, &Value::Null).await.ok(200);
}

#[tokio::test]
async fn a_body_past_the_limit_is_nothing_to_a_stranger() {
    let acme = Network::start().await;
    let absent = acme.server.stranger().get("/link/v1/nothing").await;
    let large = json!({"code": "x".repeat(300 << 10), "network": "", "grants": []});
    let answer = acme.server.stranger().post("/link/v1/accords", large).await;
    assert_eq!((answer.status, answer.text()), (404, absent.text()));
}
