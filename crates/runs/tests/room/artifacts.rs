//! Artifacts of agents (SC-47).

use serde_json::json;

use crate::house::{House, OPERATOR};

#[tokio::test]
async fn sc_47_an_artifact_is_told_of_and_fetched_by_who_may_read_its_run() {
    let house = House::new().await;
    let body = json!({"input": "<script>", "request_metadata": {"demo": ["artifact"]}});
    let (run, _) = house.start_run(&body).await;
    let events = house.all_events("echo", &run).await;
    let made = events.iter().find(|event| event["type"] == "ArtifactGenerated").unwrap();
    assert_eq!(made["id"], 2, "the event's own number");
    assert_eq!(
        (&made["name"], &made["mime_type"]),
        (&json!("echo.txt"), &json!("text/plain; charset=utf-8"))
    );
    let url = made["url"].as_str().unwrap();
    assert_eq!(url, format!("/artifacts/{}", made["artifact_id"].as_str().unwrap()));
    assert_eq!(made["artifact"]["id"], made["artifact_id"]);
    for token in [house.acme.as_str(), house.owner.as_str(), OPERATOR] {
        let fetched = house.get(token, url).await;
        assert_eq!((fetched.status.as_u16(), fetched.body.as_str()), (200, "<script>"));
        assert_eq!(fetched.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(fetched.header("x-content-type-options"), "nosniff");
        assert!(fetched.header("content-disposition").starts_with("attachment"));
        assert_eq!(fetched.header("content-length"), "8");
    }
    house.get(&house.other, url).await.refused(404, "artifact_not_found");
    house.get(&house.acme, "/artifacts/art_").await.refused(404, "artifact_not_found");
    house.get(&house.acme, &url[..url.len() - 1]).await.refused(404, "artifact_not_found");
}
