//! As whom a host attaches: an agent that is there, or is made for it.

use blackbox::{Cli, Server};
use serde_json::json;

use super::{AGENT, HANDLE, attached, finish, hosting, json_of, outcome, said};

/// The agent is made at the first use, where its owner or the operator says so, and its token is kept.
#[tokio::test]
async fn sc_1_an_agent_is_made_at_its_first_use() {
    let server = Server::start().await;
    // Made so, it is for its owner's own agents.
    let (ann, stranger) = (server.agent("@nick.ann").await, server.agent("@other.bob").await);
    let url = server.url();
    let operator = server.operator();
    let machine = Cli::new(&[
        ("PLENARY_URL", &url),
        ("PLENARY_OPERATOR_TOKEN", operator.token()),
        ("PATH", "/usr/bin:/bin"),
    ]);
    let puppet = env!("CARGO_BIN_EXE_puppet");
    let mut host = machine.start(&["agent", "host", HANDLE, "--json", "--", puppet, "lines"]);
    assert_eq!(json_of(&host.line().await), json!({"type": "made", "agent": HANDLE}));
    assert_eq!(json_of(&host.line().await)["type"], "attached");
    assert_eq!(said(&outcome(&ann, AGENT, "text a").await), ["a"]);
    assert_eq!(stranger.get(&format!("/agent/{AGENT}/describe")).await.status, 404);
    drop(host);
    let mut host = machine.start(&["agent", "host", HANDLE, "--json", "--", puppet, "lines"]);
    assert_eq!(json_of(&host.line().await)["type"], "attached", "it has its token by now");
    drop(host);
    // On another machine the agent is there, and its token is not.
    let elsewhere = Cli::new(&[("PLENARY_URL", &url), ("PLENARY_OPERATOR_TOKEN", operator.token())]);
    let ran = elsewhere.run(&["agent", "host", HANDLE, "--", "true"]).await;
    assert!(ran.code == 1 && ran.err.contains("plenary token add"), "{ran:?}");
    // Whoever may not make it is told what to do.
    let nobody = Cli::new(&[("PLENARY_URL", &url)]);
    let ran = nobody.run(&["agent", "host", HANDLE, "--", "true"]).await;
    assert!(ran.code == 4 && ran.err.contains("plenary agent add @nick.helper"), "{ran:?}");
}

/// A saved token is found by the agent's name, whoever speaks in the directory otherwise; and by its owner's one is made.
#[tokio::test]
async fn sc_1_an_owner_makes_its_agent() {
    let (server, [ann]) = Server::with(["@nick.ann"]).await;
    let nick = server.owner("nick").await;
    let machine = Cli::new(&[
        ("PLENARY_URL", &server.url()),
        ("PLENARY_TOKEN", nick.token()),
        ("PLENARY_AS", "@nick.other"),
        ("PATH", "/usr/bin:/bin"),
    ]);
    let _host = attached(&machine, &["--purpose", "helps & reads", "--tool", "a b"], &["lines"]).await;
    assert_eq!(said(&outcome(&ann, AGENT, "text a").await), ["a"]);
    let described = ann.get("/agent/nick.helper/describe").await.ok(200);
    assert_eq!((&described["purpose"], &described["tools"]), (&json!("helps & reads"), &json!(["a b"])));
}

/// The host's token stands in no process that the program could read it from.
#[tokio::test]
async fn sc_1_a_program_finds_no_token_of_its_host() {
    let scene = super::Scene::new().await;
    let script = r#"read -r line; parent=$PPID
        for process in $$ $parent $(sed 's/.*) //' /proc/$parent/stat | cut -d' ' -f2); do
            found="$found$(tr '\0' '\n' < /proc/$process/environ | grep -c PLENARY_TOKEN)"
        done
        echo "{\"type\":\"TextOutput\",\"content\":\"$found\"}"; echo '{"type":"RunCompleted","finish_reason":"success"}'"#;
    let _host = hosting(&scene.machine, &[], &["sh", "-c", script]).await;
    assert_eq!(said(&outcome(&scene.ann, AGENT, "x").await), ["000"]);
}

/// What can't be hosted is told before anything is asked of the server.
#[tokio::test]
async fn wrong_usage_is_told_at_once() {
    let machine = Cli::new(&[]);
    for wrong in [
        &["agent", "host", HANDLE][..],
        &["agent", "host", HANDLE, "python3"],
        &["agent", "host", "helper", "--", "true"],
        &["agent", "host", HANDLE, "--directory", "/nonexistent", "--", "true"],
        &["agent", "host", HANDLE, "--", "/nonexistent/program"],
        &["agent", "host", HANDLE, "--kind", "acp", "--", "./no-such-program"],
        &["agent", "host", HANDLE, "--env", "A", "--", "true"],
        &["agent", "host", HANDLE, "--kind", "echo", "--", "true"],
        &["agent", "host", HANDLE, "--runs-max", "0", "--", "true"],
    ] {
        let ran = machine.run(wrong).await;
        assert_eq!(ran.code, 2, "{wrong:?}: {ran:?}");
    }
}

/// Over TLS as well.
#[tokio::test]
async fn sc_1_a_host_attaches_over_tls() {
    let server = Server::builder().tls().start().await;
    let agent = server.agent(HANDLE).await;
    let ann = server.agent("@ann.a").await;
    let url = format!("https://localhost:{}", server.address().get().port());
    let machine = super::machine(&url, agent.token());
    let ran = machine.run(&["agent", "host", HANDLE, "--", "true"]).await;
    assert!(ran.code == 3 && ran.err.contains("--cacert"), "{ran:?}");
    let certificate = server.certificate().file.display().to_string();
    let _host = hosting(&machine, &["--cacert", &certificate], &["sh", "-c", "exit 3"]).await;
    assert_eq!(finish(&outcome(&ann, AGENT, "x").await), "error");
}
