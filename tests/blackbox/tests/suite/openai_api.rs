//! The API of OpenAI over the agents of the server: raw JSON, written from its reference. OpenAI's own client walks the same in
//! `tests/a2a`. Must not know: how a run is carried out.

use blackbox::{Agent, Caller, Response, Server};
use serde_json::{Value, json};

async fn served() -> (Server, Agent) {
    let server = Server::start().await;
    let nick = server.agent("@nick.cc").await;
    (server, nick)
}

fn user(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

/// The data of a stream, but for its end.
fn data(answer: &Response) -> Vec<Value> {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")), "{answer}");
    let text = answer.text();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    lines.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

fn assert_error(answer: &Response, status: u16, code: &str, param: &Value) {
    let error = answer.json()["error"].take();
    assert_eq!((answer.status, &error["code"], &error["param"]), (status, &json!(code), param), "{answer}");
    assert!(error["message"].is_string() && error["type"].is_string(), "{answer}");
}

#[tokio::test]
async fn a_chat_is_answered_whole_and_in_pieces() {
    let (_server, nick) = served().await;
    let listed = nick.get("/v1/models").await.ok(200);
    let echo = json!({"id": "@plenary.echo", "object": "model", "created": 0, "owned_by": "plenary"});
    assert_eq!(listed, json!({"object": "list", "data": [echo]}));
    assert_eq!(nick.get("/v1/models/@plenary.echo").await.ok(200), echo);
    let asked = json!({"model": "@plenary.echo", "messages": user("Hello")});
    let whole = nick.post("/v1/chat/completions", asked).await.ok(200);
    assert_eq!(
        (&whole["object"], &whole["model"]),
        (&json!("chat.completion"), &json!("@plenary.echo")),
        "{whole}"
    );
    let choice = &whole["choices"][0];
    assert_eq!(
        (&choice["message"]["role"], &choice["message"]["content"]),
        (&json!("assistant"), &json!("Hello"))
    );
    assert_eq!(choice["finish_reason"], "stop", "{whole}");
    assert_eq!(whole["usage"], json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}));
    let asked =
        json!({"model": "echo", "messages": user("a b c"), "stream": true, "metadata": {"demo": ["deltas"]}});
    let answer = nick.post("/v1/chat/completions", asked).await;
    assert!(answer.text().ends_with("data: [DONE]\n\n"), "{answer}");
    let chunks = data(&answer);
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["id"] == chunks[0]["id"] && chunk["object"] == "chat.completion.chunk")
    );
    let text: String =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "a b c", "{answer}");
    assert_eq!(chunks.last().expect("a chunk")["choices"][0]["finish_reason"], "stop", "{answer}");
}

#[tokio::test]
async fn a_response_goes_on_where_the_last_one_ended() {
    let (server, nick) = served().await;
    let first = nick.post("/v1/responses", json!({"model": "echo", "input": "One"})).await.ok(200);
    assert_eq!((&first["object"], &first["status"]), (&json!("response"), &json!("completed")), "{first}");
    let said = |response: &Value| {
        response["output"][0]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(said(&first), "One");
    let next = json!({"model": "echo", "input": "Two", "previous_response_id": first["id"]});
    let second = nick.post("/v1/responses", next.clone()).await.ok(200);
    assert_eq!((said(&second), &second["previous_response_id"]), ("Two".to_owned(), &first["id"]));
    let threads = nick.get("/agent/echo/threads").await.ok(200);
    assert_eq!(threads.as_array().map(Vec::len), Some(1), "one conversation is one thread: {threads}");
    let demo = json!({"demo": [{"wait_for_input": {"name": "Your name"}}]});
    let asks = nick
        .post("/v1/responses", json!({"model": "echo", "input": "A form", "metadata": demo}))
        .await
        .ok(200);
    assert!(said(&asks).ends_with("Your name"), "{asks}");
    let answers =
        json!({"model": "echo", "input": "Nick", "previous_response_id": asks["id"], "stream": true});
    let events = data(&nick.post("/v1/responses", answers).await);
    let numbers: Vec<_> = events.iter().map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..events.len() as u64).map(Some).collect::<Vec<_>>(), "without gaps");
    assert_eq!(events[0]["type"], "response.created");
    let last = events.last().expect("an event");
    assert_eq!(last["type"], "response.completed", "{last}");
    assert!(said(&last["response"]).contains("Nick"), "{last}");
    // Somebody else's is none.
    let ann = server.agent("@ann.cc").await;
    let none = json!("previous_response_id");
    assert_error(&ann.post("/v1/responses", next).await, 400, "invalid_value", &none);
}

#[tokio::test]
async fn errors_have_openais_form() {
    let (server, nick) = served().await;
    let chat = "/v1/chat/completions";
    let nobody = Caller::new(server.address().clone(), None);
    let asked = json!({"model": "echo", "messages": user("x")});
    assert_error(&nobody.post(chat, asked).await, 401, "invalid_api_key", &Value::Null);
    assert_error(&nobody.get("/v1/models").await, 401, "invalid_api_key", &Value::Null);
    for model in ["nobody", "@nick.cc"] {
        let asked = json!({"model": model, "messages": user("x")});
        assert_error(&nick.post(chat, asked).await, 404, "model_not_found", &json!("model"));
    }
    for (body, param) in [
        (json!({"messages": user("x")}), "model"),
        (json!({"model": "echo", "messages": []}), "messages"),
        (json!({"model": "echo", "messages": [{"role": "user", "content": 7}]}), "messages"),
        (json!({"model": "echo", "messages": user("x"), "stream": "yes"}), "stream"),
    ] {
        assert_error(&nick.post(chat, body).await, 400, "invalid_value", &json!(param));
    }
    assert_error(&nick.post_raw(chat, b"{").await, 400, "invalid_json", &Value::Null);
    let fails = json!({"model": "echo", "messages": user("x"), "metadata": {"demo": [{"fail": "it broke"}]}});
    let failed = nick.post(chat, fails).await;
    assert_error(&failed, 500, "run_failed", &Value::Null);
    assert!(failed.text().contains("it broke"), "{failed}");
}
