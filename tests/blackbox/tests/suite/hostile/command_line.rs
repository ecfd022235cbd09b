//! What others on the machine see of a command that was given a secret: its command line, and nothing of the secret in it.

use blackbox::{Cli, Database, Server, TestDependency};

const HANDLE: &str = "@nick.helper";

/// A host runs for days, and its programs look around.
#[tokio::test]
async fn no_token_of_a_host_stands_in_its_command_line_or_its_environment() {
    let server = Server::start().await;
    let agent = server.agent(HANDLE).await;
    let machine = Cli::new(&[("PLENARY_URL", &server.url()), ("PATH", "/usr/bin:/bin")]);
    let file = machine.dir().join("token");
    std::fs::write(&file, format!("{}\n", agent.token())).expect("a file");
    let (joined, file) = (format!("--token={}", agent.token()), file.display().to_string());
    let command = ["--", "sh", "-c", "exit 0"];
    for (flags, input) in [
        (vec!["--token", agent.token()], None),
        (vec![joined.as_str()], None),
        (vec!["--token-file", file.as_str()], None),
        (vec!["--token-file", "-"], Some(agent.token())),
    ] {
        let mut host = machine.start(&[&["agent", "host", HANDLE], &flags[..], &command].concat());
        if let Some(input) = input {
            host.write_line(input).await;
            host.close_input();
        }
        host.note_with("attached to ").await;
        let (words, environment) = host.proc_texts();
        assert!(words.contains(HANDLE) && words.contains("exit 0"), "{flags:?}: {words}");
        for shown in [words, environment] {
            assert!(!shown.contains(agent.token()), "{flags:?}: {shown}");
        }
    }
}

/// Commands that start nothing keep their standard input.
#[tokio::test]
async fn no_token_of_a_client_stands_in_its_command_line() {
    let (server, [ann, bob]) = Server::with(["@nick.ann", "@nick.bob"]).await;
    let cli = Cli::new(&[("PLENARY_URL", &server.url()), ("PATH", "/usr/bin:/bin")]);
    let mut listening = cli.start(&["--token", ann.token(), "listen", "--json"]);
    bob.create(&[&ann]).await;
    listening.line().await;
    let (words, environment) = listening.proc_texts();
    assert!(words.contains("listen") && !words.contains(ann.token()), "{words}");
    assert!(!environment.contains(ann.token()), "{environment}");
    let binary = blackbox::binary().canonicalize().expect("a binary").display().to_string();
    let line = format!("'{binary}' --token-file - me");
    let ran = cli.shell(&cli.dir(), &line, ann.token()).await;
    assert!(ran.code == 0 && ran.out.contains("@nick.ann"), "{ran:?}");
    let session = bob.create(&[&ann]).await;
    ann.join(&session).await;
    let line = format!("'{binary}' --token {} session send {session} -", ann.token());
    let ran = cli.shell(&cli.dir(), &line, "from standard input").await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let history = ann.history(&session).await;
    assert!(history.iter().any(|event| event.to_string().contains("from standard input")), "{history:?}");
    let both = cli.run(&["me", "--token", "a", "--token-file", "b"]).await;
    assert_eq!(both.code, 2, "{both:?}");
    // What a command starts has the token of its own environment, or none.
    let line = ["frame", "lock", "x", "--token", ann.token(), "--as", "@nick.ann", "--", &binary, "me"];
    let inner = cli.run(&line).await;
    assert_eq!(inner.code, 4, "{inner:?}");
}

/// The URL of a database has its password.
#[tokio::test]
async fn no_database_stands_in_the_command_line_of_a_server() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let server = Server::builder().database(database.url()).start().await;
    let (words, environment) = server.proc_texts();
    assert!(words.contains("serve") && !words.contains(database.url()), "{words}");
    assert!(!environment.contains(database.url()), "{environment}");
    server.agent("@nick.ann").await.get("/agents/me").await.ok(200);
    drop(server);
    database.remove().await;
}
