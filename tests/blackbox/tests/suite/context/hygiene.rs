//! Bodies that are no good JSON, too long, or too deep: D.3, D.7, 0.4 #16.

use serde_json::json;

use super::speak::{PROJECT, assert_package, desk, facts_of, package_with, packages_of};

/// D.3: 1 MiB, and no byte more.
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
    response.refusal_code(413);
    nick.get("/v1/packages/more").await.assert_refused(404, "package_not_found");
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
        response.refusal_code(response.status);
        let kind = response.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/json"), "{response}");
        for inside in ["sqlite", "SELECT", ".rs", "panicked", "/tmp/", "postgres"] {
            assert!(!response.text().contains(inside), "{response}");
        }
    }
}
