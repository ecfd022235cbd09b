//! The rooms of the protocols, and clients of other protocols.
//! Must not know: what is demanded of the answers.

use blackbox::room;
use serde_json::{Value, json};

use super::{EachTime, Naturally, OTHER, Once, OnceByHead, Row, Scene, Takes, row};

impl Scene {
    pub(in crate::once) async fn sessions(&self) -> Vec<Row> {
        let Self { nick, bob, .. } = self;
        let message = |text: &str| json!({"content": text});
        let (left, ended, reopened) =
            (room(&[nick, bob]).await, room(&[nick, bob]).await, room(&[nick, bob]).await);
        let (talk, invited, widened) =
            (room(&[nick, bob]).await, nick.create(&[bob]).await, room(&[nick, bob]).await);
        nick.end(&reopened).await;
        let at = |id: &str, verb: &str| ("POST", format!("/sessions/{id}/{verb}"));
        let page = bob.get("/inbox").await.ok(200);
        let moment = |event: &str| json!({"session": "s", "client": "c", "event": event});
        let shown = |event: &str| {
            json!({"session": "s", "client": "c", "event": event, "cursor": page["cursor"],
                "items": [page["items"][0]["id"]]})
        };
        let attention = |level: &str| json!({"session": "s", "attention": level});
        let address = |id: &str| json!({"agent": "@bob.b", "coding_session": "s", "session_id": id});
        let create = |topic: &str| json!({"invite": ["@bob.b"], "topic": topic});
        vec![
            row("session.create", Once, nick, ("POST", "/sessions"), (create("a"), create("b"))),
            row("session.send", Once, nick, at(&talk, "messages"), (message("a"), message("b"))),
            row("file.upload", Once, nick, ("POST", "/files"), (json!("a"), json!("b"))),
            row("session.join", Once, bob, at(&invited, "join"), OTHER()),
            row(
                "session.invite",
                Once,
                nick,
                at(&widened, "invite"),
                (json!({"invite": ["@nick.own"]}), json!({"invite": ["@nick.asked"]})),
            ),
            row("session.leave", Once, bob, at(&left, "leave"), OTHER()),
            row("session.end", Once, nick, at(&ended, "end"), OTHER()),
            row(
                "session.reopen",
                Once,
                nick,
                at(&reopened, "reopen"),
                (json!({"invite": ["@bob.b"]}), json!({})),
            ),
            row(
                "inbox.ack",
                Once,
                bob,
                ("POST", "/inbox/ack"),
                (json!({"cursor": page["cursor"]}), json!({"cursor": "x"})),
            ),
            row("inbox.session", Once, bob, ("POST", "/inbox/session"), (moment("start"), moment("alive"))),
            row("inbox.address", Once, bob, ("POST", "/inbox/address"), (address(&talk), address("sess_0"))),
            row("inbox.shown", Once, bob, ("POST", "/inbox/shown"), (shown("start"), shown("tool"))),
            row(
                "inbox.attention",
                Once,
                bob,
                ("PUT", "/inbox/session/attention"),
                (attention("focus"), attention("open")),
            ),
        ]
    }

    pub(in crate::once) async fn context(&self) -> Vec<Row> {
        let Self { owner, nick, .. } = self;
        let package = |id: &str, status: &str| {
            json!({
                "package_id": id, "project_id": "p", "relay_version": "0.1", "title": id, "status": status,
                "package_type": "standard", "review_type": "none", "created_at": "2026-04-18T20:00:00Z",
                "created_by": {"id": "@nick.a", "type": "agent"},
            })
        };
        for (id, status) in [("flagged", "draft"), ("reviewed", "awaiting_review")] {
            nick.post("/v1/projects/p/packages", package(id, status)).await.ok(201);
        }
        let fact =
            |predicate: &str, value: &str| json!({"subject": "s", "predicate": predicate, "value": value});
        nick.post("/v1/projects/p/facts", fact("ends", "1")).await.ok(201);
        let begun = nick.post("/v1/projects/p/sessions", json!({})).await.ok(201);
        let begun = begun["session_id"].as_str().expect("an id").to_owned();
        owner.put("/v1/projects/p/members/@x.y", json!({"role": "reader"})).await.ok(200);
        for project in ["closes", "opens"] {
            owner.post("/v1/projects", json!({"project_id": project})).await.ok(201);
        }
        owner.post_empty("/v1/projects/opens/archive").await.ok(200);
        let mut rows = self.projects();
        rows.extend(self.packages(package));
        rows.extend(self.facts(&begun, fact));
        rows
    }

