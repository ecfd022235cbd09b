//! Whole projects from the command line: to a file, to a backup, into another server, and both ways.

use blackbox::{Cli, Server};
use serde_json::{Value, json};

use super::{desk, json_of, package};

/// The operator's command line.
pub(super) async fn operator(server: &Server, more: &[(&str, &str)]) -> Cli {
    let operator = server.operator();
    let (url, token) = (server.url(), operator.token().to_owned());
    let own = [("PLENARY_URL", url.as_str()), ("PLENARY_TOKEN", token.as_str()), ("PLENARY_SESSION", "s-0")];
    Cli::new(&[&own[..], more].concat())
}

/// Two packages and a fact with a history; the packages' ids.
async fn fill(ann: &Cli) -> [String; 2] {
    let first = ann.run_ok(&["context", "deposit", "--title", "First", "--decision", "é \u{1f980}"]).await;
    let second = ann.run_ok(&["context", "deposit", "--title", "Second", "--review", "human"]).await;
    ann.run_ok(&["context", "fact", "assert", "lexer", "status", "begun"]).await;
    ann.run_ok(&["context", "fact", "assert", "lexer", "status", "done"]).await;
    [first, second]
}

async fn hash(cli: &Cli, id: &str) -> Value {
    package(cli, id).await["content_hash"].clone()
}

#[tokio::test]
async fn ap_3_ap_76_ap_77_what_is_exported_is_imported_with_the_same_hashes() {
    let (here, there) = (Server::start().await, Server::start().await);
    let (_, ann) = desk(&here).await;
    let ids = fill(&ann).await;
    let report = json_of(&ann.run_ok(&["context", "export", "out.ndjson", "--json"]).await);
    assert_eq!(
        (&report["counts"]["packages"], &report["counts"]["facts"]),
        (&json!(2), &json!(2)),
        "{report}"
    );
    let file = ann.dir().join("out.ndjson");
    let text = std::fs::read_to_string(&file).expect("the file is there");
    assert!(text.lines().all(|line| json_of(line)["record"].is_string()), "{text}");
    assert!(!ann.dir().join("out.ndjson.part").exists());
    let again = ann.run(&["context", "export", "out.ndjson"]).await;
    assert!(again.code == 2 && again.err.contains("already exists"), "{again:?}");
    let records =
        |text: &str| -> Vec<Value> { text.lines().map(|line| json_of(line)["record"].clone()).collect() };
    assert_eq!(records(&ann.run_ok(&["context", "export", "-", "--all"]).await), records(&text));

    let root = operator(&there, &[]).await;
    let file = file.display().to_string();
    let dry = root.run_ok(&["context", "import", &file, "--dry-run"]).await;
    assert!(dry.contains("would be imported"), "{dry}");
    assert_eq!(root.run(&["context", "pull", &ids[0]]).await.code, 1, "nothing was written");
    let first = json_of(&root.run_ok(&["context", "import", &file, "--json"]).await);
    assert_eq!((&first["refused_count"], &first["complete"]), (&json!(0), &json!(true)), "{first}");
    let second = json_of(&root.run_ok(&["context", "import", &file, "--json"]).await);
    assert_eq!((&second["imported"], &second["skipped"]), (&json!(0), &first["imported"]), "AP-83: {second}");
    for id in &ids {
        assert_eq!(hash(&root, id).await, hash(&ann, id).await, "AP-77");
    }
    let history = ["context", "fact", "history", "lexer", "--json", "--project", "parser"];
    assert_eq!(json_of(&root.run_ok(&history).await), json_of(&ann.run_ok(&history).await));
    let stranger = ann.run(&["context", "import", &file]).await;
    assert_eq!(stranger.code, 4, "an agent imports nothing: {stranger:?}");
    std::fs::write(root.dir().join("bad.ndjson"), format!("{text}no JSON\n")).expect("written");
    let bad = root.run(&["context", "import", "bad.ndjson"]).await;
    let line = format!("refused: line {}: The line is not acceptable JSON", text.lines().count() + 1);
    assert!(bad.code == 1 && bad.err.contains(&line), "{bad:?}");
}

