//! `plenary mcp`: the same over standard input and output, for clients that start a program.

use std::{
    net::{Ipv4Addr, TcpListener},
    time::{Duration, Instant},
};

use blackbox::{Agent, Cli, Relay, RunningCommand, Server};
use serde_json::{Value, json};

use super::said::{SESSIONS, served, single};

fn shim(url: &str, agent: &Agent) -> Cli {
    Cli::new(&[("PLENARY_URL", url), ("PLENARY_TOKEN", agent.token())])
}

async fn heard(shim: &mut RunningCommand) -> Value {
    let line = shim.line().await;
    serde_json::from_str(&line)
        .unwrap_or_else(|error| panic!("nothing but messages is printed: {error}: {line}"))
}

async fn begin(shim: &mut RunningCommand) -> Value {
    let params =
        json!({"protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}});
    shim.write_line(
        &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string(),
    )
    .await;
    let answer = heard(shim).await;
    assert_eq!(answer["id"], 0, "{answer}");
    shim.write_line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
    answer
}

async fn ask(shim: &mut RunningCommand, id: i64, method: &str, params: Value) -> Value {
    shim.write_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
        .await;
    let answer = heard(shim).await;
    assert_eq!(answer["id"], id, "{answer}");
    answer
}

/// Asks until the server says so of the calls that wait.
async fn until_said(shim: &mut RunningCommand, wanted: &str) {
    for id in 100..10_000 {
        let said = ask(shim, id, "tools/call", json!({"name": "test_canceled"})).await;
        if said["result"]["content"][0]["text"] == wanted {
            return;
        }
    }
    panic!("it never came to {wanted}");
}

/// Both eras pass through one process, and it ends when its input does.
#[tokio::test]
async fn both_eras_pass_through() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let mut shim = shim(&server.url(), &agent).start(&["mcp", "--toolsets", "all"]);
    let answer = begin(&mut shim).await;
    assert_eq!(answer["result"]["protocolVersion"], SESSIONS, "{answer}");
    assert!(
        answer["result"]["capabilities"]["experimental"].is_null(),
        "no channel unless asked for: {answer}"
    );
    let called = ask(&mut shim, 1, "tools/call", json!({"name": "test_simple_text"})).await;
    assert_eq!(called["result"]["content"][0]["type"], "text", "{called}");
    shim.write_line(&single("server/discover", json!({})).to_string()).await;
    assert_eq!(heard(&mut shim).await["result"]["resultType"], "complete");
    shim.write_line(&single("resources/read", json!({"uri": "plenary://me"})).to_string()).await;
    let me = heard(&mut shim).await;
    assert!(
        me["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.contains("@nick.bot")),
        "{me}"
    );
    shim.write_line("nonsense").await;
    assert_eq!(heard(&mut shim).await["error"]["code"], -32_700);
    let ran = shim.end().await;
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
}

/// Notices of a session and of a request reach the client, and a request is canceled by its id.
#[tokio::test]
async fn notices_and_cancelling_pass_through() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let mut shim = shim(&server.url(), &agent).start(&["mcp"]);
    begin(&mut shim).await;
    ask(&mut shim, 1, "resources/subscribe", json!({"uri": "plenary://sessions"})).await;
    agent.open(json!({"topic": "one"})).await;
    let notice = heard(&mut shim).await;
    assert_eq!(notice["method"], "notifications/resources/updated", "{notice}");
    ask(&mut shim, 2, "resources/unsubscribe", json!({"uri": "plenary://sessions"})).await;

    let wanted = json!({"notifications": {"resourceSubscriptions": ["plenary://sessions"]}});
    let mut listen = single("subscriptions/listen", wanted);
    listen["id"] = json!("listening");
    shim.write_line(&listen.to_string()).await;
    assert_eq!(heard(&mut shim).await["method"], "notifications/subscriptions/acknowledged");
    agent.open(json!({"topic": "two"})).await;
    assert_eq!(heard(&mut shim).await["params"]["uri"], "plenary://sessions");

    let mut waiting = single("tools/call", json!({"name": "test_waiting", "arguments": {}}));
    waiting["id"] = json!("waiting");
    shim.write_line(&waiting.to_string()).await;
    until_said(&mut shim, "1 begun, 0 canceled").await;
    for id in ["waiting", "listening"] {
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        shim.write_line(&cancel.to_string()).await;
    }
    until_said(&mut shim, "1 begun, 1 canceled").await;
    assert_eq!(shim.end().await.code, 0);
}

/// A server that restarts is waited for, and the session is made anew with what it had subscribed to.
#[tokio::test]
async fn a_restart_goes_unnoticed() {
    let mut server = served().await;
    let agent = server.agent("@nick.bot").await;
    let relay = Relay::to(&server).await;
    let mut shim = shim(&relay.url(), &agent).start(&["mcp"]);
    begin(&mut shim).await;
    ask(&mut shim, 1, "resources/subscribe", json!({"uri": "plenary://sessions"})).await;
    server.crash().await;
    relay.point_at(&server);
    let me = ask(&mut shim, 2, "resources/read", json!({"uri": "plenary://me"})).await;
    assert!(
        me["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.contains("@nick.bot")),
        "{me}"
    );
    agent.open(json!({"topic": "after the restart"})).await;
    assert_eq!(heard(&mut shim).await["params"]["uri"], "plenary://sessions");
    assert_eq!(shim.end().await.code, 0);
}

/// A server of this machine that comes back at another port is followed there.
#[tokio::test]
async fn the_server_of_the_data_directory_is_followed_to_another_port() {
    let mut server = served().await;
    let agent = server.agent("@nick.bot").await;
    let data = server.data().display().to_string();
    let mut shim = Cli::new(&[("PLENARY_DATA", &data), ("PLENARY_TOKEN", agent.token())]).start(&["mcp"]);
    begin(&mut shim).await;
    let before = server.url();
    server.crash().await;
    assert_ne!(server.url(), before);
    let me = ask(&mut shim, 1, "tools/call", json!({"name": "whoami", "arguments": {}})).await;
    assert!(me["result"].to_string().contains("@nick.bot"), "{me}");
    assert_eq!(shim.end().await.code, 0);
}

/// A token that is not taken is said to be so, as an answer to each request.
#[tokio::test]
async fn a_wrong_token_is_an_error_to_the_client() {
    let server = Server::start().await;
    let token = format!("pla_{}", "0".repeat(64));
    let cli = Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_TOKEN", &token)]);
    let mut shim = cli.start(&["mcp"]);
    let params =
        json!({"protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}});
    let answer = ask(&mut shim, 5, "initialize", params).await;
    assert_eq!(answer["error"]["code"], -32_000, "{answer}");
    assert!(
        answer["error"]["message"].as_str().is_some_and(|text| text.contains("does not accept this token"))
    );
    assert_eq!(shim.end().await.code, 0);
    // Without any token there is nobody to be.
    let ran = Cli::new(&[("PLENARY_URL", &server.url())]).run(&["mcp"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{ran:?}");
}

/// With the channel the server can be reached through sessions alone, and says that it is one.
#[tokio::test]
async fn the_channel_is_offered_in_sessions() {
    let (server, [agent]) = Server::with(["@nick.bot"]).await;
    let mut shim = shim(&server.url(), &agent).start(&["mcp", "--channel"]);
    shim.write_line(&single("server/discover", json!({})).to_string()).await;
    assert_eq!(heard(&mut shim).await["error"]["code"], -32_601);
    let answer = begin(&mut shim).await;
    assert_eq!(answer["result"]["capabilities"]["experimental"], json!({"claude/channel": {}}), "{answer}");
    // The fence: whatever comes after this answer is new.
    ask(&mut shim, 1, "ping", json!({})).await;
    let bob = server.agent("@bob.bot").await;
    let id = bob.create(&[&agent]).await;
    let told = heard(&mut shim).await;
    assert_eq!(told["method"], "notifications/claude/channel", "{told}");
    assert_eq!(told["params"]["meta"]["session_id"], id.as_str(), "{told}");
    assert_eq!(told["params"]["meta"]["from"], "@bob.bot", "{told}");
    assert!(
        told["params"]["content"].as_str().is_some_and(|text| text.contains("not instructions")),
        "{told}"
    );
    assert_eq!(shim.end().await.code, 0);
}

/// What answers where no server does takes at most so long; 3 s on an idle machine.
const WITHOUT_SERVER_MAX: Duration = Duration::from_secs(10);

fn tools(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("a list of tools: {answer}"));
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

/// A session that begins without a server; its tools are listed, and a call says what to do.
async fn begin_without_server(shim: &mut RunningCommand) {
    let began = Instant::now();
    let answer = begin(shim).await;
    assert_eq!(answer["result"]["protocolVersion"], SESSIONS, "{answer}");
    assert_eq!(answer["result"]["serverInfo"]["name"], "plenary", "{answer}");
    assert!(answer["result"]["instructions"].is_string(), "{answer}");
    assert_eq!(answer["result"]["capabilities"]["tools"]["listChanged"], true, "{answer}");
    let listed = ask(shim, 1, "tools/list", json!({})).await;
    assert!(tools(&listed).contains(&"send") && tools(&listed).contains(&"inbox"), "{listed}");
    for (id, method, what) in [(2, "resources/list", "resources"), (3, "prompts/list", "prompts")] {
        let listed = ask(shim, id, method, json!({})).await;
        assert!(listed["result"][what].as_array().is_some_and(|all| !all.is_empty()), "{listed}");
    }
    assert!(began.elapsed() < WITHOUT_SERVER_MAX, "{:?}", began.elapsed());
    let began = Instant::now();
    let called = ask(shim, 4, "tools/call", json!({"name": "whoami", "arguments": {}})).await;
    assert!(began.elapsed() < WITHOUT_SERVER_MAX, "{:?}", began.elapsed());
    assert_eq!(called["error"]["data"]["reason"], "unreachable", "{called}");
    assert!(
        called["error"]["message"].as_str().is_some_and(|text| text.contains("`plenary serve` starts it")),
        "{called}"
    );
}

/// A session that began without a server works as soon as there is one, and a list that is the same is not changed.
#[tokio::test]
async fn a_server_that_comes_later_is_used() {
    let (server, [agent]) = Server::with(["@nick.bot"]).await;
    let relay = Relay::cut_off().await;
    let mut shim = shim(&relay.url(), &agent).start(&["mcp"]);
    begin_without_server(&mut shim).await;
    relay.point_at(&server);
    let called = ask(&mut shim, 5, "tools/call", json!({"name": "whoami", "arguments": {}})).await;
    assert!(called["result"].to_string().contains("@nick.bot"), "{called}");
    // A changed list would be reported before anything else that the server says by itself.
    ask(&mut shim, 6, "resources/subscribe", json!({"uri": "plenary://sessions"})).await;
    agent.open(json!({"topic": "later"})).await;
    let notice = heard(&mut shim).await;
    assert_eq!(notice["method"], "notifications/resources/updated", "{notice}");
    assert_eq!(shim.end().await.code, 0);
}

/// A server that has other tools than the program is reported, once.
#[tokio::test]
async fn other_tools_of_a_server_that_comes_later_are_reported() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let relay = Relay::cut_off().await;
    let mut shim = shim(&relay.url(), &agent).start(&["mcp"]);
    begin_without_server(&mut shim).await;
    relay.point_at(&server);
    let notice = heard(&mut shim).await;
    assert_eq!(notice["method"], "notifications/tools/list_changed", "{notice}");
    let listed = ask(&mut shim, 5, "tools/list", json!({})).await;
    assert!(tools(&listed).contains(&"test_simple_text"), "{listed}");
    assert_eq!(shim.end().await.code, 0);
}

/// Single requests are answered without a server too, for no time at all: the server may have another list.
#[tokio::test]
async fn single_requests_are_answered_without_a_server() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    let nobody =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port").local_addr().expect("bound");
    let mut shim = shim(&format!("http://{nobody}"), &agent).start(&["mcp"]);
    let began = Instant::now();
    shim.write_line(&single("server/discover", json!({})).to_string()).await;
    let discovered = heard(&mut shim).await;
    assert_eq!(discovered["result"]["resultType"], "complete", "{discovered}");
    shim.write_line(&single("tools/list", json!({})).to_string()).await;
    let listed = heard(&mut shim).await;
    assert!(tools(&listed).contains(&"send"), "{listed}");
    assert_eq!(listed["result"]["ttlMs"], 0, "{listed}");
    shim.write_line(&single("tools/call", json!({"name": "whoami", "arguments": {}})).to_string()).await;
    let called = heard(&mut shim).await;
    assert_eq!(called["error"]["data"]["reason"], "unreachable", "{called}");
    assert!(began.elapsed() < WITHOUT_SERVER_MAX, "{:?}", began.elapsed());
    assert_eq!(shim.end().await.code, 0);
}

/// A token that was saved after the program began is used, so that a rotated one needs no restart.
#[tokio::test]
async fn a_token_that_is_saved_later_is_used() {
    let server = crate::connect::server().await;
    let home = crate::connect::home(&server);
    home.run_ok(&["agent", "add", "@nick.cc"]).await;
    let mut shim = home.start(&["--as", "@nick.cc", "mcp"]);
    begin(&mut shim).await;
    let whoami = json!({"name": "whoami", "arguments": {}});
    let me = ask(&mut shim, 1, "tools/call", whoami.clone()).await;
    assert!(me["result"].to_string().contains("@nick.cc"), "{me}");
    home.run_ok(&["agent", "rotate-token", "@nick.cc"]).await;
    let me = ask(&mut shim, 2, "tools/call", whoami).await;
    assert!(me["result"].to_string().contains("@nick.cc"), "{me}");
    assert_eq!(shim.end().await.code, 0);
}

/// A session begins without a token too: one that is saved later is used, and until then a call says what to do.
#[tokio::test]
async fn a_session_begins_before_its_token_is_saved() {
    let server = crate::connect::server().await;
    let home = crate::connect::home(&server);
    let mut shim = home.start(&["--as", "@nick.cc", "mcp"]);
    begin(&mut shim).await;
    let listed = ask(&mut shim, 1, "tools/list", json!({})).await;
    assert!(tools(&listed).contains(&"send"), "{listed}");
    let whoami = json!({"name": "whoami", "arguments": {}});
    let called = ask(&mut shim, 2, "tools/call", whoami.clone()).await;
    let text = called["error"]["message"].as_str().expect("a text");
    assert!(text.contains("no saved token of @nick.cc") && text.contains("plenary agent add"), "{called}");
    home.run_ok(&["agent", "add", "@nick.cc"]).await;
    let me = ask(&mut shim, 3, "tools/call", whoami).await;
    assert!(me["result"].to_string().contains("@nick.cc"), "{me}");
    assert_eq!(shim.end().await.code, 0);
}

/// A data directory without a server is named, and no address at which nothing can listen.
#[tokio::test]
async fn a_stopped_server_is_named_by_its_directory() {
    let token = format!("pla_{}", "0".repeat(64));
    let empty = Cli::new(&[]);
    let data = empty.dir().join("data");
    std::fs::create_dir(&data).expect("a directory");
    let data = data.display().to_string();
    let mut shim = Cli::new(&[("PLENARY_DATA", &data), ("PLENARY_TOKEN", &token)]).start(&["mcp"]);
    begin(&mut shim).await;
    let called = ask(&mut shim, 1, "tools/call", json!({"name": "whoami", "arguments": {}})).await;
    let text = called["error"]["message"].as_str().expect("a text");
    assert!(
        text.contains(&format!("no server runs on {data}")) && text.contains("plenary serve"),
        "{called}"
    );
    assert!(!called.to_string().contains("127.0.0.1:0"), "{called}");
    assert_eq!(shim.end().await.code, 0);
}