    /// Projects and who is in them.
    fn projects(&self) -> Vec<Row> {
        let Self { owner, nick, .. } = self;
        let p = |rest: &str| format!("/v1/projects/p{rest}");
        vec![
            row(
                "context.create_project",
                Once,
                nick,
                ("POST", "/v1/projects"),
                (json!({"project_id": "q"}), json!({"project_id": "r"})),
            ),
            row(
                "context.edit_project",
                Once,
                nick,
                ("PATCH", p("")),
                (json!({"name": "a"}), json!({"name": "b"})),
            ),
            row(
                "context.share",
                Once,
                owner,
                ("PUT", p("/members/@x.z")),
                (json!({"role": "reader"}), json!({"role": "writer"})),
            ),
            row("context.unshare", Once, owner, ("DELETE", p("/members/@x.y")), OTHER()),
            row("context.archive", Once, owner, ("POST", "/v1/projects/closes/archive"), OTHER()),
            row("context.unarchive", Once, owner, ("POST", "/v1/projects/opens/unarchive"), OTHER()),
        ]
    }

    /// Packages and contents.
    fn packages(&self, package: impl Fn(&str, &str) -> Value) -> Vec<Row> {
        let Self { operator, nick, .. } = self;
        let p = |rest: &str| format!("/v1/projects/p{rest}");
        let blob = "/v1/projects/p/blobs/44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        vec![
            row(
                "context.deposit",
                Once,
                nick,
                ("POST", p("/packages")),
                (package("one", "complete"), package("two", "complete")),
            ),
            row(
                "context.flag",
                Once,
                nick,
                ("POST", "/v1/packages/flagged/flag"),
                (json!({"review_type": "human"}), json!({"review_type": "agent"})),
            ),
            row(
                "context.review",
                Once,
                nick,
                ("POST", "/v1/packages/reviewed/review"),
                (json!({"status": "revision_requested"}), json!({"status": "complete"})),
            ),
            row(
                "context.put_blob",
                Naturally(201, 200, "a content is named by what it is"),
                nick,
                ("PUT", blob),
                (json!({}), Value::Null),
            ),
            row(
                "context.import",
                Naturally(200, 200, "each record is taken once"),
                operator,
                ("POST", "/v1/import"),
                (package("taken", "complete"), Value::Null),
            ),
        ]
    }

    /// Facts and working sessions.
    fn facts(&self, begun: &str, fact: impl Fn(&str, &str) -> Value) -> Vec<Row> {
        let Self { nick, .. } = self;
        let p = |rest: &str| format!("/v1/projects/p{rest}");
        vec![
            row(
                "context.assert_fact",
                Once,
                nick,
                ("POST", p("/facts")),
                (fact("once", "1"), fact("once", "2")),
            ),
            row(
                "context.invalidate_fact",
                Once,
                nick,
                ("DELETE", p("/facts?subject=s&predicate=ends")),
                OTHER(),
            ),
            row(
                "context.start_session",
                Once,
                nick,
                ("POST", p("/sessions")),
                (json!({}), json!({"x-other": 1})),
            ),
            row(
                "context.end_session",
                Once,
                nick,
                ("PATCH", p(&format!("/sessions/{begun}"))),
                (json!({}), json!({"x-other": 1})),
            ),
        ]
    }

    pub(in crate::once) async fn others(&self) -> Vec<Row> {
        let Self { operator, nick, bob, .. } = self;
        let channel = |title: &str| json!({"title": title});
        let event = |text: &str| json!({"kind": "note", "payload": {"text": text}});
        let made = nick.post("/agent-channel", channel("kept")).await.ok(200);
        let kept = format!("/agent-channel/{}", made["id"].as_str().expect("an id"));
        let made = nick.post("/agent-channel", channel("closes")).await.ok(200);
        let closes = format!("/agent-channel/{}/close", made["id"].as_str().expect("an id"));
        let made = nick.post("/agent-channel", channel("rekeyed")).await.ok(200);
        let rekeyed = format!("/agent-channel/{}/key", made["id"].as_str().expect("an id"));
        let frame = json!({
            "envelope_version": 1, "frame_id": "01890000-0000-7000-8000-000000000001", "kind": "agent_advisory",
            "sender_handle": "~nick", "recipient_handle": "~bob", "drafted_with": "a",
            "ts": "2026-04-18T20:00:00Z", "payload": {"advisory_text": "a"},
        });
        let input = |text: &str| json!({"input": text});
        vec![
            row("channel.create", Once, nick, ("POST", "/agent-channel"), (channel("a"), channel("b"))),
            row("channel.append", Once, nick, ("POST", format!("{kept}/event")), (event("a"), event("b"))),
            row("channel.close", Once, nick, ("POST", closes), OTHER()),
            row("channel.key", Once, nick, ("POST", rekeyed), OTHER()),
            row(
                "frame.submit",
                EachTime("a frame that is sent twice is delivered twice"),
                nick,
                ("POST", "/frames"),
                (frame, Value::Null),
            ),
            row(
                "frame.capability",
                EachTime("nothing is stored"),
                nick,
                ("POST", "/api/v1/messaging/subscribe-capability"),
                OTHER(),
            ),
            row("run.run", OnceByHead, bob, ("POST", "/agent/echo/run"), (input("a"), input("b"))),
            row(
                "run.stream",
                OnceByHead,
                bob,
                ("POST", "/agent/echo/stream_request"),
                (input("a"), input("b")),
            ),
            row(
                "run.configure",
                Once,
                operator,
                ("POST", "/agent/echo/configure"),
                (json!({"args": {"a": 1}}), json!({"args": {"a": 2}})),
            ),
            row("run.stop_agent", Once, operator, ("POST", "/agent/echo/stop"), OTHER()),
            row("run.start_agent", Once, operator, ("POST", "/agent/echo/start"), OTHER()),
            row("run.dismiss_agent", Takes::Refused(409), operator, ("POST", "/agent/echo/dismiss"), OTHER()),
            row(
                "mcp.post",
                EachTime("the transport has ids of its own, and its tools have keys"),
                nick,
                ("POST", "/mcp"),
                (json!({}), Value::Null),
            ),
            row("mcp.close", EachTime("it ends a transport's session"), nick, ("DELETE", "/mcp"), OTHER()),
        ]
    }

    /// What dashboards of agentic-framework ask.
    pub(in crate::once) fn dashboards(&self) -> Vec<Row> {
        let bob = &self.bob;
        vec![
            row(
                "agentic.login",
                EachTime("its answer is a token"),
                bob,
                ("POST", "/login"),
                (Value::Null, Value::Null),
            ),
            row(
                "agentic.process",
                Once,
                bob,
                ("POST", "/agent/echo/process"),
                (json!({"prompt": "a"}), json!({"prompt": "b"})),
            ),
            row(
                "agentic.resume",
                Takes::Refused(404),
                bob,
                ("POST", "/agent/echo/resume"),
                (
                    json!({"continue_result": {}, "thread_id": "00000000-0000-4000-8000-000000000000"}),
                    json!({"continue_result": {"a": "b"}, "thread_id": "00000000-0000-4000-8000-000000000000"}),
                ),
            ),
            row("agentic.reset", Once, bob, ("POST", "/agent/echo/reset"), OTHER()),
        ]
    }

    /// What clients of other protocols ask.
    pub(in crate::once) fn foreign(&self) -> Vec<Row> {
        let bob = &self.bob;
        let chat = |text: &str| json!({"model": "echo", "messages": [{"role": "user", "content": text}]});
        let graph = |text: &str| json!({"assistant_id": "echo", "input": text});
        vec![
            row(
                "a2a.rpc",
                EachTime(
                    "a message is the same one while its task goes on, and its key is that of what it begins",
                ),
                bob,
                ("POST", "/a2a/plenary.echo"),
                (json!({}), Value::Null),
            ),
            row(
                "a2a.write",
                EachTime(
                    "a message is the same one while its task goes on, and its key is that of what it begins",
                ),
                bob,
                ("POST", "/a2a/plenary.echo/message:send"),
                (json!({}), Value::Null),
            ),
            row(
                "a2a.delete",
                EachTime("what is gone stays gone"),
                bob,
                ("DELETE", "/a2a/plenary.echo/tasks/t/pushNotificationConfigs/c"),
                (json!({}), Value::Null),
            ),
            row(
                "a2a.grpc",
                EachTime(
                    "a message is the same one while its task goes on, and its key is that of what it begins",
                ),
                bob,
                ("POST", "/lf.a2a.v1.A2AService/SendMessage"),
                (json!({}), Value::Null),
            ),
            row("openai.chat", OnceByHead, bob, ("POST", "/v1/chat/completions"), (chat("a"), chat("b"))),
            row(
                "openai.response",
                OnceByHead,
                bob,
                ("POST", "/v1/responses"),
                (json!({"model": "echo", "input": "a"}), json!({"model": "echo", "input": "b"})),
            ),
            row(
                "openai.cancel",
                EachTime("one that has ended stays as it is"),
                bob,
                ("POST", "/v1/responses/resp_nothing/cancel"),
                (Value::Null, Value::Null),
            ),
            row("langgraph.write", OnceByHead, bob, ("POST", "/langgraph/runs"), (graph("a"), graph("b"))),
        ]
    }
}
