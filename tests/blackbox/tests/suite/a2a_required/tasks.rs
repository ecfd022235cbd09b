//! Messages and tasks (sections 3.1, 3.2, 3.3, 3.4).
//! Must not know: the forms of the bindings.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{asking, at_once, bindings::Line, lines, scene, state};
use crate::a2a::{ECHO, message};

#[tokio::test]
async fn a2a_1_5_9_25_27_a_message_is_a_task_that_is_waited_for_and_read_again() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let task = line.task(message("m-1", "Hello", Value::Null)).await;
        assert_eq!(state(&task), "COMPLETED", "{task}");
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "Hello", "{task}");
        assert!(task["contextId"].as_str().is_some_and(|id| !id.is_empty()), "{task}");
        for length in [json!({"id": task["id"]}), json!({"id": task["id"], "historyLength": 0})] {
            let shown = line.ask("GetTask", length).await.expect("the task");
            assert_eq!(shown, task, "also when it came into its state");
            assert!(shown["history"].as_array().is_none_or(Vec::is_empty), "{shown}");
        }
    }
}

/// Unless told otherwise a message is answered when its task is over or asks something, and not while it is at work.
#[tokio::test]
async fn a2a_5_33_a_message_is_answered_when_its_task_is_over_or_asks() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        for configuration in [Value::Null, json!({}), json!({"returnImmediately": false})] {
            let mut slow = message("m-1", "x", json!({"metadata": {"demo": [{"slow": 300.0}]}}));
            if !configuration.is_null() {
                slow["configuration"] = configuration;
            }
            let done = line.task(slow).await;
            assert_eq!((state(&done), &done["artifacts"][0]["parts"][0]["text"]), ("COMPLETED", &json!("x")));
        }
        let asks = line.task(asking(&format!("{:?}", line.binding), "x")).await;
        assert_eq!(state(&asks), "INPUT_REQUIRED", "{asks}");
        // An answer waits for the end likewise.
        let done = line.task(message("m-2", "Nick", json!({"taskId": asks["id"]}))).await;
        assert_eq!((&done["id"], state(&done)), (&asks["id"], "COMPLETED"), "{done}");
    }
}

#[tokio::test]
async fn a2a_6_a_message_that_need_not_be_waited_for_is_answered_at_once() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let task = line.task(at_once(&format!("{:?}", line.binding), &json!(["slow"]))).await;
        assert!(matches!(state(&task), "SUBMITTED" | "WORKING"), "{task}");
        line.ask("CancelTask", json!({"id": task["id"]})).await.expect("it is canceled");
    }
}

/// Clients use the ids of messages again, for other contents and after the end of a task.
#[tokio::test]
async fn a2a_4_27_the_same_message_is_the_same_task_only_while_that_goes_on() {
    let (_server, nick) = scene().await;
    let mut ids = BTreeSet::new();
    for line in lines(&nick) {
        for text in ["a", "b", "a", "a", "b"] {
            let task = line.task(message("m-1", text, Value::Null)).await;
            assert_eq!(
                (state(&task), &task["artifacts"][0]["parts"][0]["text"]),
                ("COMPLETED", &json!(text))
            );
            assert!(ids.insert(task["id"].to_string()), "{task}");
        }
        let first = line.task(asking("m-2", "x")).await;
        assert_eq!(state(&first), "INPUT_REQUIRED", "{first}");
        for other in lines(&nick) {
            assert_eq!(other.task(asking("m-2", "x")).await["id"], first["id"], "it goes on");
        }
        let another = line.task(asking("m-2", "y")).await;
        assert_ne!(another["id"], first["id"], "another content");
        // The same id once more, for the answer.
        for (task, name) in [(&first, "Nick"), (&another, "Ann")] {
            let answer = message("m-2", name, json!({"taskId": task["id"]}));
            let done = line.task(answer.clone()).await;
            assert_eq!((&done["id"], state(&done)), (&task["id"], "COMPLETED"), "{done}");
            assert!(done["artifacts"].to_string().contains(name), "{done}");
            assert_eq!(line.task(answer).await["id"], task["id"], "an answer that comes again was taken");
        }
    }
}

