//! A server that `connect` starts, or asks for, and what it serves to agents.
//! Must not know: the form of settings.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use blackbox::Cli;
use rustix::process::{Pid, Signal, kill_process};

use super::{done, files, home, server};

#[tokio::test]
async fn without_a_server_the_one_command_that_starts_it_is_said() {
    let home = Cli::new(&[("PLENARY_URL", "http://127.0.0.1:9"), ("USER", "nick")]);
    let ran = home.run_in(&home.dir().join("a"), &["connect", "claude"]).await;
    assert!(ran.code == 3 && ran.err.contains("plenary serve"), "{ran:?}");
    assert_eq!(files(&home.dir().join("a")), BTreeMap::new());
}

/// Servers that were started with that home.
fn servers_of(home: &Path) -> Vec<Pid> {
    let home = format!("HOME={}", home.display());
    let processes = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let is_one = |process: &std::fs::DirEntry| {
        let read = |name: &str| std::fs::read(process.path().join(name)).unwrap_or_default();
        let has =
            |bytes: Vec<u8>, word: &str| bytes.split(|byte| *byte == 0).any(|part| part == word.as_bytes());
        has(read("cmdline"), "serve") && has(read("environ"), &home)
    };
    let pids = processes.filter(is_one).filter_map(|process| process.file_name().to_str()?.parse().ok());
    pids.filter_map(Pid::from_raw).collect()
}

/// Ends the servers of a home that nobody else would end.
struct Ending(PathBuf);

impl Drop for Ending {
    fn drop(&mut self) {
        for server in servers_of(&self.0) {
            // One that has ended by itself is no matter.
            let _ended = kill_process(server, Signal::KILL);
        }
    }
}

#[tokio::test]
async fn a_server_is_started_where_none_answers_and_goes_on() {
    let home = Cli::new(&[("USER", "nick"), ("PATH", "/usr/bin:/bin"), ("PLENARY_LISTEN", "127.0.0.1:0")]);
    let (directory, _ending) = (home.dir().join("a"), Ending(home.dir()));
    let elsewhere = ["connect", "claude", "--serve", "--url", "http://127.0.0.1:9"];
    let refused = home.run_in(&directory, &elsewhere).await;
    assert!(refused.code == 2 && refused.err.contains("leave out the URL"), "{refused:?}");
    assert_eq!(servers_of(&home.dir()).len(), 0);
    let ran = home.run_in(&directory, &["connect", "claude", "--serve"]).await;
    assert!(done(&ran).contains("is connected here as @nick.claude-a"), "{ran:?}");
    assert!(ran.err.contains("a server now runs at http://127.0.0.1:"), "{ran:?}");
    home.run_ok(&["status"]).await;
    let again = home.run_in(&directory, &["connect", "codex", "--serve"]).await;
    assert!(done(&again).contains("@nick.codex-a") && !again.err.contains("a server now runs"), "{again:?}");
    assert_eq!(servers_of(&home.dir()).len(), 1, "one is enough");
    let ended = home.run_in(&home.dir(), &["stop"]).await;
    assert_eq!(done(&ended), "the server has stopped\n");
    assert_eq!(servers_of(&home.dir()).len(), 0);
    let none = home.run_in(&directory, &["stop"]).await;
    assert!(
        none.code != 0 && none.err.contains("no server that `plenary connect --serve` started"),
        "{none:?}"
    );
}

#[tokio::test]
async fn parallel_connections_start_one_server_which_can_be_stopped() {
    let home = Cli::new(&[("USER", "nick"), ("PATH", "/usr/bin:/bin"), ("PLENARY_LISTEN", "127.0.0.1:0")]);
    let _ending = Ending(home.dir());
    let directories = ["a", "b", "c"].map(|name| home.dir().join(name));
    let connect = |directory| home.run_in(directory, &["connect", "claude", "--serve"]);
    let ran = tokio::join!(connect(&directories[0]), connect(&directories[1]), connect(&directories[2]));
    for ran in [ran.0, ran.1, ran.2] {
        done(&ran);
    }
    assert_eq!(servers_of(&home.dir()).len(), 1);
    assert_eq!(done(&home.run_in(&home.dir(), &["stop"]).await), "the server has stopped\n");
}

