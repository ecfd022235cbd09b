//! `search` and `fetch`, as an assistant on the web calls them: the one with a text, the other with an id of the first.

use blackbox::Server;
use serde_json::{Value, json};

use super::{done, listed, refused, rpc};

/// The members of a result or a document that an assistant reads, each of them text.
fn assert_texts(value: &Value, names: &[&str]) {
    for name in names {
        assert!(value[name].as_str().is_some_and(|text| !text.is_empty()), "{name} of {value}");
    }
}

/// A page of the console for people: not an address of the API, which needs a token.
fn assert_page(server: &Server, value: &Value, page: &str) {
    let begin = format!("{}/#/{page}/", server.url());
    assert!(value["url"].as_str().is_some_and(|url| url.starts_with(&begin)), "{begin}: {value}");
}

#[tokio::test]
async fn an_assistant_searches_and_fetches_what_was_found() {
    let (server, [alice, bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    assert_eq!(listed(&alice, "assistant").await, ["fetch", "search"]);
    let text = "The dunlins have come to the bay";
    let sent = done(&alice, "send", json!({"to": ["@nick.bob"], "text": text})).await;
    let kept = json!({"title": "Dunlins of the bay", "decisions_made": ["Count them at low tide"], "project_id": "birds"});
    let kept = done(&alice, "deposit", kept).await;

    let found = done(&alice, "search", json!({"query": "dunlins"})).await;
    let results = found["results"].as_array().expect("results");
    assert_eq!((results.len(), found.as_object().map(serde_json::Map::len)), (2, Some(1)), "{found}");
    for result in results {
        assert_eq!(result.as_object().map(serde_json::Map::len), Some(3), "{result}");
        assert_texts(result, &["id", "title", "url"]);
        let document = done(&alice, "fetch", json!({"id": result["id"]})).await;
        assert_texts(&document, &["id", "title", "text", "url"]);
        assert_eq!((&document["id"], &document["url"]), (&result["id"], &result["url"]));
        assert!(document["metadata"].is_object(), "{document}");
    }
    let of =
        |kind: &str| results.iter().find(|one| one["id"].as_str().is_some_and(|id| id.starts_with(kind)));
    let message = of("message/").expect("the message");
    assert_page(&server, message, "conversations");
    let document = done(&alice, "fetch", json!({"id": message["id"]})).await;
    assert_eq!(document["text"], text);
    assert_eq!(document["metadata"]["session_id"], sent["session_id"]);
    assert_eq!(document["metadata"]["from"], "@nick.alice");
    let package = of("package/").expect("the package");
    assert_page(&server, package, "context");
    let document = done(&alice, "fetch", json!({"id": package["id"]})).await;
    assert!(
        document["text"].as_str().is_some_and(|text| text.contains("Count them at low tide")),
        "{document}"
    );
    assert!(
        document["text"]
            .as_str()
            .is_some_and(|text| text.contains(kept["package_id"].as_str().expect("an id")))
    );
    // Nothing is an empty list.
    assert_eq!(done(&bob, "search", json!({"query": "curlews"})).await, json!({"results": []}));
}

#[tokio::test]
async fn an_assistant_fetches_nothing_that_is_not_its_agents() {
    let (_server, [alice, _bob, eve]) = Server::with(["@nick.alice", "@nick.bob", "@eve.spy"]).await;
    let sent = done(&alice, "send", json!({"to": ["@nick.bob"], "text": "The dunlins have come"})).await;
    let session = sent["session_id"].as_str().expect("a session");
    let id = format!("message/{session}/{}", sent["sequence"]);
    done(&alice, "fetch", json!({"id": id})).await;
    assert_eq!(done(&eve, "search", json!({"query": "dunlins"})).await, json!({"results": []}));
    let foreign = refused(&eve, "fetch", json!({"id": id})).await;
    assert_eq!(foreign, refused(&eve, "fetch", json!({"id": "message/sess_nothing/1"})).await, "like none");
    // What is no message is no document: an invitation, what is not there, and what is no id.
    for none in
        [format!("message/{session}/2"), format!("message/{session}/99"), "x".into(), "message/x".into()]
    {
        assert_eq!(refused(&alice, "fetch", json!({"id": none})).await, "invalid_arguments", "{none}");
    }
    assert_eq!(refused(&alice, "search", json!({"query": " "})).await, "invalid_arguments");
}

/// The schemas say what an item has, so that a client can check a result by itself.
#[tokio::test]
async fn the_schemas_of_search_and_fetch_name_every_member() {
    let (_server, [alice]) = Server::with(["@nick.alice"]).await;
    let answer = rpc(&alice, "core,assistant", "tools/list", "", json!({})).await;
    let tools = answer["result"]["tools"].as_array().expect("tools").clone();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).expect("the tool").clone();
    let (search, fetch) = (tool("search"), tool("fetch"));
    assert_eq!(search["inputSchema"]["required"], json!(["query"]));
    assert_eq!(fetch["inputSchema"]["required"], json!(["id"]));
    for tool in [&search, &fetch] {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    let item = &search["outputSchema"]["properties"]["results"]["items"];
    assert_eq!(item["required"], json!(["id", "title", "url"]), "{search}");
    for name in ["id", "title", "url"] {
        assert_eq!(item["properties"][name]["type"], "string", "{search}");
    }
    let document = &fetch["outputSchema"]["properties"];
    for (name, kind) in
        [("id", "string"), ("title", "string"), ("text", "string"), ("url", "string"), ("metadata", "object")]
    {
        assert_eq!(document[name]["type"], kind, "{fetch}");
    }
}
