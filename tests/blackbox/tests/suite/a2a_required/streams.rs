//! Streams (sections 3.1.2, 3.1.6, 3.5, 9.4.2, 11.7): their order, their end, and where a client resumes them.
//! Must not know: the forms of the bindings.

use blackbox::Connection;
use serde_json::{Value, json};

use super::{
    asking, at_once,
    bindings::{Line, StreamEvent},
    lines, scene, state,
};
use crate::a2a::{ECHO, message};

fn of_status(event: &StreamEvent) -> &str {
    state(&event.value["statusUpdate"])
}

#[tokio::test]
async fn a2a_7_8_21_22_a_stream_begins_with_the_task_and_ends_with_its_end_or_its_question() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let sent = message("m-1", "a b", json!({"metadata": {"demo": ["deltas", "artifact"]}}));
        let events = line.events(&line.call("SendStreamingMessage", &sent, &[]).await);
        assert!(events[0].value["task"]["id"].is_string(), "{events:?}");
        assert_eq!(of_status(events.last().expect("an event")), "COMPLETED", "{events:?}");
        assert_eq!(events.iter().filter(|event| of_status(event) == "COMPLETED").count(), 1, "{events:?}");
        let asked = asking(&format!("{:?}", line.binding), "x");
        let events = line.events(&line.call("SendStreamingMessage", &asked, &[]).await);
        assert_eq!(of_status(events.last().expect("an event")), "INPUT_REQUIRED", "{events:?}");
    }
}

/// A stream has every state and every artifact of its task, in the order of their making, each with the ids of the task.
#[tokio::test]
async fn a2a_7_8_a_stream_has_every_update_of_its_task() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let sent = message("m-1", "a b", json!({"metadata": {"demo": ["deltas", "artifact"]}}));
        let events = line.events(&line.call("SendStreamingMessage", &sent, &[]).await);
        let task = &events[0].value["task"];
        let updates = events[1..].iter().map(|event| {
            let (name, update) =
                event.value.as_object().and_then(|told| told.iter().next()).expect("one member");
            assert_eq!(
                (&update["taskId"], &update["contextId"]),
                (&task["id"], &task["contextId"]),
                "{event:?}"
            );
            (name.as_str(), update)
        });
        let updates: Vec<_> = updates.collect();
        let states =
            updates.iter().filter(|(name, _)| *name == "statusUpdate").map(|(_, update)| state(update));
        let states: Vec<_> = [state(task)].into_iter().chain(states).collect();
        assert!(states.contains(&"WORKING"), "{states:?}");
        assert_eq!(states.iter().filter(|state| **state == "COMPLETED").count(), 1, "{states:?}");
        assert_eq!(
            updates.last().map(|(name, update)| (*name, state(update))),
            Some(("statusUpdate", "COMPLETED"))
        );
        let artifacts: Vec<_> = updates.iter().filter(|(name, _)| *name == "artifactUpdate").collect();
        // Pieces of the text may be lost on the way; the whole is not.
        let whole: Vec<_> = artifacts.iter().filter(|(_, update)| update["lastChunk"] == true).collect();
        let texts: Vec<_> = whole.iter().map(|(_, update)| &update["artifact"]["parts"][0]["text"]).collect();
        assert_eq!(texts, ["a b", "a b"], "the document and what was said: {events:?}");
        assert!(whole.iter().any(|(_, update)| update["artifact"]["name"] == "echo.txt"), "{events:?}");
        let ids: Vec<_> = whole.iter().map(|(_, update)| &update["artifact"]["artifactId"]).collect();
        assert_ne!(ids[0], ids[1]);
        let kept = line.ask("GetTask", json!({"id": task["id"]})).await.expect("the task");
        let kept: Vec<_> =
            kept["artifacts"].as_array().into_iter().flatten().map(|one| &one["artifactId"]).collect();
        assert!(ids.iter().all(|id| kept.contains(id)), "{ids:?} of {kept:?}");
    }
}

#[tokio::test]
async fn a2a_21_22_23_25_all_streams_of_a_task_have_the_same_events_in_the_same_order() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        // It goes on long enough for both to come.
        let task = line.task(at_once(&format!("{:?}", line.binding), &json!([{"slow": 2_000}]))).await;
        let id = json!({"id": task["id"]});
        let follow = async || line.events(&line.call("SubscribeToTask", &id, &[]).await);
        let (one, two) = tokio::join!(follow(), follow());
        for events in [&one, &two] {
            assert_eq!(events[0].value["task"]["id"], task["id"], "{events:?}");
            assert_eq!(of_status(events.last().expect("an event")), "COMPLETED", "{events:?}");
        }
        assert_eq!(one[1..], two[1..]);
        assert_eq!(line.ask("SubscribeToTask", id).await, Err("UNSUPPORTED_OPERATION".into()));
    }
}

