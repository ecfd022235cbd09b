//! Several sessions of one agent: an answer goes to the session that asked, everything else to the one that works.

use std::time::Duration;

use blackbox::{Cli, eventually, eventually_within};
use serde_json::{Value, json};

use super::{
    Coding,
    context::{Program, asked, state},
    delivery::{send, two},
};

/// Calls a tool as the coding agent does that runs in the program.
async fn call(home: &Cli, coding: &Coding, program: &Program, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    request(home, coding, program, "tools/call", params).await["structuredContent"].clone()
}

/// A request as the coding agent makes it that runs in the program; the result.
async fn request(home: &Cli, coding: &Coding, program: &Program, method: &str, params: Value) -> Value {
    let line = coding.line("Stop");
    let plenary = line.split(" hook ").next().expect("a program");
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let line = format!("PLENARY_AGENT_PID={} {plenary} mcp --as {}", program.id(), coding.handle);
    let ran = home.shell(&coding.directory, &line, &input).await;
    let answers = ran.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answer = answers.into_iter().find(|answer| answer["id"] == 2);
    answer.unwrap_or_else(|| panic!("no answer: {ran:?}"))["result"].clone()
}

/// The texts of a page of the inbox.
fn texts(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap_or_else(|| panic!("a page: {page}"));
    items.iter().filter_map(|item| item["text"].as_str()).collect()
}

