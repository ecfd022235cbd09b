//! Context from the command line: two agents and their owner, each at a terminal of its own.

mod contents;
mod facts;
mod hooks;
mod notes;
mod repository;
mod reviews;
mod transfer;

use blackbox::{Agent, Cli, CommandOutput, Server};
use rustix::process::Signal;
use serde_json::{Value, json};

/// An agent whose directory is bound to a fresh project of its owner's.
async fn desk(server: &Server) -> (Agent, Cli) {
    let agent = server.agent("@nick.ann").await;
    let cli = Cli::of(server, &agent, "s-1");
    cli.run_ok(&["context", "init", "parser", "--name", "The parser"]).await;
    (agent, cli)
}

/// The command line of an owner.
async fn owner(server: &Server, name: &str) -> Cli {
    let caller = server.owner(name).await;
    let env = [
        ("PLENARY_URL", server.url()),
        ("PLENARY_TOKEN", caller.token().to_owned()),
        ("PLENARY_PROJECT", "parser".to_owned()),
        ("PLENARY_SESSION", "s-9".to_owned()),
    ];
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Cli::new(&env)
}

fn json_of(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// What one package is, as the server keeps it.
async fn package(cli: &Cli, id: &str) -> Value {
    json_of(&cli.run_ok(&["context", "pull", id, "--json"]).await)
}

/// The refusal that a command ends with under `--json`.
fn refusal(ran: &CommandOutput) -> (i32, Value) {
    (ran.code, json_of(ran.err.lines().last().unwrap_or_default())["error"].clone())
}

#[tokio::test]
async fn ap_2_init_binds_a_directory_and_makes_its_project_once() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let file = std::fs::read_to_string(ann.dir().join(".plenary.toml")).expect("the file is there");
    assert!(file.contains("project = \"parser\""), "{file}");
    let again = json_of(&ann.run_ok(&["context", "init", "parser", "--json"]).await);
    assert_eq!((&again["project"], &again["created"]), (&json!("parser"), &json!(false)));
    let kept = json_of(&ann.run_ok(&["context", "init", "--json"]).await);
    assert_eq!((&kept["project"], &kept["before"]), (&json!("parser"), &Value::Null), "it stays bound");
    let moved = ann.run(&["context", "init", "lexer"]).await;
    assert!(moved.err.contains("was bound to the project parser until now"), "{moved:?}");
    let back = json_of(&ann.run_ok(&["context", "init", "parser", "--json"]).await);
    assert_eq!(back["before"], json!("lexer"));
    let shown = json_of(&ann.run_ok(&["context", "project", "show", "--json"]).await);
    assert_eq!((&shown["name"], &shown["owner_id"]), (&json!("The parser"), &json!("nick")));
    let bob = Cli::of(&server, &server.agent("@acme.bob").await, "s-2");
    let own = json_of(&bob.run_ok(&["context", "init", "parser", "--json"]).await);
    assert_eq!(own["created"], json!(true), "another owner's project of the same name is nobody else's");
    let bob = Cli::of(&server, &server.agent("@eve.bob").await, "s-3");
    let unbound = bob.run(&["context", "pull"]).await;
    assert!(unbound.code == 2 && unbound.err.contains("plenary context init"), "{unbound:?}");
    let absent = bob.run(&["context", "pull", "--project", "parser", "--json"]).await;
    let (code, error) = refusal(&absent);
    assert_eq!((code, &error["code"]), (1, &json!("project_not_found")), "AP-101");
    assert!(error["next"].as_str().is_some_and(|next| next.contains("context init")), "{error}");
}

/// Everything that a deposit may say.
const FLAGS: &[&str] = &[
    "--title",
    "Ported the lexer",
    "--description",
    "All of it",
    "--type",
    "milestone",
    "--decision",
    "offsets",
    "--decision",
    "no regex",
    "--question",
    "UTF-16?",
    "--handoff",
    "begin with parse.rs",
    "--next",
    "human",
    "--deliverable",
    "./docs/a.md",
    "--deliverable",
    "https://h/x.json",
    "--significance",
    "8",
    "--tag",
    "lexer",
    "--topic",
    "parsing",
];

