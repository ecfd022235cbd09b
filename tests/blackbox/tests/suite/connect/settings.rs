//! What is written into the settings of a person, and what of theirs stays.
//! Must not know: what the server does.

use std::{collections::BTreeMap, path::Path};

use serde_json::json;

use super::{ALL, agents::git, connected, done, files, home, json_of, server};

#[tokio::test]
async fn what_a_person_has_stays_to_the_byte_and_a_second_time_changes_nothing() {
    let server = server().await;
    let home = home(&server);
    for (coding, project, user) in ALL {
        for (flag, names) in [("--project-scope", project), ("--user", user)] {
            let directory = home.dir().join(format!("work/{coding}{flag}"));
            let base = if flag == "--user" { home.dir() } else { directory.clone() };
            let mut copies = 0;
            // A module is a file of ours alone.
            for name in names.iter().filter(|name| !name.ends_with(".js") && !name.ends_with(".ts")) {
                let path = base.join(name);
                std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
                let text = if name.ends_with(".toml") {
                    "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"other\"\n"
                } else {
                    "{\n\t// mine\n\t\"z\": 1,\n\t\"mcpServers\": { },\n\t\"hooks\": {\"Stop\": []}\n}\n"
                };
                // Claude Code's, Codex's and Cursor's own take no comments.
                let text = if name.contains(".gemini") || name.contains("mcp") {
                    text.to_owned()
                } else {
                    text.replace("\t// mine\n", "")
                };
                std::fs::write(&path, text).expect("a file");
                copies += 1;
            }
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::create_dir_all(home.dir().join(".config")).expect("a directory");
            std::fs::create_dir_all(home.dir().join(".local/state")).expect("a directory");
            let before = files(&base);
            let shown = home.run_in(&directory, &["connect", coding, flag, "--dry-run"]).await;
            assert!(done(&shown).contains("+ "), "{shown:?}");
            assert_eq!(files(&base), before, "a dry run changes nothing");
            let first = home.run_in(&directory, &["connect", coding, flag]).await;
            assert!(done(&first).contains("is connected here as @nick."), "{first:?}");
            assert_eq!(first.err.matches("the earlier file is saved in").count(), copies, "{first:?}");
            let there = files(&base);
            let again = home.run_in(&directory, &["connect", coding, flag]).await;
            assert!(done(&again).contains("is already connected as @nick."), "{again:?}");
            assert_eq!(files(&base), there);
            let gone = home.run_in(&directory, &["disconnect", coding]).await;
            assert!(done(&gone).ends_with("is no longer connected\n"), "{gone:?}");
            assert_eq!(files(&base), before, "{coding} {flag}");
        }
    }
}

#[tokio::test]
async fn from_nothing_everything_is_made_and_goes_again() {
    let server = server().await;
    let home = home(&server);
    for (coding, names, _) in ALL {
        let directory = home.dir().join(format!("My {coding}!"));
        let handle = connected(&home, &directory, coding).await;
        assert_eq!(handle, format!("@nick.{coding}-my-{coding}"));
        for name in names {
            assert!(directory.join(name).exists(), "{name}");
        }
        let ran = home.run_in(&directory, &["disconnect", coding, "--json"]).await;
        assert_eq!(json_of(done(&ran))["agent"], json!(handle));
        assert_eq!(files(&directory), BTreeMap::new(), "{coding}");
        let none = home.run_in(&directory, &["disconnect", coding]).await;
        assert!(none.code == 0 && none.err.contains("is not connected"), "{none:?}");
        let none = home.run_in(&directory, &["disconnect", coding, "--json"]).await;
        let nothing =
            json!({"client": coding, "agent": null, "dry_run": false, "agent_deleted": false, "files": []});
        assert_eq!(json_of(done(&none)), nothing);
    }
}