/// Each event has the number of what it tells: whoever names the last one gets the rest, also of a task that is over by then
/// and after a kill of the server.
#[tokio::test]
async fn a2a_39_a_stream_is_resumed_after_the_last_event_that_the_client_has() {
    let (mut server, nick) = scene().await;
    for line in lines(&nick) {
        let sent = message("m-1", "a b", json!({"metadata": {"demo": ["artifact"]}}));
        let whole = line.events(&line.call("SendStreamingMessage", &sent, &[]).await);
        let task =
            whole.iter().find_map(|event| event.value["task"]["id"].as_str()).expect("a task").to_owned();
        let numbers: Vec<u64> = whole.iter().filter_map(|event| event.id).collect();
        assert!(numbers.is_sorted() && numbers.len() >= 3, "{whole:?}");
        for crash in [false, true] {
            if crash {
                server.crash().await;
            }
            let resume = async |after: &str| {
                line.call("SubscribeToTask", &json!({"id": task}), &[("Last-Event-ID", after)]).await
            };
            for number in &numbers[..numbers.len() - 1] {
                let rest = line.events(&resume(&number.to_string()).await);
                assert_eq!(rest[0].value["task"]["id"], task, "{rest:?}");
                let behind = whole.iter().skip_while(|event| event.id != Some(*number)).skip(1);
                // Pieces of text are not kept: the whole text takes their place.
                let is_kept = |event: &&StreamEvent| event.value["artifactUpdate"]["lastChunk"] != false;
                let told = |event: &StreamEvent| (event.id, without_time(&event.value));
                let behind: Vec<_> = behind.filter(is_kept).map(told).collect();
                assert_eq!(rest[1..].iter().map(told).collect::<Vec<_>>(), behind, "after {number}");
            }
            let last = numbers.last().expect("a number").to_string();
            assert_eq!(line.outcome(&resume(&last).await), Err("UNSUPPORTED_OPERATION".into()), "it is over");
            assert_eq!(line.outcome(&resume("x").await), Err("INVALID_PARAMS".into()));
        }
    }
}

fn without_time(event: &Value) -> Value {
    let mut event = event.clone();
    if let Some(status) = event.pointer_mut("/statusUpdate/status") {
        status["timestamp"].take();
    }
    event
}

#[tokio::test]
async fn a2a_39_a_stream_of_an_agent_in_a_session_is_resumed_too() {
    let (server, nick) = scene().await;
    let ann = server.agent("@ann.cc").await;
    for line in lines(&nick).map(|line| Line { base: "/a2a/ann.cc", ..line }) {
        let mut sent = message(&format!("{:?}", line.binding), "Are you there?", Value::Null);
        sent["configuration"] = json!({"returnImmediately": true});
        let task = line.task(sent).await;
        let session = task["contextId"].as_str().expect("a session");
        let first = task["id"].as_str().and_then(|id| id.rsplit_once('.')).expect("a sequence").1;
        ann.join(session).await;
        ann.say(session, "I am.").await;
        let resume = [("Last-Event-ID", first)];
        let rest = line.events(&line.call("SubscribeToTask", &json!({"id": task["id"]}), &resume).await);
        let states: Vec<_> = rest.iter().map(of_status).filter(|state| !state.is_empty()).collect();
        // The invitation may have reached the agent before the first answer or after it.
        assert!(matches!(state(&rest[0].value["task"]), "SUBMITTED" | "WORKING"), "{rest:?}");
        assert_eq!(states, ["WORKING", "COMPLETED"], "{rest:?}");
        assert!(rest[1..].iter().filter_map(|event| event.id).is_sorted(), "{rest:?}");
    }
}

/// A stream that cannot be followed further ends with an error. Over HTTP+JSON it is an event of this name: the SDKs take others
/// for updates.
#[tokio::test]
async fn a_stream_whose_token_is_revoked_ends_with_an_error() {
    let sent = message("m-1", "x", json!({"metadata": {"demo": ["slow"]}}));
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": sent});
    for (path, body, name) in
        [(ECHO.to_owned(), &rpc, None), (format!("{ECHO}/message:stream"), &sent, Some("error"))]
    {
        let (server, nick) = scene().await;
        let body = body.to_string();
        let request = nick.request("POST", &path, &[("A2A-Version", "1.0")], Some(body.as_bytes()));
        let mut connection = Connection::open(server.address().place()).await.expect("the server is there");
        connection.send(&request).await.expect("it takes the request");
        let head = connection.response_head().await.expect("a stream");
        let rotate = format!("/_admin/agents/{}/rotate-token", nick.handle);
        server.operator().post_empty(&rotate).await.ok(200);
        let answer = connection.complete(head).await.expect("a whole answer").text();
        let last = answer.trim_end().rsplit("\n\n").next().expect("an event").to_owned();
        let (line, data) = last.split_once("data: ").expect("data");
        assert_eq!(line.trim_end().strip_prefix("event: "), name, "{answer}");
        let data: Value = serde_json::from_str(data).expect("JSON");
        assert!(data["error"]["message"].as_str().is_some_and(|text| text.contains("followed")), "{answer}");
    }
}
