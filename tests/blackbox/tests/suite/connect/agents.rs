//! Which agent a coding agent becomes, and stays.
//! Must not know: the form of settings.

use std::{collections::BTreeMap, path::Path};

use blackbox::{Cli, CommandOutput, Server, binary};
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
    let args = ["connect", "claude", "--as", "@acme.bot", "--project", "lexer"];
    let rebound = home.run_in(&directory, &args).await;
    assert!(rebound.err.contains("bound to the project parser until now"), "{rebound:?}");
    home.run_ok(&["agent", "add", "@acme.other"]).await;
    home.run_ok(&["token", "remove", "@acme.other"]).await;
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
    let list = home.run_ok(&["agent", "list"]).await;
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

#[tokio::test]
async fn a_directory_has_the_same_agent_again_whoever_starts_it() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("same");
    let claude = connected(&home, &directory, "claude").await;
    done(&home.run_in(&directory, &["disconnect", "claude"]).await);
    assert_eq!(connected(&home, &directory, "claude").await, claude, "connected again");
    done(&home.run_in(&directory, &["disconnect", "claude"]).await);
    done(&home.run_in(&directory, &["connect", "claude", "--user"]).await);
    let me = home.shell(&directory, &format!("CLAUDECODE=1 {} me", binary().display()), "").await;
    assert!(done(&me).contains(&claude), "by the settings of the user: {me:?}");
    done(&home.run_in(&directory, &["disconnect", "claude", "--delete-agent"]).await);
    assert_eq!(connected(&home, &directory, "claude").await, format!("{claude}-2"), "it was deleted");
}

/// The hook of an event, as the settings of the user run it in a directory.
async fn user_hook(home: &Cli, directory: &Path, event: &str) -> CommandOutput {
    std::fs::create_dir_all(directory).expect("a directory");
    let settings = std::fs::read_to_string(home.dir().join(".claude/settings.json")).expect("settings");
    let line = json_of(&settings)["hooks"][event][0]["hooks"][0]["command"].clone();
    let input = json!({"session_id": "s-1", "cwd": directory, "hook_event_name": event}).to_string();
    let ran = home.shell(directory, line.as_str().expect("a line"), &input).await;
    assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
    ran
}

#[tokio::test]
async fn settings_of_the_user_make_the_agent_of_each_directory_at_its_first_use() {
    let server = server().await;
    let home = home(&server);
    let (three, four) = (home.dir().join("d3"), home.dir().join("d4"));
    done(&home.run_in(&three, &["connect", "claude", "--user"]).await);
    let start = user_hook(&home, &four, "SessionStart").await;
    assert!(start.out.contains("the agent @nick.claude-d4 "), "{start:?}");
    assert_eq!(user_hook(&home, &four, "Stop").await.out, "", "and nothing is new for it");
    let again = user_hook(&home, &four, "SessionStart").await;
    assert!(again.out.contains("the agent @nick.claude-d4 "), "it stays the same: {again:?}");
    let five = home.dir().join("d5");
    std::fs::create_dir_all(&five).expect("a directory");
    let calls = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}),
    ];
    let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let tools = home.shell(&five, &format!("PLENARY_CLIENT=claude {} mcp", binary().display()), &input).await;
    assert!(tools.out.contains("@nick.claude-d5"), "{tools:?}");
    assert_eq!(std::fs::read_dir(&five).expect("a directory").count(), 0, "no file is made there");
    let ran = home.run_in(&four, &["doctor"]).await;
    assert!(done(&ran).contains("the server accepts it as @nick.claude-d4"), "{ran:?}");
    assert!(!ran.out.contains("the plugin brings them"), "{ran:?}");

    let second = home.run_in(&four, &["connect", "claude", "--user"]).await;
    assert!(done(&second).contains("is already connected as @nick.claude-d4"), "{second:?}");
    done(&home.run_in(&three, &["disconnect", "claude"]).await);
    assert!(!home.dir().join(".claude/settings.json").exists(), "what was made goes, wherever it is said");
    let ran = home.run_in(&four, &["doctor"]).await;
    assert!(ran.code == 1 && ran.out.contains("plenary connect claude"), "{ran:?}");
}

/// Runs a command of Git in a directory; what it prints.
pub(super) fn git(directory: &Path, args: &[&str]) -> String {
    let known = ["-c", "user.name=n", "-c", "user.email=n@example.org"];
    let mut command = std::process::Command::new("git");
    command.current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null").args(known).args(args);
    let ran = command.output().expect("Git is installed");
    assert!(ran.status.success(), "{args:?}: {ran:?}");
    String::from_utf8(ran.stdout).expect("it prints UTF-8")
}

