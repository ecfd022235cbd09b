//! A scripted endpoint, over a real socket.

use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::TcpListener,
    sync::oneshot,
};

use super::*;
use crate::testing::{read_request, request, run, scripted};

fn stream(events: &[Value]) -> String {
    let events: String = events
        .iter()
        .map(|event| match event["id"].as_u64() {
            Some(id) => format!("id: {id}\nevent: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()),
            None => format!("data: {event}\n\n"),
        })
        .collect();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}")
}

fn agent(origin: &str) -> Arc<Remote> {
    let settings = json!({"url": format!("{origin}/agent/writer/"), "token_env": "TOKEN"});
    let settings = serde_json::from_value(settings).unwrap();
    Arc::new(Remote::new(settings, |_| Some("secret".into())).unwrap())
}

#[tokio::test]
async fn sc_22_events_are_said_again_one_call_deeper_and_a_stream_that_breaks_is_taken_up() {
    let first = [
        json!({"id": 1, "type": "RunStarted", "run_id": "r", "thread_id": "t", "depth": 1}),
        json!({"type": "TextDelta", "content": "He"}),
        json!({"id": 2, "type": "TextOutput", "content": "Hello", "depth": 1}),
        json!({"id": 3, "type": "NotYetKnown"}),
    ];
    let second = [
        json!({"id": 4, "type": "ToolResult", "function_name": "f", "text_result": "1", "depth": 3}),
        json!({"id": 5, "type": "ArtifactGenerated", "name": "a.txt", "mime_type": "text/plain", "url": "/artifacts/1"}),
        json!({"id": 6, "type": "RunCompleted", "finish_reason": "success", "result": "Hello"}),
    ];
    let artifact = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi".to_owned();
    let again = stream(&[json!({"id": 1, "type": "RunCompleted", "finish_reason": "success"})]);
    let (origin, serving) = scripted(vec![stream(&first), stream(&second), artifact, again]).await;
    let agent = agent(&origin);
    let request = request(&json!({"input": "hi", "run_id": "ours", "run_context": {"user": "u"}}));
    let (agent_run, mut receiver) = run(&request);
    let running = tokio::spawn(agent.clone().run(request.clone(), agent_run));
    let mut events = Vec::new();
    while let Some(event) = receiver.event().await {
        events.push(event);
    }
    assert_eq!(running.await.unwrap(), RunEnd::with("Hello"));
    assert_eq!(events.iter().map(|event| event.deeper).collect::<Vec<_>>(), [1, 3, 1]);
    assert_eq!(events[2].artifact.as_deref(), Some(b"hi".as_slice()));
    assert_eq!(receiver.delta().await.unwrap().text, "He");
    // The next run of our thread continues the remote thread.
    let (agent_run, _receiver) = run(&request);
    agent.run(request, agent_run).await;
    let requests = serving.await.unwrap();
    assert!(requests[0].head.starts_with("post /agent/writer/stream_request "), "{}", requests[0].head);
    assert!(requests.iter().all(|request| request.head.contains("authorization: bearer secret")));
    let body = json!({"type": "ChatRequest", "input": "hi", "depth": 1, "run_context": {"user": "u"}});
    assert_eq!(requests[0].body, body);
    assert!(
        requests[1].head.starts_with("get /agent/writer/get_events/r?stream=true&since=3 "),
        "{}",
        requests[1].head
    );
    assert!(requests[1].head.contains("last-event-id: 3"), "{}", requests[1].head);
    assert!(requests[2].head.starts_with("get /artifacts/1 "), "{}", requests[2].head);
    assert_eq!(requests[3].body["thread_id"], "t");
}

#[tokio::test]
async fn a_stream_that_breaks_in_a_text_is_resumed_after_the_last_stored_event() {
    let delta = json!({"type": "TextDelta", "content": "tw"});
    let first = [
        json!({"id": 1, "type": "RunStarted", "run_id": "r", "thread_id": "t"}),
        json!({"id": 2, "type": "TextOutput", "content": "one "}),
        delta.clone(),
    ];
    let end = json!({"id": 3, "type": "RunCompleted", "finish_reason": "success"});
    let (origin, serving) = scripted(vec![stream(&first), stream(&[delta]), stream(&[end])]).await;
    let request = request(&json!({"input": "hi"}));
    let (agent_run, _receiver) = run(&request);
    assert_eq!(agent(&origin).run(request, agent_run).await, RunEnd::success());
    for resumed in &serving.await.unwrap()[1..] {
        assert!(resumed.head.contains("last-event-id: 2"), "{}", resumed.head);
    }
}

