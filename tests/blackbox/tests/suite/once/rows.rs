//! Every operation that writes, with a body, another one, and how it takes a repeated request.
//! Must not know: what is demanded of the answers.

use blackbox::{Agent, Caller, MULTIPART, Response, Server, multipart, room};
use serde_json::{Value, json};

/// How an operation takes a request that comes again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// The first answer, and nothing happens.
    Once,
    /// The same, but the answer is told apart by its head alone: a run's body is a stream.
    OnceByHead,
    /// The key is passed over, for repeating it changes nothing: the statuses of both answers, and why.
    Naturally(u16, u16, &'static str),
    /// The key is passed over, for every call counts, and why.
    EachTime(&'static str),
    /// Nothing that can be asked here is done; a refused request leaves its key free.
    Refused(u16),
}
pub(super) use Takes::{EachTime, Naturally, Once, OnceByHead};

pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) takes: Takes,
    pub(super) by: Caller,
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) body: Option<Value>,
    /// Another body.
    pub(super) other: Value,
}

impl Row {
    pub(super) async fn send(&self, body: Option<&Value>) -> Response {
        let key = format!("key-{}", self.id);
        if self.id == "file.upload" {
            // The body is the content of the file.
            let content = body.map(Value::to_string).unwrap_or_default();
            let body = multipart("a.txt", "text/plain", content.as_bytes());
            let headers = [MULTIPART, ("Idempotency-Key", &*key)];
            return self.by.bytes(&self.by.request(self.method, &self.path, &headers, Some(&body))).await;
        }
        self.by.call(self.method, &self.path, &[("Idempotency-Key", &key)], body).await
    }
}

