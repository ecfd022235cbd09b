//! Runs from the command line: asked, told, answered, canceled and looked up.

use blackbox::{Cli, CommandOutput, Server};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A server with the built-in agent, and the command line of someone who runs it.
async fn desk() -> (Server, Cli) {
    let (server, [ann]) = Server::with(["@nick.ann"]).await;
    let cli = Cli::of(&server, &ann, "s-1");
    (server, cli)
}

async fn steps(cli: &Cli, steps: Value, text: &str) -> CommandOutput {
    cli.run(&["run", "echo", text, "--metadata", &json!({ "demo": steps }).to_string()]).await
}

fn json_of(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// What stands behind a word in what was said.
fn after<'a>(text: &'a str, word: &str) -> &'a str {
    let rest = text.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {text}")).1;
    rest.split([' ', ',', '\n', '`']).next().expect("there is a first")
}

/// SC-12, SC-24: text on standard output and once, all else on standard error.
#[tokio::test]
async fn sc_12_sc_24_what_is_said_and_what_is_done_stand_apart() {
    let (server, cli) = desk().await;
    let ran =
        steps(&cli, json!(["deltas", "tool_call", "tool_error", "artifact", "nested"]), "one two").await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "one two\n"), "{ran:?}");
    let told: Vec<&str> = ran.err.lines().collect();
    let shown = [
        "call echo {\"text\":\"one two\"}",
        "result of echo: one two",
        "tool error: the tool failed, as it was asked to",
        "artifact echo.txt (text/plain; charset=utf-8): ",
        "  echo: from an agent that the agent called",
        "done: run ",
    ];
    assert!(told.len() == shown.len() && told.iter().zip(shown).all(|(a, b)| a.starts_with(b)), "{told:#?}");
    let url = after(&ran.err, "charset=utf-8): ");
    assert!(url.starts_with(&format!("{}/artifacts/", server.url())), "{url}");
    assert_eq!(cli.run_ok(&["runs", "artifact", url]).await, "one two");
    cli.run_ok(&["runs", "artifact", url, "--out", "made.txt"]).await;
    assert_eq!(std::fs::read_to_string(cli.dir().join("made.txt")).expect("it was written"), "one two");

    std::fs::write(cli.dir().join("more.txt"), "from a file\n").expect("a file can be made");
    assert_eq!(
        cli.run_ok(&["run", "echo", "read", "this", "--file", "more.txt"]).await,
        "read this\n\nfrom a file"
    );
    let none = cli.run(&["run", "echo"]).await;
    assert!(none.code == 2 && none.err.contains("--file"), "{none:?}");
}

/// SC-22: with `--json` the events as they are, one a line.
#[tokio::test]
async fn sc_22_json_is_one_event_a_line() {
    let (_server, cli) = desk().await;
    let said = cli.run_ok(&["run", "echo", "hi", "--json"]).await;
    let events: Vec<Value> = said.lines().map(json_of).collect();
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["RunStarted", "TextOutput", "RunCompleted"]);
    assert_eq!((&events[2]["result"], &events[2]["id"]), (&json!("hi"), &json!(3)));
}

