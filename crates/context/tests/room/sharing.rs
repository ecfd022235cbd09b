//! Who sees and does what in a project of another owner.

use serde_json::json;

use crate::house::{House, OPERATOR, package};

#[tokio::test]
async fn ap_101_a_foreign_project_does_not_exist_until_it_is_shared() {
    let house = House::new().await;
    house.deposit(&package("a", 0, &json!({"status": "draft"}))).await.ok(201);
    let acme = |id: &str| package(id, 1, &json!({"created_by": {"id": "w", "type": "agent"}}));
    let path = "/v1/projects/p/packages";
    for path in
        ["/v1/projects/p", path, "/v1/projects/p/orient", "/v1/projects/p/facts", "/v1/projects/p/members"]
    {
        let (foreign, absent) = (
            house.get(&house.acme, path).await,
            house.get(&house.acme, &path.replace("projects/p", "projects/none")).await,
        );
        foreign.refused(404, "project_not_found", "-");
        assert_eq!(foreign.body, absent.body);
    }
    house.get(&house.acme, "/v1/packages/a").await.refused(404, "package_not_found", "-");
    let path = "/v1/projects/nick:p/packages";
    house.post(&house.acme, path, &acme("b")).await.refused(404, "project_not_found", "-");

    let share = async |token: &str, member: &str, role: &str| {
        let path = format!("/v1/projects/p/members/{member}");
        house.send(token, "PUT", &path, json!({"role": role}).to_string()).await
    };
    share(&house.nick, "@acme.w", "reader").await.refused(403, "unauthorized", "-");
    share(&house.owner, "@acme.w", "owner").await.refused(400, "invalid_schema", "role");
    share(&house.owner, "acme", "reader").await.refused(400, "invalid_schema", "member");
    share(&house.owner, "@acme.w", "reader").await.ok(200);
    house.get(&house.acme, "/v1/packages/a").await.ok(200);
    house.post(&house.acme, path, &acme("b")).await.refused(403, "unauthorized", "-");
    share(&house.owner, "@acme.w", "writer").await.ok(200);
    house.post(&house.acme, path, &acme("b")).await.ok(201);
    let complete = json!({"status": "complete"});
    house.post(&house.acme, "/v1/packages/a/review", &complete).await.refused(403, "unauthorized", "-");
    share(&house.owner, "@acme.*", "reviewer").await.ok(200);
    house.post(&house.acme, "/v1/packages/a/review", &complete).await.ok(200);
    let members = house.get(&house.acme, "/v1/projects/p/members").await.ok(200);
    assert_eq!(members["members"].as_array().unwrap().len(), 2);
    for member in ["@acme.w", "@acme.*"] {
        let path = format!("/v1/projects/p/members/{member}");
        assert_eq!(house.send(&house.owner, "DELETE", &path, "").await.status, 204);
    }
    house.get(&house.acme, "/v1/projects/p").await.refused(404, "project_not_found", "-");
}

#[tokio::test]
async fn an_id_in_several_projects_wants_its_project() {
    let house = House::new().await;
    for project in ["p", "q"] {
        house.deposit(&package("a", 0, &json!({"project_id": project}))).await.ok(201);
    }
    house.get(&house.nick, "/v1/packages/a").await.refused(409, "ambiguous_package_id", "-");
    assert_eq!(house.get(&house.nick, "/v1/packages/a?project=q").await.ok(200)["project_id"], "q");
    house.get(&house.nick, "/v1/packages/a?project=r").await.refused(404, "project_not_found", "-");
    let foreign = package("b", 0, &json!({"project_id": "acme", "created_by": {"id": "w", "type": "agent"}}));
    house.post(&house.acme, "/v1/projects/acme/packages", &foreign).await.ok(201);
    house.deposit(&package("b", 0, &json!({}))).await.ok(201);
    house.get(&house.nick, "/v1/packages/b").await.ok(200);
    house.get(OPERATOR, "/v1/packages/b").await.refused(409, "ambiguous_package_id", "-");
}

#[tokio::test]
async fn a_revoked_token_writes_nothing() {
    let house = House::new().await;
    house.deposit(&package("a", 0, &json!({}))).await.ok(201);
    house.post(OPERATOR, "/_admin/agents/@nick.a/rotate-token", &json!({})).await.ok(200);
    house.deposit(&package("b", 0, &json!({}))).await.refused(401, "invalid_authorization", "-");
}