#[tokio::test]
async fn ap_31_ap_53_a_deposit_is_what_the_flags_say() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    std::fs::create_dir(ann.dir().join("docs")).expect("a directory can be made");
    std::fs::write(ann.dir().join("docs/a.md"), "abc").expect("a file can be made");
    let parent = ann.run_ok(&["context", "deposit", "--title", "Before"]).await;
    let id = ann.run_ok(&[&["context", "deposit", "--parent", &parent], FLAGS].concat()).await;
    assert!(id.starts_with("pkg_") && id.len() == 36, "AP-20: {id}");
    let stored = package(&ann, &id).await;
    let file = json!({"path": "docs/a.md", "type": "md", "size_bytes": 3,
        "hash": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"});
    for (member, expected) in [
        ("title", json!("Ported the lexer")),
        ("status", json!("complete")),
        ("package_type", json!("milestone")),
        ("review_type", json!("none")),
        ("relay_version", json!("0.1")),
        ("decisions_made", json!(["offsets", "no regex"])),
        ("open_questions", json!(["UTF-16?"])),
        ("handoff_note", json!("begin with parse.rs")),
        ("estimated_next_actor", json!("human")),
        ("deliverables", json!([file, {"path": "https://h/x.json", "type": "json"}])),
        ("significance", json!(8)),
        ("tags", json!(["lexer"])),
        ("topic", json!("parsing")),
        ("parent_package_id", json!(parent)),
    ] {
        assert_eq!(stored[member], expected, "{member}");
    }
    assert_eq!(
        (&stored["created_by"]["id"], &stored["created_by"]["type"]),
        (&json!("@nick.ann"), &json!("agent"))
    );
    let whole = ann.run_ok(&["context", "pull", &id]).await;
    for piece in [
        "# Ported the lexer",
        "## Decisions\n\n- offsets",
        "## Handoff, to human",
        "- docs/a.md (md, 3 bytes",
    ] {
        assert!(whole.contains(piece), "{piece}: {whole}");
    }
    let children = ann.run_ok(&["context", "pull", "--parent", &parent, "--short"]).await;
    assert!(children.lines().count() == 2 && children.contains(&id), "{children}");
}

#[tokio::test]
async fn a_deposit_makes_its_project() {
    let server = Server::start().await;
    let (agent, ann) = desk(&server).await;
    let id = ann.run_ok(&["context", "deposit", "--title", "First", "--project", "lexer"]).await;
    let stored = agent.get(&format!("/v1/packages/{id}")).await.ok(200);
    assert_eq!((&stored["title"], &stored["project_id"]), (&json!("First"), &json!("lexer")));
    assert_eq!(stored["created_by"]["id"], agent.handle);
}

#[tokio::test]
async fn ap_13_ap_15_the_packages_of_a_terminal_share_its_session() {
    let server = Server::start().await;
    let (agent, ann) = desk(&server).await;
    let first = ann.run(&["context", "deposit", "--title", "One"]).await;
    assert!(first.err.contains("this terminal is "), "AP-14: {first:?}");
    let second = ann.run(&["context", "deposit", "--title", "Two"]).await;
    assert!(!second.err.contains("this terminal is "), "it is told once: {second:?}");
    let of =
        async |ran: &CommandOutput| package(&ann, ran.out.trim()).await["created_by"]["session_id"].clone();
    let session = of(&first).await;
    assert_eq!(of(&second).await, session);
    let shown = json_of(&ann.run_ok(&["context", "session", "show", "--json"]).await);
    assert_eq!(shown["packages_deposited"], json!([first.out.trim(), second.out.trim()]));
    let callsign = shown["callsign"].as_str().expect("a callsign").to_owned();
    let other = Cli::of(&server, &agent, "s-2");
    let id = other.run_ok(&["context", "deposit", "--title", "Three", "--project", "parser"]).await;
    assert_ne!(package(&ann, &id).await["created_by"]["session_id"], session, "another terminal");
    let listed = ann.run_ok(&["context", "session", "list", "--callsign", &callsign]).await;
    assert!(listed.lines().count() == 2 && listed.contains(session.as_str().expect("an id")), "{listed}");
    assert!(ann.run_ok(&["context", "session", "end", &callsign]).await.starts_with(&callsign));
    let again = ann.run_ok(&["context", "session", "end", &callsign]).await;
    assert!(again.starts_with(&callsign), "it ended once: {again}");
    let none = ann.run(&["context", "session", "show"]).await;
    assert!(none.code == 2 && none.err.contains("session start"), "{none:?}");
    let next = ann.run_ok(&["context", "deposit", "--title", "Four"]).await;
    assert_ne!(package(&ann, &next).await["created_by"]["session_id"], session, "a new one begins");
    assert!(ann.run_ok(&["context", "session", "start"]).await.contains("@nick.ann"));
}

#[tokio::test]
async fn ap_58_ap_61_ap_62_what_was_deposited_is_pulled_and_told() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    assert!(ann.run(&["context", "pull"]).await.err.contains("there are no packages"));
    for n in 0..7 {
        let title = format!("Step {n}");
        let args = ["--title", &title, "--question", "which \u{1b}[2J way?", "--handoff", "go on"];
        ann.run_ok(&[&["context", "deposit"], &args[..]].concat()).await;
    }
    let latest = ann.run(&["context", "pull"]).await;
    assert!(latest.out.starts_with("- **Step 6**") && latest.out.matches("- **").count() == 5, "{latest:?}");
    assert!(latest.out.contains("open: which \\u{1b}[2J way?"), "nothing rewrites the screen: {latest:?}");
    let cursor = latest.err.split('\'').nth(1).expect("it says how to go on");
    let rest = json_of(&ann.run_ok(&["context", "pull", "latest", "--json", "--cursor", cursor]).await);
    assert_eq!(rest["packages"].as_array().map(Vec::len), Some(2));
    let oriented = ann.run_ok(&["context", "orient"]).await;
    for piece in [
        "# The parser",
        "## Handed over to you\n\n- go on",
        "## Open questions",
        "## Recent work\n\n- **Step 6**",
    ] {
        assert!(oriented.contains(piece), "{piece}: {oriented}");
    }
    let bundle = json_of(&ann.run_ok(&["context", "orient", "--days", "1", "--json"]).await);
    assert_eq!((bundle.as_object().map(serde_json::Map::len), &bundle["window_days"]), (Some(6), &json!(1)));
    let focus = ["context", "orchestrate", "--focus", "which way", "--snippets", "2"];
    let digest = ann.run_ok(&focus).await;
    assert!(
        digest.contains("# Digest of parser") && digest.matches("- question: which").count() == 2,
        "{digest}"
    );
    let all = json_of(&ann.run_ok(&["context", "orchestrate", "--all", "--json"]).await);
    assert_eq!((&all["project"], &all["projects"][0]["packages"]), (&Value::Null, &json!(7)));
    let daily = ann.run_ok(&["context", "daily"]).await;
    assert!(daily.contains("## parser") && daily.contains("## Open questions"), "{daily}");
    let daily = json_of(&ann.run_ok(&["context", "daily", "--json"]).await);
    assert_eq!(daily["packages"].as_array().map(Vec::len), Some(7));
    assert!(ann.run_ok(&["context", "conformance"]).await.starts_with("Agentic Protocol 0.1, L3"), "AP-88");
    let level = json_of(&ann.run_ok(&["context", "conformance", "--json"]).await);
    assert_eq!(level["conformance_level"], "L3");
}

