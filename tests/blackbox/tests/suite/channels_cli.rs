//! Channels from the command line: two agents of different owners, each at a terminal of its own.

use blackbox::{Cli, Relay, Server};
use rustix::process::Signal;
use serde_json::{Value, json};

/// The command lines of two agents of different owners.
async fn desk(server: &Server) -> (Cli, Cli) {
    let (ann, bob) = (server.agent("@nick.ann").await, server.agent("@acme.bob").await);
    (Cli::of(server, &ann, "s-1"), Cli::of(server, &bob, "s-2"))
}

/// A new channel's id.
async fn channel(cli: &Cli) -> String {
    let url = cli.run_ok(&["channel", "create", "Port the parser"]).await;
    id_of(&url).to_owned()
}

/// The id in a channel's link.
fn id_of(url: &str) -> &str {
    let (_, rest) = url.rsplit_once('/').expect("an id stands at the end");
    rest.split_once("?key=").expect("its key").0
}

/// Posts a numbered message; its id as it is printed.
async fn say(cli: &Cli, channel: &str, number: u32) -> String {
    let payload = json!({"text": format!("event {number}")}).to_string();
    cli.run_ok(&["channel", "post", channel, "comms", "--payload", &payload]).await
}

fn json_of(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[tokio::test]
async fn ch_5_16_a_channel_is_created_with_its_charter_and_explains_itself() {
    let server = Server::start().await;
    let (ann, bob) = desk(&server).await;
    let args = [
        "--mission",
        "Port it to Rust",
        "--rule",
        "small steps",
        "--rule",
        "tests",
        "--link",
        "repo=https://h/r",
    ];
    let url = ann.run_ok(&[&["channel", "create", "Port the parser"], &args[..]].concat()).await;
    assert!(url.starts_with(&format!("{}/agent-channel/", server.url())), "{url}");
    let id = id_of(&url);
    for name in [url.as_str(), id, &id.to_lowercase(), &format!("{url}&format=yaml")] {
        let view = bob.run_ok(&["channel", "read", name]).await;
        assert!(view.starts_with(&format!("# Agent Channel {id}")) && view.contains("small steps"), "{view}");
    }
    let yaml = bob.run_ok(&["channel", "read", id, "--format", "yaml"]).await;
    assert!(yaml.starts_with("channel:") && yaml.contains("Port it to Rust"), "{yaml}");
    for args in [["channel", "read", id, "--format", "json"].as_slice(), &["channel", "read", id, "--json"]] {
        assert_eq!(json_of(&bob.run_ok(args).await)["channel"]["title"], "Port the parser");
    }
    let spec = json!({"mission": "Port it to Rust", "rules": ["small steps", "tests"], "links": {"repo": "https://h/r"}});
    assert_eq!(json_of(&bob.run_ok(&["channel", "spec", id]).await), spec);
    let listed = ann.run_ok(&["channel", "list"]).await;
    assert!(listed.contains(id) && listed.contains("open") && listed.contains("@nick.ann"), "{listed}");
    assert!(bob.run(&["channel", "list"]).await.err.contains("plenary channel create"));
    assert_eq!(bob.run_ok(&["channel", "close", id]).await, format!("closed {id}"));
    assert!(ann.run_ok(&["channel", "list"]).await.contains("closed"));
    assert!(ann.run(&["channel", "list", "--open"]).await.out.is_empty());
    let made = ann.run_ok(&["channel", "create", "--json", "--mission", "m", "--agent", "claude-1"]).await;
    let lines: Vec<Value> = made.lines().map(json_of).collect();
    assert_eq!((&lines[0]["created_by"], &lines[1]["kind"]), (&json!("claude-1"), &json!("spec")));
    assert_eq!(lines[1]["author"], "claude-1");
}

#[tokio::test]
async fn ch_9_25_events_are_posted_as_they_were_written_and_read_newest_first() {
    let server = Server::start().await;
    let (ann, bob) = desk(&server).await;
    let id = channel(&ann).await;
    let payload = r#"{"b": 1.10, "a": {"x": 9007199254740991}}"#;
    let file = bob.dir().join("payload.json");
    std::fs::write(&file, "{\"text\": \"from a file\\u001b[2J\"}\n").expect("a file can be made");
    let first = ann.run_ok(&["channel", "post", &id, "comms", "--payload", payload]).await;
    bob.run_ok(&["channel", "post", &id, "artifact", "--payload", "@payload.json", "--agent", "claude-1"])
        .await;
    bob.run_ok(&["channel", "status", &id, "working", "--note", "the lexer"]).await;
    let events = ann.run_ok(&["channel", "events", &id]).await;
    let lines: Vec<&str> = events.lines().collect();
    assert!(lines[0].ends_with("@acme.bob status: working — the lexer"), "{events}");
    assert!(lines[1].ends_with("claude-1 via @acme.bob artifact: from a file\\u{1b}[2J"), "{events}");
    assert!(lines[2].contains(&format!("{first} @nick.ann comms: {{\"b\": 1.10,")), "{events}");
    assert!(ann.run_ok(&["channel", "events", &id, "--json"]).await.contains(payload));
    let one = ann.run(&["channel", "events", &id, "--limit", "1"]).await;
    assert!(one.out.lines().count() == 1 && one.err.contains("--before "), "{one:?}");
    let first = first.trim_start_matches('#');
    let after = ann.run_ok(&["channel", "events", &id, "--after", first, "--kind", "artifact"]).await;
    assert!(after.lines().count() == 1 && after.contains("artifact"), "{after}");
    assert!(
        ann.run(&["channel", "events", &id, "--before", first]).await.err.contains("there are no events")
    );
    let presence = ann.run_ok(&["channel", "presence", &id]).await;
    assert!(presence.contains("@acme.bob") && presence.contains("alive"), "{presence}");
}

#[tokio::test]
async fn ch_31_32_a_check_says_what_is_wrong_and_stores_nothing() {
    let server = Server::start().await;
    let (ann, _) = desk(&server).await;
    let id = channel(&ann).await;
    let state = ["channel", "state", &id, "--set", r#"{"protocol_version": 1}"#, "--validate"];
    let wrong = ann.run(&state).await;
    assert!(wrong.code == 1 && wrong.out.contains("protocol_version: must be 2"), "{wrong:?}");
    let fine = ann.run(&["channel", "status", &id, "working", "--validate"]).await;
    assert!(fine.code == 0 && fine.err.contains("the event is valid"), "{fine:?}");
    let lint = ann.run(&["channel", "post", &id, "spec", "--payload", "{}", "--lint", "--json"]).await;
    assert_eq!((lint.code, &json_of(&lint.out)["valid"]), (1, &json!(false)));
    assert!(ann.run(&["channel", "events", &id]).await.out.is_empty(), "nothing was stored");
}

#[tokio::test]
async fn ch_17_33_a_handoff_keeps_all_else() {
    let server = Server::start().await;
    let (ann, bob) = desk(&server).await;
    let id = channel(&ann).await;
    let said = ann.run_ok(&["channel", "handoff", &id, "@acme.bob", "--expect", "port the lexer"]).await;
    assert!(said.ends_with("held by @acme.bob: port the lexer"), "{said}");
    let fresh = json!({
        "protocol_version": 2, "updated_by": "@nick.ann", "concepts": [], "agents": {},
        "handoff": {"holder": "@acme.bob", "expected_action": "port the lexer"},
    });
    assert_eq!(json_of(&bob.run_ok(&["channel", "state", &id]).await), fresh);
    let mut full = fresh.clone();
    full["colour"] = json!({"deep": [1, null]});
    full["handoff"]["since"] = json!("yesterday");
    full["concepts"] = json!([{"id": "lexer", "owner": "x", "status": "done", "concept": "a lexer"}]);
    bob.run_ok(&["channel", "state", &id, "--set", &full.to_string()]).await;
    let next = bob.run(&["channel", "handoff", &id, "claude-1", "--expect", "review"]).await;
    assert!(next.code == 0 && !next.err.contains("in between"), "{next:?}");
    full["updated_by"] = json!("@acme.bob");
    full["handoff"]["holder"] = json!("claude-1");
    full["handoff"]["expected_action"] = json!("review");
    assert_eq!(json_of(&ann.run_ok(&["channel", "state", &id, "--json"]).await), full);
    let none = ann.run(&["channel", "handoff", &id, "claude-1"]).await;
    assert!(none.code == 2 && none.err.contains("--expect"), "{none:?}");
}

#[tokio::test]
async fn ch_2_33_watching_follows_live_and_calls_out_a_dead_holder() {
    let server = Server::builder().arg("--channels-status-cadence-seconds").arg("1").start().await;
    let (ann, bob) = desk(&server).await;
    let id = channel(&ann).await;
    let mut watch = bob.start(&["channel", "watch", &id]);
    watch.note_with("watching").await;
    let mut json = bob.start(&["channel", "watch", &id, "--json", "--kind", "comms"]);
    json.note_with("watching").await;
    ann.run_ok(&["channel", "handoff", &id, "@nick.ann", "--expect", "port it"]).await;
    ann.run_ok(&["channel", "status", &id, "working"]).await;
    watch.line_with("@nick.ann state: held by @nick.ann: port it").await;
    watch.line_with("@nick.ann status: working").await;
    let dead = watch.line_with("THE HOLDER IS PRESUMED DEAD").await;
    assert!(dead.contains("@nick.ann, silent for") && dead.contains("plenary channel handoff"), "{dead}");
    let told = json_of(&json.line().await);
    assert_eq!(
        (&told["presence"], &told["agent"], &told["holds_work"]),
        (&json!("presumed_dead"), &json!("@nick.ann"), &json!(true))
    );
    ann.run_ok(&["channel", "status", &id, "back"]).await;
    watch.line_with("heard again: @nick.ann").await;
    ann.run_ok(&["channel", "post", &id, "comms", "--payload", r#"{"text":"hello"}"#]).await;
    let said = json.line_with("hello").await;
    assert_eq!(json_of(&said)["payload"]["text"], "hello");
    watch.signal(Signal::INT);
    assert_eq!(watch.end().await.code, 0);
}

/// Also for whoever had not seen an event before: the stream says at its beginning where to resume.
#[tokio::test]
async fn whoever_watches_misses_nothing_while_the_server_is_away() {
    let mut server = Server::start().await;
    let relay = Relay::to(&server).await;
    let agent = server.agent("@nick.ann").await;
    let cli = |url: &str| Cli::new(&[("PLENARY_URL", url), ("PLENARY_TOKEN", agent.token())]);
    let through = cli(&relay.url());
    let id = channel(&through).await;
    let before = say(&cli(&server.url()), &id, 1).await;
    let mut fresh = through.start(&["channel", "watch", &id]);
    let mut behind = through.start(&["channel", "watch", &id, "--after", before.trim_start_matches('#')]);
    for watch in [&mut fresh, &mut behind] {
        watch.note_with("watching").await;
    }
    say(&cli(&server.url()), &id, 2).await;
    behind.line_with("event 2").await;
    server.stop().await;
    for watch in [&mut fresh, &mut behind] {
        watch.note_with("not connected").await;
    }
    server.restart().await;
    say(&cli(&server.url()), &id, 3).await;
    relay.point_at(&server);
    for expected in ["event 2", "event 3"] {
        assert!(fresh.line().await.contains(expected), "{expected}");
    }
    assert!(behind.line().await.contains("event 3"));
    say(&cli(&server.url()), &id, 4).await;
    for watch in [&mut fresh, &mut behind] {
        assert!(watch.line().await.contains("event 4"));
    }
}

#[tokio::test]
async fn refusals_say_the_next_step() {
    let server = Server::start().await;
    let (ann, _) = desk(&server).await;
    let id = channel(&ann).await;
    let unknown = ann.run(&["channel", "read", "ZZZZ"]).await;
    assert!(
        unknown.code == 1 && unknown.err.contains("no such channel (404 no_such_channel)"),
        "{unknown:?}"
    );
    assert!(unknown.err.contains("plenary channel list"), "{unknown:?}");
    let json = ann.run(&["channel", "state", &id, "--json"]).await;
    let error = &json_of(&json.err)["error"];
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("no_event_yet"), &json!("channel has no state event yet"))
    );
    assert!(error["next"].as_str().is_some_and(|next| next.contains("plenary channel handoff")), "{error}");
    let array = ann.run(&["channel", "post", &id, "comms", "--payload", "[]"]).await;
    assert!(array.code == 2 && array.err.contains("next:"), "{array:?}");
    let kind = ann.run(&["channel", "post", &id, &"x".repeat(65), "--payload", "{}"]).await;
    assert!(kind.code == 1 && kind.err.contains("invalid_kind"), "{kind:?}");
    let name = ann.run(&["channel", "read", "no/channel"]).await;
    assert!(name.code == 2 && name.err.contains("VHGC"), "{name:?}");
    let nobody = Cli::new(&[("PLENARY_URL", &server.url())]);
    let nobody = nobody.run(&["channel", "read", &id]).await;
    assert!(nobody.code == 4 && nobody.err.contains("--as @owner.name"), "{nobody:?}");
}

/// A token from the environment is not for whatever server a URL names.
#[tokio::test]
async fn a_url_takes_no_token_to_another_server() {
    let (server, other) = (Server::start().await, Server::start().await);
    let (ann, _) = desk(&server).await;
    let foreign = format!("{}/agent-channel/VHGC", other.url());
    let refused = ann.run(&["channel", "read", &foreign]).await;
    assert!(refused.code == 2 && refused.err.contains(&format!("--url {}", other.url())), "{refused:?}");
    let meant = ann.run(&["channel", "read", &foreign, "--url", &other.url()]).await;
    assert!(meant.code == 4, "the other server was asked, and does not know the token: {meant:?}");
    let agent = other.agent("@nick.carol").await;
    let url = Cli::of(&other, &agent, "s-1").run_ok(&["channel", "create", "x"]).await;
    let alone = Cli::new(&[("PLENARY_TOKEN", agent.token())]);
    let asked = async || {
        let metrics = other.stranger().get("/metrics").await.text();
        let counts = |line: &&str| line.starts_with("plenary_http_requests_total{operation=\"channel.");
        metrics.lines().filter(counts).map(str::to_owned).collect::<Vec<_>>()
    };
    let before = asked().await;
    assert!(!before.is_empty(), "the server counts what it is asked");
    let unsaid = alone.run(&["channel", "read", &url]).await;
    assert!(unsaid.code == 2 && unsaid.err.contains(&format!("--url {}", other.url())), "{unsaid:?}");
    assert_eq!(asked().await, before, "the server in the URL was not asked, so it has seen no token");
    assert!(
        alone.run_ok(&["channel", "read", &url, "--url", &other.url()]).await.contains("# Agent Channel")
    );
    let given = Cli::new(&[]);
    let read = given.run_ok(&["channel", "read", &url, "--token", agent.token()]).await;
    assert!(read.contains("# Agent Channel"), "a URL and a token in one command suffice");
    let saved = ["token", "add", "@nick.carol", "--token", agent.token(), "--url", &other.url()];
    given.run_ok(&saved).await;
    let read = given.run_ok(&["channel", "read", &url, "--as", "@nick.carol"]).await;
    assert!(read.contains("# Agent Channel"), "a saved token goes to the server that it is saved for");
}

/// CH-36: where no token is needed, none is asked for.
#[tokio::test]
async fn ch_36_an_open_server_needs_no_token() {
    let (server, _directory) = super::channels::configured("[channels]\nopen = true\n").await;
    let anyone = Cli::new(&[("PLENARY_URL", &server.url())]);
    let id = channel(&anyone).await;
    let unnamed = anyone.run(&["channel", "status", &id, "working"]).await;
    assert!(unnamed.code == 2 && unnamed.err.contains("--agent NAME"), "{unnamed:?}");
    anyone.run_ok(&["channel", "status", &id, "working", "--agent", "claude-1"]).await;
    assert!(anyone.run_ok(&["channel", "presence", &id]).await.contains("claude-1"));
}

#[tokio::test]
async fn d_6_a_link_lets_another_owner_in_and_its_owner_changes_the_key() {
    let server = Server::start().await;
    let (ann, bob) =
        (server.closed_agent("@nick.ann", &[]).await, server.closed_agent("@acme.bob", &[]).await);
    let (ann, bob) = (Cli::of(&server, &ann, "s-1"), Cli::of(&server, &bob, "s-2"));
    let eve = Cli::of(&server, &server.closed_agent("@eve.bot", &[]).await, "s-3");
    let url = ann.run_ok(&["channel", "create", "Port the parser"]).await;
    let id = id_of(&url);
    let absent = bob.run(&["channel", "read", id]).await;
    assert!(absent.code == 1 && absent.err.contains("`?key=`"), "it says what to ask for: {absent:?}");
    bob.run_ok(&["channel", "status", &url, "working"]).await;
    bob.run_ok(&["channel", "events", id]).await;
    assert!(bob.run(&["channel", "key", id]).await.err.contains("not_its_owner"));
    let changed = ann.run_ok(&["channel", "key", id]).await;
    assert!(id_of(&changed) == id && changed != url, "{changed}");
    assert_eq!(eve.run(&["channel", "presence", &url]).await.code, 1, "the former key");
    eve.run_ok(&["channel", "presence", &changed]).await;
    bob.run_ok(&["channel", "presence", id]).await;
}
