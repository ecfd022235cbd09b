//! The owner's switch. Must not know: how it is kept.

use blackbox::{Caller, eventually};
use serde_json::{Value, json};

use super::speak::{ECHO, PUPPET, contents, joined, opened, playing, said_by, says, threads};

/// Waits until an agent carries a run out.
pub(super) async fn active(operator: &Caller, agent: &str) -> String {
    eventually("a run goes on", || async {
        for thread in threads(operator, agent).await {
            for run in thread["runs"].as_array().expect("runs") {
                let run = run.as_str().expect("an id").to_owned();
                let report = operator.get(&format!("/agent/{agent}/runs/{run}")).await.ok(200);
                if report["status"] == "running" {
                    return Some(run);
                }
            }
        }
        None
    })
    .await
}

/// Waits until a run has ended so.
pub(super) async fn over(operator: &Caller, agent: &str, run: &str, status: &str) {
    eventually("the run is over", || async {
        let report = operator.get(&format!("/agent/{agent}/runs/{run}")).await.ok(200);
        (report["status"] == status).then_some(())
    })
    .await;
}

async fn turn(who: &Caller, agent: &str, to: &str) -> Value {
    who.post_empty(&format!("/agent/{agent}/{to}")).await.ok(200)
}

/// Stopped, it ends what goes on, takes nothing, waits with invitations, and goes on when it is started.
#[tokio::test]
async fn sc_8_its_owner_stops_and_starts_an_agent() {
    let (mut server, nick) = playing().await;
    let owner = server.owner("acme").await;
    let id = opened(&nick, &[PUPPET], Some("hang")).await;
    let run = active(&owner, "puppet").await;
    assert_eq!(nick.post_empty("/agent/puppet/stop").await.ok(403)["code"], "forbidden");
    // Another owner's token opens no session with it: there is no such agent.
    let mallory = server.owner("mallory").await;
    assert_eq!(mallory.post_empty("/agent/puppet/stop").await.ok(404)["code"], "agent_not_found");
    let described = turn(&owner, "puppet", "stop").await;
    assert_eq!((&described["stopped"], &described["handle"]), (&json!(true), &json!(PUPPET)));
    over(&owner, "puppet", &run, "canceled").await;
    turn(&owner, "puppet", "stop").await;
    let refused = nick.post("/agent/puppet/run", json!({"input": "text x"})).await;
    assert_eq!(refused.ok(409)["code"], "agent_stopped");
    // The other one is not.
    nick.post("/agent/echo/run", json!({"input": "x"})).await;
    server.crash().await;
    assert_eq!(nick.get("/agent/puppet/describe").await.ok(200)["stopped"], true);
    nick.say(&id, "text one").await;
    nick.say(&id, "text two").await;
    let said = says(&nick, &id, PUPPET, 1).await;
    assert_eq!(said[0]["metadata"]["code"], "agent_stopped", "{said:?}");
    let waiting = opened(&nick, &[PUPPET], Some("text waited")).await;
    // A fence: the other agent answers what came later.
    let fence = opened(&nick, &[ECHO], Some("fence")).await;
    says(&nick, &fence, ECHO, 1).await;
    assert_eq!(nick.status_of(&waiting, PUPPET).await, "invited");
    assert_eq!(said_by(&nick, &id, PUPPET).await.len(), 1, "it is said once");
    assert_eq!(turn(&owner, "puppet", "start").await["stopped"], false);
    joined(&nick, &waiting, PUPPET).await;
    assert_eq!(contents(&says(&nick, &waiting, PUPPET, 1).await), ["waited"]);
    nick.say(&id, "text three").await;
    assert_eq!(contents(&says(&nick, &id, PUPPET, 2).await)[1], "three");
}

/// What nobody has cannot be stopped, and a wrong method is told in the form of this protocol.
#[tokio::test]
async fn an_unknown_agent_is_not_stopped() {
    let (server, nick) = playing().await;
    let operator = server.operator();
    assert_eq!(operator.post_empty("/agent/nobody/stop").await.ok(404)["code"], "agent_not_found");
    assert_eq!(server.stranger().post_empty("/agent/echo/stop").await.status, 401);
    let wrong = [
        ("GET", "/agent/echo/stop"),
        ("DELETE", "/agent/echo/run"),
        ("PUT", "/artifacts/x"),
        ("POST", "/agent/echo/attach"),
    ];
    for (method, path) in wrong {
        let refused = nick.call(method, path, &[], None).await;
        let body = refused.ok(405);
        assert_eq!(body["code"], "method_not_allowed", "{refused}");
        assert!(body["detail"].is_string(), "{refused}");
    }
    assert_eq!(nick.call("PUT", "/sessions", &[], None).await.ok(405)["error"]["code"], "method_not_allowed");
}
