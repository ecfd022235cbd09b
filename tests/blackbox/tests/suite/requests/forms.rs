//! Requests that ask for values: what a form may be, and which answers it takes.

use serde_json::{Map, Value, json};

use super::{House, Tap, ask, at, house};

fn asking(form: &Value) -> Value {
    json!({"kind": "question", "title": "Where to?", "form": form})
}

fn form() -> Value {
    json!({"type": "object", "properties": {
        "branch": {"type": "string", "title": "Branch", "oneOf": [{"const": "main", "title": "Main"}, {"const": "next", "title": "Next"}]},
        "copies": {"type": "integer", "minimum": 1, "maximum": 3},
        "notify": {"type": "boolean"}
    }, "required": ["branch"]})
}

#[tokio::test]
async fn the_values_of_a_form_are_checked_and_reach_the_agent() {
    let House { server: _server, owner, agent } = house().await;
    let id = ask(&agent, asking(&form())).await;
    let request = owner.get(&at(&id, "")).await.ok(200);
    assert_eq!(request["form"], form());
    let allow = json!({"accept": false, "edit": true, "respond": false, "ignore": true});
    assert_eq!(request["allow"], allow);
    let path = at(&id, "/answer");
    let edit = |args: Value| json!({"type": "edit", "args": args, "version": 1});
    for (wrong, named) in [
        (json!({}), "branch"),
        (json!({"branch": "Main"}), "branch"),
        (json!({"branch": "main", "copies": 4}), "copies"),
        (json!({"branch": "main", "copies": 1.5}), "copies"),
        (json!({"branch": "main", "notify": "yes"}), "notify"),
        (json!({"branch": "main", "other": 1}), "other"),
    ] {
        let refused = owner.post(&path, edit(wrong.clone())).await;
        refused.assert_refused(400, "invalid_answer");
        let message = refused.json()["error"]["message"].to_string();
        assert!(message.contains(named), "{wrong}: {message}");
    }
    owner
        .post(&path, json!({"type": "accept", "version": 1}))
        .await
        .assert_refused(409, "answer_not_allowed");
    let many =
        json!({"answers": [{"request_id": id, "type": "edit", "args": {"branch": "old"}, "version": 1}]});
    let results = owner.post("/requests/answers", many).await.ok(200);
    assert_eq!(results["results"][0]["error"]["code"], "invalid_answer");
    assert_eq!(agent.get(&at(&id, "")).await.ok(200)["state"], "open", "nothing is half answered");
    let values = json!({"branch": "next", "copies": 3, "notify": false});
    owner.post(&path, edit(values.clone())).await.ok(200);
    let answer = agent.get(&at(&id, "")).await.ok(200)["answer"].clone();
    assert_eq!((&answer["type"], &answer["args"]), (&json!("edit"), &values));
}

#[tokio::test]
async fn a_form_is_an_interrupt_whose_arguments_are_described() {
    let House { server: _server, owner, agent } = house().await;
    let id = ask(&agent, asking(&form())).await;
    let list = owner.get("/requests/interrupts").await.ok(200);
    let args = &list["interrupts"][0]["action_request"]["args"];
    assert_eq!(args["branch"], "Branch (one of: main, next)");
    let respond = |args: Value| json!({"type": "edit", "args": {"action": "question", "args": args}});
    let path = format!("/requests/interrupts/{id}");
    owner.post(&path, respond(json!({"branch": "old"}))).await.assert_refused(400, "invalid_answer");
    let done = owner.post(&path, respond(json!({"branch": "main"}))).await.ok(200);
    assert_eq!(done["answer"]["args"], json!({"branch": "main"}));
}

