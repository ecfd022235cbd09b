//! Models that use the server's own operations as tools, in the name of their agent. Must not know: how a tool is made.

use blackbox::{Agent, Model, Server, Turn};
use serde_json::json;

use super::speak::{contents, open, says, threads};

const MODEL: &str = "@acme.model";

/// A tool is called as the agent itself, and what it says is passed on once more than its run.
#[tokio::test]
async fn a_models_tools_act_as_its_agent() {
    let turns = vec![
        Turn::calls("call_1", "whoami", &["{}"]),
        Turn::calls("call_2", "send", &[r#"{"to": ["@acme.echo"], "#, r#""text": "ping"}"#]),
        Turn::says(&["done"]),
    ];
    let model = Model::start(turns).await;
    let lines = format!(
        "kind = \"openai\"\nbase_url = \"{}\"\nmodel = \"scripted\"\ntools = [\"core\"]\nhops_max = 2",
        model.url()
    );
    let config = [open("model", &lines), open("echo", "kind = \"echo\"")].concat();
    let server = Server::builder().config(&config).start().await;
    let nick = server.agent("@nick.ann").await;
    let end = nick.post("/agent/model/run?wait=result", json!({"input": "go"})).await.ok(200);
    assert_eq!(end["result"], "done", "{end}");
    let prompts = model.wait_for_prompts(3).await;
    let tools = prompts[0].body["tools"].to_string();
    assert!(tools.contains("\"whoami\"") && tools.contains("\"send\""), "{tools}");
    let told = |nth: usize| prompts[nth].body["messages"].as_array().and_then(|all| all.last().cloned());
    let answer = told(1).expect("the tool's answer");
    assert!(answer["content"].as_str().is_some_and(|text| text.contains(MODEL)), "{answer}");

    // Whoever owns it may ask for a token, and look on as the agent.
    let operator = server.operator();
    let token = operator.post_empty(&format!("/_admin/agents/{MODEL}/rotate-token")).await.ok(200);
    let own = Agent::new(MODEL, server.address().clone(), token["token"].as_str().expect("a token"));
    let listed = own.get("/sessions").await.ok(200);
    let id = listed["sessions"][0]["id"].as_str().expect("the session that it began").to_owned();
    assert_eq!(contents(&says(&own, &id, "@acme.echo", 1).await), ["ping"]);
    // The answer has passed two agents, which is as many as it answers.
    let said = says(&own, &id, MODEL, 2).await;
    assert_eq!((contents(&said)[0], &said[1]["metadata"]["code"]), ("ping", &json!("too_many_hops")));
    let asked = threads(&operator, "echo").await;
    let run = asked[0]["runs"][0].as_str().expect("a run").to_owned();
    let events = operator.get(&format!("/agent/echo/get_events?run_id={run}&since=0")).await.ok(200);
    assert!(
        events.as_array().is_some_and(|events| events.iter().all(|event| event["depth"] == 1)),
        "{events}"
    );
}

/// An agent says which tools it has.
#[tokio::test]
async fn sc_20_the_tools_of_a_set_are_told() {
    let lines = "kind = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\nmodel = \"m\"\ntools = [\"core\"]";
    let server = Server::builder().config(&open("model", lines)).start().await;
    let described = server.operator().get("/agent/model/describe").await.ok(200);
    let tools = described["tools"].as_array().expect("a list");
    assert!(tools.contains(&json!("deposit")) && tools.contains(&json!("run_agent")), "{tools:?}");
}
