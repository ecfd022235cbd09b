//! What the command line catches before the server is asked, and what it suggests.
//! Must not know: what the commands do.

use blackbox::{Cli, Server};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn json_of(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The command line of the operator, without any other setting.
fn operator(server: &Server) -> Cli {
    Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_OPERATOR_TOKEN", server.operator().token())])
}

#[tokio::test]
async fn a_wrong_value_is_refused_by_its_flag() {
    let cli = Cli::new(&[("PLENARY_URL", "http://127.0.0.1:1"), ("PLENARY_TOKEN", "pla_x")]);
    let id = "ask_01HZY3V8Q3N8X0T5W6R7S8D9EF";
    let session = "sess_01HZY3V8Q3N8X0T5W6R7S8D9EF";
    for (line, flag, allowed) in [
        ("ask @nick Hm --on-timeout maybe", "--on-timeout", "accept, ignore, none"),
        ("attention dnd --until 0", "--until", "at most 366d"),
        ("attention open --until 1h", "--until", "no end"),
        ("agent edit @nick.b --token plo_x", "--display-name", "--visibility"),
        ("peer invite rose http://x --expires-in 31d", "--expires-in", "at most 30d"),
        ("peer invite rose http://x --grants tnick --token plo_x", "`tnick` is not a grant", "NAME=OWNER"),
        (format!("message status {session} x").as_str(), "<SEQUENCE>", "must be a number"),
        ("message status sess_x 1", "<SESSION>", "capital letters"),
        ("watch --rooms nowhere", "--rooms", "sessions"),
        ("search hello --room nowhere", "--room", "sessions"),
        ("frame broadcast Hm --class nope", "--class", "merged"),
        ("ask @nick Hm --kind review", "--kind", "question, permission, hold"),
        ("ask @nick Hm --deadline 31d", "--deadline", "30d"),
        ("ask @nick Hm --deadline 0", "--deadline", "30d"),
        ("ask @nick Hm --wait 5x", "--wait", "30s"),
        (format!("requests delegate {id} nick").as_str(), "<TO>", "@"),
        (format!("requests snooze {id} 2w").as_str(), "<UNTIL>", "30s"),
        (format!("requests answer {id} accept --undo-seconds 61").as_str(), "--undo-seconds", "60"),
        (format!("requests show {id} --wait soon").as_str(), "--wait", "plain number is seconds"),
        ("requests list --kind other", "--kind", "permission"),
        ("requests notify add ntfy http://x --quiet 22-7", "--quiet", "22:00-07:00"),
        ("requests notify add ntfy http://x --min-urgency urgent", "--min-urgency", "low, normal, high"),
        (format!("message status {session} 1 --wait 5 --until read").as_str(), "--until", "in_context"),
        ("inbox --limit 101", "--limit", "100"),
        ("inbox --kinds message", "--kinds", "session.message"),
        ("token create --scope read --expires-in 3w", "--expires-in", "7d"),
        ("token create --scope read --expires-in 999999d", "--expires-in", "at most 366d"),
        ("connect claude --approvals 11m", "--approvals", "10m"),
        ("context fact assert a b c --confidence 2", "--confidence", "0 to 1"),
    ] {
        let ran = cli.run(&line.split(' ').collect::<Vec<_>>()).await;
        assert!(ran.code == 2 && ran.err.contains(flag) && ran.err.contains(allowed), "{line}: {ran:?}");
    }
}

#[tokio::test]
async fn every_time_has_one_form() {
    let server = Server::start().await;
    let cli = Cli::of(&server, &server.agent("@nick.a").await, "s-1");
    for time in ["0", "1s", "10ms"] {
        assert!(cli.run(&["inbox", "--wait", time]).await.err.contains("nothing new"), "{time}");
    }
    for time in ["3600", "60m", "1h", "1d"] {
        cli.run_ok(&["attention", "dnd", "--until", time]).await;
        cli.run_ok(&["token", "create", "--scope", "read", "--expires-in", time]).await;
    }
}

/// The options that chose the caller and the server are in what is suggested next.
#[tokio::test]
async fn a_suggested_command_repeats_the_options_that_were_given() {
    let (server, [a, b]) = Server::with(["@nick.a", "@nick.b"]).await;
    let session = a.create(&[&b]).await;
    let cli = Cli::new(&[("PLENARY_TOKEN", b.token())]);
    let url = server.url();
    let inbox = cli.run(&["inbox", "--as", "@nick.b", "--url", &url]).await;
    let given = format!("plenary --as @nick.b --url {url}");
    assert!(inbox.err.contains(&format!("{given} inbox ack ")), "{inbox:?}");
    assert!(inbox.err.contains(&format!("`{given} session join {session}`")), "{inbox:?}");
    let suggested = inbox.err.lines().find_map(|line| Some(line.split_once("items with: plenary ")?.1));
    let pasted: Vec<&str> = suggested.expect("a command").split(' ').collect();
    assert_eq!(cli.run_ok(&pasted).await, "0 unread");
    let missing = ["runs", "show", "echo", "none", "--as", "@nick.b", "--url", &url, "--json"];
    let refused = cli.run(&missing).await;
    let next = json_of(&refused.err)["error"]["next"].as_str().unwrap_or_default().to_owned();
    assert!(next.contains(&format!("`{given} runs threads NAME`")), "{next}");
    let unbound = cli.run(&["context", "--human", "pull", "--url", &url]).await;
    assert!(unbound.code != 0 && !unbound.err.contains("--as"), "{unbound:?}");
}

#[tokio::test]
async fn a_token_is_saved_if_the_server_knows_it_or_cannot_be_asked() {
    let server = Server::start().await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.a").await);
    let cli = Cli::new(&[("PLENARY_URL", &server.url())]);
    for (holder, token) in [
        ("@nick.a", "anything"),
        ("@nick.a", "pla_00000000000000000000000000000000000000000000"),
        ("@nick.b", agent.token()),
        ("nick", agent.token()),
        ("other", owner.token()),
        ("--operator", owner.token()),
    ] {
        let ran = cli.run(&["token", "add", holder, "--token", token]).await;
        assert!(ran.code == 4 && ran.err.contains("nothing was saved"), "{holder}: {ran:?}");
    }
    assert!(cli.run(&["token", "list"]).await.err.contains("no tokens"), "nothing was saved");
    for (holder, token) in
        [("@nick.a", agent.token()), ("nick", owner.token()), ("--operator", server.operator().token())]
    {
        let ran = cli.run(&["token", "add", holder, "--token", token]).await;
        assert!(ran.code == 0 && !ran.err.contains("checked"), "{holder}: {ran:?}");
    }
    let away = cli.run(&["token", "add", "@nick.a", "--token", "pla_x", "--url", "http://127.0.0.1:1"]).await;
    assert!(away.code == 0 && away.err.contains("could not be checked"), "{away:?}");
}

#[tokio::test]
async fn the_only_owner_need_not_be_named() {
    let server = Server::start().await;
    server.owner("nick").await;
    let cli = operator(&server);
    assert!(cli.run(&["requests", "rules"]).await.err.contains("no rules"));
    let added = ["requests", "notify", "add", "ntfy", "https://ntfy.example/topic", "--quiet", "22:00-07:00"];
    let id = cli.run_ok(&added).await;
    assert!(cli.run_ok(&["requests", "notify", "list"]).await.contains(&id));
    server.owner("ann").await;
    for args in [&["requests", "rules"][..], &["requests", "notify", "list"]] {
        let ran = cli.run(args).await;
        assert!(ran.code == 2 && ran.err.contains("--owner"), "{args:?}: {ran:?}");
        assert_eq!(cli.run(&[args, &["--owner", "nick"]].concat()).await.code, 0);
        assert_eq!(
            cli.run(&[args, &["--as", "@nick.a"]].concat()).await.code,
            0,
            "the agent's owner is meant"
        );
    }
}

/// What listens may be no server, a server that speaks TLS, or one that has no connection left: each has its own advice.
#[tokio::test]
async fn a_program_that_does_not_answer_as_a_server_is_described() {
    let answering = |bytes: &'static [u8]| async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = [0; 4096];
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(bytes).await;
            }
        });
        port
    };
    let alert = answering(&[21, 3, 1, 0, 2, 2, 22]).await;
    let page = answering(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    let busy =
        answering(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .await;
    for (url, what, next) in [
        (format!("http://127.0.0.1:{alert}"), "does not speak HTTP", "https://"),
        (format!("https://localhost:{page}"), "does not speak TLS", "http://"),
        (format!("http://127.0.0.1:{busy}"), "", "try again"),
    ] {
        let cli = Cli::new(&[("PLENARY_URL", &url), ("PLENARY_TOKEN", "pla_x")]);
        let ran = cli.run(&["session", "list"]).await;
        assert!(ran.code != 0 && ran.err.contains(what) && ran.err.contains(next), "{url}: {ran:?}");
    }
    // Whether a message was accepted is not known: under its key it is sent once.
    let cli = Cli::new(&[("PLENARY_URL", &format!("http://127.0.0.1:{busy}")), ("PLENARY_TOKEN", "pla_x")]);
    let ran = cli.run(&["session", "send", "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV", "hi", "--key", "my key"]).await;
    assert!(ran.code != 0 && ran.err.contains("add `--key 'my key'`"), "{ran:?}");
}

#[tokio::test]
async fn an_empty_variable_counts_as_absent() {
    let names = [
        "PLENARY_CONFIG",
        "PLENARY_DATA",
        "PLENARY_DATABASE",
        "PLENARY_BLOBS",
        "PLENARY_LISTEN",
        "PLENARY_URL",
    ];
    let cli = Cli::new(&names.map(|name| (name, "")));
    let ran = cli.run(&["fsck"]).await;
    assert!(ran.err.contains(".local/share/plenary"), "the default directory is checked: {ran:?}");
    let ran = cli.run(&["serve", "--database", "mysql://a/b"]).await;
    assert!(ran.err.contains("begins with postgres://"), "{ran:?}");
}

#[tokio::test]
async fn a_wrong_value_of_a_variable_is_refused_by_its_name() {
    for (name, value, words) in [
        (
            "PLENARY_LOG",
            "inof",
            "PLENARY_LOG is `inof`: write a level (off, error, warn, info, debug or trace)",
        ),
        ("PLENARY_GRACE", "5x", "'5x' for 'PLENARY_GRACE'"),
        ("PLENARY_FRAMES_RATE", "fast", "'fast' for 'PLENARY_FRAMES_RATE': write a whole number"),
        ("PLENARY_LISTEN", "here", "'here' for 'PLENARY_LISTEN'"),
    ] {
        let ran = Cli::new(&[(name, value)]).run(&["serve", "--data", ":memory:"]).await;
        assert!(ran.code != 0 && ran.err.contains(words), "{name}: {ran:?}");
    }
    let ran = Cli::new(&[("PLENARY_GRACE", "5s")]).run(&["serve", "--grace", "5x"]).await;
    assert!(ran.code == 2 && ran.err.contains("'5x' for '--grace <TIME>'"), "{ran:?}");
}

#[tokio::test]
async fn a_start_that_is_refused_makes_no_token() {
    let home = Cli::new(&[]);
    let data = home.dir().join("data");
    std::fs::create_dir(&data).expect("a directory");
    std::fs::write(data.join("plenary.db.unfinished"), "").expect("a file");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data", "data"];
    let ran = home.run(&serve).await;
    assert!(ran.code == 1 && ran.err.contains("unfinished copy"), "{ran:?}");
    assert!(!data.join("operator-token").exists(), "its token would stay valid for the finished copy");
}

#[tokio::test]
async fn a_search_index_that_cannot_be_opened_is_named() {
    for index in ["search", "search-everything"] {
        let home = Cli::new(&[]);
        let data = home.dir().join("data");
        std::fs::create_dir(&data).expect("a directory");
        std::fs::write(data.join(index), "no directory").expect("a file");
        let ran = home.run(&["serve", "--listen", "127.0.0.1:0", "--data", "data"]).await;
        assert!(ran.code == 1 && ran.err.contains(&format!("search index in data/{index}: ")), "{ran:?}");
    }
}

/// `--peer` is in the help of commands that take it, and no other command ignores it.
#[tokio::test]
async fn the_option_of_linked_networks_is_only_where_it_works() {
    let cli = Cli::new(&[("PLENARY_URL", "http://127.0.0.1:1")]);
    for (line, is_shown) in [
        ("channel list --help", true),
        ("run --help", true),
        ("context project list --help", true),
        ("send --help", false),
        ("session create --help", false),
        ("serve --help", false),
    ] {
        let ran = cli.run(&line.split(' ').collect::<Vec<_>>()).await;
        assert_eq!(ran.out.contains("--peer <NETWORK>"), is_shown, "{line}: {ran:?}");
    }
    for line in [
        "fsck --peer zzz",
        "--peer zzz fsck",
        "serve --peer zzz",
        "status --peer zzz",
        "peer list --peer zzz",
    ] {
        let ran = cli.run(&line.split(' ').collect::<Vec<_>>()).await;
        assert_eq!(
            (ran.code, ran.err.matches("--peer is not for this command").count()),
            (2, 1),
            "{line}: {ran:?}"
        );
    }
    for line in [
        "channel list --peer zzz",
        "channel create --peer zzz",
        "--peer zzz runs agents",
        "--peer zzz context project list",
        "--peer zzz context init p",
        "--peer zzz context daily",
        "--peer zzz context export x --all",
        "--peer zzz context blob put x",
    ] {
        let ran = cli.run(&line.split(' ').collect::<Vec<_>>()).await;
        let said = "a linked network does not offer this command";
        assert!(ran.code == 2 && ran.err.contains(said), "{line}: {ran:?}");
    }
    for line in
        ["channel read c --peer zzz", "--peer zzz run helper hello", "context pull --project a:b --peer zzz"]
    {
        let ran = cli.run(&line.split(' ').collect::<Vec<_>>()).await;
        assert!(ran.code != 0 && !ran.err.contains("--peer"), "{line}: {ran:?}");
    }
}

/// A missing token is not the first thing to say of a server that does not run, and a saved one is named.
#[tokio::test]
async fn a_token_that_is_saved_for_another_address_is_named() {
    let (first, second) = (Server::start().await, Server::start().await);
    let cli = Cli::new(&[("PLENARY_OPERATOR_TOKEN", first.operator().token())]);
    cli.run_ok(&["--url", &first.url(), "agent", "add", "@nick.parser"]).await;
    let absent = "http://127.0.0.1:1";
    let ran = cli.run(&["--url", absent, "--as", "@nick.parser", "who"]).await;
    assert!(ran.code == 3 && ran.err.contains("nothing listens at http://127.0.0.1:1"), "{ran:?}");
    let saved = format!("a token of @nick.parser is saved for {}", first.url());
    assert!(ran.err.contains(&saved) && !ran.err.contains("agent add"), "{ran:?}");
    let ran = cli.run(&["--url", absent, "--as", "@nick.other", "who"]).await;
    assert!(ran.code == 3 && ran.err.contains("nothing listens"), "{ran:?}");
    let ran = cli.run(&["--url", &second.url(), "--as", "@nick.parser", "who"]).await;
    assert!(ran.code == 4 && ran.err.contains(&format!("--url {}", first.url())), "{ran:?}");
    assert!(!ran.err.contains("agent add"), "{ran:?}");
}

#[tokio::test]
async fn a_console_is_not_opened_in_the_name_of_an_agent() {
    let server = Server::start().await;
    server.owner("ida").await;
    let cli = operator(&server);
    let refused = cli.run(&["--as", "@ida.laptop", "console"]).await;
    assert!(
        refused.code == 2 && refused.err.contains("--owner ida") && refused.out.is_empty(),
        "{refused:?}"
    );
    for line in ["console --owner ida --person @ida", "--as @ida console"] {
        let ran = cli.run(&line.split(' ').collect::<Vec<_>>()).await;
        assert!(ran.code == 0 && ran.err.contains("as owner"), "{line}: {ran:?}");
    }
    let unnamed = cli.run(&["console", "--role", "owner"]).await;
    assert!(unnamed.code == 2 && unnamed.err.contains("--owner NAME"), "{unnamed:?}");
    let agent = server.agent("@ida.laptop").await;
    let ran = cli.run(&["--token", agent.token(), "console"]).await;
    assert!(ran.code == 4 && ran.err.contains("an agent's token opens no console"), "{ran:?}");
}

#[tokio::test]
async fn what_is_no_plenary_server_is_said_without_a_circle() {
    let server = Server::start().await;
    let url = format!("{}/path", server.url());
    let ran = Cli::new(&[]).run(&["--url", &url, "status"]).await;
    assert!(ran.code == 3 && ran.err.contains(&format!("there is no Plenary server at {url}")), "{ran:?}");
    assert!(!ran.err.contains("plenary status") && !ran.err.contains("--url http"), "{ran:?}");
}

#[tokio::test]
async fn a_check_refuses_places_that_are_none() {
    let server = Server::start().await;
    let data = server.data().display().to_string();
    let cli = Cli::new(&[]);
    for (line, words) in [
        (&["fsck", "--data", &data, "--blobs", "file:///no/such/place"][..], "/no/such/place does not exist"),
        (&["fsck", "--database", "foo"], "must be a URL that begins with postgres://"),
    ] {
        let ran = cli.run(line).await;
        assert!(ran.code == 2 && ran.err.contains(words), "{line:?}: {ran:?}");
    }
    let sound = cli.run_ok(&["fsck", "--data", &data]).await;
    assert!(sound.contains("0 events, ") && sound.contains("no damage was found"), "{sound}");
}