#[tokio::test]
async fn a_directory_and_a_link_to_it_have_one_agent() {
    let server = server().await;
    let home = home(&server);
    done(&home.run_in(&home.dir().join("a"), &["connect", "claude", "--user"]).await);
    let (real, link) = (home.dir().join("real"), home.dir().join("link"));
    std::fs::create_dir_all(&real).expect("a directory");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    for directory in [&link, &real] {
        let start = user_hook(&home, directory, "SessionStart").await;
        assert!(start.out.contains("the agent @nick.claude-real "), "{start:?}");
    }
}

#[tokio::test]
async fn a_worktree_has_the_agent_of_the_main_tree() {
    let server = server().await;
    let home = home(&server);
    let (main, side) = (home.dir().join("main"), home.dir().join("side"));
    std::fs::create_dir_all(&main).expect("a directory");
    git(&main, &["init"]);
    git(&main, &["commit", "--allow-empty", "-m", "1"]);
    git(&main, &["worktree", "add", "../side"]);
    let claude = connected(&home, &main, "claude").await;
    let status = home.run_in(&side, &["status"]).await;
    assert!(status.out.contains(&claude), "{status:?}");
    let doctor = home.run_in(&side, &["doctor"]).await;
    assert!(doctor.code == 1 && doctor.out.contains("worktree"), "{doctor:?}");
    assert_eq!(connected(&home, &side, "claude").await, claude);
    let doctor = home.run_in(&side, &["doctor"]).await;
    assert!(done(&doctor).contains(&format!("the server accepts it as {claude}")), "{doctor:?}");
}

#[tokio::test]
async fn where_several_are_connected_a_command_names_them() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("both");
    let claude = connected(&home, &directory, "claude").await;
    let codex = connected(&home, &directory, "codex").await;
    let me = home.run_in(&directory, &["me"]).await;
    assert!(me.code == 4 && me.err.contains(&claude) && me.err.contains(&codex), "{me:?}");
    let sent = home.run_in(&directory, &["send", &claude, "From the person"]).await;
    done(&sent);
    assert!(sent.err.contains("from @nick.nick"), "{sent:?}");
}

/// The hook says once that no server answers, the tools are listed all the same, and both go on when the server is there.
#[tokio::test]
async fn the_agent_of_a_directory_is_made_when_the_server_is_there() {
    let mut server = server().await;
    let home = Cli::new(&[
        ("PLENARY_DATA", &server.data().display().to_string()),
        ("PLENARY_CLIENT", "claude"),
        ("USER", "Nick"),
        ("PATH", "/usr/bin:/bin"),
        ("PLENARY_HOOK_DEADLINE_MS", "15000"),
    ]);
    let (three, four) = (home.dir().join("d3"), home.dir().join("d4"));
    done(&home.run_in(&three, &["connect", "claude", "--user"]).await);
    server.kill().await;
    let start = user_hook(&home, &four, "SessionStart").await;
    let said = json_of(&start.out)["systemMessage"].to_string();
    assert!(said.contains("no server answers"), "{start:?}");
    assert_eq!(user_hook(&home, &four, "UserPromptSubmit").await.out, "", "it is said once");

    let mut tools = home.start(&["mcp"]);
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let call = |id: u8| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}});
    tools.write_line(&begin.to_string()).await;
    let begun = json_of(&tools.line().await);
    assert_eq!(begun["result"]["serverInfo"]["name"], "plenary", "{begun}");
    tools.write_line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
    tools.write_line(&call(2).to_string()).await;
    let refused = json_of(&tools.line().await);
    assert_eq!(refused["error"]["data"]["reason"], "unreachable", "{refused}");
    tools.note_with("no agent is made for this directory yet").await;

    server.restart().await;
    user_hook(&home, &four, "UserPromptSubmit").await;
    let me = home.shell(&four, &format!("CLAUDECODE=1 {} me", binary().display()), "").await;
    assert!(done(&me).contains("@nick.claude-d4"), "{me:?}");
    tools.write_line(&call(3).to_string()).await;
    let answered = tools.line_with("\"id\":3").await;
    assert!(answered.contains("@nick.claude-"), "{answered}");
    assert_eq!(tools.end().await.code, 0);
}

#[tokio::test]
async fn a_deletion_that_fails_changes_nothing_and_can_be_repeated() {
    let mut server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let claude = connected(&home, &directory, "claude").await;
    let before = files(&directory);
    let delete = ["disconnect", "claude", "--delete-agent"];
    let shown = home.run_in(&directory, &[&delete[..], &["--dry-run"]].concat()).await;
    let said = format!("nothing was changed; the agent {claude} would be deleted permanently");
    assert!(shown.code == 0 && shown.err.contains(&said), "{shown:?}");
    server.stop().await;
    let failed = home.run_in(&directory, &delete).await;
    assert_eq!(failed.code, 3, "{failed:?}");
    assert_eq!(files(&directory), before);
    server.restart().await;
    // It counts as deleted if it is gone already.
    done(&home.run_in(&directory, &["agent", "rm", &claude, "--yes"]).await);
    let deleted = home.run_in(&directory, &delete).await;
    assert!(
        deleted.code == 0 && deleted.err.contains(&format!("{claude} is deleted permanently")),
        "{deleted:?}"
    );
    assert!(!directory.join(".mcp.json").exists());
}