#[tokio::test]
async fn a2a_4_a_key_of_the_client_counts_after_the_end_of_the_task_too() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let key = format!("{:?}", line.binding);
        let send = async |text: &str| {
            let sent = message("m-1", text, Value::Null);
            line.outcome(&line.call("SendMessage", &sent, &[("Idempotency-Key", &*key)]).await)
        };
        let first = send("a").await.expect("a task");
        assert_eq!(state(&first["task"]), "COMPLETED");
        assert_eq!(send("a").await.expect("a task")["task"]["id"], first["task"]["id"]);
        assert_eq!(send("b").await, Err("INVALID_PARAMS".into()));
    }
}

#[tokio::test]
async fn a2a_4_the_same_holds_for_agents_in_sessions() {
    let (server, nick) = scene().await;
    let ann = server.agent("@ann.cc").await;
    for line in lines(&nick).map(|line| Line { base: "/a2a/ann.cc", ..line }) {
        let sent = |text: &str| {
            let mut sent = message(&format!("{:?}", line.binding), text, Value::Null);
            sent["configuration"] = json!({"returnImmediately": true});
            sent
        };
        let first = line.task(sent("a")).await;
        assert_eq!(line.task(sent("a")).await["id"], first["id"], "it goes on");
        assert_ne!(line.task(sent("b")).await["id"], first["id"], "another content");
        let session = first["contextId"].as_str().expect("a session");
        ann.join(session).await;
        ann.say(session, "Here.").await;
        let shown = line.ask("GetTask", json!({"id": first["id"]})).await.expect("the task");
        assert_eq!(state(&shown), "COMPLETED", "{shown}");
        assert_ne!(line.task(sent("a")).await["id"], first["id"], "its task is over");
    }
}

#[tokio::test]
async fn a2a_2_a_message_to_a_task_that_is_over_is_refused() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let task = line.task(message("m-1", "x", Value::Null)).await;
        let more = message("m-2", "more", json!({"taskId": task["id"]}));
        assert_eq!(line.ask("SendMessage", more.clone()).await, Err("UNSUPPORTED_OPERATION".into()));
        assert_eq!(line.ask("SendStreamingMessage", more).await, Err("UNSUPPORTED_OPERATION".into()));
    }
}

#[tokio::test]
async fn a2a_3_a_media_type_that_the_card_does_not_name_is_refused() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let part = |part: Value| {
            let mut sent = message("m-1", "x", Value::Null);
            sent["message"]["parts"] = json!([{"text": "x"}, part]);
            sent
        };
        for refused in [
            json!({"raw": "dGNr", "mediaType": "application/x-unknown"}),
            json!({"url": "https://example.org/a", "mediaType": "video/x-unknown"}),
            json!({"text": "x", "mediaType": "nothing"}),
        ] {
            for method in ["SendMessage", "SendStreamingMessage"] {
                let asked = line.ask(method, part(refused.clone())).await;
                assert_eq!(asked, Err("CONTENT_TYPE_NOT_SUPPORTED".into()), "{refused}");
            }
        }
        for taken in [
            json!({"raw": "AAEC", "mediaType": "image/png"}),
            json!({"text": "# x", "mediaType": "text/markdown; charset=utf-8"}),
            json!({"data": {"a": 1}, "mediaType": "application/json"}),
            json!({"data": [1]}),
        ] {
            assert_eq!(state(&line.task(part(taken)).await), "COMPLETED");
        }
    }
}

#[tokio::test]
async fn a2a_10_20_24_32_a_task_of_somebody_else_looks_like_none() {
    let (server, nick) = scene().await;
    let ann = server.agent("@ann.cc").await;
    for line in lines(&nick) {
        let task = line.task(asking(&format!("{:?}", line.binding), "x")).await;
        let anns = Line { caller: &ann, ..line };
        for id in [task["id"].as_str().expect("an id"), "none", "none.1"] {
            for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
                let asked = anns.ask(method, json!({"id": id})).await;
                assert_eq!(asked, Err("TASK_NOT_FOUND".into()), "{method} {id}");
            }
            let more = message("m-2", "x", json!({"taskId": id}));
            assert_eq!(anns.ask("SendMessage", more).await, Err("TASK_NOT_FOUND".into()), "{id}");
        }
        let listed = anns.ask("ListTasks", json!({})).await.expect("a list");
        assert_eq!((&listed["tasks"], &listed["totalSize"]), (&json!([]), &json!(0)));
    }
}

