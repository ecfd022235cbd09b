//! `plenary claude`, `codex` and `gemini`: started connected, with no file of the directory touched.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use blackbox::{Cli, Server, TempDir};
use serde_json::Value;

use crate::connect::{connected, json_of, server};

/// Programs that say how they were started: their variables, then their arguments, one a line.
fn programs(directory: &Path) {
    for name in ["claude", "codex", "gemini", "opencode", "goose", "copilot", "agy"] {
        let path = directory.join(name);
        let script = "#!/bin/sh\necho \"$PLENARY_AS\"\necho \"$GEMINI_CLI_HOME$OPENCODE_CONFIG_CONTENT\"\nfor arg in \"$@\"; do echo \"$arg\"; done\n";
        std::fs::write(&path, script).expect("a script");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it may be run");
    }
}

fn home(server: &Server, bin: &TempDir) -> Cli {
    programs(bin.path());
    let path = format!("{}:/usr/bin:/bin", bin.path().display());
    Cli::new(&[("PLENARY_DATA", &server.data().display().to_string()), ("USER", "Nick"), ("PATH", &path)])
}

/// The agent, the variable of Gemini CLI or OpenCode, and the arguments.
async fn started(home: &Cli, directory: &Path, args: &[&str]) -> (String, String, Vec<String>) {
    let ran = home.run_in(directory, args).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut lines = ran.out.lines().map(str::to_owned);
    (lines.next().expect("an agent"), lines.next().expect("a variable"), lines.collect())
}

fn behind<'a>(args: &'a [String], flag: &str) -> &'a str {
    let at = args.iter().position(|arg| arg == flag).unwrap_or_else(|| panic!("{flag}: {args:?}"));
    &args[at + 1]
}

#[tokio::test]
async fn a_coding_agent_is_started_connected_and_the_directory_stays_as_it_is() {
    let (server, bin) = (server().await, TempDir::new());
    let home = home(&server, &bin);
    let directory = home.dir().join("parser");
    let (handle, _, args) = started(&home, &directory, &["claude", "-p", "Fix it", "--verbose"]).await;
    assert_eq!(handle, "@nick.claude-parser");
    assert_eq!(args[args.len() - 3..], ["-p", "Fix it", "--verbose"], "what stands behind is handed over");
    let settings: Value = json_of(behind(&args, "--settings"));
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"] {
        let command = settings["hooks"][event][0]["hooks"][0]["command"].as_str().expect(event);
        assert!(command.ends_with(&format!("hook {event} --client claude")), "{command}");
    }
    let servers = json_of(behind(&args, "--mcp-config"));
    let words = servers["mcpServers"]["plenary"]["args"].to_string();
    assert!(words.contains("\"mcp\"") && words.contains("@nick.claude-parser"), "{servers}");
    assert_eq!(started(&home, &directory, &["claude"]).await.0, handle, "it stays the same");
    assert_ne!(
        started(&home, &home.dir().join("other/parser"), &["claude"]).await.0,
        handle,
        "elsewhere another"
    );
    let named = started(&home, &directory, &["--as", "@nick.reviewer", "claude"]).await.0;
    assert_eq!(named, "@nick.reviewer");
    assert_eq!(started(&home, &directory, &["claude"]).await.0, handle);
    let left = std::fs::read_dir(&directory).expect("the directory").count();
    assert_eq!(left, 0, "no file is made there");
}

#[tokio::test]
async fn codex_is_told_by_flags() {
    let (server, bin) = (server().await, TempDir::new());
    let home = home(&server, &bin);
    let directory = home.dir().join("web");
    let (handle, _, args) = started(&home, &directory, &["codex", "exec", "--json", "x"]).await;
    assert_eq!(handle, "@nick.codex-web");
    assert_eq!(args[args.len() - 3..], ["exec", "--json", "x"]);
    let flags: Vec<&String> =
        args.iter().skip_while(|arg| *arg != "-c").filter(|arg| arg.contains('=')).collect();
    let has = |key: &str| flags.iter().any(|flag| flag.starts_with(&format!("{key}=")));
    assert!(has("mcp_servers.plenary") && has("hooks.SessionStart") && has("hooks.Stop"), "{flags:?}");
    assert_eq!(std::fs::read_dir(&directory).expect("the directory").count(), 0);
}