#[tokio::test]
async fn ap_80_a_backup_is_restored_elsewhere() {
    let (here, there) = (Server::start().await, Server::start().await);
    let (_, ann) = desk(&here).await;
    let ids = fill(&ann).await;
    let made = ann.run_ok(&["context", "export", "--format", "backup", "--all", "backup"]).await;
    assert_eq!(made, "1 project is in backup");
    let manifest = std::fs::read_to_string(ann.dir().join("backup/manifest.json")).expect("a manifest");
    assert_eq!(json_of(&manifest)["counts"]["packages"], 2);
    let full = ann.run(&["context", "export", "--format", "backup", "backup"]).await;
    assert!(full.code != 0 && full.err.contains("not empty"), "{full:?}");
    let root = operator(&there, &[]).await;
    root.run_ok(&["context", "import", &ann.dir().join("backup").display().to_string()]).await;
    assert_eq!(hash(&root, &ids[0]).await, hash(&ann, &ids[0]).await);
}

#[tokio::test]
async fn ap_80_two_servers_are_brought_together_both_ways() {
    let (here, there) = (Server::start().await, Server::start().await);
    let (_, ann) = desk(&here).await;
    let ids = fill(&ann).await;
    let (url, remote) = (there.url(), there.operator());
    let root = operator(&here, &[("PLENARY_REMOTE_TOKEN", remote.token())]).await;
    let pushed = json_of(&root.run_ok(&["context", "sync", &url, "--all", "--push", "--json"]).await);
    assert_eq!(
        (&pushed["pulled"], &pushed["pushed"]["sent"]["packages"]),
        (&Value::Null, &json!(2)),
        "{pushed}"
    );
    let far = operator(&there, &[]).await;
    assert_eq!(hash(&far, &ids[0]).await, hash(&ann, &ids[0]).await);
    far.run_ok(&["context", "deposit", "--title", "Made there", "--project", "parser"]).await;
    let said = root.run_ok(&["context", "sync", &url, "--all"]).await;
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(ann.run_ok(&["context", "pull", "--short"]).await.contains("Made there"));
    let quiet = json_of(&root.run_ok(&["context", "sync", &url, "--all", "--json"]).await);
    assert_eq!(
        (&quiet["pulled"]["imported"], &quiet["pushed"]["imported"]),
        (&json!(0), &json!(0)),
        "{quiet}"
    );
    let tokenless = operator(&here, &[]).await.run(&["context", "sync", &url, "--all"]).await;
    assert!(
        tokenless.code == 4 && tokenless.err.contains("PLENARY_REMOTE_TOKEN"),
        "no token of one for the other"
    );
    let own = here.url();
    assert_eq!(root.run(&["context", "sync", &own, "--all"]).await.code, 2);
}

/// AP-47, AP-75: what both servers asserted meanwhile is settled by the next sync, in both directions.
#[tokio::test]
async fn ap_75_a_sync_settles_what_both_asserted() {
    let (here, there) = (Server::start().await, Server::start().await);
    let (_, ann) = desk(&here).await;
    fill(&ann).await;
    let (url, remote) = (there.url(), there.operator());
    let root = operator(&here, &[("PLENARY_REMOTE_TOKEN", remote.token())]).await;
    root.run_ok(&["context", "sync", &url, "--all"]).await;
    let far = operator(&there, &[]).await;
    ann.run_ok(&["context", "fact", "assert", "lexer", "status", "rewritten here"]).await;
    far.run_ok(&["context", "fact", "assert", "lexer", "status", "rewritten there", "--project", "parser"])
        .await;
    let settled = json_of(&root.run_ok(&["context", "sync", &url, "--all", "--json"]).await);
    assert_eq!(
        (&settled["pulled"]["refused_count"], &settled["pushed"]["refused_count"]),
        (&json!(0), &json!(0)),
        "{settled}"
    );
    let history = ["context", "fact", "history", "lexer", "--json", "--project", "parser"];
    let known = json_of(&root.run_ok(&history).await);
    assert_eq!(json_of(&far.run_ok(&history).await), known);
    assert!(["rewritten here", "rewritten there"].iter().all(|value| known.to_string().contains(value)));
    let quiet = json_of(&root.run_ok(&["context", "sync", &url, "--all", "--json"]).await);
    assert_eq!(
        (&quiet["pulled"]["imported"], &quiet["pushed"]["imported"]),
        (&json!(0), &json!(0)),
        "{quiet}"
    );
}