#[tokio::test]
async fn sc_38_an_endpoint_that_resumes_at_the_beginning_repeats_nothing_here() {
    let start = json!({"id": 1, "type": "RunStarted", "run_id": "r", "thread_id": "t"});
    let text = json!({"id": 2, "type": "TextOutput", "content": "one"});
    let more = json!({"id": 3, "type": "TextOutput", "content": "two"});
    // An end ends the run, whatever its number.
    let end = json!({"id": 1, "type": "RunCompleted", "finish_reason": "success"});
    let script = [vec![&start, &text], vec![&start, &text, &more], vec![&start, &text, &more, &end]];
    let script = script.map(|events| stream(&events.into_iter().cloned().collect::<Vec<_>>()));
    let (origin, serving) = scripted(script.into()).await;
    let request = request(&json!({"input": "hi"}));
    let (agent_run, mut receiver) = run(&request);
    let running = tokio::spawn(agent(&origin).run(request, agent_run));
    let mut texts = Vec::new();
    while let Some(event) = receiver.event().await {
        texts.push(event.members()["content"].clone());
    }
    assert_eq!(running.await.unwrap(), RunEnd::success());
    assert_eq!(texts, ["one", "two"]);
    let requests = serving.await.unwrap();
    for (resumed, since) in requests[1..].iter().zip(["since=2", "since=3"]) {
        assert!(resumed.head.contains(since), "{}", resumed.head);
    }
}

#[tokio::test]
async fn a_refusal_and_an_absent_endpoint_are_told() {
    let refusal = "HTTP/1.1 404 Not Found\r\ncontent-length: 28\r\nconnection: close\r\n\r\n{\"detail\":\"no such an agent\"}";
    let (origin, _serving) = scripted(vec![refusal.into()]).await;
    let request = request(&json!({"input": "hi"}));
    for (url, error) in [(origin.as_str(), "404 Not Found"), ("http://127.0.0.1:1", "refused")] {
        let (agent_run, _receiver) = run(&request);
        let run_end = agent(url).run(request.clone(), agent_run).await;
        assert!(run_end.error.as_ref().unwrap().contains(error), "{run_end:?}");
    }
}

#[tokio::test]
async fn sc_47_what_a_refusal_says_is_no_artifact() {
    let events = [
        json!({"id": 1, "type": "RunStarted", "run_id": "r", "thread_id": "t"}),
        json!({"id": 2, "type": "ArtifactGenerated", "name": "a", "mime_type": "text/plain", "url": "/artifacts/1"}),
        json!({"id": 3, "type": "RunCompleted", "finish_reason": "success", "result": ""}),
    ];
    let not_found = "HTTP/1.1 404 Not Found\r\ncontent-length: 12\r\nconnection: close\r\n\r\n{\"detail\":1}";
    let (origin, _serving) = scripted(vec![stream(&events), not_found.into()]).await;
    let request = request(&json!({"input": "hi"}));
    let (agent_run, mut receiver) = run(&request);
    let running = tokio::spawn(agent(&origin).run(request, agent_run));
    let event = receiver.event().await.unwrap();
    assert_eq!((&event.artifact, &event.members()["url"]), (&None, &json!(format!("{origin}/artifacts/1"))));
    assert_eq!(running.await.unwrap(), RunEnd::with(""));
}

#[tokio::test]
async fn sc_26_an_end_that_is_none_ends_the_run_with_an_error() {
    let events = [
        json!({"id": 1, "type": "RunStarted", "run_id": "r", "thread_id": "t"}),
        json!({"id": 2, "type": "RunCompleted", "finish_reason": "wonderful"}),
    ];
    let (origin, _serving) = scripted(vec![stream(&events)]).await;
    let request = request(&json!({"input": "hi"}));
    let (agent_run, _receiver) = run(&request);
    let run_end = agent(&origin).run(request, agent_run).await;
    assert!(run_end.error.as_ref().unwrap().contains("finish_reason \"wonderful\""), "{run_end:?}");
}

#[tokio::test]
async fn sc_46_a_cancellation_before_the_first_event_reaches_the_remote_run() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let (cancel, canceled) = oneshot::channel();
    let serving = tokio::spawn(async move {
        let mut running = BufReader::new(listener.accept().await.unwrap().0);
        read_request(&mut running).await;
        // The text shows that the response has begun; the run has no id yet.
        running.write_all(stream(&[json!({"type": "TextDelta", "content": "He"})]).as_bytes()).await.unwrap();
        canceled.await.unwrap();
        let frame = |event: Value| format!("event: x\ndata: {event}\n\n");
        let started = json!({"id": 1, "type": "RunStarted", "run_id": "r", "thread_id": "t"});
        running.write_all(frame(started).as_bytes()).await.unwrap();
        let mut telling = BufReader::new(listener.accept().await.unwrap().0);
        let told = read_request(&mut telling).await;
        telling
            .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let run_end = json!({"id": 2, "type": "RunCompleted", "finish_reason": "canceled"});
        running.write_all(frame(run_end).as_bytes()).await.unwrap();
        running.shutdown().await.unwrap();
        told.body
    });
    let request = request(&json!({"input": "hi"}));
    let (ours, mut receiver) = run(&request);
    let running = tokio::spawn(agent(&origin).run(request, ours));
    assert_eq!(receiver.delta().await.unwrap().text, "He");
    receiver.cancel();
    cancel.send(()).unwrap();
    assert_eq!(serving.await.unwrap(), json!({"type": "CancelRequest", "run_id": "r"}));
    assert_eq!(running.await.unwrap(), RunEnd::canceled());
}
