//! Who is there, and where: SC-1, SC-33, SC-34, and the token that every path asks for.

use blackbox::Server;
use serde_json::{Value, json};

use super::speak::{
    ECHO, assert_uuid, at, echoing, finish, hosted, list, outcome, playing, refused, serving,
};

/// SC-33: `[name, path]` pairs; every path serves.
#[tokio::test]
async fn sc_33_discovery_lists_names_and_paths() {
    let server = serving(&[hosted("echo", "kind = \"echo\""), hosted("parrot", "kind = \"echo\"")]).await;
    let nick = server.agent("@nick.ann").await;
    for path in ["/", "/?x=y"] {
        let response = nick.get(path).await;
        let pairs = list(response.ok(200));
        for name in ["echo", "parrot"] {
            let pair =
                pairs.iter().find(|pair| pair[0] == name).unwrap_or_else(|| panic!("{name}: {response}"));
            assert_eq!(pair, &json!([name, format!("/agent/{name}")]), "{response}");
            // SC-34: everything else is relative to the path.
            let path = pair[1].as_str().expect("a path");
            assert_eq!(nick.get(&format!("{path}/describe")).await.ok(200)["name"], name);
        }
        for pair in &pairs {
            let texts =
                pair.as_array().is_some_and(|pair| pair.len() == 2 && pair.iter().all(Value::is_string));
            assert!(texts, "[name, path]: {response}");
        }
    }
}

/// D.2: a browser gets something to look at, a program the list.
#[tokio::test]
async fn sc_33_a_program_gets_the_list_whatever_it_accepts() {
    let (_server, nick) = echoing().await;
    for accept in ["application/json", "*/*", "application/json, text/html;q=0.5"] {
        list(nick.call("GET", "/", &[("Accept", accept)], None).await.ok(200));
    }
    let browser =
        nick.call("GET", "/", &[("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")], None).await;
    assert!([200, 302, 303, 307].contains(&browser.status), "{browser}");
    assert!(!browser.header("content-type").unwrap_or_default().starts_with("application/json"), "{browser}");
}

/// D.2, 4.4 no. 11: the paths alone, where the authors' own clients look.
#[tokio::test]
async fn sc_33_discovery_lists_the_paths_too() {
    let (_server, nick) = playing().await;
    let paths = list(nick.get("/_discovery").await.ok(200));
    for agent in ["echo", "puppet"] {
        assert!(paths.contains(&json!(format!("/agent/{agent}"))), "{paths:?}");
    }
}

/// An agent to try it with is there without configuration, and a server that wants none has none.
#[tokio::test]
async fn sc_33_echo_is_there_unless_it_is_switched_off() {
    let (_server, [nick]) = Server::with(["@nick.ann"]).await;
    assert_eq!(nick.get("/").await.ok(200), json!([["echo", "/agent/echo"]]));
    assert_eq!(finish(&outcome(&nick, ECHO, "x").await), "success");
    let server = Server::builder().config("[runs]\necho = false\n").start().await;
    let nick = server.agent("@nick.ann").await;
    assert_eq!(nick.get("/").await.ok(200), json!([]));
}

/// SC-1, SC-34: whoever is not listed is not there, on any path.
#[tokio::test]
async fn sc_34_an_unknown_agent_is_404_everywhere() {
    let (_server, nick) = echoing().await;
    let id = "00000000-0000-4000-8000-000000000000";
    for agent in ["nobody", "ECHO", "echo.", "%2e%2e", "echo%2Fecho", "@acme.nobody"] {
        for path in ["describe", "threads", &format!("runs/{id}"), &format!("get_events/{id}")] {
            let response = nick.get(&at(agent, path)).await;
            refused(&response, 404);
        }
        for path in ["run", "stream_request"] {
            refused(&nick.post(&at(agent, path), json!({"input": "x"})).await, 404);
        }
        refused(&nick.post(&at(agent, "configure"), json!({"args": {}})).await, 404);
    }
}

/// D.8: a token is required; the protocol itself specifies none (SC-8).
#[tokio::test]
async fn sc_8_every_path_asks_for_a_token() {
    let (server, nick) = echoing().await;
    let events = outcome(&nick, ECHO, "x").await;
    let run = events[0]["run_id"].as_str().expect("an id");
    assert_uuid(run);
    for who in [server.stranger(), server.bearer("pla_unknown")] {
        for path in ["describe", "threads", &format!("runs/{run}"), &format!("get_events/{run}")] {
            let response = who.get(&at(ECHO, path)).await;
            assert_eq!(response.status, 401, "{response}");
            assert!(
                response.header("www-authenticate").is_some_and(|how| how.starts_with("Bearer")),
                "{response}"
            );
        }
        for path in ["run", "stream_request", "configure", "run?wait=true"] {
            let response = who.post(&at(ECHO, path), json!({"input": "x", "args": {}})).await;
            assert_eq!(response.status, 401, "{response}");
        }
    }
    assert_eq!(list(nick.get(&at(ECHO, "threads")).await.ok(200)).len(), 1, "nobody else ran anything");
}

/// SC-9, SC-20: all of them with what each says of itself; a stopped one is told as such to whoever asks.
#[tokio::test]
async fn sc_9_sc_20_all_agents_are_described_at_once() {
    let (server, nick) = playing().await;
    let agents = async || list(nick.get("/agent").await.ok(200));
    for agent in agents().await {
        let name = agent["name"].as_str().expect("a name");
        let mut described = nick.get(&at(name, "describe")).await.ok(200);
        described["path"] = json!(format!("/agent/{name}"));
        assert_eq!(agent, described);
        assert_eq!(agent["stopped"], false, "{agent}");
    }
    server.operator().post(&at(ECHO, "stop"), json!({})).await.ok(200);
    let stopped: Vec<_> = agents().await.into_iter().filter(|agent| agent["stopped"] == true).collect();
    assert_eq!(stopped.iter().map(|agent| &agent["name"]).collect::<Vec<_>>(), [ECHO]);
    let pairs = list(nick.get("/").await.ok(200));
    assert!(pairs.contains(&json!([ECHO, "/agent/echo"])), "SC-33: the pairs stay: {pairs:?}");
    assert_eq!(server.stranger().get("/agent").await.status, 401);
}

/// D.3: what is not there is told in the form of this protocol, whatever the method.
#[tokio::test]
async fn sc_34_what_is_not_there_is_told_in_the_protocols_form() {
    let (_server, nick) = echoing().await;
    for path in
        ["/agent/echo", "/agent/echo/", "/agent/echo/nope", "/agent/echo/describe/", "/agent/echo/runs/a/b"]
    {
        assert_eq!(refused(&nick.get(path).await, 404), "not_found", "{path}");
        assert_eq!(refused(&nick.post(path, json!({})).await, 404), "not_found", "{path}");
    }
    assert_eq!(refused(&nick.get("/artifacts/a/b").await, 404), "not_found");
    assert_eq!(refused(&nick.get("/artifacts/").await, 404), "not_found");
    assert_eq!(refused(&nick.get("/agent/").await, 404), "not_found");
    assert_eq!(refused(&nick.get("/agent/echo/run").await, 405), "method_not_allowed");
}
