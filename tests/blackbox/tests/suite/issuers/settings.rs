//! What the configuration may say: a mistake stops the start, and its words name what is wrong.

use blackbox::{Server, TempDir, binary};
use tokio::process::Command;

const AGENT: &str =
    "[[issuers.acme.agents]]\nclaims = { sub = \"x\" }\nagent = \"@nick.ci\"\nscope = \"read\"\n";
const PERSON: &str =
    "[[issuers.acme.people]]\nclaims = { sub = \"x\" }\nowner = \"nick\"\nrole = \"owner\"\n";
const HTTPS: &str = "[issuers.acme]\nurl = \"https://issuer.example\"\n";

/// Why a server does not start with this configuration.
async fn refused(config: &str) -> String {
    let home = TempDir::new();
    let path = home.path().join("plenary.toml");
    std::fs::write(&path, config).expect("a file can be written");
    let mut command = Command::new(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data", ":memory:", "--config"]).arg(&path);
    command.env_clear().env("HOME", home.path()).kill_on_drop(true);
    let output = tokio::time::timeout(blackbox::PATIENCE, command.output()).await.expect("it ends");
    let output = output.expect("it starts");
    assert!(!output.status.success(), "{config}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn a_mistake_stops_the_start() {
    let audience = "audience = [\"https://a.example\"]\n";
    let cases = [
        (format!("[issuers.acme]\nurl = \"http://issuer.example\"\n{audience}{AGENT}"), "https"),
        (format!("[issuers.acme]\nurl = \"issuer\"\n{audience}{AGENT}"), "https"),
        (format!("{HTTPS}{AGENT}"), "audience"),
        (format!("{HTTPS}{audience}{PERSON}"), "client_id"),
        (format!("{HTTPS}client_id = \"x\"\n{audience}{AGENT}"), "people"),
        (
            format!("{HTTPS}client_id = \"https://a.example\"\n{audience}{PERSON}{AGENT}"),
            "must not be the `client_id`",
        ),
        (format!("{HTTPS}{audience}{}", AGENT.replace("sub = \"x\" ", "")), "at least one claim"),
        (format!("{HTTPS}{audience}{}", AGENT.replace("sub = ", "nickname = ")), "people may choose"),
        (format!("{HTTPS}{audience}{AGENT}lasts = \"13h\"\n"), "lasts"),
        (format!("{HTTPS}{audience}{}", AGENT.replace("\"read\"", "\"admin\"")), "scope"),
        (format!("{HTTPS}client_id = \"x\"\n{}", PERSON.replace("\"owner\"", "\"operator\"")), "operator"),
        (format!("{HTTPS}client_id = \"x\"\n{PERSON}person = \"@other.one\"\n"), "person"),
        (format!("[oauth]\nissuer = \"acme\"\n{HTTPS}client_id = \"x\"\n{PERSON}"), "no rule for agents"),
        ("[oauth]\nissuer = \"other\"\n".to_owned(), "names no"),
        (format!("{HTTPS}{audience}{AGENT}").replace("acme", "Acme"), "a-z"),
        (format!("{HTTPS}{audience}{AGENT}{}", format!("{HTTPS}{audience}").replace("acme", "b")), "two"),
        (format!("{HTTPS}surprise = 1\n"), "surprise"),
    ];
    for (config, why) in cases {
        let said = refused(&config).await;
        assert!(said.contains(why), "{why}: {said}\n{config}");
    }
}

#[tokio::test]
async fn an_issuer_at_a_private_address_is_not_asked_unless_the_operator_says_so() {
    let config = "[issuers.acme]\nurl = \"https://127.0.0.1:9\"\nclient_id = \"x\"\n";
    let server = Server::builder().config(&format!("{config}{PERSON}")).start().await;
    let answer = server.stranger().get("/console/sign-in/acme").await;
    assert_eq!(answer.header("location"), Some("/#trouble=issuer_unavailable"), "{answer}");
    server.wait_for_log("the address is not public").await;
}
