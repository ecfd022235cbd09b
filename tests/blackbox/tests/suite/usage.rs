//! What the command line catches before the server is asked, and what it suggests.
//! Must not know: what the commands do.

use blackbox::{Cli, Server};
use serde_json::Value;

fn json_of(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The options that chose the caller and the server are in what is suggested next.
#[tokio::test]
async fn a_suggested_command_repeats_the_options_that_were_given() {
    let server = Server::start().await;
    let (a, b) = (server.agent("@nick.a").await, server.agent("@nick.b").await);
    a.create(&[&b]).await;
    let cli = Cli::new(&[("PLENARY_TOKEN", b.token())]);
    let url = server.url();
    let inbox = cli.run(&["inbox", "--as", "@nick.b", "--url", &url]).await;
    let given = format!("plenary --as @nick.b --url {url}");
    assert!(inbox.err.contains(&format!("{given} inbox ack ")), "{inbox:?}");
    let suggested = inbox.err.lines().find_map(|line| Some(line.split_once("with: plenary ")?.1));
    let pasted: Vec<&str> = suggested.expect("a command").split(' ').collect();
    assert_eq!(cli.done(&pasted).await, "0 unread");
    let missing = ["runs", "show", "echo", "none", "--as", "@nick.b", "--url", &url, "--json"];
    let refused = cli.run(&missing).await;
    let next = json_of(&refused.err)["error"]["next"].as_str().unwrap_or_default().to_owned();
    assert!(next.contains(&format!("`{given} runs threads NAME`")), "{next}");
    let unbound = cli.run(&["context", "--human", "pull", "--url", &url]).await;
    assert!(unbound.code != 0 && !unbound.err.contains("--as"), "{unbound:?}");
}