#[tokio::test]
async fn a2a_11_12_13_14_15_16_17_tasks_are_listed_by_pages_and_filters() {
    let (_server, nick) = scene().await;
    let mut line = lines(&nick);
    let sender = line.next().expect("a binding");
    let mut sent = Vec::new();
    for n in 0..4 {
        sent.push(sender.task(message(&format!("m-{n}"), "x", Value::Null)).await);
    }
    sent.push(sender.task(asking("m-5", "x")).await);
    sent.reverse();
    let id = |task: &Value| task["id"].as_str().expect("an id").to_owned();
    for line in lines(&nick) {
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page =
                line.ask("ListTasks", json!({"pageSize": 2, "pageToken": token})).await.expect("a page");
            assert_eq!((&page["pageSize"], &page["totalSize"]), (&json!(2), &json!(5)), "{page}");
            for task in page["tasks"].as_array().expect("tasks") {
                assert!(task.get("artifacts").is_none(), "{task}");
                seen.push(task.clone());
            }
            page["nextPageToken"].as_str().expect("always there").clone_into(&mut token);
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(seen.iter().map(id).collect::<Vec<_>>(), sent.iter().map(id).collect::<Vec<_>>());
        let times: Vec<_> =
            seen.iter().map(|task| task["status"]["timestamp"].as_str().expect("a time")).collect();
        assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
        for (task, listed) in sent.iter().zip(&seen) {
            assert_eq!(
                listed["status"]["timestamp"], task["status"]["timestamp"],
                "one time for all who ask"
            );
        }
        let list = async |asked: Value| line.ask("ListTasks", asked).await.expect("a list");
        let whole = list(json!({"includeArtifacts": true})).await;
        assert_eq!(whole["tasks"][1]["artifacts"][0]["parts"][0]["text"], "x", "{whole}");
        assert_eq!(whole["nextPageToken"], "", "{whole}");
        for (filter, count) in [
            (json!({"status": "TASK_STATE_INPUT_REQUIRED"}), 1),
            (json!({"status": "TASK_STATE_COMPLETED"}), 4),
            (json!({"contextId": sent[2]["contextId"]}), 1),
            (json!({"contextId": "none"}), 0),
            (json!({"statusTimestampAfter": sent[1]["status"]["timestamp"]}), 2),
        ] {
            let listed = list(filter.clone()).await;
            assert_eq!(listed["tasks"].as_array().map(Vec::len), Some(count), "{filter}: {listed}");
        }
        for wrong in [
            json!({"pageSize": 0}),
            json!({"pageSize": 101}),
            json!({"pageToken": "none"}),
            json!({"historyLength": -1}),
        ] {
            assert_eq!(line.ask("ListTasks", wrong.clone()).await, Err("INVALID_PARAMS".into()), "{wrong}");
        }
    }
}

#[tokio::test]
async fn a2a_18_19_a_task_is_canceled_once() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let task = line.task(at_once(&format!("{:?}", line.binding), &json!(["slow"]))).await;
        let canceled = line.ask("CancelTask", json!({"id": task["id"]})).await.expect("a task");
        assert_eq!((&canceled["id"], state(&canceled)), (&task["id"], "CANCELED"), "{canceled}");
        let again = line.ask("CancelTask", json!({"id": task["id"]})).await;
        assert_eq!(again, Err("TASK_NOT_CANCELABLE".into()));
    }
}

#[tokio::test]
async fn a2a_26_28_29_30_31_contexts_are_the_servers_and_a_task_has_one() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let task = line.task(asking(&format!("{:?}", line.binding), "x")).await;
        let strange = message("m-2", "x", json!({"contextId": "mine"}));
        assert_eq!(line.ask("SendMessage", strange).await, Err("TASK_NOT_FOUND".into()), "no other is made");
        let wrong = message("m-3", "x", json!({"taskId": task["id"], "contextId": "mine"}));
        assert_eq!(line.ask("SendMessage", wrong).await, Err("INVALID_PARAMS".into()));
        let mut second = message("m-4", "x", json!({"contextId": task["contextId"]}));
        second["configuration"] = json!({"returnImmediately": true});
        let second = line.task(second).await;
        assert_eq!(second["contextId"], task["contextId"], "{second}");
        assert_eq!(state(&second), "SUBMITTED", "a thread has one run at a time: {second}");
    }
}

