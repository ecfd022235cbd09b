//! Frames from the command line: two sessions of one person, each at a terminal of its own.

use blackbox::{Agent, Cli, CommandOutput, RunningCommand, Server, TempDir, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A server, and the command lines of two agents of one owner.
async fn desk() -> (Server, Cli, Cli) {
    let (server, [laptop, desktop]) = Server::with(["@nick.cc-laptop", "@nick.cc-desktop"]).await;
    let (laptop, desktop) = (Cli::of(&server, &laptop, "s-1"), Cli::of(&server, &desktop, "s-2"));
    (server, laptop, desktop)
}

async fn listening(cli: &Cli, args: &[&str]) -> RunningCommand {
    let mut running = cli.start(&[&["frame", "listen"], args].concat());
    running.note_with(if args.contains(&"--locks") { "watching claims" } else { "listening as" }).await;
    running
}

fn json_of(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[tokio::test]
async fn fo_56_fo_90_an_advisory_reaches_all_own_sessions_and_says_how_many() {
    let (_server, laptop, desktop) = desk().await;
    let mut heard = listening(&desktop, &[]).await;
    let said = laptop
        .run_ok(&["frame", "advise", "Editing the export", "--file", "src/export.rs", "--branch", "v3"])
        .await;
    assert_eq!(said, "reached 1 session");
    let line = heard.line_with("Editing").await;
    assert!(line.contains("~nick via ~cc-laptop advisory: Editing the export"), "{line}");
    assert!(line.contains("(now)") || line.contains(" s ago)"), "its age: {line}");
    assert_eq!(heard.line_with("files").await.trim(), "files: src/export.rs");
    assert_eq!(heard.line_with("branch").await.trim(), "branch: v3");
    laptop.run_ok(&["frame", "broadcast", "v3 is in", "--class", "merged", "--ref", "#7"]).await;
    heard.line_with("broadcast: [merged] v3 is in").await;
    laptop
        .run_ok(&[
            "frame",
            "handover",
            "Left: the tests",
            "--to",
            "~nick/cc-desktop@s-2",
            "--pointer",
            "tests/",
        ])
        .await;
    heard.line_with("handover: Left: the tests").await;
    assert_eq!(heard.line_with("from").await.trim(), "from session s-1");
    heard.signal(Signal::INT);
    assert_eq!(heard.end().await.code, 0);
}

#[tokio::test]
async fn json_that_reading_would_change_is_refused_before_it_is_sent() {
    let (_server, laptop, _desktop) = desk().await;
    let (twice, large) =
        (r#"{"advisory_text":"a","advisory_text":"b"}"#, r#"{"n":123456789012345678901234567890}"#);
    for (args, reason) in [
        (&["frame", "send", "--kind", "advisory", "--payload", twice][..], "duplicate"),
        (&["session", "create", "--message", "m", "--data", large], "9007199254740991"),
        (&["session", "create", "--message", "m", "--metadata", twice], "duplicate"),
    ] {
        let refused = laptop.run(args).await;
        assert!(refused.code == 2 && refused.err.contains(reason), "{args:?}: {refused:?}");
    }
    assert_eq!(json_of(&laptop.run_ok(&["session", "list", "--json"]).await)["sessions"], json!([]));
}

#[tokio::test]
async fn a_person_learns_that_only_agents_listen() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let person = Cli::new(&[
        ("PLENARY_URL", &server.url()),
        ("PLENARY_TOKEN", owner.token()),
        ("USER", "Nick"),
        ("PATH", "/usr/bin:/bin"),
    ]);
    person.run_ok(&["--as", "@nick", "frame", "advise", "Hello"]).await;
    for command in [&["listen"][..], &["locks"], &["query", "Who is here?", "--timeout", "1s"]] {
        let refused = person.run(&[&["--as", "@nick", "frame"], command].concat()).await;
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains("a person can send frames, but not listen"), "{refused:?}");
    }
}

#[tokio::test]
async fn fo_75_every_verb_of_the_memo_has_its_command() {
    let (_server, laptop, _desktop) = desk().await;
    for (verb, command) in [
        ("agent_send", "send"),
        ("agent_advise", "advise"),
        ("agent_broadcast", "broadcast"),
        ("agent_handover", "handover"),
        ("agent_lock_acquire", "lock"),
        ("agent_lock_release", "unlock"),
        ("agent_lease_extend", "extend"),
        ("agent_query", "query"),
        ("agent_roster", "roster"),
        ("agent_subscribe", "listen"),
    ] {
        let help = laptop.run_ok(&["frame", command, "--help"]).await;
        assert!(help.contains(&format!("Usage: plenary frame {command}")), "{verb}: {help}");
    }
}

#[tokio::test]
async fn fo_55_nobody_there_is_no_error_and_says_what_to_do() {
    let (_server, laptop, desktop) = desk().await;
    let ran = laptop.run(&["frame", "advise", "anyone?"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "reached 0 sessions: nobody is listening\n"));
    assert!(ran.err.contains("plenary frame listen"), "{ran:?}");
    let _elsewhere = listening(&desktop, &[]).await;
    let ran = laptop.run(&["frame", "advise", "you?", "--to", "~nick/cc-desktop@other"]).await;
    assert!(ran.out.starts_with("reached 0 sessions"), "{ran:?}");
}

#[tokio::test]
async fn any_kind_is_sent_and_read_as_json_and_every_member_may_be_set() {
    let (_server, laptop, desktop) = desk().await;
    let mut heard = listening(&desktop, &["--json", "--kind", "intent_withdraw"]).await;
    let payload =
        json!({"convergence_class": "git.pr", "intent_ref": "i-1", "withdrawn_at": "2026-05-22T10:00:00Z"});
    let args = [
        "frame",
        "send",
        "--json",
        "--kind",
        "intent_withdraw",
        "--payload",
        &payload.to_string(),
        "--ttl",
        "10m",
        "--compute-location",
        "local-only",
        "--method",
        "a",
        "--method",
        "b",
        "--context-check",
        "passed",
        "--basis",
        "c/d",
        "--return-ref",
        "r-1",
        "--drafted-with",
        "~cc-laptop@1.2",
    ];
    laptop.run_ok(&["frame", "advise", "not for this filter"]).await;
    let emitted = json_of(&laptop.run_ok(&args).await);
    assert_eq!(emitted["delivered_count"], 1);
    let frame = json_of(&heard.line().await);
    assert_eq!(frame["frame_id"], emitted["frame_id"]);
    for (member, value) in [
        ("kind", json!("intent_withdraw")),
        ("payload", payload),
        ("sender_handle", json!("~nick")),
        ("recipient_handle", json!("~nick")),
        ("acted_by", json!("~nick")),
        ("drafted_with", json!("~cc-laptop@1.2")),
        ("ttl_ms", json!(600_000)),
        ("provenance_compute_location", json!("local-only")),
        ("provenance_method", json!(["a", "b"])),
        ("provenance_context_check", json!("passed")),
        ("provenance_basis", json!("c/d")),
        ("provenance_return_ref", json!("r-1")),
    ] {
        assert_eq!(frame[member], value, "{member}");
    }
}

/// The texts of the next advisories, as JSON lines.
async fn texts(heard: &mut RunningCommand, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    while texts.len() < count {
        let frame = json_of(&heard.line().await);
        texts.push(frame["payload"]["advisory_text"].as_str().expect("an advisory").to_owned());
    }
    texts
}

#[tokio::test]
async fn fo_60_who_comes_late_may_have_what_is_retained() {
    let dir = TempDir::new();
    let config = dir.path().join("plenary.toml");
    std::fs::write(&config, "[frames]\nmax_events = 4\n").expect("a file can be made");
    let server = Server::builder().arg("--config").arg(&config.display().to_string()).start().await;
    let laptop = Cli::of(&server, &server.agent("@nick.cc-laptop").await, "s-1");
    let mut ids = Vec::new();
    for n in 1..=6 {
        let emitted = json_of(&laptop.run_ok(&["frame", "advise", &n.to_string(), "--json"]).await);
        ids.push(emitted["event_id"].as_str().expect("a text").to_owned());
    }
    let mut all = listening(&laptop, &["--json", "--recent"]).await;
    assert_eq!(texts(&mut all, 4).await, ["3", "4", "5", "6"]);
    let mut later = listening(&laptop, &["--json", "--after", &ids[3]]).await;
    assert_eq!(texts(&mut later, 2).await, ["5", "6"]);
    let mut fresh = listening(&laptop, &["--json"]).await;
    assert_eq!(laptop.run_ok(&["frame", "advise", "7"]).await, "reached 3 sessions");
    for heard in [&mut all, &mut later, &mut fresh] {
        assert_eq!(texts(heard, 1).await, ["7"]);
    }
}

#[tokio::test]
async fn fo_73_refusals_name_the_field_and_the_next_step() {
    let (_server, laptop, _desktop) = desk().await;
    let send = async |args: &[&str]| laptop.run(&[&["frame", "send"], args].concat()).await;
    let gossip = send(&["--kind", "gossip", "--payload", "{}"]).await;
    assert!(gossip.code == 2 && gossip.err.contains("agent_binding_moment"), "{gossip:?}");
    let bare = send(&["--kind", "advisory", "--payload", "[]"]).await;
    assert!(bare.code == 2 && bare.err.contains("next:"), "{bare:?}");
    let unknown = send(&["--kind", "advisory", "--payload", r#"{"advisory_text":"x","colour":"red"}"#]).await;
    assert!(unknown.code == 1 && unknown.err.contains("field-unknown, payload.colour"), "{unknown:?}");
    let json = send(&["--kind", "advisory", "--payload", r#"{"advisory_text":""}"#, "--json"]).await;
    let error = &json_of(&json.err)["error"];
    assert_eq!((&error["code"], &error["field"]), (&json!("field-invalid"), &json!("payload.advisory_text")));
    let elsewhere =
        send(&["--kind", "advisory", "--payload", r#"{"advisory_text":"x"}"#, "--to", "~nobody/*"]).await;
    assert!(elsewhere.code == 1 && elsewhere.err.contains("does not say which"), "{elsewhere:?}");
    let axis = laptop.run(&["frame", "listen", "--filter", "colour:red"]).await;
    assert!(
        axis.code == 1 && axis.err.contains("filter-axis-unknown") && axis.err.contains("content_type"),
        "{axis:?}"
    );
}

/// Answers every question that it hears, with its session's name.
async fn answering(cli: &Cli, heard: &mut RunningCommand, text: &str) -> String {
    let line = heard.line_with("answer: plenary frame answer").await;
    let id = line.split_whitespace().rev().nth(1).expect("an id stands before TEXT").to_owned();
    cli.run_ok(&["frame", "answer", &id, text]).await
}

#[tokio::test]
async fn fo_92_fo_94_a_question_collects_its_answers() {
    let (server, laptop, desktop) = desk().await;
    let reviewer: Agent = server.agent("@nick.reviewer").await;
    let reviewer = Cli::of(&server, &reviewer, "s-3");
    let (mut at_desktop, mut at_reviewer) = (listening(&desktop, &[]).await, listening(&reviewer, &[]).await);
    let asked =
        laptop.start(&["frame", "query", "Who has the migration?", "--timeout", "60s", "--answers", "2"]);
    let (one, two) = tokio::join!(
        answering(&desktop, &mut at_desktop, "I do"),
        answering(&reviewer, &mut at_reviewer, "not me"),
    );
    assert_eq!((one.as_str(), two.as_str()), ("reached 1 session", "reached 1 session"), "only who asked");
    let ran = asked.end().await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("response: I do") && ran.out.contains("from session s-3"), "{ran:?}");
    assert!(ran.err.contains("reached 2 sessions"), "{ran:?}");
}

#[tokio::test]
async fn a_question_that_nobody_answers_ends_with_5() {
    let (_server, laptop, _desktop) = desk().await;
    let CommandOutput { code, out, err } =
        laptop.run(&["frame", "query", "Hello?", "--timeout", "300ms"]).await;
    assert!(code == 5 && out.is_empty() && err.contains("nobody answered"), "{code} {out} {err}");
    let json = laptop.run(&["frame", "query", "Hello?", "--timeout", "300ms", "--json"]).await;
    assert!(json.code == 5 && json_of(&json.out)["query_id"].is_string(), "{json:?}");
}

#[tokio::test]
async fn fo_18_a_command_runs_under_a_claim_that_is_prolonged_and_given_up() {
    let (_server, laptop, desktop) = desk().await;
    std::fs::write(laptop.dir().join("a.rs"), "").expect("a file can be made");
    let resource = laptop.dir().join("a.rs").display().to_string();
    let mut heard = listening(&desktop, &[]).await;
    let script = "echo $PLENARY_LEASE; cat >/dev/null; exit 7";
    // Longer than it takes a busy machine to start the command that looks.
    let args = ["frame", "lock", "a.rs", "--intent", "renaming", "--for", "12s", "--", "sh", "-c", script];
    let mut locked = laptop.start(&args);
    let lease = locked.line_with("-4").await;
    let claimed = heard.line_with("lock request").await;
    assert!(claimed.contains(&format!("{resource} for 12 s: renaming")), "{claimed}");
    for _ in 0..2 {
        assert!(heard.line_with("lease extend").await.contains(&lease));
    }
    let held = desktop.run_ok(&["frame", "locks"]).await;
    assert!(held.contains(&resource) && held.contains("renaming"), "{held}");
    locked.close_input();
    assert_eq!(locked.end().await.code, 7, "the command's own");
    assert!(heard.line_with("lock release").await.contains(&resource));
    let free = desktop.run(&["frame", "locks"]).await;
    assert!(free.code == 0 && free.out.is_empty(), "{free:?}");
    let absent = laptop.run(&["frame", "lock", "a.rs", "--", "no-such-command"]).await;
    assert!(absent.code == 127 && absent.err.contains("cannot be run"), "{absent:?}");
    heard.line_with("lock release").await;
}

#[tokio::test]
async fn a_signal_goes_on_to_the_command_and_the_claim_is_given_up() {
    let (_server, laptop, desktop) = desk().await;
    let mut heard = listening(&desktop, &["--locks"]).await;
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::INT, "INT")] {
        let script =
            format!("trap 'echo told; exit 9' {name}; echo ready; while kill -0 $PPID; do sleep 0.05; done");
        let mut locked = laptop.start(&["frame", "lock", "db", "--", "sh", "-c", &script]);
        locked.line_with("ready").await;
        heard.line_with("claimed  db").await;
        locked.signal(signal);
        locked.line_with("told").await;
        assert_eq!(locked.end().await.code, 9);
        heard.line_with("released db").await;
    }
    let mut killed = laptop.start(&["frame", "lock", "db", "--", "sh", "-c", "echo ready; exec sleep 60"]);
    killed.line_with("ready").await;
    killed.signal(Signal::TERM);
    assert_eq!(killed.end().await.code, 143);
    heard.line_with("released db").await;
}

#[tokio::test]
async fn who_comes_second_is_warned_and_may_wait() {
    let (_server, laptop, desktop) = desk().await;
    let mut first =
        laptop.start(&["frame", "lock", "db", "--intent", "migrating", "--", "sh", "-c", "echo in; cat"]);
    first.line_with("in").await;
    let warned = desktop.run(&["frame", "lock", "db", "--", "true"]).await;
    assert_eq!(warned.code, 0, "a claim stops nobody: {warned:?}");
    assert!(warned.err.contains("claimed before: db ~nick via ~cc-laptop"), "{warned:?}");
    assert!(warned.err.contains("migrating") && warned.err.contains("advisory"), "{warned:?}");
    let late = desktop.run(&["frame", "lock", "db", "--wait", "300ms", "--", "true"]).await;
    assert!(late.code == 1 && late.err.contains("still claimed by ~nick via ~cc-laptop"), "{late:?}");

    let mut second = desktop.start(&["frame", "lock", "db", "--wait", "60s", "--", "sh", "-c", "echo mine"]);
    second.note_with("waiting until it is released").await;
    first.close_input();
    assert_eq!(first.end().await.code, 0);
    second.note_with("it is free").await;
    second.line_with("mine").await;
    assert_eq!(second.end().await.code, 0);
    let third = laptop.run(&["frame", "lock", "db", "--", "true"]).await;
    assert!(!third.err.contains("claimed before"), "{third:?}");
}

#[tokio::test]
async fn a_claim_without_a_command_is_known_by_its_lease_or_its_name() {
    let (_server, laptop, desktop) = desk().await;
    let claimed = laptop.run(&["frame", "lock", "deploy", "--for", "10m"]).await;
    let lease = claimed.out.trim_end();
    assert!(
        claimed.code == 0 && claimed.err.contains("reached 0 sessions"),
        "its own look does not count: {claimed:?}"
    );
    let held = json_of(&desktop.run_ok(&["frame", "locks", "--json"]).await);
    assert_eq!(
        (&held["resource"], &held["lease_id"], &held["holder"]),
        (&json!("deploy"), &json!(lease), &json!("~nick"))
    );
    laptop.run_ok(&["frame", "extend", "deploy", "--by", "20m"]).await;
    let longer = json_of(&desktop.run_ok(&["frame", "locks", "--json"]).await);
    let end = |of: &Value| of["expires_at"].as_u64().expect("a number");
    assert_eq!(end(&longer) - end(&held), 1_200_000);
    let foreign = desktop.run(&["frame", "unlock", "deploy"]).await;
    assert!(foreign.code == 2 && foreign.err.contains("plenary frame locks"), "{foreign:?}");
    laptop.run_ok(&["frame", "unlock", "deploy"]).await;
    assert_eq!(desktop.run(&["frame", "locks"]).await.out, "");
    laptop.run_ok(&["frame", "unlock", lease]).await;
}

#[tokio::test]
async fn the_look_for_a_claim_is_no_listener() {
    let (_server, laptop, _desktop) = desk().await;
    laptop.run_ok(&["frame", "lock", "deploy"]).await;
    for _ in 0..20 {
        let extended = laptop.run_ok(&["frame", "extend", "deploy", "--by", "1s"]).await;
        assert!(extended.starts_with("reached 0 sessions"), "{extended}");
    }
    let released = laptop.run_ok(&["frame", "unlock", "deploy"]).await;
    assert!(released.starts_with("reached 0 sessions"), "{released}");
}

#[tokio::test]
async fn unlock_releases_every_claim_of_the_agent() {
    let (_server, laptop, desktop) = desk().await;
    let (first, second) = (
        laptop.run_ok(&["frame", "lock", "deploy"]).await,
        laptop.run_ok(&["frame", "lock", "deploy"]).await,
    );
    desktop.run_ok(&["frame", "lock", "deploy"]).await;
    let released = laptop.run(&["frame", "unlock", "deploy"]).await;
    assert!(released.err.contains(&first) && released.err.contains(&second), "{released:?}");
    let held = desktop.run_ok(&["frame", "locks"]).await;
    assert!(held.contains("~cc-desktop") && !held.contains("~cc-laptop"), "{held}");
}

#[tokio::test]
async fn fo_93_the_roster_shows_who_listens() {
    let (_server, laptop, desktop) = desk().await;
    assert!(laptop.run(&["frame", "roster"]).await.err.contains("nobody is listening"));
    let mut heard = listening(&desktop, &["--instrument", "vim-desktop", "--tool", "vim"]).await;
    let roster = laptop.run_ok(&["frame", "roster"]).await;
    for word in ["@nick.cc-desktop", "vim-desktop", "vim", "s-2"] {
        assert!(roster.contains(word), "{word}: {roster}");
    }
    assert_eq!(laptop.run_ok(&["frame", "advise", "x", "--to", "~nick/vim-*"]).await, "reached 1 session");
    heard.line_with("advisory: x").await;
    heard.signal(Signal::TERM);
    assert_eq!(heard.end().await.code, 0);
    eventually("it is off the roster", || async {
        let ran = laptop.run(&["frame", "roster", "--json"]).await;
        (json_of(&ran.out)["roster"] == json!([])).then_some(())
    })
    .await;
    assert!(laptop.run_ok(&["frame", "retention"]).await.contains("the last 256 frames"));
}