#[tokio::test]
async fn what_is_no_form_is_refused_and_nothing_is_asked() {
    let House { server: _server, owner, agent } = house().await;
    let of = |property: Value| json!({"type": "object", "properties": {"a": property}});
    let many = |count: usize| {
        let fields = (0..count).map(|n| (format!("f{n}"), json!({"type": "boolean"})));
        json!({"type": "object", "properties": Map::from_iter(fields)})
    };
    for bad in [
        json!({"type": "array"}),
        json!({"type": "object", "required": ["a"]}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": 5}),
        of(json!({"type": "object", "properties": {}})),
        of(json!({"type": "string", "enum": [1, 2]})),
        of(json!({"type": "array", "items": {"type": "number"}})),
        many(51),
    ] {
        agent.post("/requests", asking(&bad)).await.assert_refused(400, "invalid_form");
    }
    let mut accepting = asking(&form());
    accepting["allow"] = json!({"accept": true, "edit": true});
    agent.post("/requests", accepting).await.assert_refused(400, "invalid_allow");
    assert_eq!(owner.get("/requests").await.ok(200)["requests"], json!([]));
    ask(&agent, asking(&many(50))).await;
}

/// The page of a link answers a form: by inputs without script, with the values that the form asks for.
#[tokio::test]
async fn a_one_tap_link_fills_a_form_in() {
    let House { server, owner, agent } = house().await;
    let mut all = form();
    all["properties"]["days"] =
        json!({"type": "array", "title": "<b>Days", "items": {"enum": ["mo", "tu"], "type": "string"}});
    all["properties"]["note"] = json!({"type": "string", "maxLength": 5});
    let id = ask(&agent, asking(&all)).await;
    let tap = Tap::of(&server, &owner, &id).await;
    let page = tap.look().await.text();
    for part in [
        "value=edit",
        "<select name=\"arg.branch\" required>",
        "<option value=\"main\">main</option>",
        "<input type=number step=1 min=1 max=3 name=\"arg.copies\">",
        "<input type=checkbox name=\"arg.days\" value=\"tu\">",
        "<input type=text name=\"arg.note\">",
        "&lt;b&gt;Days",
        "Decline",
        "It waits until somebody answers.",
    ] {
        assert!(page.contains(part), "{part} is in {page}");
    }
    assert!(!page.contains("answer value=accept") && !page.contains("<b>Days"), "{page}");
    for (wrong, named) in [
        ("answer=edit", "branch"),
        ("answer=edit&arg.branch=old", "branch"),
        ("answer=edit&arg.branch=main&arg.copies=4", "copies"),
        ("answer=edit&arg.branch=main&arg.copies=many", "copies"),
        ("answer=edit&arg.branch=main&arg.days=we", "days"),
        ("answer=edit&arg.branch=main&arg.note=%3Cscript%3E", "note"),
    ] {
        let refused = tap.send(wrong).await;
        assert_eq!(refused.status, 400, "{wrong}");
        assert!(refused.text().contains(named) && !refused.text().contains("<script"), "{}", refused.text());
    }
    let refused = tap.send("answer=accept").await;
    assert_eq!(refused.status, 409);
    assert!(refused.text().contains("This request does not take that answer."), "{}", refused.text());
    let filled =
        "answer=edit&arg.branch=next&arg.copies=2&arg.notify=false&arg.days=mo&arg.days=tu&arg.note=";
    let done = tap.send(filled).await;
    assert_eq!(done.status, 200);
    assert!(
        done.text().contains("Answered.</b>") && done.text().contains("Through a one-tap link"),
        "{}",
        done.text()
    );
    let answer = agent.get(&at(&id, "")).await.ok(200)["answer"].clone();
    let values = json!({"branch": "next", "copies": 2, "notify": false, "days": ["mo", "tu"]});
    assert_eq!((&answer["type"], &answer["args"]), (&json!("edit"), &values));
}

#[tokio::test]
async fn a_question_with_choices_takes_no_acceptance() {
    let House { server: _server, owner, agent } = house().await;
    let with_choices = |kind: &str| json!({"kind": kind, "title": "v1 or v2?", "choices": ["v1", "v2"]});
    let id = ask(&agent, with_choices("question")).await;
    assert_eq!(agent.get(&at(&id, "")).await.ok(200)["allow"]["accept"], false);
    owner.post(&at(&id, "/answer"), json!({"type": "accept", "version": 1})).await.refusal_code(409);
    owner.post(&at(&id, "/answer"), json!({"type": "respond", "text": "v2", "version": 1})).await.ok(200);
    let id = ask(&agent, with_choices("permission")).await;
    assert_eq!(agent.get(&at(&id, "")).await.ok(200)["allow"]["accept"], true);
}

/// JSON has no order, but a person reads a form from top to bottom.
#[tokio::test]
async fn the_fields_of_a_form_keep_the_order_in_which_they_were_asked() {
    let House { mut server, owner, agent } = house().await;
    let body = br#"{"kind": "question", "title": "Pay?", "form": {"properties": {
        "number": {"type": "string", "title": "Card number"}, "expiry": {"type": "string"}, "code": {"type": "string"}}}}"#;
    let made = agent.post_raw("/requests", body).await.ok(201);
    let id = made["request_id"].as_str().expect("an id");
    let check_order = |names: [&str; 3], text: &str| {
        let places = names.map(|name| text.find(name).unwrap_or_else(|| panic!("no {name}: {text}")));
        assert!(places.is_sorted(), "{text}");
    };
    let members = ["\"number\"", "\"expiry\"", "\"code\""];
    for path in [at(id, ""), "/requests?state=open".to_owned()] {
        check_order(members, &owner.get(&path).await.text());
    }
    server.stop().await;
    server.restart().await;
    check_order(members, &owner.get(&at(id, "")).await.text());
    let page = Tap::of(&server, &owner, id).await.look().await;
    check_order(["arg.number", "arg.expiry", "arg.code"], &page.text());
}