fn row(
    id: &'static str,
    takes: Takes,
    by: &Caller,
    (method, path): (&'static str, impl Into<String>),
    (body, other): (Value, Value),
) -> Row {
    let body = Some(body).filter(|body| !body.is_null());
    Row { id, takes, by: by.clone(), method, path: path.into(), body, other }
}

const OTHER: fn() -> (Value, Value) = || (Value::Null, json!({"x-other": 1}));

pub(super) struct Scene {
    pub(super) operator: Caller,
    pub(super) owner: Caller,
    pub(super) nick: Agent,
    pub(super) own: Agent,
    pub(super) bob: Agent,
}

/// A body with one entry of an allowlist.
fn entries(entry: &str) -> Value {
    json!({"entries": [entry]})
}

impl Scene {
    pub(super) async fn new(server: &Server) -> Self {
        let own = json!({"handle": "@nick.own", "self_service": true});
        Self {
            operator: server.operator(),
            owner: server.owner("nick").await,
            nick: server.agent("@nick.a").await,
            own: server.agent_as(own).await,
            bob: server.agent("@bob.b").await,
        }
    }

    pub(super) async fn accounts(&self, server: &Server) -> Vec<Row> {
        let Self { operator, owner, own, bob, .. } = self;
        for name in ["edit", "gone", "turned", "lists"] {
            server.agent(&format!("@nick.{name}")).await;
        }
        let at = |name: &str, rest: &str| format!("/_admin/agents/@nick.{name}{rest}");
        owner.post(&at("lists", "/allowlist"), json!({"entries": ["@x.y"]})).await.ok(200);
        owner.post(&at("lists", "/blocks"), json!({"handle": "@x.z"})).await.ok(201);
        own.post("/agents/me/allowlist", json!({"entries": ["@x.y"]})).await.ok(200);
        own.post("/agents/me/blocks", json!({"handle": "@x.z"})).await.ok(201);
        operator.put("/_admin/orgs/there", json!({})).await.ok(201);
        let member = |name: &str| format!("/_admin/orgs/there/members/~{name}");
        operator.put(&member("leaves"), json!({"roles": []})).await.ok(200);
        let ask = async |asked: &str| {
            let made = bob.post("/contacts", json!({"to": asked})).await.ok(200);
            made["request_id"].as_str().expect("an id").to_owned()
        };
        let closed = server.closed("@nick.asked", &[]).await;
        let (accepted, declined) = (ask(&closed.handle).await, ask("@nick.own").await);
        let made = owner.post(&at("lists", "/tokens"), json!({"scope": "read"})).await.ok(201);
        let own_made = own.post("/agents/me/tokens", json!({"scope": "read"})).await.ok(201);
        let (token, own_token) =
            (made["id"].as_str().expect("an id"), own_made["id"].as_str().expect("an id"));
        let mut rows = self.provisioning(token);
        rows.extend(self.own_tokens(own_token));
        rows.extend(self.console());
        rows.extend(self.selves_and_contacts(&accepted, &declined));
        rows
    }

    /// Tokens beside an agent's own, and what clients on the web ask for.
    fn own_tokens(&self, token: &str) -> Vec<Row> {
        let Self { own, owner, .. } = self;
        let (one, other) = (json!({"scope": "read"}), json!({"scope": "write"}));
        let mut rows = vec![
            row("me.create_token", Once, own, ("POST", "/agents/me/tokens"), (one, other)),
            row("me.revoke_token", Once, own, ("DELETE", format!("/agents/me/tokens/{token}")), OTHER()),
        ];
        let redirect = |at: &str| json!({"redirect_uris": [at]});
        let clients = (redirect("https://a.example/cb"), redirect("https://b.example/cb"));
        let stored = EachTime("nothing is stored");
        rows.push(row("oauth.register", stored, owner, ("POST", "/oauth/register"), clients));
        for (id, path) in [
            ("oauth.decide", "/oauth/authorize"),
            ("oauth.sign_in", "/oauth/sign-in"),
            ("oauth.token", "/oauth/token"),
            ("oauth.revoke", "/oauth/revoke"),
        ] {
            let each = EachTime("codes, links and refresh tokens are for one use");
            rows.push(row(id, each, owner, ("POST", path), (json!({}), Value::Null)));
        }
        rows
    }

    /// People and their sign-in.
    fn console(&self) -> Vec<Row> {
        let Self { owner, .. } = self;
        vec![
            row(
                "console.link",
                EachTime("a link is for one use"),
                owner,
                ("POST", "/console/links"),
                (json!({"role": "viewer"}), json!({"role": "owner"})),
            ),
            row(
                "console.sign_in",
                EachTime("a link is for one use"),
                owner,
                ("POST", "/console/sessions"),
                (json!({"link": "plk_00.~nick"}), json!({"link": "plk_01.~nick"})),
            ),
            row(
                "console.sign_out",
                Takes::Refused(404),
                owner,
                ("DELETE", "/console/sessions/00000000000000000000000000"),
                OTHER(),
            ),
            row(
                "passkey.challenge",
                EachTime("a challenge is for one use"),
                owner,
                ("POST", "/console/passkeys/challenges"),
                OTHER(),
            ),
            row(
                "passkey.add",
                EachTime("its challenge is for one use"),
                owner,
                ("POST", "/console/passkeys"),
                (
                    json!({"name": "Phone", "client_data": "e30", "authenticator_data": "AA"}),
                    json!({"name": "Laptop", "client_data": "e30", "authenticator_data": "AA"}),
                ),
            ),
            row(
                "passkey.remove",
                Takes::Refused(404),
                owner,
                ("DELETE", "/console/passkeys/00000000000000000000000000"),
                OTHER(),
            ),
            row(
                "person.create",
                Once,
                owner,
                ("POST", "/_admin/people"),
                (json!({"handle": "@nick.mara"}), json!({"handle": "@nick.mia"})),
            ),
        ]
    }

    /// Owners and agents, by who provisions them.
    pub(super) fn provisioning(&self, token: &str) -> Vec<Row> {
        let Self { operator, owner, .. } = self;
        let at = |name: &str, rest: &str| format!("/_admin/agents/@nick.{name}{rest}");
        vec![
            row(
                "owner.create",
                Once,
                operator,
                ("POST", "/_admin/owners"),
                (json!({"owner": "newly"}), json!({"owner": "other"})),
            ),
            row("owner.rotate_token", Once, operator, ("POST", "/_admin/owners/there/rotate-token"), OTHER()),
            row(
                "agent.create",
                Once,
                owner,
                ("POST", "/_admin/agents"),
                (json!({"handle": "@nick.new"}), json!({"handle": "@nick.newer"})),
            ),
            row(
                "agent.update",
                Once,
                owner,
                ("PATCH", at("edit", "")),
                (json!({"policy": "allowlist"}), json!({"policy": "open"})),
            ),
            row("agent.delete", Once, owner, ("DELETE", at("gone", "")), OTHER()),
            row(
                "agent.create_token",
                Once,
                owner,
                ("POST", at("lists", "/tokens")),
                (json!({"scope": "read"}), json!({"scope": "write"})),
            ),
            row(
                "agent.revoke_token",
                Once,
                owner,
                ("DELETE", at("lists", &format!("/tokens/{token}"))),
                OTHER(),
            ),
            row("agent.rotate_token", Once, owner, ("POST", at("turned", "/rotate-token")), OTHER()),
            row(
                "agent.allow",
                Once,
                owner,
                ("POST", at("lists", "/allowlist")),
                (entries("@a.b"), entries("@a.c")),
            ),
            row("agent.disallow", Once, owner, ("DELETE", at("lists", "/allowlist/@x.y")), OTHER()),
            row(
                "agent.block",
                Once,
                owner,
                ("POST", at("lists", "/blocks")),
                (json!({"handle": "@a.d"}), json!({"handle": "@a.e"})),
            ),
            row("agent.unblock", Once, owner, ("DELETE", at("lists", "/blocks/@x.z")), OTHER()),
        ]
    }

    /// An agent's own settings, organisations, contacts.
    pub(super) fn selves_and_contacts(&self, accepted: &str, declined: &str) -> Vec<Row> {
        let Self { operator, owner, own, bob, .. } = self;
        let member = |name: &str| format!("/_admin/orgs/there/members/~{name}");
        vec![
            row(
                "me.update",
                Once,
                own,
                ("PATCH", "/agents/me"),
                (json!({"policy": "open"}), json!({"policy": "allowlist"})),
            ),
            row("me.allow", Once, own, ("POST", "/agents/me/allowlist"), (entries("@a.b"), entries("@a.c"))),
            row("me.disallow", Once, own, ("DELETE", "/agents/me/allowlist/@x.y"), OTHER()),
            row(
                "me.block",
                Once,
                own,
                ("POST", "/agents/me/blocks"),
                (json!({"handle": "@a.d"}), json!({"handle": "@a.e"})),
            ),
            row("me.unblock", Once, own, ("DELETE", "/agents/me/blocks/@x.z"), OTHER()),
            row("org.put", Once, operator, ("PUT", "/_admin/orgs/club"), OTHER()),
            row(
                "org.set_member",
                Once,
                operator,
                ("PUT", member("comes")),
                (json!({"roles": ["a"]}), json!({"roles": ["b"]})),
            ),
            row("org.remove_member", Once, operator, ("DELETE", member("leaves")), OTHER()),
            row(
                "contact.request",
                Once,
                bob,
                ("POST", "/contacts"),
                (json!({"to": "@nick.asked", "message": "hi"}), json!({"to": "@nick.asked"})),
            ),
            row("contact.accept", Once, owner, ("POST", format!("/contacts/{accepted}/accept")), OTHER()),
            row("contact.decline", Once, owner, ("POST", format!("/contacts/{declined}/decline")), OTHER()),
            row("auth.ticket", EachTime("a ticket is for one use"), bob, ("POST", "/auth/ticket"), OTHER()),
        ]
    }

    pub(super) async fn sessions(&self) -> Vec<Row> {
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

    pub(super) async fn context(&self) -> Vec<Row> {
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
    pub(super) fn projects(&self) -> Vec<Row> {
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
    pub(super) fn packages(&self, package: impl Fn(&str, &str) -> Value) -> Vec<Row> {
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
    pub(super) fn facts(&self, begun: &str, fact: impl Fn(&str, &str) -> Value) -> Vec<Row> {
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

    pub(super) async fn others(&self) -> Vec<Row> {
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

    /// What clients of other protocols ask.
    pub(super) fn foreign(&self) -> Vec<Row> {
        let bob = &self.bob;
        vec![
            row(
                "a2a.rpc",
                EachTime("a message has an id of its own, which is the key of what it begins"),
                bob,
                ("POST", "/a2a/plenary.echo"),
                (json!({}), Value::Null),
            ),
            row(
                "a2a.write",
                EachTime("a message has an id of its own, which is the key of what it begins"),
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
                "openai.chat",
                EachTime("the API knows no key"),
                bob,
                ("POST", "/v1/chat/completions"),
                (json!({"model": "echo", "messages": [{"role": "user", "content": "a"}]}), Value::Null),
            ),
            row(
                "openai.response",
                EachTime("the API knows no key"),
                bob,
                ("POST", "/v1/responses"),
                (json!({"model": "echo", "input": "a"}), Value::Null),
            ),
        ]
    }

    /// Requests to people; each row has one of its own.
    pub(super) async fn requests(&self) -> Vec<Row> {
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

    pub(super) async fn notifications(&self) -> Vec<Row> {
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