#[tokio::test]
async fn ap_101_a_project_is_shared_described_archived_and_restored() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let nick = owner(&server, "nick").await;
    let bob = Cli::of(&server, &server.agent("@acme.bob").await, "s-2");
    let shared = nick.run_ok(&["context", "project", "share", "@acme.*", "reader"]).await;
    assert_eq!(shared, "@acme.* is a reader of parser");
    assert!(nick.run_ok(&["context", "project", "members"]).await.contains("@acme.*"));
    bob.run_ok(&["context", "pull", "--project", "parser", "--json"]).await;
    let (code, error) =
        refusal(&bob.run(&["context", "deposit", "--title", "x", "--project", "parser", "--json"]).await);
    assert_eq!((code, &error["code"]), (1, &json!("unauthorized")), "AP-57");
    nick.run_ok(&["context", "project", "unshare", "@acme.*"]).await;
    assert_eq!(bob.run(&["context", "pull", "--project", "parser"]).await.code, 1);
    ann.run_ok(&["context", "project", "edit", "parser", "--description", "Ports it"]).await;
    assert!(nick.run_ok(&["context", "project", "show"]).await.contains("Ports it"));
    nick.run_ok(&["context", "project", "archive"]).await;
    let (code, error) = refusal(&ann.run(&["context", "deposit", "--title", "x", "--json"]).await);
    assert_eq!((code, &error["code"]), (1, &json!("project_archived")), "AP-56");
    assert!(ann.run_ok(&["context", "project", "list"]).await.contains("archived"), "AP-2");
    nick.run_ok(&["context", "project", "restore"]).await;
    ann.run_ok(&["context", "deposit", "--title", "x"]).await;
    let made = json_of(&nick.run_ok(&["context", "project", "create", "lexer", "--json"]).await);
    assert_eq!((&made["project_id"], &made["owner_id"]), (&json!("lexer"), &json!("nick")));
}

