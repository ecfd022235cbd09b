//! What reaches people: requests and notifications.
//! Must not know: what is demanded of the answers.

use serde_json::{Value, json};

use super::{EachTime, OTHER, Once, Row, Scene, Takes, row};

impl Scene {
    /// Requests to people; each row has one of its own.
    pub(in crate::once) async fn requests(&self) -> Vec<Row> {
        let Self { owner, nick, .. } = self;
        let question = |text: &str| json!({"kind": "question", "title": text});
        let tool = json!({"kind": "permission", "title": "a", "action": {"name": "Bash"}});
        let ask = async || {
            let made = nick.post("/requests", tool.clone()).await.ok(201);
            made["request_id"].as_str().expect("an id").to_owned()
        };
        let at = |id: &str, below: &str| format!("/requests/{id}{below}");
        let accept = json!({"type": "accept", "version": 1});
        let ignore = json!({"type": "ignore", "version": 1});
        let undone = ask().await;
        let undoable = json!({"type": "accept", "version": 1, "undo_seconds": 60});
        owner.post(&at(&undone, "/answer"), undoable).await.ok(200);
        let rule = json!({"agent": "@nick.gone", "tool": "Bash", "expires_in_days": 1});
        let ruling = json!({"type": "accept", "version": 1, "rule": rule});
        owner.post(&at(&ask().await, "/answer"), ruling).await.ok(200);
        let rules = owner.get("/requests/rules").await.ok(200);
        let rule = rules["rules"][0]["rule_id"].as_str().expect("an id").to_owned();
        let many =
            |answer: &str, id: &str| json!({"answers": [{"request_id": id, "type": answer, "version": 1}]});
        let batch = ask().await;
        vec![
            row("request.make", Once, nick, ("POST", "/requests"), (question("a"), question("b"))),
            row("request.withdraw", Once, nick, ("DELETE", at(&ask().await, "")), OTHER()),
            row("request.answer", Once, owner, ("POST", at(&ask().await, "/answer")), (accept, ignore)),
            row(
                "request.answer_many",
                Once,
                owner,
                ("POST", "/requests/answers"),
                (many("accept", &batch), many("ignore", &batch)),
            ),
            row("request.undo", Once, owner, ("POST", at(&undone, "/undo")), OTHER()),
            row(
                "request.snooze",
                Once,
                owner,
                ("POST", at(&ask().await, "/snooze")),
                (
                    json!({"until": blackbox::epoch_ms() + 60_000}),
                    json!({"until": blackbox::epoch_ms() + 90_000}),
                ),
            ),
            row(
                "request.delegate",
                Once,
                owner,
                ("POST", at(&ask().await, "/delegate")),
                (json!({"to": "@nick.nick"}), json!({"to": "@nick.own"})),
            ),
            row("request.link", Once, owner, ("POST", at(&ask().await, "/link")), OTHER()),
            row("request.remove_rule", Once, owner, ("DELETE", format!("/requests/rules/{rule}")), OTHER()),
            row(
                "request.interrupt_response",
                Once,
                owner,
                ("POST", format!("/requests/interrupts/{}", ask().await)),
                (json!({"type": "accept"}), json!({"type": "ignore"})),
            ),
            row(
                "request.tapped",
                EachTime("the first answer stands anyway"),
                owner,
                ("POST", format!("/tap/{}", "0".repeat(64))),
                (json!({}), Value::Null),
            ),
        ]
    }

    pub(in crate::once) async fn notifications(&self) -> Vec<Row> {
        let owner = &self.owner;
        let hook = |name: &str| {
            json!({
                "target": {"kind": "webhook", "url": "https://localhost/hook"}, "name": name, "enabled": false,
            })
        };
        let make = async || {
            let made = owner.post("/notifications", hook("a")).await.ok(201);
            let id = made["subscription"]["subscription_id"].as_str().expect("an id").to_owned();
            format!("/notifications/{id}")
        };
        vec![
            row("notify.create", Once, owner, ("POST", "/notifications"), (hook("a"), hook("b"))),
            row(
                "notify.change",
                Once,
                owner,
                ("PATCH", make().await),
                (json!({"name": "c"}), json!({"name": "d"})),
            ),
            row("notify.remove", Once, owner, ("DELETE", make().await), OTHER()),
            row(
                "notify.test",
                EachTime("a sample is sent each time it is asked for"),
                owner,
                ("POST", format!("{}/test", make().await)),
                (Value::Null, Value::Null),
            ),
            row(
                "notify.retry",
                Takes::Refused(404),
                owner,
                ("POST", format!("/notifications/dead/ntf_{}/retry", "0".repeat(32))),
                OTHER(),
            ),
        ]
    }
}