/// Both write it at their start, also into settings that were made for them.
#[tokio::test]
async fn a_schema_that_opencode_and_kilo_write_by_themselves_keeps_no_file() {
    let server = server().await;
    let home = home(&server);
    for coding in ["opencode", "kilo"] {
        let directory = home.dir().join(coding);
        let path = directory.join(format!("{coding}.json"));
        for (more, stays) in [("", false), ("\"theme\": \"dark\", ", true)] {
            connected(&home, &directory, coding).await;
            let text = std::fs::read_to_string(&path).expect("its settings");
            let schema = format!("{{\"$schema\": \"https://example.com/config.json\", {more}");
            std::fs::write(&path, text.replacen('{', &schema, 1)).expect("it writes");
            done(&home.run_in(&directory, &["disconnect", coding]).await);
            assert_eq!(path.exists(), stays, "{coding}");
        }
        let left = json_of(&std::fs::read_to_string(&path).expect("what its person wrote stays"));
        assert_eq!(left, json!({"$schema": "https://example.com/config.json", "theme": "dark"}));
    }
}

#[tokio::test]
async fn settings_that_cannot_be_changed_are_named_and_left() {
    let server = server().await;
    let home = home(&server);
    for (name, text, words) in [
        (".mcp.json", "{\"mcpServers\": {\"plenary\": {\"command\": \"mine\"}}}", "mcpServers/plenary"),
        (".mcp.json", "{\"mcpServers\": [", "it is not JSON"),
        (".mcp.json", "{\"mcpServers\": []}", "is not an object"),
        (".claude/settings.local.json", "{\"hooks\": {\"Stop\": {}}}", "is not a list"),
    ] {
        let directory = home.dir().join(format!("{}-{}", words.replace(['/', ' '], "-"), text.len()));
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(&path, text).expect("a file");
        let ran = home.run_in(&directory, &["connect", "claude"]).await;
        assert!(ran.code == 1 && ran.err.contains(words) && ran.err.contains(name), "{ran:?}");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
        assert_eq!(files(&directory).values().filter(|text| !text.is_empty()).count(), 1, "all or nothing");
    }
}

/// Where the record of the connection cannot be written, no agent is created, and Git ignores no more files.
#[tokio::test]
async fn a_directory_that_takes_no_record_gets_no_agent() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    std::fs::create_dir(&directory).expect("a directory");
    git(&directory, &["init"]);
    let excluded = || std::fs::read_to_string(directory.join(".git/info/exclude")).unwrap_or_default();
    let before = excluded();
    std::fs::write(directory.join(".plenary"), "in the way").expect("a file");
    let ran = home.run_in(&directory, &["connect", "claude"]).await;
    assert!(ran.code == 2 && ran.err.contains(".plenary cannot be used"), "{ran:?}");
    let agents = home.run(&["agent", "list"]).await;
    assert!(!agents.out.contains("claude-a"), "{agents:?}");
    assert_eq!(excluded(), before);
    std::fs::remove_file(directory.join(".plenary")).expect("the file goes");
    connected(&home, &directory, "claude").await;
}