/// The operator's token is good, also where the person at this machine has no owner yet.
#[tokio::test]
async fn status_tells_a_good_token_from_a_missing_owner() {
    let server = server().await;
    let home = home(&server);
    let status = home.run(&["status"]).await;
    assert!(status.code == 0 && status.out.contains("accepted as the operator's"), "{status:?}");
    let json = json_of(&home.run_ok(&["status", "--json"]).await);
    assert_eq!(json["accepted_as"], "operator");
    let bad = home.run(&["--token", &format!("plo_{}", "0".repeat(64)), "status"]).await;
    assert!(bad.code == 4 && bad.out.contains("not accepted"), "{bad:?}");
    // The token of an owner who is not called like the user of this machine is good too.
    let acme = json_of(&self::home(&server).run_ok(&["owner", "add", "acme", "--json"]).await);
    let acme = acme["token"].as_str().expect("a token");
    let status = home.run(&["--token", acme, "status"]).await;
    assert!(status.code == 0 && status.out.contains("accepted as that of the owner acme"), "{status:?}");
    assert!(status.err.contains("--as @acme"), "{status:?}");
    let json = json_of(&home.run_ok(&["--token", acme, "status", "--json"]).await);
    assert_eq!(json["accepted_as"], "~acme");
    let bad = home.run(&["--token", &format!("plw_{}", "0".repeat(64)), "status"]).await;
    assert!(bad.code == 4 && bad.out.contains("not accepted"), "{bad:?}");
}

/// A token that the operator has chosen has no prefix that says what it is.
#[tokio::test]
async fn status_knows_a_token_that_the_operator_has_chosen() {
    const CHOSEN: &str = "a-token-that-the-operator-has-chosen-0123456789";
    let builder = Server::builder().own_operator_token();
    let server = builder.env("PLENARY_OPERATOR_TOKEN", CHOSEN).start().await;
    let data = server.data().display().to_string();
    let status = async |token: &str| {
        let env = [("PLENARY_DATA", data.as_str()), ("USER", "Nick"), ("PLENARY_OPERATOR_TOKEN", token)];
        Cli::new(&env).run(&["status"]).await
    };
    let good = status(CHOSEN).await;
    assert!(good.code == 0 && good.out.contains("accepted as the operator's"), "{good:?}");
    let bad = status("another-token-that-nobody-has-chosen-0123456789").await;
    assert!(bad.code == 4 && bad.out.contains("not accepted"), "{bad:?}");
}

#[tokio::test]
async fn the_operator_who_adds_an_owner_goes_on_speaking_as_before() {
    let server = server().await;
    let home = home(&server);
    let fresh = home.run(&["status"]).await;
    assert!(fresh.code == 0 && fresh.err.contains("has no owner `nick`"), "{fresh:?}");
    let claude = connected(&home, &home.dir().join("a"), "claude").await;
    let added = home.run(&["owner", "add", "bob"]).await;
    assert!(added.err.contains("plenary owner rotate-token bob --show-token"), "{added:?}");
    let again = home.run(&["owner", "add", "bob"]).await;
    assert!(again.code == 1 && again.err.contains("rotate-token OWNER"), "{again:?}");
    let sent = json_of(&home.run_ok(&["send", &claude, "from nick", "--json"]).await);
    assert_eq!(sent["from"], "@nick.nick");
    let status = home.run_ok(&["status"]).await;
    assert!(status.contains("person  @nick.nick") && status.contains("accepted as @nick.nick"), "{status}");
    assert_eq!(connected(&home, &home.dir().join("b"), "codex").await, "@nick.codex-b");
}

#[tokio::test]
async fn parallel_connections_lose_nothing() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let connect = |coding| connected(&home, &directory, coding);
    tokio::join!(connect("claude"), connect("codex"), connect("gemini"), connect("cursor"));
    for coding in ["claude", "codex", "gemini", "cursor"] {
        done(&home.run_in(&directory, &["disconnect", coding]).await);
    }
    assert_eq!(files(&directory), BTreeMap::new());
}

#[tokio::test]
async fn the_last_of_two_coding_agents_removes_a_directory_of_both() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    for order in [["antigravity", "goose"], ["goose", "antigravity"]] {
        for coding in ["antigravity", "goose"] {
            connected(&home, &directory, coding).await;
        }
        for coding in order {
            done(&home.run_in(&directory, &["disconnect", coding]).await);
        }
        assert_eq!(files(&directory), BTreeMap::new(), "{order:?}");
    }
}
