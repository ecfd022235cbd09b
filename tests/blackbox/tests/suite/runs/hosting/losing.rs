//! A host whose server goes away and comes back, and one whose token does.

use blackbox::Relay;
use serde_json::json;

use super::{
    AGENT, HANDLE, Scene, attached, chat, finish, hosting, json_of, known, machine, outcome, said, whole,
};
use crate::runs::exec::gone;

/// A server that is killed and comes back: what ran is over on both sides, and the host serves again by itself.
#[tokio::test]
async fn sc_26_a_lost_server_is_found_again() {
    let mut scene = Scene::new().await;
    let relay = Relay::to(&scene.server).await;
    let machine = machine(&relay.url(), scene.agent.token());
    let script = r#"trap '' TERM; read -r line; echo "{\"type\":\"TextOutput\",\"content\":\"$$\"}"
        case "$line" in *hang*) while :; do sleep 600; done;; esac
        echo '{"type":"RunCompleted","finish_reason":"success"}'"#;
    let mut host = hosting(&machine, &["--json"], &["sh", "-c", script]).await;
    let run = chat(&scene.ann, AGENT, "hang").await;
    let events = blackbox::eventually("the program says who it is", || async {
        let events = known(&scene.ann, &run).await;
        (events.len() == 2).then_some(events)
    })
    .await;
    let process = said(&events)[0].to_owned();
    scene.server.kill().await;
    let lost = json_of(&host.line_with(r#""type":"lost""#).await);
    assert_eq!(lost["runs_canceled"], 1, "{lost}");
    assert!(lost["reason"].is_string() && lost["retry_in_ms"].is_u64(), "{lost}");
    gone(&process).await;
    scene.server.restart().await;
    relay.point_at(&scene.server);
    host.line_with(r#""type":"attached""#).await;
    assert_eq!(finish(&whole(&scene.ann, &run).await), "error");
    assert_eq!(finish(&outcome(&scene.ann, AGENT, "x").await), "success");
    // In order too: a server that stops says so.
    scene.server.stop().await;
    host.line_with(r#""type":"lost""#).await;
    scene.server.restart().await;
    relay.point_at(&scene.server);
    host.line_with(r#""type":"attached""#).await;
    assert_eq!(finish(&outcome(&scene.ann, AGENT, "x").await), "success");
}

/// D.1: a token that is taken away ends the command, with what to do next.
#[tokio::test]
async fn sc_26_a_dead_token_ends_the_host() {
    let (scene, host) = Scene::playing().await;
    let path = format!("/_admin/agents/{HANDLE}/rotate-token");
    scene.server.operator().post_empty(&path).await.ok(200);
    let ran = host.end().await;
    assert!(ran.code == 4 && ran.err.contains("not attached: closed by the server (1008"), "{ran:?}");
    assert!(ran.err.contains("the token from PLENARY_TOKEN is not @nick.helper's"), "{ran:?}");
}

/// An agent that is let go is not attached again by its host.
#[tokio::test]
async fn sc_1_an_agent_that_is_let_go_ends_its_host() {
    let (scene, host) = Scene::playing().await;
    scene.machine.run_ok(&["agent", "dismiss", HANDLE, "--token", scene.server.operator().token()]).await;
    let ran = host.end().await;
    assert!(ran.code == 1 && ran.err.contains("the agent was dismissed"), "{ran:?}");
    assert_eq!(scene.ann.get("/agent/nick.helper/describe").await.status, 404);
}

/// A token that is none, or another agent's, never attaches; nor is there a server that is not there.
#[tokio::test]
async fn sc_1_a_wrong_token_never_attaches() {
    let scene = Scene::new().await;
    for token in ["pla_unknown", scene.ann.token()] {
        let ran = machine(&scene.server.url(), token).run(&["agent", "host", HANDLE, "--", "true"]).await;
        assert!(ran.code == 4 && ran.err.contains("token from PLENARY_TOKEN"), "{ran:?}");
        let ran =
            machine(&scene.server.url(), token).run(&["agent", "host", HANDLE, "--json", "--", "true"]).await;
        assert_eq!((ran.code, &json_of(&ran.err)["error"]["status"]), (4, &json!(401)), "{ran:?}");
    }
    let ran =
        machine("http://127.0.0.1:1", "pla_unknown").run(&["agent", "host", HANDLE, "--", "true"]).await;
    assert_eq!(ran.code, 3, "{ran:?}");
}

/// A host that is told to wait comes before its server.
#[tokio::test]
async fn a_host_may_wait_for_its_server() {
    let mut scene = Scene::new().await;
    let relay = Relay::to(&scene.server).await;
    scene.server.stop().await;
    let machine = machine(&relay.url(), scene.agent.token());
    let puppet = env!("CARGO_BIN_EXE_puppet");
    let mut host = machine.start(&["agent", "host", HANDLE, "--wait", "--", puppet, "lines"]);
    host.note_with("not attached: ").await;
    scene.server.restart().await;
    relay.point_at(&scene.server);
    host.note_with("attached to ").await;
    assert_eq!(said(&outcome(&scene.ann, AGENT, "text a").await), ["a"]);
}

/// A host that vanishes takes its run with it, and the next one serves.
#[tokio::test]
async fn sc_26_a_killed_host_ends_its_run() {
    let (scene, host) = Scene::playing().await;
    let run = chat(&scene.ann, AGENT, "text half\nhang").await;
    blackbox::eventually("it has said something", || async {
        (known(&scene.ann, &run).await.len() == 2).then_some(())
    })
    .await;
    drop(host);
    let events = whole(&scene.ann, &run).await;
    assert_eq!((said(&events), finish(&events)), (vec!["half"], "error"));
    let _host = attached(&scene.machine, &[], &["lines"]).await;
    assert_eq!(said(&outcome(&scene.ann, AGENT, "text a").await), ["a"]);
}