#[tokio::test]
async fn core_tools_are_called_unasked_unless_their_person_wants_to_be_asked() {
    let server = server().await;
    let home = home(&server);
    let (directory, asking) = (home.dir().join("a"), home.dir().join("b"));
    let ran = home.run_in(&directory, &["connect", "claude"]).await;
    assert!(ran.code == 0 && ran.err.contains("without asking you; connect with --ask"), "{ran:?}");
    let read = |directory: &Path, name: &str| std::fs::read_to_string(directory.join(name)).expect("a file");
    let settings = json_of(&read(&directory, ".claude/settings.local.json"));
    let allowed = settings["permissions"]["allow"].as_array().expect("a list");
    assert!(allowed.len() == 12 && allowed.contains(&json!("mcp__plenary__send")), "{settings}");
    connected(&home, &directory, "codex").await;
    assert_eq!(read(&directory, ".codex/config.toml").matches("approval_mode = \"approve\"").count(), 12);
    connected(&home, &directory, "gemini").await;
    let settings = json_of(&read(&directory, ".gemini/settings.json"));
    assert_eq!(settings["mcpServers"]["plenary"]["trust"], true);
    for coding in ["claude", "codex", "gemini"] {
        for flags in [&["--ask"][..], &[]] {
            let ran = home.run_in(&asking, &[&["connect", coding], flags].concat()).await;
            assert!(ran.code == 0 && !ran.err.contains("without asking"), "what was chosen stays: {ran:?}");
        }
    }
    assert!(!read(&asking, ".claude/settings.local.json").contains("permissions"));
    assert!(!read(&asking, ".codex/config.toml").contains("approve"));
    assert!(!read(&asking, ".gemini/settings.json").contains("trust"));
    // What was allowed before is allowed no longer.
    for (coding, name, word) in [
        ("claude", ".claude/settings.local.json", "permissions"),
        ("codex", ".codex/config.toml", "approve"),
        ("gemini", ".gemini/settings.json", "trust"),
    ] {
        done(&home.run_in(&directory, &["connect", coding, "--ask"]).await);
        assert!(!read(&directory, name).contains(word), "{coding}: {}", read(&directory, name));
        done(&home.run_in(&directory, &["disconnect", coding]).await);
        assert!(!directory.join(name).exists(), "{coding}");
    }
    // A rule that was there is not ours to take.
    let own = home.dir().join("c");
    let path = own.join(".claude/settings.local.json");
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    let text = "{\"permissions\": {\"allow\": [\"mcp__plenary__send\", \"Bash(ls)\"]}}\n";
    std::fs::write(&path, text).expect("a file");
    connected(&home, &own, "claude").await;
    done(&home.run_in(&own, &["disconnect", "claude"]).await);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), text);
}

#[tokio::test]
async fn what_codex_writes_into_the_block_stays() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    connected(&home, &directory, "codex").await;
    let path = directory.join(".codex/config.toml");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let (head, end) = text.split_once("# <<<").expect("a block");
    let theirs = "\n[mcp_servers.plenary.tools.agent_send]\napproval_mode = \"approve\"\n\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n";
    let head = head.replacen("approval_mode = \"approve\"", "approval_mode = \"prompt\"", 1);
    std::fs::write(&path, format!("{head}{theirs}# <<<{end}")).expect("a file");
    connected(&home, &directory, "codex").await;
    let text = std::fs::read_to_string(&path).expect("it is there");
    for piece in ["agent_send", "projects.\"/x\"", "\"prompt\""] {
        assert_eq!(text.matches(piece).count(), 1, "{piece}: {text}");
    }
    done(&home.run_in(&directory, &["disconnect", "codex"]).await);
    let left = std::fs::read_to_string(&path).expect("what is not ours stays");
    assert_eq!(left.trim(), "[projects.\"/x\"]\ntrust_level = \"trusted\"");
}

#[tokio::test]
async fn what_git_would_add_names_no_agent_and_no_path_of_the_machine() {
    let server = server().await;
    let home = home(&server);
    for (coding, names, _) in ALL {
        let directory = home.dir().join(format!("git/{coding}"));
        std::fs::create_dir_all(&directory).expect("a directory");
        git(&directory, &["init"]);
        let exclude = directory.join(".git/info/exclude");
        std::fs::create_dir_all(exclude.parent().expect("a parent")).expect("a directory");
        std::fs::write(&exclude, "*.o\n").expect("a file");
        connected(&home, &directory, coding).await;
        connected(&home, &directory, coding).await;
        assert!(names.iter().all(|name| directory.join(name).exists()), "{coding}");
        git(&directory, &["add", "--all"]);
        assert_eq!(git(&directory, &["ls-files", "--cached"]), "", "{coding}");
        done(&home.run_in(&directory, &["disconnect", coding]).await);
        assert_eq!(std::fs::read_to_string(&exclude).expect("a file"), "*.o\n", "{coding}");
    }
}

