//! What a program is started with: its environment, its descriptors, its life.

use crate::runs::speak::{
    Gates, PUPPET, chat, chat_on, finish, hosted, outcome, playing, puppet, resume, said, serving,
    status_becomes, whole,
};
use serde_json::json;

/// The server's secrets are not the program's.
#[tokio::test]
async fn sc_1_the_servers_secrets_are_not_handed_down() {
    let server = blackbox::Server::builder()
        .config(&hosted(PUPPET, &puppet(&["lines"])))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=secret-7c1")
        .start()
        .await;
    let nick = server.agent("@nick.ann").await;
    for name in ["PLENARY_OPERATOR_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "PLENARY_DATABASE"] {
        assert_eq!(said(&outcome(&nick, PUPPET, &format!("env {name}")).await), ["-"], "{name}");
    }
    assert_eq!(said(&outcome(&nick, PUPPET, "read /proc/self/environ").await)[0].find("plo_"), None);
}

/// A program that counts, in what each of its ancestors was started with, what its server keeps to itself.
const LOOKS_UP: &str = r#"read -r line; found=0; looked=0; process=$$
    while [ "$process" -gt 1 ]; do
        if tr '\0' '\n' < /proc/$process/environ > "$0.$$" 2>/dev/null; then
            looked=$((looked + 1)); found=$((found + $(grep -c "$1" "$0.$$")))
        fi
        rm -f "$0.$$"
        process=$(sed 's/.*) //' /proc/$process/stat | cut -d' ' -f2)
    done
    echo "{\"type\":\"TextOutput\",\"content\":\"$((looked > 1)) $found\"}"
    echo '{"type":"RunCompleted","finish_reason":"success"}'"#;

/// The server's secrets stand in no ancestor of a program either, where every process of the same user reads them.
#[tokio::test]
async fn sc_1_no_ancestor_shows_the_servers_secrets() {
    let directory = blackbox::TempDir::new();
    let note = directory.path().join("note").display().to_string();
    let secrets = "plo_\\|secret-7c1";
    let command = json!(["sh", "-c", LOOKS_UP, note, secrets]);
    let server = blackbox::Server::builder()
        .config(&hosted(PUPPET, &format!("kind = \"exec\"\ncommand = {command}")))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=secret-7c1")
        .env("PLENARY_FAR_TOKEN", "secret-7c1")
        .env("AWS_SECRET_ACCESS_KEY", "secret-7c1")
        .start()
        .await;
    let nick = server.agent("@nick.ann").await;
    assert_eq!(said(&outcome(&nick, PUPPET, "x").await), ["1 0"]);
}

/// Programs find the system's commands.
#[tokio::test]
async fn sc_1_programs_have_a_path() {
    let (_server, nick) = playing().await;
    assert!(said(&outcome(&nick, PUPPET, "env PATH").await)[0].contains("/bin"));
}

/// The server's files and sockets are not the program's.
#[tokio::test]
async fn sc_1_no_descriptor_is_handed_down() {
    let (server, nick) = playing().await;
    let data = server.data().display().to_string();
    let events = outcome(&nick, PUPPET, "fds").await;
    for target in said(&events)[0].lines() {
        assert!(!target.starts_with(&data), "a file of the server: {target}");
    }
    // Three pipes or sockets of its own, what its runtime opens, and nothing that listens.
    let inode = |line: &str| line.split_whitespace().nth(9).unwrap_or_default().to_owned();
    let listening = std::fs::read_to_string("/proc/net/tcp").expect("a table");
    let port = format!(":{:04X}", server.address().get().port());
    let ours = listening.lines().filter(|line| line.contains(&port) && line.contains(" 0A "));
    for inode in ours.map(inode) {
        assert!(!said(&events)[0].contains(&format!("[{inode}]")), "the listening socket is handed down");
    }
}

/// D.8: standard input stays open until the run is over.
#[tokio::test]
async fn sc_44_standard_input_stays_open() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let script =
        format!("{}{}ask a=A?\nanswer\nask b=B?\nanswer\ndone ok", gates.mark("on"), gates.gate("go"));
    let run = chat(&nick, PUPPET, &script).await;
    gates.reached("on").await;
    gates.open("go");
    for key in ["a", "b"] {
        blackbox::eventually("the question", || async {
            let events = crate::runs::speak::known(&nick, &run).await;
            events.iter().any(|event| event["request_keys"].get(key).is_some()).then_some(())
        })
        .await;
        status_becomes(&nick, &run, "waiting").await;
        resume(&nick, &run, json!({ key: key })).await;
    }
    let events = whole(&nick, &run).await;
    assert_eq!((said(&events), finish(&events)), (vec!["{\"a\":\"a\"}", "{\"b\":\"b\"}"], "success"));
}

/// After a program has crashed the next run gets a sound one.
#[tokio::test]
async fn sc_3_a_crashed_program_is_started_again() {
    let (_server, nick) = playing().await;
    let mut run = chat(&nick, PUPPET, "exit 1").await;
    assert_eq!(finish(&whole(&nick, &run).await), "error");
    for _ in 0..3 {
        run = chat_on(&nick, &run, "exit 1").await;
        assert_eq!(finish(&whole(&nick, &run).await), "error");
    }
    let run = chat_on(&nick, &run, "text sound").await;
    assert_eq!(said(&whole(&nick, &run).await), ["sound"]);
}

/// Two agents of one program are two.
#[tokio::test]
async fn sc_1_agents_of_one_program_are_apart() {
    let agents = [hosted("one", &puppet(&["lines", "first"])), hosted("two", &puppet(&["lines", "second"]))];
    let server = serving(&agents).await;
    let nick = server.agent("@nick.ann").await;
    assert_eq!(said(&outcome(&nick, "one", "args").await), ["lines first"]);
    assert_eq!(said(&outcome(&nick, "two", "args").await), ["lines second"]);
}
