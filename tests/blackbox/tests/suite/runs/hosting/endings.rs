//! How hosted runs end: canceled, crashed, and with the host. Whatever happens, no process stays behind.

use std::os::unix::fs::PermissionsExt as _;

use blackbox::TempDir;
use rustix::process::Signal;
use serde_json::Value;

use super::{AGENT, Scene, attached, chat, finish, hosting, known, outcome, said, status_becomes, whole};
use crate::runs::exec::{
    daemons::{FOREVER, daemonizing},
    gone,
};
use crate::runs::speak::{Run, cancel, chat_on};

/// A program that ignores what it is asked, with a child that does so too; it says both their ids.
const DEAF: &str = r#"trap '' TERM INT
    (trap '' TERM INT; while :; do sleep 600; done) &
    echo "{\"type\":\"TextOutput\",\"content\":\"$$ $!\"}"
    while :; do sleep 600; done"#;

/// The process ids that a run has said.
async fn processes(scene: &Scene, run: &Run) -> Vec<String> {
    let events = blackbox::eventually("it says who it is", || async {
        let events = known(&scene.ann, run).await;
        (events.len() == 2).then_some(events)
    })
    .await;
    said(&events)[0].split(' ').map(str::to_owned).collect()
}

async fn all_gone(processes: &[String]) {
    for process in processes {
        gone(process).await;
    }
}

fn why(events: &[Value]) -> &str {
    events.last().expect("an end")["error"].as_str().unwrap_or_default()
}

/// SC-46: canceling kills the program with what it started, and the thread goes on.
#[tokio::test]
async fn sc_46_canceling_takes_all_processes() {
    let scene = Scene::new().await;
    let _host = hosting(&scene.machine, &[], &["sh", "-c", DEAF]).await;
    let run = chat(&scene.ann, AGENT, "x").await;
    let first = processes(&scene, &run).await;
    cancel(&scene.ann, &run).await;
    assert_eq!(finish(&whole(&scene.ann, &run).await), "canceled");
    all_gone(&first).await;
    let next = chat_on(&scene.ann, &run, "x").await;
    let second = processes(&scene, &next).await;
    assert_ne!(first, second);
    cancel(&scene.ann, &next).await;
    all_gone(&second).await;
}

/// SC-46: one that listens ends by itself, and what it insists on does not count.
#[tokio::test]
async fn sc_46_canceling_is_told() {
    let (scene, mut host) = Scene::playing().await;
    let run = chat(&scene.ann, AGENT, "insist\nask a=A?").await;
    status_becomes(&scene.ann, &run, "waiting").await;
    cancel(&scene.ann, &run).await;
    assert_eq!(finish(&whole(&scene.ann, &run).await), "canceled");
    host.note_with(&format!("run {}: canceled", run.id)).await;
}

/// SC-26: a program that cannot be started, and one that crashes, are errors that say what is wrong; the host goes on.
#[tokio::test]
async fn sc_26_broken_programs_are_errors_that_say_why() {
    let (scene, mut host) = Scene::playing().await;
    let events = outcome(&scene.ann, AGENT, "text half\nerr no such key\nexit 3").await;
    assert_eq!((said(&events), finish(&events)), (vec!["half"], "error"));
    assert!(why(&events).contains("exit code 3") && why(&events).contains("no such key"), "{events:?}");
    host.note_with("failed: the program ended with exit code 3").await;
    assert_eq!(finish(&outcome(&scene.ann, AGENT, "text sound").await), "success");
    drop(host);
    // It looks like a program, and its interpreter is missing.
    let directory = TempDir::new();
    let broken = directory.path().join("broken-agent");
    std::fs::write(&broken, "#!/nonexistent/interpreter\n").expect("a file");
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let broken = broken.to_str().expect("a path");
    for (kind, command) in [("exec", &[broken][..]), ("acp", &[broken]), ("acp", &["true"])] {
        let _host = hosting(&scene.machine, &["--kind", kind], command).await;
        let events = outcome(&scene.ann, AGENT, "x").await;
        assert_eq!(finish(&events), "error");
        let wanted = if command == ["true"] { "exit code 0" } else { "broken-agent" };
        assert!(why(&events).contains(wanted), "{kind}: {events:?}");
    }
}