/// SC-7, SC-16, SC-41, SC-42: the next run of a thread, the lists, and all that was said.
#[tokio::test]
async fn sc_16_sc_42_a_thread_goes_on_and_is_replayed() {
    let (_server, cli) = desk().await;
    let first = cli.run(&["run", "echo", "one"]).await;
    let (run, thread) = (after(&first.err, "run "), after(&first.err, "thread "));
    let second = cli.run(&["run", "echo", "two", "--thread", thread]).await;
    assert_eq!((second.code, after(&second.err, "thread ")), (0, thread), "{second:?}");
    assert_eq!(cli.run_ok(&["runs", "replay", "echo", thread]).await, "one\ntwo");
    assert_eq!(cli.run_ok(&["runs", "events", "echo", run]).await, "one");
    assert_eq!(cli.run_ok(&["runs", "events", "echo", run, "--follow"]).await, "one");
    let threads = cli.run_ok(&["runs", "threads", "echo"]).await;
    assert!(threads.lines().count() == 2 && threads.contains(thread), "{threads}");
    let runs = cli.run_ok(&["runs", "list", "echo"]).await;
    let rows: Vec<&str> = runs.lines().collect();
    assert!(rows.len() == 3 && rows[1].starts_with(after(&second.err, "run ")), "newest first: {runs}");
    assert!(rows[2].starts_with(run) && rows[2].contains("completed"), "{runs}");
    let third = cli.run(&["run", "echo", "three"]).await;
    let latest = cli.run(&["runs", "list", "echo", "--limit", "1"]).await;
    let newest = after(&third.err, "thread ");
    let next = format!("`plenary runs list echo --before {newest}`");
    assert!(latest.out.lines().count() == 2 && latest.err.contains(&next), "{latest:?}");
    let older = cli.run(&["runs", "list", "echo", "--limit", "1", "--before", newest]).await;
    assert!(older.out.contains(run) && older.err.is_empty(), "a thread is listed whole: {older:?}");
    let listed = json_of(&cli.run_ok(&["runs", "list", "echo", "--json"]).await);
    assert_eq!(listed.as_array().map(Vec::len), Some(3), "one document: {listed}");
    assert_eq!(listed[2]["run_id"], run, "{listed}");
    let none = cli.run_ok(&["runs", "list", "echo", "--before", thread, "--json"]).await;
    assert_eq!(json_of(&none), json!([]));
    let shown = cli.run_ok(&["runs", "show", "echo", run]).await;
    assert!(shown.contains("completed") && shown.contains("result: one"), "{shown}");
}

/// SC-44: where nobody can be asked the run is left waiting, and is gone on with later.
#[tokio::test]
async fn sc_44_a_question_is_left_and_answered_later() {
    let (_server, cli) = desk().await;
    let steps = json!([{"wait_for_input": {"colour": "Which one?", "size": "How big?"}}]);
    let left = self::steps(&cli, steps, "hi").await;
    assert_eq!((left.code, left.out.as_str()), (5, ""), "{left:?}");
    assert!(left.err.contains("asks for colour (Which one?), size (How big?)"), "{left:?}");
    let run = after(&left.err, "--resume ");
    assert!(left.err.contains(&format!("plenary run echo --resume {run} colour=… size=…")), "{left:?}");
    assert!(cli.run_ok(&["runs", "show", "echo", run]).await.contains("asks for: colour, size"));
    let again = cli.run(&["run", "echo", "--resume", run]).await;
    assert!(again.code == 5 && again.err.contains("Which one?"), "{again:?}");
    let done = cli.run_ok(&["run", "echo", "--resume", run, "colour=red", "size=2=3"]).await;
    assert_eq!(done, "{\"colour\":\"red\",\"size\":\"2=3\"}\nhi");
    let late = cli.run(&["run", "echo", "--resume", run, "colour=red"]).await;
    assert!(late.code == 1 && late.err.contains("plenary runs show"), "{late:?}");
}

/// The agent names the keys: none of them ends the command that answers it, or becomes an option of it.
#[tokio::test]
async fn sc_44_no_key_becomes_another_command() {
    let (_server, cli) = desk().await;
    let steps = json!([{"wait_for_input": {"x; touch made #": "What?"}}]);
    let left = self::steps(&cli, steps, "hi").await;
    let run = after(&left.err, "--resume ");
    let command = format!("plenary run echo --resume {run} 'x; touch made #'=…");
    assert!(left.code == 5 && left.err.contains(&format!("`{command}`")), "{left:?}");
    assert_eq!(
        cli.run_ok(&["run", "echo", "--resume", run, "x; touch made #=1"]).await.lines().last(),
        Some("hi")
    );
    for key in ["--url", "a` or `b", "a\u{200b}b", "a=b"] {
        let left = self::steps(&cli, json!([{"wait_for_input": {key: "What?"}}]), "hi").await;
        let run = after(&left.err, "--resume ");
        let told = format!("answer it at a terminal with `plenary run echo --resume {run}`, or stop it");
        assert!(left.code == 5 && left.err.contains(&told), "{key}: {left:?}");
    }
}