/// It takes neither servers nor hooks by a flag, and system-wide settings only where root alone may write.
#[tokio::test]
async fn gemini_gets_a_home_of_links_with_an_extension_wherever_the_home_is() {
    let (server, bin) = (server().await, TempDir::new());
    let home = home(&server, &bin);
    let (directory, theirs) = (home.dir().join("web"), home.dir().join(".gemini"));
    std::fs::set_permissions(home.dir(), std::fs::Permissions::from_mode(0o775)).expect("others may write");
    std::fs::create_dir_all(theirs.join("extensions/maps")).expect("an extension of the user's");
    std::fs::write(theirs.join("settings.json"), "{/* mine */}").expect("settings of the user's");
    let (handle, variable, args) = started(&home, &directory, &["gemini", "hello"]).await;
    assert_eq!((handle.as_str(), args), ("@nick.gemini-web", vec!["hello".to_owned()]));
    let ours = Path::new(&variable).join(".gemini");
    let text =
        |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    assert_eq!(text(&ours.join("settings.json")), "{/* mine */}");
    assert!(ours.join("extensions/maps").is_dir(), "the extensions of the user are there");
    let extension = ours.join("extensions/plenary");
    let servers = json_of(&text(&extension.join("gemini-extension.json")));
    let words = servers["mcpServers"]["plenary"]["args"].to_string();
    assert!(words.contains("\"mcp\"") && words.contains(&handle), "{servers}");
    let hooks = json_of(&text(&extension.join("hooks/hooks.json")));
    let command = hooks["hooks"]["BeforeAgent"][0]["hooks"][0]["command"].as_str().expect("a command");
    assert!(command.ends_with(" hook BeforeAgent --client gemini"), "{command}");
    assert!(text(&ours.join("policies/plenary.toml")).contains("mcpName = \"plenary\""));
    // What it writes is the user's.
    std::fs::write(ours.join("settings.json"), "{/* changed */}").expect("settings are written");
    assert_eq!(text(&theirs.join("settings.json")), "{/* changed */}");
    assert_eq!(started(&home, &directory, &["gemini"]).await.1, variable, "the same home each time");
    assert!(!theirs.join("extensions/plenary").exists(), "nothing of ours comes into the user's settings");
    assert_eq!(std::fs::read_dir(&directory).expect("the directory").count(), 0);
}

/// Settings that are there already are merged with ours, also with comments; those that cannot be read are not replaced.
#[tokio::test]
async fn settings_in_a_variable_and_in_a_file_that_it_names_are_kept() {
    let (server, bin) = (server().await, TempDir::new());
    let home = home(&server, &bin);
    let script = "#!/bin/sh\ncat \"$QWEN_CODE_SYSTEM_DEFAULTS_PATH\"\necho \"$OPENCODE_CONFIG_CONTENT\"\n";
    for name in ["qwen", "opencode"] {
        std::fs::write(bin.path().join(name), script).expect("a script");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.path().join(name), executable).expect("it may be run");
    }
    let (directory, defaults) = (home.dir().join("web"), home.dir().join("defaults.json"));
    std::fs::create_dir(&directory).expect("a directory");
    for (text, code) in [("{ // off\n\"telemetry\": {\"enabled\": false},}", 0), ("{\"telemetry\": ", 1)] {
        std::fs::write(&defaults, text).expect("a file");
        for (variable, value, name) in [
            ("QWEN_CODE_SYSTEM_DEFAULTS_PATH", defaults.display().to_string(), "qwen"),
            ("OPENCODE_CONFIG_CONTENT", text.to_owned(), "opencode"),
        ] {
            let line = format!("{variable}='{value}' '{}' {name}", blackbox::binary().display());
            let ran = home.shell(&directory, &line, "").await;
            assert_eq!(ran.code, code, "{ran:?}");
            assert_eq!(code == 0, ran.out.contains("telemetry") && ran.out.contains("plenary"), "{ran:?}");
        }
    }
}