/// A signal ends what goes on with an error that says so, and nothing is left behind.
#[tokio::test]
async fn sc_26_a_host_that_stops_ends_its_runs() {
    let scene = Scene::new().await;
    // Whoever runs the tests under nohup has it ignored here, and in all that is started.
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    let is_heard = u64::from_str_radix(ignored.trim(), 16).expect("a mask") & 1 == 0;
    for signal in [Signal::INT, Signal::TERM].into_iter().chain(is_heard.then_some(Signal::HUP)) {
        let mut host = hosting(&scene.machine, &[], &["sh", "-c", DEAF]).await;
        let run = chat(&scene.ann, AGENT, "x").await;
        let processes = processes(&scene, &run).await;
        host.signal(signal);
        host.note_with("stopping; active runs that are canceled: 1").await;
        let events = whole(&scene.ann, &run).await;
        assert_eq!((finish(&events), why(&events)), ("error", "the host of the agent was stopped"));
        let ran = host.end().await;
        assert!(ran.code == 0 && ran.err.contains(&format!("run {}: failed", run.id)), "{ran:?}");
        all_gone(&processes).await;
    }
}

/// A host that is killed takes its programs with it, and what they started: also a daemon.
#[tokio::test]
async fn sc_26_nothing_outlives_a_host_that_is_killed() {
    let scene = Scene::new().await;
    let directory = TempDir::new();
    let script = daemonizing(directory.path(), FOREVER);
    let host = hosting(&scene.machine, &[], &["sh", "-c", &script]).await;
    let run = chat(&scene.ann, AGENT, "x").await;
    let processes = processes(&scene, &run).await;
    host.signal(Signal::KILL);
    all_gone(&processes).await;
    assert_eq!(finish(&whole(&scene.ann, &run).await), "error");
}

/// A host without runs just leaves; and a second signal does not wait.
#[tokio::test]
async fn sc_26_a_second_signal_ends_it_at_once() {
    let scene = Scene::new().await;
    let host = attached(&scene.machine, &[], &["lines"]).await;
    host.signal(Signal::TERM);
    let ran = host.end().await;
    assert!(ran.code == 0 && !ran.err.contains("stopping"), "{ran:?}");
    let mut host = hosting(&scene.machine, &[], &["sh", "-c", DEAF]).await;
    let run = chat(&scene.ann, AGENT, "x").await;
    let processes = processes(&scene, &run).await;
    host.signal(Signal::INT);
    host.note_with("stopping").await;
    host.signal(Signal::INT);
    assert_eq!(host.end().await.code, 130);
    all_gone(&processes).await;
    assert_eq!(finish(&whole(&scene.ann, &run).await), "error");
}

/// What waits when a host stops is left to the next one.
#[tokio::test]
async fn sc_26_what_waits_goes_to_another_host() {
    let scene = Scene::new().await;
    let mut one = attached(&scene.machine, &["--runs-max", "1", "--json"], &["lines"]).await;
    let first = chat(&scene.ann, AGENT, "text a\nhang").await;
    one.line_with(&first.id).await;
    let waiting = chat(&scene.ann, AGENT, "env WHO").await;
    blackbox::eventually("the run is at the host", || async {
        (super::status(&scene.ann, &waiting).await["status"] == "running").then_some(())
    })
    .await;
    let _two = attached(&scene.machine, &["--env", "WHO=two"], &["lines"]).await;
    one.signal(Signal::TERM);
    assert_eq!(finish(&whole(&scene.ann, &first).await), "error");
    assert_eq!(said(&whole(&scene.ann, &waiting).await), ["two"]);
    assert_eq!(one.end().await.code, 0);
}
