//! Agents that are a language model behind an OpenAI-compatible address; the model is a scripted server on a real
//! socket. SC-4, SC-14, SC-26, SC-29, SC-46. Must not know: how the server speaks to it beyond that API.

use std::time::{Duration, Instant};

use blackbox::{Agent, Model, Server, Turn, delta, eventually};
use serde_json::{Value, json};

use super::speak::{cancel, chat, chat_on, events_of, finish, hosted, outcome, running, said, types, whole};
use super::sse::{Events, Heard};

/// The key of the model, which nobody else may see.
const KEY: &str = "sk-scripted-3f9a1c";
const AGENT: &str = "model";

/// A server with one model behind it, someone who asks, and the model.
async fn asking(turns: Vec<Turn>) -> (Server, Agent, Model) {
    let model = Model::start(turns).await;
    let lines = format!(
        "kind = \"openai\"\nbase_url = \"{}\"\nmodel = \"scripted\"\napi_key_env = \"SCRIPTED_KEY\"",
        model.url()
    );
    let server = Server::builder().config(&hosted(AGENT, &lines)).env("SCRIPTED_KEY", KEY).start().await;
    let nick = server.agent("@nick.ann").await;
    (server, nick, model)
}

fn messages(body: &Value) -> Vec<(String, String)> {
    let text = |message: &Value, member: &str| message[member].as_str().unwrap_or_default().to_owned();
    let messages = body["messages"].as_array().unwrap_or_else(|| panic!("messages: {body}"));
    messages.iter().map(|message| (text(message, "role"), text(message, "content"))).collect()
}

/// SC-14: the pieces become one result; the request is what the API asks for.
#[tokio::test]
async fn sc_14_the_pieces_become_a_result() {
    let (_server, nick, model) = asking(vec![Turn::says(&["Hel", "lo \u{1f600}", "\n", "world"])]).await;
    let run = chat(&nick, AGENT, "greet me").await;
    let events = whole(&nick, &run).await;
    assert_eq!(finish(&events), "success", "{events:?}");
    assert_eq!(said(&events).concat(), "Hello \u{1f600}\nworld");
    assert_eq!(events.last().expect("an end")["result"], "Hello \u{1f600}\nworld");
    let prompts = model.wait_for_prompts(1).await;
    assert_eq!(prompts[0].line, "POST /v1/chat/completions");
    assert_eq!(prompts[0].headers["authorization"], format!("Bearer {KEY}"));
    assert!(prompts[0].headers["content-type"].starts_with("application/json"));
    assert_eq!((&prompts[0].body["model"], &prompts[0].body["stream"]), (&json!("scripted"), &json!(true)));
    assert_eq!(messages(&prompts[0].body).last(), Some(&("user".to_owned(), "greet me".to_owned())));
}

/// SC-29: asking the model is visible.
#[tokio::test]
async fn sc_29_completions_are_told() {
    let (_server, nick, _model) = asking(vec![Turn::says(&["x"])]).await;
    let events = outcome(&nick, AGENT, "hi").await;
    let kinds = types(&events);
    let at = |kind: &str| kinds.iter().position(|known| *known == kind);
    assert!(at("CompletionCall").is_some() && at("CompletionCall") < at("CompletionResult"), "{kinds:?}");
    assert!(!json!(events).to_string().contains(KEY), "the key is not told");
}

/// A server that repeats the key in what it refuses with is not believed to be entitled to show it.
#[tokio::test]
async fn sc_26_a_key_that_the_model_repeats_is_not_told() {
    let words = format!("Incorrect API key provided: {KEY}. {}{KEY}", "x".repeat(450));
    let error = json!({"error": {"message": words}});
    let in_stream = format!("data: {error}\n\n");
    for turn in [
        Turn::Status(401, Vec::new(), error.clone()),
        Turn::Status(400, Vec::new(), json!({"detail": {"headers": [format!("Bearer {KEY}")]}})),
        Turn::Raw(in_stream.into_bytes()),
        Turn::Raw(format!("data: {{\"{KEY}\n\n").into_bytes()),
    ] {
        let (mut server, nick, _model) = asking(vec![turn]).await;
        let events = outcome(&nick, AGENT, "hi").await;
        assert_eq!(finish(&events), "error");
        let told = json!(events).to_string();
        assert!(!told.contains("sk-scripted"), "{told}");
        // At its end a server has written its log.
        server.stop().await;
        assert!(!server.log_text().contains("sk-scripted"), "nor is it logged");
    }
}