#[tokio::test]
async fn where_nobody_reads_the_output_every_file_is_written_and_removed() {
    let server = server().await;
    let home = home(&server);
    let (read, unread) = (home.dir().join("read/a"), home.dir().join("unread/a"));
    std::fs::create_dir_all(&unread).expect("a directory");
    connected(&home, &read, "claude").await;
    let unheard = async |command: &str| {
        let line = format!("{} {command} claude >/dev/full", blackbox::binary().display());
        let ran = home.shell(&unread, &line, "").await;
        assert_eq!(ran.code, 1, "it says so: {ran:?}");
    };
    unheard("connect").await;
    let names = |directory: &Path| -> Vec<_> {
        let files = files(directory).into_keys();
        files.map(|path| path.strip_prefix(directory).expect("below").to_owned()).collect()
    };
    assert_eq!(names(&unread), names(&read));
    done(&home.run_in(&unread, &["doctor"]).await);
    unheard("disconnect").await;
    assert_eq!(files(&unread), BTreeMap::new());
}

#[tokio::test]
async fn without_the_record_of_the_directory_everything_goes_again() {
    let server = server().await;
    let home = home(&server);
    for (coding, again) in [("claude", false), ("claude", true), ("codex", true), ("opencode", false)] {
        let directory = home.dir().join(format!("{coding}-{again}"));
        connected(&home, &directory, coding).await;
        std::fs::remove_dir_all(directory.join(".plenary")).expect("a directory");
        if again {
            connected(&home, &directory, coding).await;
        }
        let gone = home.run_in(&directory, &["disconnect", coding]).await;
        assert!(done(&gone).ends_with("is no longer connected\n"), "{gone:?}");
        assert_eq!(files(&directory), BTreeMap::new(), "{coding}");
        let none = home.run_in(&directory, &["disconnect", coding]).await;
        assert!(none.code == 0 && none.err.contains("is not connected"), "{none:?}");
    }
}

#[tokio::test]
async fn files_in_work_trees_of_every_kind_are_excluded() {
    let server = server().await;
    let home = home(&server);
    let (main, other, bare) = (home.dir().join("main"), home.dir().join("other"), home.dir().join("bare"));
    for repository in [&main, &other] {
        std::fs::create_dir_all(repository).expect("a directory");
        git(repository, &["init"]);
        git(repository, &["commit", "--allow-empty", "-m", "1"]);
    }
    git(&main, &["-c", "protocol.file.allow=always", "submodule", "add", "../other", "libs/sub"]);
    git(&main, &["commit", "-m", "2"]);
    git(&main, &["worktree", "add", "../side"]);
    git(&home.dir(), &["clone", "--bare", "main", "bare"]);
    git(&bare, &["worktree", "add", "../feature"]);
    let (sub, side, feature) = (main.join("libs/sub"), home.dir().join("side"), home.dir().join("feature"));
    let trees = [&main, &sub, &side, &feature];
    for tree in trees {
        connected(&home, tree, "claude").await;
    }
    let clean = |tree: &Path| assert_eq!(git(tree, &["status", "--short"]), "", "{}", tree.display());
    trees.iter().for_each(|tree| clean(tree));
    // The main tree wrote the lines, and the worktree still needs them.
    for tree in [&main, &sub, &feature, &side] {
        done(&home.run_in(tree, &["disconnect", "claude"]).await);
        trees.iter().for_each(|tree| clean(tree));
    }
    for exclude in [main.join(".git/info/exclude"), main.join(".git/modules/libs/sub/info/exclude")] {
        let text = std::fs::read_to_string(&exclude).expect("a file");
        assert!(!text.contains(".mcp.json"), "{}: {text}", exclude.display());
    }
}

#[tokio::test]
async fn a_connection_names_whom_the_agent_can_write_to_and_its_files_from_here() {
    let server = server().await;
    let home = home(&server);
    let first = home.run_in(&home.dir().join("a"), &["connect", "claude"]).await;
    assert!(done(&first).starts_with(".mcp.json  +") && first.err.contains("no other agent"), "{first:?}");
    done(&home.run_in(&home.dir().join("a"), &["doctor"]).await);
    let second = home.run_in(&home.dir().join("b"), &["connect", "codex"]).await;
    assert!(second.err.contains("ask @nick.claude-a what it works on"), "{second:?}");
    let lone = home.run(&["agent", "add", "@nick.lone"]).await;
    assert!(lone.err.contains("`plenary agent allow @nick.lone \"@nick.*\"`"), "{lone:?}");
}