#[tokio::test]
async fn where_the_server_of_somebody_else_answers_a_second_user_gets_one_at_a_free_port() {
    let other = server().await;
    let home = Cli::new(&[("USER", "nick"), ("PATH", "/usr/bin:/bin")]);
    let (directory, _ending) = (home.dir().join("a"), Ending(home.dir()));
    let data = home.dir().join(".local/share/plenary");
    std::fs::create_dir_all(&data).expect("a directory");
    // A crash left this behind, and another user's server has the port now.
    let leads_to_other = || std::fs::write(data.join("server-url"), other.url()).expect("a file");
    leads_to_other();
    let refused = home.run_in(&directory, &["connect", "claude"]).await;
    assert!(refused.code == 4 && refused.err.contains("is not yours"), "{refused:?}");
    let ran = home.run_in(&directory, &["connect", "claude", "--serve"]).await;
    assert!(done(&ran).contains("is connected here as @nick.claude-a"), "{ran:?}");
    assert!(ran.err.contains("a server now runs at http://127.0.0.1:"), "{ran:?}");
    assert!(!ran.err.contains(&other.url()), "{ran:?}");
    done(&home.run_in(&directory, &["me"]).await);
    done(&home.run_in(&directory, &["stop"]).await);
    leads_to_other();
    let again = home.run_in(&directory, &["connect", "codex", "--serve"]).await;
    assert!(done(&again).contains("@nick.codex-a"), "its operator's token is not the other's: {again:?}");
}

#[tokio::test]
async fn what_an_agent_is_told_is_served_and_printed() {
    let server = server().await;
    let home = home(&server);
    let served = server.stranger().get("/llms.txt").await;
    let text = String::from_utf8(served.body.to_vec()).expect("a text");
    assert!(text.starts_with("# Plenary\n\n> "), "{text}");
    assert_eq!(home.run_ok(&["teach"]).await, text.trim_end());
    assert!(home.run_ok(&["teach", "skill"]).await.starts_with("---\nname: plenary\n"));
    assert!(home.run_ok(&["teach", "agents-md"]).await.starts_with("<!-- plenary: begin -->\n## Plenary\n"));
}

#[tokio::test]
async fn a_server_is_started_on_a_named_directory_without_one() {
    let home = Cli::new(&[
        ("USER", "nick"),
        ("PATH", "/usr/bin:/bin"),
        ("PLENARY_LISTEN", "127.0.0.1:0"),
        ("PLENARY_DATA", "../data"),
    ]);
    let (directory, _ending) = (home.dir().join("a"), Ending(home.dir()));
    let without = home.run_in(&directory, &["connect", "claude"]).await;
    assert!(without.code == 3 && without.err.contains("no server runs on"), "{without:?}");
    let shown = home.run_in(&directory, &["connect", "claude", "--serve", "--dry-run"]).await;
    assert!(done(&shown).contains("plenary"), "{shown:?}");
    assert_eq!((servers_of(&home.dir()).len(), files(&directory)), (0, BTreeMap::new()));
    let ran = home.run_in(&directory, &["connect", "claude", "--serve"]).await;
    assert!(done(&ran).contains("is connected here as @nick.claude-a"), "{ran:?}");
    assert!(home.dir().join("data/server-url").exists(), "{ran:?}");
    assert_eq!(done(&home.run_in(&directory, &["stop"]).await), "the server has stopped\n");
    let again = home.run_in(&directory, &["connect", "codex", "--serve"]).await;
    assert!(done(&again).contains("@nick.codex-a"), "{again:?}");
}