/// A piece without choices, as some servers write it, is no error.
#[tokio::test]
async fn sc_14_a_piece_without_choices_is_passed_over() {
    let piece = |text: &str| delta(&json!({"content": text}), None);
    let nothing = json!({"object": "chat.completion.chunk", "choices": null, "usage": {"total_tokens": 1}});
    let turn = Turn::Stream(vec![piece("a"), nothing, piece("b"), delta(&json!({}), Some("stop"))]);
    let (_server, nick, _model) = asking(vec![turn]).await;
    let events = outcome(&nick, AGENT, "hi").await;
    assert_eq!((said(&events).concat().as_str(), finish(&events)), ("ab", "success"), "{events:?}");
}

/// SC-4: the thread is the model's memory, and another thread has none of it.
#[tokio::test]
async fn sc_4_a_thread_remembers() {
    let (mut server, nick, model) = asking(vec![
        Turn::says(&["one"]),
        Turn::says(&["two"]),
        Turn::says(&["three"]),
        Turn::says(&["four"]),
    ])
    .await;
    let first = chat(&nick, AGENT, "first").await;
    whole(&nick, &first).await;
    let second = chat_on(&nick, &first, "second").await;
    whole(&nick, &second).await;
    let spoken = |at: usize| {
        let prompts = model.prompts();
        let spoken = messages(&prompts[at].body).into_iter().filter(|(role, _)| role != "system");
        spoken.map(|(role, content)| format!("{role}: {content}")).collect::<Vec<_>>()
    };
    assert_eq!(spoken(1), ["user: first", "assistant: one", "user: second"]);
    whole(&nick, &chat(&nick, AGENT, "elsewhere").await).await;
    assert_eq!(spoken(2), ["user: elsewhere"]);
    server.crash().await;
    whole(&nick, &chat_on(&nick, &first, "third").await).await;
    assert_eq!(
        spoken(3),
        ["user: first", "assistant: one", "user: second", "assistant: two", "user: third"],
        "memory is kept over a crash"
    );
}

/// The text comes while it is made, and the event that follows has all of it.
#[tokio::test]
async fn sc_37_pieces_come_while_they_are_made() {
    let pieces = vec![delta(&json!({"content": "first "}), None), delta(&json!({"content": "second"}), None)];
    let (_server, nick, _model) = asking(vec![Turn::Hang(pieces)]).await;
    let run = chat(&nick, AGENT, "hi").await;
    let mut stream = Events::get(&nick, &events_of(&run, "?stream=true")).await;
    let mut text = String::new();
    while text != "first second" {
        match stream.heard().await {
            Heard::Delta(piece) => text.push_str(piece["content"].as_str().expect("a text")),
            Heard::Event(event) if event["type"] == "TextOutput" => {
                text.push_str(event["content"].as_str().expect("a text"))
            }
            Heard::Event(_) | Heard::Comment => {}
            end @ (Heard::End | Heard::Broken) => panic!("{end:?} after {text:?}"),
        }
    }
    cancel(&nick, &run).await;
    assert_eq!(finish(&stream.rest().await), "canceled");
}

/// Refusals that no retry mends: an error at once, which does not give the key away.
#[tokio::test]
async fn sc_26_a_refusal_is_an_error() {
    for status in [400, 401, 403, 404] {
        let (mut server, nick, model) = asking(vec![Turn::refusal(status, &[])]).await;
        let events = outcome(&nick, AGENT, "hi").await;
        assert_eq!(finish(&events), "error", "{status}");
        assert_eq!(model.prompts().len(), 1, "{status} is not tried again");
        server.stop().await;
        assert!(!json!(events).to_string().contains(KEY) && !server.output_text().contains(KEY), "{status}");
    }
}

