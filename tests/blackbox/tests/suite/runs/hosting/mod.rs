//! Agents that `plenary agent host` runs beside its caller and gives to a server: the real command, real programs, and
//! the runs as the server tells them. SC-3, SC-12, SC-14, SC-26, SC-32, SC-44 to SC-47.
//! Must not know: how the command reaches the server.

mod endings;
mod losing;
mod standing;

use blackbox::{Agent, Cli, RunningCommand, Server, eventually};
use serde_json::{Value, json};

use super::speak::{
    Gates, acting_at, chat, chat_on, events_of, finish, known, outcome, resume, running, said, status,
    status_becomes, types, whole,
};
use super::sse::{Events, Heard};

/// The agent as runs name it.
const AGENT: &str = "nick.helper";
const HANDLE: &str = "@nick.helper";

/// A server with the agent's account, a machine with the agent's token, and someone who runs the agent.
pub(super) struct Scene {
    pub(super) server: Server,
    pub(super) machine: Cli,
    pub(super) agent: Agent,
    pub(super) ann: Agent,
}

impl Scene {
    async fn new() -> Self {
        let server = Server::start().await;
        let agent = server.agent(HANDLE).await;
        let ann = server.agent("@ann.a").await;
        let machine = machine(&server.url(), agent.token());
        Self { server, machine, agent, ann }
    }

    /// The same, and the scripted program is hosted.
    async fn playing() -> (Self, RunningCommand) {
        let scene = Self::new().await;
        let host = attached(&scene.machine, &[], &["lines"]).await;
        (scene, host)
    }
}

/// A machine with a token in its environment.
fn machine(url: &str, token: &str) -> Cli {
    Cli::new(&[("PLENARY_URL", url), ("PLENARY_TOKEN", token), ("PATH", "/usr/bin:/bin")])
}

/// Hosts the scripted program, with these options and arguments, until it is attached.
async fn attached(machine: &Cli, options: &[&str], arguments: &[&str]) -> RunningCommand {
    hosting(machine, options, &[&[env!("CARGO_BIN_EXE_puppet")], arguments].concat()).await
}

