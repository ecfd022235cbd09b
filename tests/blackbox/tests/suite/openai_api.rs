//! The API of OpenAI over the agents of the server: raw JSON, written from its reference. OpenAI's own client walks the same in
//! `tests/a2a`. Must not know: how a run is carried out.

use blackbox::{Agent, Caller, Response, Server};
use serde_json::{Value, json};

async fn served() -> (Server, Agent) {
    let (server, [nick]) = Server::with(["@nick.cc"]).await;
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

/// The limit is that of the body which the client sends: 1 MiB.
#[tokio::test]
async fn a_long_text_is_taken_up_to_the_limit_of_the_body() {
    let (_server, nick) = served().await;
    let long = "\"x\" ".repeat(125_000);
    let chat = json!({"model": "echo", "messages": user(&long)});
    let whole = nick.post("/v1/chat/completions", chat).await.ok(200);
    assert_eq!(whole["choices"][0]["message"]["content"].as_str().map(str::len), Some(long.len()));
    let response = json!({"model": "echo", "input": long});
    nick.post("/v1/responses", response).await.ok(200);
    let chat = json!({"model": "echo", "messages": user(&"x".repeat(1 << 20))});
    assert_error(&nick.post("/v1/chat/completions", chat).await, 413, "body_too_large", &Value::Null);
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
    for name in ["previous_response_id", "instructions"] {
        let mut wrong = json!({"model": "echo", "input": "Two"});
        wrong[name] = json!(5);
        assert_error(&ann.post("/v1/responses", wrong).await, 400, "invalid_value", &json!(name));
    }
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
    // Clients repeat a 5xx by themselves, and each repetition would be a run.
    assert_error(&failed, 422, "run_failed", &Value::Null);
    assert!(failed.text().contains("it broke"), "{failed}");
}

/// With a key a repeated request is the same run, also where it answers a question.
#[tokio::test]
async fn a_request_with_a_key_is_one_run() {
    let (_server, nick) = served().await;
    let asked = json!({"model": "echo", "messages": user("Hello")});
    let demo = json!({"demo": [{"wait_for_input": {"name": "Your name"}}]});
    let asks = json!({"model": "echo", "input": "A form", "metadata": demo});
    let asks = nick.post("/v1/responses", asks).await.ok(200);
    let answers = json!({"model": "echo", "input": "Nick", "previous_response_id": asks["id"]});
    for (path, body) in [("/v1/chat/completions", asked), ("/v1/responses", answers)] {
        let post =
            async |body: &Value| nick.call("POST", path, &[("Idempotency-Key", "kk1")], Some(body)).await;
        let first = post(&body).await;
        assert!(!first.is_replayed(), "{first}");
        let again = post(&body).await;
        assert!(again.is_replayed(), "{again}");
        // The times too: they are those of the run.
        assert_eq!(again.ok(200), first.ok(200));
        let mut other = body;
        other["model"] = json!("@plenary.echo");
        other["input"] = json!("Other");
        other["messages"] = user("Other");
        assert_error(&post(&other).await, 409, "idempotency_key_reused", &Value::Null);
    }
}

/// What answers a question twice begins no run, and is told how to continue.
#[tokio::test]
async fn a_question_is_answered_once() {
    let (_server, nick) = served().await;
    let demo = json!({"demo": [{"wait_for_input": {"name": "Your name"}}]});
    let asks = json!({"model": "echo", "input": "A form", "metadata": demo});
    let asks = nick.post("/v1/responses", asks).await.ok(200);
    let answers = json!({"model": "echo", "input": "Nick", "previous_response_id": asks["id"]});
    let answered = nick.post("/v1/responses", answers.clone()).await.ok(200);
    let again = nick.post("/v1/responses", answers).await;
    assert_error(&again, 409, "run_not_active", &Value::Null);
    assert_eq!(again.header("x-should-retry"), Some("false"), "clients repeat a 409 otherwise: {again}");
    assert!(again.text().contains(&id_of(&answered)), "{again}");
    let next = json!({"model": "echo", "input": "Next", "previous_response_id": answered["id"]});
    assert_eq!(said(&nick.post("/v1/responses", next).await.ok(200)), "Next");
}

/// A question that nobody answered before its run was canceled: the conversation goes on.
#[tokio::test]
async fn a_question_that_was_given_up_does_not_end_the_conversation() {
    let (_server, nick) = served().await;
    let demo = json!({"demo": [{"wait_for_input": {"name": "Your name"}}]});
    let asks = json!({"model": "echo", "input": "A form", "metadata": demo});
    let asks = nick.post("/v1/responses", asks).await.ok(200);
    let id = id_of(&asks);
    let run = id.trim_start_matches("resp_").split('.').next().expect("a run");
    let cancel = json!({"type": "CancelRequest", "run_id": run});
    assert_eq!(nick.post("/agent/echo/run", cancel).await.status, 202);
    loop {
        let report = nick.get(&format!("/agent/echo/runs/{run}")).await.ok(200);
        if report["status"] == "canceled" {
            break;
        }
        tokio::task::yield_now().await;
    }
    let next = json!({"model": "echo", "input": "Next", "previous_response_id": id});
    assert_eq!(said(&nick.post("/v1/responses", next).await.ok(200)), "Next");
}

fn said(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Reads a response until it is over.
async fn ended(nick: &Agent, id: &str) -> Value {
    loop {
        let response = nick.get(&format!("/v1/responses/{id}")).await.ok(200);
        match response["status"].as_str() {
            Some("queued" | "in_progress") => tokio::task::yield_now().await,
            _ => return response,
        }
    }
}

fn id_of(response: &Value) -> String {
    response["id"].as_str().unwrap_or_else(|| panic!("an id in {response}")).to_owned()
}

#[tokio::test]
async fn a_response_is_read_again_as_it_was_given() {
    let (mut server, nick) = served().await;
    let asked = json!({
        "model": "@plenary.echo", "input": [{"role": "user", "content": "One"}, {"role": "user", "content": "Two"}],
        "instructions": "Be short", "metadata": {"topic": "t"},
    });
    let first = nick.post("/v1/responses", asked).await.ok(200);
    let demo = json!({"demo": [{"wait_for_input": {"name": "Your name"}}]});
    let next =
        json!({"model": "echo", "input": "A form", "metadata": demo, "previous_response_id": first["id"]});
    let asks = nick.post("/v1/responses", next).await.ok(200);
    let answer = json!({"model": "echo", "input": "Nick", "previous_response_id": asks["id"]});
    let answered = nick.post("/v1/responses", answer).await.ok(200);
    server.crash().await;
    for mut given in [first.clone(), asks.clone(), answered.clone()] {
        let mut kept = nick.get(&format!("/v1/responses/{}", id_of(&given))).await.ok(200);
        // Of an answer to a question only what came of it.
        for response in [&mut given, &mut kept] {
            if response["id"] == answered["id"] {
                response["previous_response_id"].take();
                response["model"].take();
            }
        }
        assert_eq!(kept, given);
    }
    let path = format!("/v1/responses/{}/input_items", id_of(&first));
    let items = nick.get(&format!("{path}?order=asc")).await.ok(200);
    let texts: Vec<_> =
        items["data"].as_array().into_iter().flatten().map(|item| &item["content"][0]).collect();
    let text = |text: &str| json!({"type": "input_text", "text": text});
    assert_eq!(texts, [&text("One"), &text("Two")], "{items}");
    assert_eq!((&items["object"], &items["has_more"]), (&json!("list"), &json!(false)));
    let newest = nick.get(&format!("{path}?limit=1")).await.ok(200);
    assert_eq!(
        (&newest["data"][0]["content"][0], &newest["has_more"]),
        (&text("Two"), &json!(true)),
        "{newest}"
    );
    let rest =
        nick.get(&format!("{path}?after={}", newest["last_id"].as_str().expect("an id"))).await.ok(200);
    assert_eq!(rest["data"][0]["content"][0], text("One"), "{rest}");
    for (query, param) in
        [("limit=0", "limit"), ("limit=101", "limit"), ("order=up", "order"), ("after=x", "after")]
    {
        let refused = nick.get(&format!("{path}?{query}")).await;
        assert_error(&refused, 400, "invalid_value", &json!(param));
    }
    let none = nick.get(&format!("/v1/responses/{}/input_items", id_of(&answered))).await.ok(200);
    assert_eq!(none["data"], json!([]), "{none}");
}

#[tokio::test]
async fn a_response_in_the_background_is_read_later_or_canceled() {
    let (_server, nick) = served().await;
    let asked = json!({"model": "echo", "input": "Later", "background": true});
    let begun = nick.post("/v1/responses", asked).await.ok(200);
    assert_eq!((&begun["status"], &begun["background"]), (&json!("in_progress"), &json!(true)), "{begun}");
    assert_eq!(begun["output"], json!([]), "{begun}");
    let done = ended(&nick, &id_of(&begun)).await;
    assert_eq!(
        (&done["status"], said(&done), &done["background"]),
        (&json!("completed"), "Later", &json!(true))
    );

    let fails = json!({"model": "echo", "input": "x", "background": true, "metadata": {"demo": [{"fail": "it broke"}]}});
    let failed = ended(&nick, &id_of(&nick.post("/v1/responses", fails).await.ok(200))).await;
    assert_eq!(
        (&failed["status"], &failed["error"]["message"]),
        (&json!("failed"), &json!("it broke")),
        "{failed}"
    );

    let slow = json!({"model": "echo", "input": "Never", "background": true, "metadata": {"demo": ["slow"]}});
    let slow = id_of(&nick.post("/v1/responses", slow).await.ok(200));
    let read = nick.get(&format!("/v1/responses/{slow}")).await.ok(200);
    assert!(["queued", "in_progress"].contains(&read["status"].as_str().unwrap_or_default()), "{read}");
    nick.post_empty(&format!("/v1/responses/{slow}/cancel")).await.ok(200);
    let canceled = ended(&nick, &slow).await;
    assert_eq!((&canceled["status"], &canceled["output"]), (&json!("cancelled"), &json!([])), "{canceled}");
    // A second time changes nothing, nor does canceling what has ended.
    let again = nick.post_empty(&format!("/v1/responses/{slow}/cancel")).await.ok(200);
    assert_eq!(again, canceled);
    let ended = nick.post_empty(&format!("/v1/responses/{}/cancel", id_of(&done))).await.ok(200);
    assert_eq!(ended, done);
    let asked = json!({"model": "echo", "input": "x", "background": "yes"});
    assert_error(&nick.post("/v1/responses", asked).await, 400, "invalid_value", &json!("background"));
}

#[tokio::test]
async fn a_response_of_somebody_else_is_like_none() {
    let (server, nick) = served().await;
    let id = id_of(&nick.post("/v1/responses", json!({"model": "echo", "input": "Secret"})).await.ok(200));
    let ann = server.agent("@ann.cc").await;
    let (run, _) = id.split_once('.').expect("three parts");
    let none = "resp_00000000-0000-4000-8000-000000000000.0.echo";
    for path in ["", "/input_items"] {
        let foreign = ann.get(&format!("/v1/responses/{id}{path}")).await;
        assert_error(&foreign, 404, "response_not_found", &json!("response_id"));
        for id in [none, "x", run, &format!("{run}.0.nobody"), &format!("{run}.x.echo")] {
            let absent = ann.get(&format!("/v1/responses/{id}{path}")).await;
            assert_eq!((absent.status, &absent.body), (404, &foreign.body), "{id}");
        }
    }
    let foreign = ann.post_empty(&format!("/v1/responses/{id}/cancel")).await;
    assert_error(&foreign, 404, "response_not_found", &json!("response_id"));
    let streamed = nick.get(&format!("/v1/responses/{id}?stream=true")).await;
    assert_error(&streamed, 400, "unsupported_parameter", &json!("stream"));
    let nobody = Caller::new(server.address().clone(), None);
    let refused = nobody.get(&format!("/v1/responses/{id}")).await;
    assert_error(&refused, 401, "invalid_api_key", &Value::Null);
}

/// What OpenAI's clients ask for and is not here is refused in their form, so that they say what is wrong.
#[tokio::test]
async fn what_is_not_here_is_refused_in_openais_form() {
    let (_server, nick) = served().await;
    for path in [
        "/v1/embeddings",
        "/v1/completions",
        "/v1/images/generations",
        "/v1/audio/speech",
        "/v1/moderations",
        "/v1/conversations",
        "/v1/responses/resp_1/compact",
    ] {
        let refused = nick.post(path, json!({"model": "echo", "input": "x"})).await;
        assert_error(&refused, 404, "not_found", &Value::Null);
    }
    for path in ["/v1/files", "/v1/assistants", "/v1/threads/thread_1/messages", "/v1/fine_tuning/jobs"] {
        assert_error(&nick.get(path).await, 404, "not_found", &Value::Null);
    }
    let id = id_of(&nick.post("/v1/responses", json!({"model": "echo", "input": "x"})).await.ok(200));
    for (method, path) in [
        ("DELETE", &*format!("/v1/responses/{id}")),
        ("GET", "/v1/chat/completions"),
        ("DELETE", "/v1/models/echo"),
    ] {
        let refused = nick.call(method, path, &[], None).await;
        assert_error(&refused, 405, "method_not_allowed", &Value::Null);
        assert!(refused.header("allow").is_some(), "{refused}");
    }
    // The projects of this server are not OpenAI's.
    nick.get("/v1/projects").await.ok(200);
    nick.get("/v1/nothing").await.assert_refused(404, "not_found");
    for (name, value) in [("n", json!(2)), ("tools", json!([{"type": "web_search"}]))] {
        let mut asked = json!({"model": "echo", "input": "x"});
        asked[name] = value;
        let refused = nick.post("/v1/responses", asked).await;
        assert_error(&refused, 400, "unsupported_parameter", &json!(name));
    }
}
