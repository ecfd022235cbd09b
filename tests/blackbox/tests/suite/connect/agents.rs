//! Which agent a coding agent becomes, and stays.
//! Must not know: the form of settings.

use serde_json::json;

use super::{connected, done, files, home, json_of, server};

#[tokio::test]
async fn a_directory_has_an_agent_for_each_coding_agent_and_they_reach_each_other() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("parser");
    let claude = connected(&home, &directory, "claude").await;
    let codex = connected(&home, &directory, "codex").await;
    assert_eq!((claude.as_str(), codex.as_str()), ("@nick.claude-parser", "@nick.codex-parser"));
    assert_eq!(connected(&home, &directory, "claude").await, claude, "it stays who it is");
    let elsewhere = home.dir().join("other/parser");
    assert_eq!(connected(&home, &elsewhere, "claude").await, "@nick.claude-parser-2");
    let args = ["session", "create", "--as", &claude, "--invite", &codex, "--message", "hello", "--json"];
    let made = home.run_in(&directory, &args).await;
    assert_eq!(made.code, 0, "{made:?}");
    let settings = std::fs::read_to_string(directory.join(".mcp.json")).expect("it is there");
    let arguments = json_of(&settings)["mcpServers"]["plenary"]["args"].clone();
    assert_eq!(arguments, json!(["mcp", "--as", claude]));
    let tokens = std::fs::read_to_string(home.dir().join(".config/plenary/tokens.toml")).expect("saved");
    assert_eq!(tokens.matches("pla_").count(), 3);
    for (path, text) in files(&directory) {
        assert!(!text.contains("pla_") && !text.contains("plo_"), "no token stands in {path:?}");
    }
    let gone = home.run_in(&directory, &["disconnect", "codex", "--delete-agent"]).await;
    assert_eq!(gone.code, 0, "{gone:?}");
    let absent = home.run_in(&directory, &["agent", "show", &codex]).await;
    assert_eq!(absent.code, 1, "{absent:?}");
    assert_eq!(connected(&home, &directory, "codex").await, "@nick.codex-parser-2", "its name stays taken");
}

#[tokio::test]
async fn a_named_agent_is_taken_or_made_and_a_project_is_bound() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let args = ["connect", "claude", "--as", "@acme.bot", "--project", "parser"];
    let ran = home.run_in(&directory, &args).await;
    assert!(done(&ran).contains("Claude Code is connected here as @acme.bot"), "{ran:?}");
    let bound = std::fs::read_to_string(directory.join(".plenary.toml")).expect("it is bound");
    assert_eq!(bound, "project = \"parser\"\n");
    home.done(&["agent", "add", "@acme.other"]).await;
    home.done(&["token", "remove", "@acme.other"]).await;
    let taken = home.run_in(&home.dir().join("b"), &["connect", "claude", "--as", "@acme.other"]).await;
    assert!(taken.code == 4 && taken.err.contains("token add @acme.other"), "{taken:?}");
    assert!(!home.dir().join("b/.mcp.json").exists(), "nothing is written for nobody");
    let moved = home.run_in(&directory, &["connect", "claude", "--user"]).await;
    assert!(moved.code == 2 && moved.err.contains("plenary disconnect claude"), "{moved:?}");
}

#[tokio::test]
async fn an_agent_stays_who_it_is_whatever_became_of_its_token_and_of_the_servers_address() {
    let mut server = server().await;
    let home = home(&server);
    let (directory, elsewhere) = (home.dir().join("a"), home.dir().join("b"));
    let claude = connected(&home, &directory, "claude").await;
    let codex = connected(&home, &elsewhere, "codex").await;
    done(&home.run_in(&directory, &["doctor"]).await);
    let tokens = home.dir().join(".config/plenary/tokens.toml");
    let text = std::fs::read_to_string(&tokens).expect("saved");
    std::fs::write(&tokens, text.replace("= \"pla_", "= \"pla_0")).expect("a file");
    assert_eq!(connected(&home, &directory, "claude").await, claude, "with a token that does not hold");
    done(&home.run_in(&directory, &["doctor"]).await);
    let before = server.url();
    server.crash().await;
    assert_ne!(server.url(), before, "it listens elsewhere");
    let broken = home.run_in(&directory, &["doctor"]).await;
    assert!(broken.code == 1 && broken.out.contains("`plenary connect claude`"), "{broken:?}");
    assert_eq!(connected(&home, &directory, "claude").await, claude, "at another address");
    assert_eq!(connected(&home, &elsewhere, "codex").await, codex);
    done(&home.run_in(&directory, &["doctor"]).await);
    let list = home.done(&["agent", "list"]).await;
    assert!(!list.contains("-2"), "no agent is made beside it: {list}");
}

#[tokio::test]
async fn an_agent_of_the_same_name_on_another_server_is_left_alone() {
    let (here, there) = (server().await, server().await);
    let home = home(&here);
    let directory = home.dir().join("a");
    let claude = connected(&home, &directory, "claude").await;
    let url = there.url();
    let operator = std::fs::read_to_string(there.data().join("operator-token")).expect("a token");
    let made = there
        .bearer(operator.trim())
        .post("/_admin/agents", json!({"handle": claude, "policy": "open"}))
        .await
        .ok(201);
    let theirs = there.bearer(made["token"].as_str().expect("a token"));
    let args = ["connect", "claude", "--url", &url, "--token", operator.trim(), "--json"];
    let ran = home.run_in(&directory, &args).await;
    assert_eq!(json_of(done(&ran))["agent"], json!(format!("{claude}-2")), "{ran:?}");
    theirs.get("/agents/me").await.ok(200);
}

#[tokio::test]
async fn who_is_connected_by_the_plugin_has_a_path_too() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let connect = home.run_in(&directory, &["connect", "claude", "--identity-only"]).await;
    assert_eq!(done(&connect), "Claude Code is connected here as @nick.claude-a\n");
    let ran = home.run_in(&directory, &["doctor"]).await;
    assert!(done(&ran).contains("the server accepts it as @nick.claude-a"), "{ran:?}");
}