#[tokio::test]
async fn each_is_told_in_the_way_that_it_has() {
    let (server, bin) = (server().await, TempDir::new());
    let home = home(&server, &bin);
    let directory = home.dir().join("web");
    let (handle, content, args) = started(&home, &directory, &["opencode", "run", "x"]).await;
    assert_eq!((handle.as_str(), args), ("@nick.opencode-web", vec!["run".to_owned(), "x".to_owned()]));
    let settings = json_of(&content);
    let line = settings["mcp"]["plenary"]["command"].to_string();
    assert!(line.contains("\"mcp\"") && line.contains(&handle), "{settings}");
    let module =
        settings["plugin"][0].as_str().and_then(|name| name.strip_prefix("file://")).expect("a file");
    let module = std::fs::read_to_string(module).expect("the module");
    assert!(
        module.contains(" hook Stop --client opencode") && module.contains(" hook Wait --client"),
        "{module}"
    );

    let (_, _, args) = started(&home, &directory, &["goose"]).await;
    assert_eq!(args[..2], ["session", "--with-extension"], "without a command it is a session");
    assert!(args[2].contains(" mcp --as @nick.goose-web"), "{args:?}");
    let (_, _, args) = started(&home, &directory, &["goose", "run", "-t", "x"]).await;
    assert_eq!((args[0].as_str(), &args[3..]), ("run", &["-t".to_owned(), "x".to_owned()][..]), "{args:?}");
    let (_, _, args) = started(&home, &directory, &["copilot", "-p", "x"]).await;
    let servers = json_of(behind(&args, "--additional-mcp-config"));
    assert_eq!(servers["mcpServers"]["plenary"]["type"], "local", "{servers}");
    assert_eq!(behind(&args, "--allow-tool"), "plenary(ask)", "{args:?}");
    assert_eq!(args.iter().filter(|arg| arg.as_str() == "--allow-tool").count(), 12, "{args:?}");

    let ran = home.run_in(&directory, &["antigravity"]).await;
    assert!(ran.code == 2 && ran.err.contains("`plenary connect antigravity`"), "{ran:?}");
    assert_eq!(std::fs::read_dir(&directory).expect("the directory").count(), 0, "no file is made there");
    let handle = connected(&home, &directory, "antigravity").await;
    assert_eq!(started(&home, &directory, &["antigravity", "x"]).await.0, handle, "it is started as `agy`");
}

#[tokio::test]
async fn where_it_is_connected_its_settings_are_used_and_the_command_line_is_that_agent() {
    let (server, bin) = (server().await, TempDir::new());
    let home = home(&server, &bin);
    let directory = home.dir().join("app");
    let handle = connected(&home, &directory, "claude").await;
    let (agent, _, args) = started(&home, &directory, &["claude", "go"]).await;
    assert_eq!((&agent, args), (&handle, vec!["go".to_owned()]), "nothing is said twice");
    let me = home.run_in(&directory, &["me"]).await;
    assert!(me.code == 0 && me.out.contains(&handle), "{me:?}");
    let person = home.run_in(&directory, &["--as", "@nick", "me"]).await;
    assert!(person.code == 0 && person.out.contains("@nick.nick"), "{person:?}");
    std::fs::remove_file(bin.path().join("claude")).expect("the program");
    let gone = home.run_in(&directory, &["claude"]).await;
    assert!(gone.code == 1 && gone.err.contains("Claude Code"), "{gone:?}");
}

#[tokio::test]
async fn below_a_connected_directory_it_is_the_agent_of_that_and_what_is_not_installed_makes_none() {
    let (server, bin) = (server().await, TempDir::new());
    let home = home(&server, &bin);
    let directory = home.dir().join("n1");
    let (launched, _, _) = started(&home, &directory, &["claude"]).await;
    let connected = connected(&home, &directory, "claude").await;
    assert_eq!(connected, launched, "it is one agent, started or connected");
    let (below, _, args) = started(&home, &directory.join("sub"), &["claude"]).await;
    assert_eq!(below, connected);
    assert!(args.contains(&"--settings".to_owned()), "Claude Code reads no settings from above: {args:?}");
    let (codex, _, _) = started(&home, &directory.join("sub"), &["codex"]).await;
    assert_eq!(codex, "@nick.codex-sub", "nothing is connected above");

    let before = home.run_ok(&["agent", "list"]).await;
    let absent = home.run_in(&directory, &["amp"]).await;
    assert!(absent.code == 1 && absent.err.contains("install Amp"), "{absent:?}");
    let help = home.run_in(&home.dir().join("elsewhere"), &["claude", "--help"]).await;
    assert!(help.code == 0 && help.out.ends_with("--help\n"), "{help:?}");
    assert_eq!(home.run_ok(&["agent", "list"]).await, before, "no agent was made for either");
}