/// SC-12: text in the making reaches who looks on, and the whole is not told once more.
#[tokio::test]
async fn sc_12_text_in_the_making_is_told_as_it_comes() {
    let (_server, cli) = desk().await;
    let left = steps(&cli, json!(["wait_for_input", "deltas"]), "one two").await;
    let run = after(&left.err, "--resume ").to_owned();
    let mut raw = cli.start(&["runs", "events", "echo", &run, "--follow", "--json"]);
    raw.line_with("WaitForInput").await;
    let mut told = cli.start(&["runs", "events", "echo", &run, "--follow"]);
    told.note_with("asks for reply").await;
    cli.run_ok(&["run", "echo", "--resume", &run, "reply=yes"]).await;
    let events: Vec<Value> = raw.end().await.out.lines().map(json_of).collect();
    let said = |kind: &str| {
        let of = events.iter().filter(|event| event["type"] == kind);
        of.filter_map(|event| event["content"].as_str()).collect::<Vec<_>>()
    };
    assert_eq!(said("TextDelta"), ["one ", "two"], "{events:#?}");
    assert_eq!(said("TextOutput"), ["{\"reply\":\"yes\"}", "one two"]);
    assert_eq!(told.end().await.out, "{\"reply\":\"yes\"}\none two\n");
}

/// SC-46: Ctrl-C cancels and waits for the end; a second one leaves at once.
#[tokio::test]
async fn sc_46_a_signal_cancels() {
    let (_server, cli) = desk().await;
    let metadata = |step: &str| json!({"demo": ["tool_text", step]}).to_string();
    for signal in [Signal::INT, Signal::TERM] {
        let mut run = cli.start(&["run", "echo", "hi", "--metadata", &metadata("slow")]);
        run.note_with("tool: the tool is at work").await;
        run.signal(signal);
        let ran = run.end().await;
        assert!(ran.code == 130 && ran.err.contains("canceled: run "), "{ran:?}");
        assert!(cli.run_ok(&["runs", "show", "echo", after(&ran.err, "run ")]).await.contains("canceled"));
    }
    let mut run = cli.start(&["run", "echo", "hi", "--metadata", &metadata("deaf")]);
    run.note_with("tool: the tool is at work").await;
    run.signal(Signal::INT);
    run.note_with("canceling").await;
    run.signal(Signal::INT);
    let ran = run.end().await;
    assert!(ran.code == 130 && !ran.err.contains("canceled: "), "{ran:?}");

    let mut run = cli.start(&["run", "echo", "hi", "--json", "--metadata", &metadata("slow")]);
    let id =
        json_of(&run.line_with("ToolTextOutput").await)["run_id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(cli.run_ok(&["runs", "cancel", "echo", &id]).await, format!("canceling {id}"));
    assert_eq!(run.end().await.code, 130, "whoever cancels it");
}

/// SC-14, SC-26: a run that fails, an agent that is not there, and what either is told with.
#[tokio::test]
async fn sc_26_failures_are_told() {
    let (server, cli) = desk().await;
    let failed = steps(&cli, json!([{"fail": "out of ink"}]), "hi").await;
    assert!(failed.code == 1 && failed.err.contains("failed: out of ink: run "), "{failed:?}");
    let unknown = cli.run(&["run", "nobody", "hi"]).await;
    assert!(unknown.code == 1 && unknown.err.contains("plenary runs agents"), "{unknown:?}");
    let unknown = cli.run(&["run", "nobody", "hi", "--json"]).await;
    assert_eq!(json_of(&unknown.err)["error"]["code"], "agent_not_found");
    let agents = cli.run_ok(&["runs", "agents"]).await;
    assert!(agents.contains("echo  /agent/echo"), "{agents}");
    let described = cli.run_ok(&["runs", "describe", "echo"]).await;
    assert!(described.starts_with("echo: ") && described.contains("chat: "), "{described}");

    let stranger = cli.run(&["runs", "configure", "echo", "colour=\"red\""]).await;
    assert!(stranger.code != 0, "not its own agent: {stranger:?}");
    let token = server.operator().token().to_owned();
    let args = ["runs", "configure", "echo", "colour=\"red\"", "size=2", "--token", &token];
    assert_eq!(cli.run_ok(&args).await, "configured echo");
    let nobody = Cli::new(&[("PLENARY_URL", &server.url())]);
    assert_eq!(nobody.run(&["run", "echo", "hi"]).await.code, 4);
}