/// 429 and 500 are tried again, 429 not before the model's own word.
#[tokio::test]
async fn sc_26_what_may_pass_is_tried_again() {
    for (refusal, pause) in [
        (Turn::refusal(429, &[("retry-after", "1")]), Duration::from_millis(950)),
        (Turn::refusal(500, &[]), Duration::ZERO),
        (Turn::refusal(503, &[]), Duration::ZERO),
    ] {
        let (_server, nick, model) = asking(vec![refusal.clone(), Turn::says(&["well"])]).await;
        let began = Instant::now();
        let events = outcome(&nick, AGENT, "hi").await;
        assert_eq!((finish(&events), said(&events).concat().as_str()), ("success", "well"), "{refusal:?}");
        assert!(began.elapsed() >= pause, "{refusal:?}: {:?}", began.elapsed());
        assert_eq!(model.prompts().len(), 2);
    }
}

/// It does not go on trying for ever.
#[tokio::test]
async fn sc_26_it_gives_up() {
    let (_server, nick, model) = asking(vec![]).await;
    let events = outcome(&nick, AGENT, "hi").await;
    assert_eq!(finish(&events), "error");
    assert_eq!(model.prompts().len(), 4, "one question and three retries");
}

/// A connection that breaks off, or an answer that is none, is an error and never half a success.
#[tokio::test]
async fn sc_26_half_an_answer_is_an_error() {
    let half = || vec![delta(&json!({"content": "half"}), None)];
    for turn in [
        Turn::Cut(half()),
        Turn::Raw(b"data: {\"choices\": [\n\n".to_vec()),
        Turn::Raw(b"<html>proxy error</html>".to_vec()),
        Turn::Raw(b"data: \xff\xfe\n\n".to_vec()),
        Turn::Raw(b"data: {\"error\": {\"message\": \"overloaded\"}}\n\ndata: [DONE]\n\n".to_vec()),
        Turn::Status(200, Vec::new(), json!({"unexpected": true})),
    ] {
        let (_server, nick, _model) = asking(vec![turn.clone(); 12]).await;
        let events = outcome(&nick, AGENT, "hi").await;
        assert_eq!(finish(&events), "error", "{turn:?}: {events:?}");
    }
}

/// A line that never ends costs bounded memory.
#[tokio::test]
async fn sc_26_an_endless_line_is_an_error() {
    let endless = [b"data: ".to_vec(), b"x".repeat(60_000_000)].concat();
    let (server, nick, _model) = asking(vec![Turn::Raw(endless); 6]).await;
    let before = server.resident_kib();
    assert_eq!(finish(&outcome(&nick, AGENT, "hi").await), "error");
    let grown = server.resident_kib().saturating_sub(before);
    assert!(grown < 80 * 1024, "60 MB of one line cost {grown} KiB");
}

/// SC-46: what hangs is canceled, and the model is left alone.
#[tokio::test]
async fn sc_46_a_hanging_model_is_canceled() {
    let half = vec![delta(&json!({"content": "half"}), None)];
    for turn in [Turn::Silence, Turn::Hang(half)] {
        let (_server, nick, model) = asking(vec![turn]).await;
        let run = chat(&nick, AGENT, "hi").await;
        running(&nick, &run).await;
        model.wait_for_prompts(1).await;
        cancel(&nick, &run).await;
        assert_eq!(finish(&whole(&nick, &run).await), "canceled");
        model.wait_until_idle().await;
    }
}

/// A model that is not there is an error.
#[tokio::test]
async fn sc_26_nobody_at_the_address_is_an_error() {
    let (_server, nick, model) = asking(vec![]).await;
    drop(model);
    assert_eq!(finish(&outcome(&nick, AGENT, "hi").await), "error");
}

/// A tool that the model calls in fragments is told as one call with whole arguments (SC-29).
#[tokio::test]
async fn sc_29_tool_calls_are_put_together() {
    let call = Turn::calls("call_1", "lookup", &["{\"wo", "rd\": \"a\\", "u00e9\"", "}"]);
    let (_server, nick, model) = asking(vec![call, Turn::says(&["done"])]).await;
    let events = outcome(&nick, AGENT, "hi").await;
    let called = events.iter().find(|event| event["type"] == "ToolCall");
    let called = called.unwrap_or_else(|| panic!("a call is told: {:?}", types(&events)));
    assert_eq!(called["function_name"], "lookup", "{called}");
    assert_eq!(called["args"], json!({"word": "a\u{e9}"}), "{called}");
    // A tool that nobody offers fails, and the model hears of it.
    eventually("the model is asked again, or the run has ended", || async {
        (!model.prompts().is_empty()).then_some(())
    })
    .await;
    assert!(["success", "error"].contains(&finish(&events)), "{events:?}");
}
