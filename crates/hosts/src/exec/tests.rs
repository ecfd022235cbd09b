//! Real programs, tested from both ends of a run.

use plenary_runs::{Answers, Event, EventKind, FinishReason, RunReceiver};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;
use crate::testing::{over, request, run, shell};

fn start(exec: Exec, body: &Value) -> (JoinHandle<RunEnd>, RunReceiver) {
    let request = request(body);
    let (run, receiver) = run(&request);
    (tokio::spawn(Arc::new(exec).run(request, run)), receiver)
}

/// The output of a program for `{"input":"hi"}`, and the end of its run.
async fn played(script: &str) -> (Vec<Event>, RunEnd) {
    let (run, mut receiver) = start(shell(script), &json!({"input": "hi"}));
    let mut events = Vec::new();
    while let Some(event) = receiver.event().await {
        events.push(event);
    }
    (events, run.await.unwrap())
}

fn contents(events: &[Event]) -> Vec<String> {
    events.iter().filter_map(Event::content).collect()
}

const SUCCESS: &str = r#"echo '{"type":"RunCompleted","finish_reason":"success","result":"done"}'"#;

#[tokio::test]
async fn a_line_that_is_too_long_is_dropped_and_the_run_shows_it() {
    let script = format!("head -c 9000000 /dev/zero | tr '\\0' x; echo; {SUCCESS}");
    let (events, run_end) = played(&script).await;
    assert!(format!("{events:?}").contains("over 8 MiB was dropped"), "{events:?}");
    assert_eq!((events.len(), events[0].kind, run_end), (1, EventKind::ToolError, RunEnd::with("done")));
}

#[tokio::test]
async fn what_a_program_left_behind_does_not_hold_its_run() {
    let (events, run_end) = played(r#"sleep 600 & echo '{"type":"TextOutput","content":"x"}'; exit 1"#).await;
    assert_eq!(contents(&events), ["x"]);
    assert_eq!(run_end.finish_reason, FinishReason::Error);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_that_names_it() {
    let settings = |table: &str| {
        let settings = config::read(table.parse::<toml::Table>().unwrap()).unwrap();
        Exec::new(settings, &Launcher::none())
    };
    let exec = settings("command = [\"/nonexistent/agent\"]").unwrap();
    let (run, _receiver) = start(exec, &json!({"input": "hi"}));
    assert!(
        run.await.unwrap().error.unwrap().starts_with("the program /nonexistent/agent cannot be started: ")
    );
    assert!(settings("command = []").is_err());
    let unknown = config::read::<Settings>("command = [\"x\"]\nshell = true".parse().unwrap());
    assert!(unknown.unwrap_err().to_string().contains("shell"));
    for (table, member) in
        [("command = \"ls\"", "`command`"), ("command = [\"x\"]\nenv = {A = 1}", "`env.A`")]
    {
        let wrong = config::read::<Settings>(table.parse().unwrap()).unwrap_err().to_string();
        assert!(wrong.starts_with(member) && wrong.contains("invalid type"), "{wrong}");
    }
}

#[tokio::test]
async fn sc_44_sc_45_a_program_asks_and_gets_its_answer() {
    let script = format!(
        r#"read -r request; echo '{{"type":"WaitForInput","request_keys":{{"name":"Your name"}}}}'
        read -r answer; case "$answer" in *ResumeWithInput*'"name":"Nick","n":1.50}}'*) {SUCCESS};; esac"#
    );
    let (run, mut receiver) = start(shell(&script), &json!({"input": "hi"}));
    assert_eq!(receiver.event().await.unwrap().kind, EventKind::WaitForInput);
    assert!(receiver.resume(Answers::read("{\"name\":\"Nick\",\"n\":1.50}")), "no number loses a digit");
    assert_eq!(run.await.unwrap(), RunEnd::with("done"));
}

#[tokio::test]
async fn a_run_that_is_dropped_takes_its_program_with_it() {
    let script = r#"echo "{\"type\":\"TextOutput\",\"content\":\"$$\"}"; sleep 600; sleep 600"#;
    let (run, mut receiver) = start(shell(script), &json!({"input": "hi"}));
    let child: i32 = receiver.event().await.unwrap().content().unwrap().parse().unwrap();
    run.abort();
    over(child).await;
}

#[tokio::test]
async fn a_program_that_never_reads_does_not_stop_its_run() {
    let script = format!(r#"exec <&-; echo '{{"type":"TextOutput","content":"x"}}'; {SUCCESS}"#);
    let (run, mut receiver) = start(shell(&script), &json!({"input": "x".repeat(900_000)}));
    assert_eq!(receiver.event().await.unwrap().content().as_deref(), Some("x"));
    assert_eq!(run.await.unwrap(), RunEnd::with("done"));
}

#[tokio::test]
async fn the_servers_own_variables_stay_its_own() {
    let table =
        "command = [\"sh\", \"-c\", \"env >&2; exit 1\"]\nenv = { GREETING = \"hello\" }\ndirectory = \"/\"";
    let settings: Settings = config::read(table.parse().unwrap()).unwrap();
    let exec = Exec::new(settings, &Launcher::none()).unwrap();
    let command = process::command(&exec.program, ["PLENARY_OPERATOR_TOKEN", "PATH"].map(Into::into));
    let variables: BTreeMap<_, _> = command.as_std().get_envs().collect();
    assert_eq!(variables[std::ffi::OsStr::new("PLENARY_OPERATOR_TOKEN")], None);
    assert!(!variables.contains_key(std::ffi::OsStr::new("PATH")), "inherited");
    assert_eq!(variables[std::ffi::OsStr::new("GREETING")], Some("hello".as_ref()));
}