/// Hosts any command.
async fn hosting(machine: &Cli, options: &[&str], command: &[&str]) -> RunningCommand {
    let mut host = machine.start(&[&["agent", "host", HANDLE], options, &["--"], command].concat());
    if options.contains(&"--json") {
        host.line_with(r#""type":"attached""#).await;
    } else {
        host.note_with("attached to ").await;
    }
    host
}

fn json_of(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The only text of a run that tells one thing.
async fn only_text(who: &Agent, step: &str) -> String {
    said(&outcome(who, AGENT, step).await).concat()
}

/// SC-14, SC-32, SC-44, SC-45, SC-47: what a program says and asks is the run, and what it made is the server's to give.
#[tokio::test]
async fn sc_14_sc_32_sc_44_sc_47_a_program_is_hosted() {
    let (scene, mut host) = Scene::playing().await;
    let call = json!({"type": "ToolCall", "function_name": "f", "args": {"n": 1.5}});
    let made = json!({"type": "ArtifactGenerated", "name": "a.md", "mime_type": "text/markdown", "content": "A \u{1f600}"});
    let script = format!("text one\nevent {call}\nevent {made}\nask a=A?\nwhole-answer\ndone all");
    let run = chat(&scene.ann, AGENT, &script).await;
    host.note_with(&format!("run {}: started", run.id)).await;
    status_becomes(&scene.ann, &run, "waiting").await;
    resume(&scene.ann, &run, json!({"a": {"b": 1}})).await;
    let events = whole(&scene.ann, &run).await;
    let wanted = [
        "RunStarted",
        "TextOutput",
        "ToolCall",
        "ArtifactGenerated",
        "WaitForInput",
        "TextOutput",
        "RunCompleted",
    ];
    assert_eq!((types(&events), finish(&events)), (wanted.to_vec(), "success"));
    assert_eq!((&events[2]["args"], &events[6]["result"]), (&json!({"n": 1.5}), &json!("all")));
    let answer = json_of(said(&events)[1]);
    let wanted = json!({"type": "ResumeWithInput", "run_id": run.id, "thread_id": run.thread,
        "request_keys": {"a": {"b": 1}}});
    assert_eq!(answer, wanted);
    let url = events[3]["url"].as_str().expect("a url");
    let path = &url[url.find("/artifacts/").expect("it is the server's")..];
    assert_eq!(scene.ann.get(path).await.body, "A \u{1f600}".as_bytes());
    host.note_with(&format!("run {}: done", run.id)).await;
}

/// SC-14: the program gets the request with every member, and what it says may be large.
#[tokio::test]
async fn sc_14_requests_and_events_pass_whole() {
    let (scene, _host) = Scene::playing().await;
    let body =
        json!({"input": "request", "request_metadata": {"a": [1.5, "\u{1f600}"]}, "x-own": {"y": true}});
    let run = super::speak::post_run(&scene.ann, AGENT, body).await;
    let request = json_of(said(&whole(&scene.ann, &run).await)[0]);
    let wanted = json!({"type": "ChatRequest", "input": "request", "run_id": run.id, "thread_id": run.thread,
        "request_metadata": {"a": [1.5, "\u{1f600}"]}, "x-own": {"y": true}});
    assert_eq!(request, wanted);
    let large = outcome(&scene.ann, AGENT, "huge 1000000\nhuge 1000000\ndone x").await;
    assert_eq!((said(&large).concat().len(), finish(&large)), (2_000_000, "success"));
}

/// SC-3: what is past the runs at a time waits its turn.
#[tokio::test]
async fn sc_3_so_many_runs_go_on_at_a_time() {
    let scene = Scene::new().await;
    let mut host = attached(&scene.machine, &["--runs-max", "1"], &["lines"]).await;
    let gates = Gates::new();
    let lock = gates.path("lock");
    let (take, give) = (format!("take {}\n", lock.display()), format!("give {}\n", lock.display()));
    let first = chat(&scene.ann, AGENT, &format!("{take}{}{give}", gates.gate("go"))).await;
    let mut runs = vec![first];
    for _ in 0..4 {
        runs.push(chat(&scene.ann, AGENT, &format!("{take}{give}")).await);
    }
    host.note_with(&format!("run {}: started", runs[0].id)).await;
    for run in &runs {
        running(&scene.ann, run).await;
    }
    gates.open("go");
    for run in &runs {
        let events = whole(&scene.ann, run).await;
        assert_eq!(said(&events), ["taken", "given"], "one after the other");
    }
}

/// SC-3: two hosts of an agent share its runs, and a thread stays where it is.
#[tokio::test]
async fn sc_3_two_hosts_share_the_runs() {
    let scene = Scene::new().await;
    let _one = attached(&scene.machine, &["--env", "WHO=one"], &["lines"]).await;
    let _two = attached(&scene.machine, &["--env", "WHO=two"], &["lines"]).await;
    eventually("the server has both", || async {
        let described = scene.ann.get(&format!("/agent/{AGENT}/describe")).await.ok(200);
        (described["instances"] == 2).then_some(())
    })
    .await;
    let gates = Gates::new();
    let script = format!("env WHO\n{}", gates.gate("go"));
    let first = acting_at(&scene.ann, AGENT, &script).await;
    let second = acting_at(&scene.ann, AGENT, &script).await;
    gates.open("go");
    let who = said(&whole(&scene.ann, &first).await).concat();
    let mut both = [who.clone(), said(&whole(&scene.ann, &second).await).concat()];
    both.sort();
    assert_eq!(both, ["one", "two"]);
    for _ in 0..3 {
        let next = chat_on(&scene.ann, &first, "env WHO").await;
        assert_eq!(said(&whole(&scene.ann, &next).await), [who.as_str()]);
    }
}

/// SC-12, SC-44, SC-45: a coding agent is hosted, a process for each thread; its text is shown while it is made.
#[tokio::test]
async fn sc_12_sc_44_a_coding_agent_is_hosted() {
    let scene = Scene::new().await;
    let directory = scene.machine.dir().join("src");
    std::fs::create_dir(&directory).expect("a directory can be made");
    let _host = attached(&scene.machine, &["--kind", "acp", "--directory", "src"], &["acp"]).await;
    let gates = Gates::new();
    let run = chat(&scene.ann, AGENT, &format!("text one \n{}text two", gates.gate("go"))).await;
    let mut stream = Events::get(&scene.ann, &events_of(&run, "?stream=true")).await;
    let shown = loop {
        match stream.heard().await {
            Heard::Delta(delta) => break delta,
            Heard::Event(_) | Heard::Comment => {}
            end @ (Heard::End | Heard::Broken) => panic!("{end:?} before its text was shown"),
        }
    };
    assert_eq!(shown["content"], "one ");
    gates.open("go");
    assert_eq!(said(&whole(&scene.ann, &run).await), ["one two"]);
    let next = chat_on(&scene.ann, &run, "turns\ntool list\nask rm?\nanswer").await;
    status_becomes(&scene.ann, &next, "waiting").await;
    resume(&scene.ann, &next, json!({"permission": "yes"})).await;
    let events = whole(&scene.ann, &next).await;
    assert_eq!((said(&events)[0], finish(&events)), ("2", "success"), "the session goes on: {events:?}");
    assert!(types(&events).contains(&"ToolCall") && said(&events).concat().contains("\"yes\""), "{events:?}");
    let made_with = json_of(&only_text(&scene.ann, "new").await);
    assert_eq!(made_with["cwd"], directory.display().to_string());
}

/// SC-1: the program has the variables of the command but for its secrets, and those that it is given.
#[tokio::test]
async fn sc_1_a_program_gets_what_it_is_given() {
    let scene = Scene::new().await;
    let options = ["--env", "COLOUR=red=blue", "--env", "PLENARY_X=given", "--directory", "/"];
    let mut host = attached(&scene.machine, &options, &["lines", "--named"]).await;
    for (step, wanted) in [
        ("env COLOUR", "red=blue"),
        ("env PLENARY_X", "given"),
        ("env PLENARY_TOKEN", "-"),
        ("env PATH", "/usr/bin:/bin"),
        ("cwd", "/"),
        ("args", "lines --named"),
    ] {
        assert_eq!(only_text(&scene.ann, step).await, wanted, "{step}");
    }
    // What it writes to standard error is shown with its run, and nothing of it can move the cursor.
    let run = chat(&scene.ann, AGENT, "err out of \u{1b}[31mink\nline no event\ntext a").await;
    let shown = host.note_with("out of").await;
    assert!(shown.starts_with(&format!("{}: out of ", run.id)) && !shown.contains('\u{1b}'), "{shown:?}");
    let foreign = host.note_with("is not an event: ").await;
    assert!(foreign.starts_with(&run.id) && foreign.ends_with(": no event"), "{foreign:?}");
    assert_eq!(said(&whole(&scene.ann, &run).await), ["a"]);
}

/// With `--json` what happens is one object a line on standard output.
#[tokio::test]
async fn what_happens_is_told_in_json() {
    let scene = Scene::new().await;
    let puppet = env!("CARGO_BIN_EXE_puppet");
    let mut host = scene.machine.start(&["agent", "host", HANDLE, "--json", "--", puppet, "lines"]);
    let attached = json!({"type": "attached", "agent": HANDLE, "server": scene.server.url()});
    assert_eq!(json_of(&host.line().await), attached);
    let run = chat(&scene.ann, AGENT, "text a\nexit 3").await;
    let started = json!({"type": "run_started", "run_id": run.id, "thread_id": run.thread});
    assert_eq!(json_of(&host.line().await), started);
    let completed = json_of(&host.line().await);
    assert_eq!(
        (&completed["type"], &completed["run_id"], &completed["finish_reason"]),
        (&json!("run_completed"), &json!(run.id), &json!("error")),
    );
    let events = whole(&scene.ann, &run).await;
    assert_eq!(completed["error"], events.last().expect("an end")["error"], "{events:?}");
    assert_eq!(status(&scene.ann, &run).await["status"], "error");
    assert_eq!(known(&scene.ann, &run).await.len(), 3);
}