#[tokio::test]
async fn a2a_28_33_a_task_that_asks_goes_on_with_the_message_that_names_it() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let task = line.task(asking(&format!("{:?}", line.binding), "x")).await;
        let asked = &task["status"]["message"];
        assert_eq!((&asked["role"], &asked["parts"][0]["text"]), (&json!("ROLE_AGENT"), &json!("Your name")));
        let done = line.task(message("m-2", "Nick", json!({"taskId": task["id"]}))).await;
        assert_eq!((&done["contextId"], state(&done)), (&task["contextId"], "COMPLETED"), "{done}");
    }
}

#[tokio::test]
async fn a2a_27_34_38_what_is_wrong_is_refused_before_anything_is_done() {
    let (_server, nick) = scene().await;
    for line in lines(&nick) {
        let with = |name: &str, value: Value| {
            let mut sent = message("m-1", "x", Value::Null);
            sent["message"][name] = value;
            sent
        };
        let mut history = message("m-1", "x", Value::Null);
        history["configuration"] = json!({"historyLength": -1});
        for wrong in [
            with("messageId", json!("")),
            with("messageId", json!("a b")),
            with("parts", json!([])),
            with("parts", json!([{}])),
            with("role", json!("ROLE_AGENT")),
            json!({}),
            history,
        ] {
            assert_eq!(line.ask("SendMessage", wrong.clone()).await, Err("INVALID_PARAMS".into()), "{wrong}");
        }
        assert_eq!(
            line.ask("GetTask", json!({"id": "x", "historyLength": -1})).await,
            Err("INVALID_PARAMS".into())
        );
        assert_eq!(line.ask("Nothing", json!({})).await, Err("METHOD_NOT_FOUND".into()));
        let listed = line.ask("ListTasks", json!({})).await.expect("a list");
        assert_eq!(listed["totalSize"], 0, "nothing was begun");
    }
}

#[tokio::test]
async fn a2a_35_36_another_version_is_refused_and_none_is_the_one_before() {
    let (_server, nick) = scene().await;
    let call = json!({"jsonrpc": "2.0", "id": "c-1", "method": "ListTasks"});
    for (version, is_spoken) in [
        (None, false),
        (Some("0.3"), false),
        (Some("2.0"), false),
        (Some("1.0"), true),
        (Some("1.0.1"), true),
    ] {
        let headers: Vec<_> = version.map(|version| ("A2A-Version", version)).into_iter().collect();
        for line in lines(&nick) {
            let answer = match line.binding {
                super::bindings::Binding::JsonRpc => nick.call("POST", ECHO, &headers, Some(&call)).await,
                super::bindings::Binding::HttpJson => {
                    nick.call("GET", &format!("{ECHO}/tasks"), &headers, None).await
                }
            };
            let outcome = line.outcome(&answer);
            assert_eq!(outcome.is_ok(), is_spoken, "{version:?}: {answer}");
            assert!(is_spoken || outcome == Err("VERSION_NOT_SUPPORTED".into()), "{answer}");
        }
    }
}

/// What a token may not do is neither a fault of the call nor of the agent, and the client learns that.
#[tokio::test]
async fn a2a_37_a_token_with_another_scope_is_denied() {
    let (server, nick) = scene().await;
    for (scope, may_read) in [("read", true), ("sessions:write", false)] {
        let made = nick.post("/agents/me/tokens", json!({"scope": scope})).await.ok(201);
        let scoped = server.bearer(made["token"].as_str().expect("a token"));
        let denied = |answer: &blackbox::Response| {
            assert_eq!(answer.status, 403, "{answer}");
            let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\"";
            assert_eq!(answer.header("www-authenticate"), Some(challenge), "{answer}");
        };
        for line in lines(&nick).map(|line| Line { caller: &scoped, ..line }) {
            let answer = line.call("SendMessage", &message("m-1", "x", Value::Null), &[]).await;
            denied(&answer);
            assert_eq!(line.outcome(&answer), Err("INSUFFICIENT_SCOPE".into()));
        }
        let card = scoped.get(&format!("{ECHO}/.well-known/agent-card.json")).await;
        assert_eq!(card.status, if may_read { 200 } else { 403 }, "{card}");
        for path in ["/v1/chat/completions", "/v1/responses"] {
            let answer = scoped
                .post(
                    path,
                    json!({"model": "echo", "input": "x", "messages": [{"role": "user", "content": "x"}]}),
                )
                .await;
            denied(&answer);
            assert_eq!(answer.json()["error"]["code"], "insufficient_scope", "{answer}");
        }
    }
}