#[tokio::test]
async fn ap_79_what_the_server_has_not_is_said_with_another_way() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let does = json_of(&ann.run_ok(&["context", "conformance", "--json"]).await)["capabilities"].clone();
    let search = ann.run(&["context", "pull", "--query", "lexer", "--json"]).await;
    if does["keyword_search"] == true {
        assert!(json_of(&search.out)["packages"].is_array(), "{search:?}");
    } else {
        let (code, error) = refusal(&search);
        assert_eq!((code, &error["code"]), (1, &json!("search_not_supported")), "AP-60");
        assert!(error["next"].as_str().is_some_and(|next| next.contains("orchestrate")), "{error}");
    }
    if does["realtime"] == true {
        let mut watch = ann.start(&["context", "watch"]);
        watch.note_with("watching parser").await;
        ann.run_ok(&["context", "deposit", "--title", "Seen live"]).await;
        let line = watch.line_with("Seen live").await;
        assert!(line.contains("@nick.ann package.deposited Seen live (pkg_"), "{line}");
        watch.signal(Signal::INT);
        assert_eq!(watch.end().await.code, 0);
    } else {
        let watch = ann.run(&["context", "watch"]).await;
        assert!(watch.code == 1 && watch.err.contains("501 not_implemented"), "{watch:?}");
    }
    std::fs::write(ann.dir().join("a.txt"), "abc").expect("a file can be made");
    let put = ann.run(&["context", "blob", "put", "a.txt"]).await;
    let hash = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    if does["blob_storage"] == true {
        assert_eq!(put.out.trim(), format!("{hash}  a.txt"));
        assert_eq!(ann.run_ok(&["context", "blob", "get", hash]).await, "abc");
        let deposit = ["context", "deposit", "--title", "x", "--deliverable", "a.txt", "--upload"];
        assert!(ann.run(&deposit).await.err.contains("1 file uploaded, 3 bytes"));
    } else {
        assert!(put.code == 1 && put.err.contains("501 not_implemented"), "{put:?}");
    }
}