#[tokio::test]
async fn an_answer_goes_to_the_session_that_asked_and_news_to_the_one_that_works() {
    let (_server, home, claude, codex) = two().await;
    let (day, night) = (Program::begin(), Program::begin());
    day.at(&home, &codex, "day", "SessionStart").await;
    day.at(&home, &codex, "day", "UserPromptSubmit").await;
    let sent = call(&home, &codex, &day, "send", json!({"to": [claude.handle], "text": "Which port?"})).await;
    let id = sent["session_id"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned();
    day.at(&home, &codex, "day", "Stop").await;
    night.at(&home, &codex, "night", "SessionStart").await;
    night.at(&home, &codex, "night", "UserPromptSubmit").await;
    home.run_in(&claude.directory, &["session", "join", &id, "--as", &claude.handle]).await;
    let answer = (id.clone(), send(&home, &claude, &id, "Port 7420.").await);
    let news = asked(&home, &claude, &codex, "The build is red.").await;
    let works = night.at(&home, &codex, "night", "PostToolUse").await;
    assert!(works.out.contains("The build is red.") && !works.out.contains("7420"), "{works:?}");
    assert_eq!(night.at(&home, &codex, "night", "PostToolUse").await.out, "");
    assert_eq!(state(&home, &claude, &news).await, "in_context");
    assert_eq!(state(&home, &claude, &answer).await, "delivered", "it waits for the session that asked");
    let asks = day.at(&home, &codex, "day", "UserPromptSubmit").await;
    assert!(asks.out.contains("Port 7420.") && !asks.out.contains("red"), "{asks:?}");
    day.at(&home, &codex, "day", "Stop").await;
    assert_eq!(state(&home, &claude, &answer).await, "in_context");
}

#[tokio::test]
async fn a_session_that_ends_or_is_killed_hands_over_the_answers_that_it_waits_for() {
    let (_server, home, claude, _) = two().await;
    let asker = Coding::begin(&home, "claude", "c").await;
    let other = Program::begin();
    other.at(&home, &asker, "other", "SessionStart").await;
    for is_killed in [false, true] {
        let (mut program, session) = (Program::begin(), format!("ends-{is_killed}"));
        program.at(&home, &asker, &session, "SessionStart").await;
        let text = format!("Which port {is_killed}?");
        let arguments = json!({"to": [claude.handle], "text": text, "topic": text});
        let sent = call(&home, &asker, &program, "send", arguments).await;
        let id = sent["session_id"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned();
        home.run_in(&claude.directory, &["session", "join", &id, "--as", &claude.handle]).await;
        send(&home, &claude, &id, &format!("Answer {is_killed}.")).await;
        assert_eq!(other.at(&home, &asker, "other", "UserPromptSubmit").await.out, "", "it is the other's");
        if is_killed {
            program.kill();
        } else {
            program.at(&home, &asker, &session, "SessionEnd").await;
        }
        eventually("the other session is shown it", || async {
            let ran = other.at(&home, &asker, "other", "PostToolUse").await;
            ran.out.contains(&format!("Answer {is_killed}.")).then_some(())
        })
        .await;
        other.at(&home, &asker, "other", "Stop").await;
    }
}

#[tokio::test]
async fn a_message_to_one_session_is_in_the_hook_that_announces_it() {
    let (_server, home, claude, codex) = two().await;
    let (day, night) = (Program::begin(), Program::begin());
    day.at(&home, &codex, "day-1", "SessionStart").await;
    night.at(&home, &codex, "night-1", "SessionStart").await;
    night.at(&home, &codex, "night-1", "UserPromptSubmit").await;
    let to = format!("{}/day", codex.handle);
    let sent =
        home.run_in(&claude.directory, &["send", &to, "By the command.", "--as", &claude.handle]).await;
    assert_eq!(sent.code, 0, "{sent:?}");
    assert_eq!(night.at(&home, &codex, "night-1", "PostToolUse").await.out, "", "it is the other's");
    let first = day.at(&home, &codex, "day-1", "UserPromptSubmit").await;
    assert!(first.out.contains("By the command."), "{first:?}");
    assert!(!first.out.contains("session.invited"), "the message stands for its invitation: {first:?}");

    let caller = Program::begin();
    caller.at(&home, &claude, "c-1", "SessionStart").await;
    let to = format!("{}/night", codex.handle);
    call(&home, &claude, &caller, "send", json!({"to": [to], "text": "By the tool."})).await;
    let next = night.at(&home, &codex, "night-1", "PostToolUse").await;
    assert!(next.out.contains("By the tool."), "{next:?}");
    let inbox = caller.at(&home, &claude, "c-1", "Stop").await;
    assert!(!inbox.out.contains("By the"), "{inbox:?}");
}

#[tokio::test]
async fn a_coding_session_is_listed_once_and_not_beside_its_tools() {
    let (_server, home, claude, codex) = two().await;
    let mut tools = home.start(&["--as", &codex.handle, "mcp"]);
    tools.write_line(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    let rows = || async { home.run_in(&claude.directory, &["who", "--as", &claude.handle]).await.out };
    eventually("the tools are listed", || async { rows().await.contains("/mcp-").then_some(()) }).await;
    codex.at(&home, "SessionStart", json!({})).await;
    eventually_within(Duration::from_secs(12), "only the session is listed", || async {
        let rows = rows().await;
        (!rows.contains("/mcp-") && rows.contains("/s-1 (codex)")).then_some(())
    })
    .await;
    tools.end().await;
}

/// Two sessions of one agent: the first asks another agent, the second is used since, then the answer comes. Returns both, the
/// conversation, and the answer.
async fn answered(home: &Cli, claude: &Coding, codex: &Coding) -> (Program, Program, String, (String, u64)) {
    let (day, night) = (Program::begin(), Program::begin());
    day.at(home, codex, "day-1", "SessionStart").await;
    let sent = call(home, codex, &day, "send", json!({"to": [claude.handle], "text": "Which port?"})).await;
    let id = sent["session_id"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned();
    night.at(home, codex, "night-1", "SessionStart").await;
    night.at(home, codex, "night-1", "UserPromptSubmit").await;
    home.run_in(&claude.directory, &["session", "join", &id, "--as", &claude.handle]).await;
    let answer = (id.clone(), send(home, claude, &id, "Port 7420.").await);
    (day, night, id, answer)
}

#[tokio::test]
async fn the_inbox_of_one_session_leaves_what_waits_for_another() {
    let (_server, home, claude, codex) = two().await;
    let (day, night, id, answer) = answered(&home, &claude, &codex).await;
    let to = format!("{}/day", codex.handle);
    let named = home.run_in(&claude.directory, &["send", &to, "You alone.", "--as", &claude.handle]).await;
    assert!(named.code == 0 && !named.err.contains("not joined"), "{named:?}");
    asked(&home, &claude, &codex, "The build is red.").await;

    // No text counts or announces what another session gets.
    let resource = json!({"uri": "plenary://inbox"});
    let read = request(&home, &codex, &night, "resources/read", resource).await["contents"].to_string();
    assert!(read.contains("red") && !read.contains("7420") && !read.contains("You alone"), "{read}");
    let briefing = request(&home, &codex, &night, "prompts/get", json!({"name": "orient"})).await.to_string();
    assert!(briefing.contains("1 unread for") && !briefing.contains("more: read"), "{briefing}");
    let hook = night.at(&home, &codex, "night-1", "PostToolUse").await.out;
    assert!(hook.contains("1 unread for") && hook.contains("red"), "{hook}");
    assert!(!hook.contains("more: read"), "{hook}");

    // Not even a model that asks for everything and acknowledges it takes it away.
    asked(&home, &claude, &codex, "The build is green.").await;
    let page = call(&home, &codex, &night, "inbox", json!({})).await;
    assert!(texts(&page).contains(&"The build is green."), "{page}");
    assert!(!page.to_string().contains("7420") && !page.to_string().contains("You alone"), "{page}");
    assert!(page.get("held").is_none(), "{page}");
    let page = call(&home, &codex, &night, "inbox", json!({"ack": page["cursor"]})).await;
    assert_eq!((texts(&page), &page["unread"]), (vec![], &json!(0)), "{page}");
    let page = call(&home, &codex, &night, "inbox", json!({"ack": page["cursor"]})).await;
    assert_eq!(texts(&page), Vec::<&str>::new(), "{page}");
    assert_eq!(state(&home, &claude, &answer).await, "delivered");
    let own = day.at(&home, &codex, "day-1", "UserPromptSubmit").await.out;
    assert!(own.contains("Port 7420.") && own.contains("You alone.") && !own.contains("build"), "{own}");
    day.at(&home, &codex, "day-1", "Stop").await;
    // The other session has acknowledged a later page of the same inbox.
    assert_eq!(state(&home, &claude, &answer).await, "acknowledged");

    // When that session ends, it is anybody's.
    let last = (id.clone(), send(&home, &claude, &id, "Port 7421.").await);
    assert_eq!(texts(&call(&home, &codex, &night, "inbox", json!({})).await), Vec::<&str>::new());
    drop(day);
    eventually_within(Duration::from_secs(12), "the other session has it", || async {
        (texts(&call(&home, &codex, &night, "inbox", json!({})).await) == ["Port 7421."]).then_some(())
    })
    .await;
    assert_eq!(state(&home, &claude, &last).await, "in_context");
}

#[tokio::test]
async fn the_session_that_asked_reads_its_answer_with_the_tool() {
    let (_server, home, claude, codex) = two().await;
    let (day, _night, _, answer) = answered(&home, &claude, &codex).await;
    assert_eq!(texts(&call(&home, &codex, &day, "inbox", json!({})).await), ["Port 7420."]);
    assert_eq!(state(&home, &claude, &answer).await, "in_context");
}

#[tokio::test]
async fn a_session_cannot_write_to_another_of_its_agent_and_is_told_who_can() {
    let (_server, home, _, codex) = two().await;
    let (day, night) = (Program::begin(), Program::begin());
    day.at(&home, &codex, "day-1", "SessionStart").await;
    night.at(&home, &codex, "night-1", "SessionStart").await;
    let to = format!("{}/day", codex.handle);
    let refused = home.run_in(&codex.directory, &["send", &to, "Your branch.", "--as", &codex.handle]).await;
    assert!(refused.code == 2 && refused.err.contains("you speak as"), "{refused:?}");
    assert!(refused.err.contains(&format!("plenary --as @nick send {to} TEXT")), "{refused:?}");
    let params = json!({"name": "send", "arguments": {"to": [to], "text": "Your branch."}});
    let by_tool = request(&home, &codex, &night, "tools/call", params).await;
    let is_refused = by_tool["isError"] == true && by_tool.to_string().contains("invalid_arguments");
    assert!(is_refused && by_tool.to_string().contains("You are @nick"), "{by_tool}");
    let said = home.run_in(&codex.directory, &["send", &to, "Your branch.", "--as", "@nick"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let shown = day.at(&home, &codex, "day-1", "UserPromptSubmit").await;
    assert!(shown.out.contains("Your branch."), "{shown:?}");
}
