//! The binary as a script meets it: exit codes, standard output and error, the tokens it keeps, what it asks of a
//! server.
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

mod stage;

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use stage::{Home, Server, TestServer};

const CREATED: &str = r#"{"handle":"@nick.a","token":"pla_made","policy":"allowlist","allowlist":[]}"#;
const SENT: &str = r#"{"message_id":"msg_01","sequence":4}"#;

#[test]
fn exit_codes_are_as_documented() {
    let home = Home::new("exit-codes");
    let refusing =
        Server::answering(&[("404 Not Found", r#"{"error":{"code":"not_found","message":"Not found."}}"#)]);
    let locked = Server::answering(&[(
        "401 Unauthorized",
        r#"{"error":{"code":"invalid_authorization","message":"Unknown token."}}"#,
    )]);
    let healthy = Server::answering(&[("200 OK", r#"{"sessions":[]}"#)]);
    let token = ["--token", "pla_x"];
    let code = |url: &str, args: &[&str]| home.run(url, &[args, &token].concat()).code;
    assert_eq!(code(&healthy.url, &["session", "list"]), 0);
    assert_eq!(code(&refusing.url, &["session", "show", "sess_01"]), 1);
    assert_eq!(code(&healthy.url, &["session", "show", "nonsense"]), 2);
    assert_eq!(code(&healthy.url, &["session", "send", "sess_01"]), 2);
    assert_eq!(code("ftp://x", &["session", "list"]), 2);
    assert_eq!(code(&Server::absent(), &["session", "list"]), 3);
    assert_eq!(code(&locked.url, &["session", "list"]), 4);
    assert_eq!(home.run(&healthy.url, &["session", "list"]).code, 4, "no token at all");
    assert_eq!(home.run(&healthy.url, &["--version"]).code, 0);
}

#[test]
fn errors_name_the_next_step_and_leave_standard_output_alone() {
    let home = Home::new("next-steps");
    let absent = home.run(&Server::absent(), &["session", "list", "--token", "pla_x"]);
    assert!(absent.out.is_empty() && absent.err.contains("plenary serve"), "{absent:?}");
    let refusing =
        Server::answering(&[("404 Not Found", r#"{"error":{"code":"not_found","message":"Not found."}}"#)]);
    let args = ["session", "join", "sess_01", "--token", "pla_x"];
    let unknown = home.run(&refusing.url, &args);
    assert!(unknown.out.is_empty() && unknown.err.contains("does not say which"), "{unknown:?}");
    let json = home.run(&refusing.url, &[&args[..], &["--json"]].concat());
    let error: Value = serde_json::from_str(&json.err).unwrap();
    assert_eq!((json.out.as_str(), &error["error"]["code"]), ("", &Value::from("not_found")));
    assert!(error["error"]["next"].is_string());
    let page = Server::answering(&[("404 Not Found", "<html>no such page</html>")]);
    let elsewhere = home.run(&page.url, &["session", "list", "--token", "pla_x"]);
    assert!(elsewhere.err.contains("correct the URL of the server"), "{elsewhere:?}");
}

#[test]
fn a_new_agents_token_is_kept_privately_and_used_from_then_on() {
    let home = Home::new("agent-add");
    let served = TestServer::start(&home, "127.0.0.1:0");
    let add = ["agent", "add", "@nick.a", "--policy", "open", "--allow", "@acme.*"];
    let add = home.run(&served.url, &add);
    assert_eq!((add.code, add.out.as_str()), (0, "@nick.a\n"), "{add:?}");
    assert!(!add.err.contains("pla_"), "{add:?}");
    assert_eq!(home.tokens().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    home.output_of(&served.url, &["use", "@nick.a"]);
    assert!(home.output_of(&served.url, &["status"]).contains("accepted as @nick.a"));
}

#[test]
fn what_others_read_of_an_agent_is_set_and_removed() {
    let home = Home::new("agent-edit");
    let served = TestServer::start(&home, "127.0.0.1:0");
    home.output_of(&served.url, &["agent", "add", "@nick.a"]);
    let card = home.work().join("card.md");
    std::fs::create_dir_all(home.work()).unwrap();
    std::fs::write(&card, "# Nick\n\nSays no.\n").unwrap();
    let card = card.to_str().unwrap();
    let set =
        ["--display-name", "Nick's", "--description", "Says no", "--card", card, "--visibility", "public"];
    home.output_of(&served.url, &[&["agent", "edit", "@nick.a"][..], &set].concat());
    let shown = home.output_of(&served.url, &["agent", "show", "@nick.a"]);
    for part in ["Nick's", "Says no", "public", "# Nick\n\nSays no."] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    home.output_of(&served.url, &["agent", "edit", "@nick.a", "--display-name", "", "--card-body", ""]);
    let shown = home.output_of(&served.url, &["agent", "show", "@nick.a"]);
    assert!(shown.contains("Says no") && !shown.contains("Nick's") && !shown.contains("# Nick"), "{shown}");
}

#[test]
fn a_tokens_file_open_to_others_stops_everything_before_the_server_is_asked() {
    let home = Home::new("open-file");
    let server = Server::answering(&[("201 Created", CREATED)]);
    home.save_token(&server.url, "@nick.a", "pla_1");
    std::fs::set_permissions(home.tokens(), std::fs::Permissions::from_mode(0o644)).unwrap();
    for args in
        [&["session", "list", "--as", "@nick.a"][..], &["agent", "add", "@nick.b", "--token", "plo_x"]]
    {
        let ran = home.run(&server.url, args);
        assert!(ran.code == 4 && ran.err.contains("chmod 600"), "{ran:?}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn the_agent_of_a_directory_is_found_from_below_and_outweighed_by_environment_and_flag() {
    let home = Home::new("upward");
    let served = TestServer::start(&home, "127.0.0.1:0");
    for handle in ["@nick.file", "@nick.env", "@nick.flag"] {
        home.output_of(&served.url, &["agent", "add", handle]);
    }
    home.output_of(&served.url, &["use", "@nick.file"]);
    let below = home.work().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let check_identity = |vars: &[(&str, &str)], args: &[&str], handle: &str| {
        let mut command = home.plenary(&served.url);
        command.current_dir(&below).envs(vars.iter().copied()).arg("status").args(args);
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(output.contains(&format!("accepted as {handle}")), "{output}");
    };
    check_identity(&[], &[], "@nick.file");
    let environment = [("PLENARY_AS", "@nick.env")];
    check_identity(&environment, &[], "@nick.env");
    check_identity(&environment, &["--as", "@nick.flag"], "@nick.flag");
}

#[test]
fn asp_35_a_send_survives_a_lost_connection_under_one_key() {
    let home = Home::new("send");
    let busy = r#"{"error":{"code":"overloaded","message":"Too much is waiting."}}"#;
    let server = Server::answering(&[("", ""), ("503 Service Unavailable", busy), ("201 Created", SENT)]);
    let args = ["session", "send", "sess_01", "-", "--attach", "https://x/y", "--token", "pla_x"];
    let ran = home.run_with_input(&server.url, &args, "two\nlines\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "#4 msg_01\n"), "{ran:?}");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(
        requests
            .iter()
            .all(|one| one.line == "POST /sessions/sess_01/messages" && one.body == requests[0].body)
    );
    let body: Value = serde_json::from_str(&requests[0].body).unwrap();
    assert_eq!(body["content"][0], serde_json::json!({"type": "text", "text": "two\nlines"}));
    assert_eq!(body["content"][1], serde_json::json!({"type": "file", "url": "https://x/y"}));
    assert_eq!(body["idempotency_key"].as_str().unwrap().len(), 32);
}

#[test]
fn json_is_the_servers_own() {
    let home = Home::new("json");
    let odd = r#"{ "sessions" : [], "future": 1 }"#;
    let server = Server::answering(&[("200 OK", odd)]);
    let ran = home.run(&server.url, &["session", "list", "--json", "--token", "pla_x"]);
    assert_eq!((ran.out, ran.err), (format!("{odd}\n"), String::new()));
}

#[test]
fn events_are_read_page_by_page_and_made_harmless() {
    let home = Home::new("events");
    let event = |sequence: u64, content: &str| {
        format!(
            r#"{{"type":"session.message","session_id":"sess_01","event_id":"evt_{sequence}","sequence":{sequence},"created_at":0,
                "payload":{{"id":"msg_{sequence}","sender":"@nick.a","sequence":{sequence},"created_at":0,"content":"{content}"}}}}"#
        )
    };
    let first = format!(r#"{{"events":[{}],"next_cursor":"1"}}"#, event(1, "hi\\u001b[2J"));
    let second = format!(r#"{{"events":[{}]}}"#, event(2, "there"));
    let server = Server::answering(&[("200 OK", &first), ("200 OK", &second)]);
    let ran = home.run(&server.url, &["session", "events", "sess_01", "--token", "pla_x"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines,
        ["1970-01-01 00:00:00Z #1 @nick.a: hi\\u{1b}[2J", "1970-01-01 00:00:00Z #2 @nick.a: there"],
        "{ran:?}"
    );
    assert!(server.requests()[1].line.contains("after_sequence=1&"), "{:?}", server.requests()[1].line);
}

#[test]
fn removing_an_agent_asks_first_and_forgets_its_token() {
    let home = Home::new("remove");
    let server = Server::answering(&[("204 No Content", "")]);
    home.save_token(&server.url, "@nick.a", "pla_1");
    let unasked = home.run(&server.url, &["agent", "rm", "@nick.a", "--token", "plo_x"]);
    assert!(unasked.code == 2 && server.requests().is_empty(), "{unasked:?}");
    let removed = home.run(&server.url, &["agent", "rm", "@nick.a", "--yes", "--token", "plo_x"]);
    assert_eq!((removed.code, removed.out.as_str()), (0, "removed @nick.a\n"));
    assert!(!std::fs::read_to_string(home.tokens()).unwrap().contains("pla_1"));
}

#[test]
fn status_says_what_it_found_and_where() {
    let home = Home::new("status");
    let health = r#"{"ok":true,"status":"ok","network":"local","version":"9","uptime_ms":180000}"#;
    let me = r#"{"handle":"@nick.a","policy":"open","allowlist":[]}"#;
    let usage = r#"{"stored_bytes":1300000,"stored_bytes_max":10737418240,"stored_events":3214,"stored_events_max":10000000}"#;
    let server = Server::answering(&[("200 OK", health), ("200 OK", me), ("200 OK", usage)]);
    let ran = home.run(&server.url, &["status", "--as", "@nick.a", "--token", "pla_x"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for expected in [
        "up, network local, version 9, for 3 min",
        "@nick.a (from --as)",
        "--token: accepted as @nick.a",
        "1.2 MiB of 10.0 GiB, 3,214 of 10,000,000 events",
    ] {
        assert!(ran.out.contains(expected), "{expected}: {ran:?}");
    }
    let down = home.run(&Server::absent(), &["status", "--json"]);
    let answer: Value = serde_json::from_str(&down.out).unwrap();
    assert_eq!((down.code, &answer["health"]), (3, &Value::Null));
}

#[test]
fn completions_come_for_every_shell() {
    let home = Home::new("completions");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = home.run("http://127.0.0.1:1", &["completions", shell]);
        assert!(ran.code == 0 && ran.out.contains("rotate-token"), "{shell}");
    }
}
