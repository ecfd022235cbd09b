//! What the server holds before requests are made up, so that many of them meet something.

use blackbox::{Agent, Caller, Server};
use serde_json::{Value, json};

/// Two owners, and something of each kind.
pub(crate) struct World {
    agent: Agent,
    owner: Caller,
    operator: Caller,
    session: String,
    channel: String,
    run: String,
    thread: String,
    contact: String,
    work: String,
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is a text of {value}")).to_owned()
}

impl World {
    pub(crate) async fn of(server: &Server) -> Self {
        let owner = server.owner("nick").await;
        let agent =
            server.agent_as(json!({"handle": "@nick.one", "policy": "open", "self_service": true})).await;
        let other = server.agent("@acme.helper").await;
        let session = agent.create(&[&other]).await;
        agent.say(&session, "hello").await;
        other.join(&session).await;
        other.say(&session, "hello to you").await;
        let made = agent.post("/agent-channel", json!({"title": "a channel"})).await.ok(200);
        let channel = text(&made, "id");
        for (kind, payload) in
            [("spec", json!({"goal": "a"})), ("state", json!({"concepts": []})), ("status", json!({}))]
        {
            let event = json!({"kind": kind, "payload": payload});
            agent.post(&format!("/agent-channel/{channel}/event"), event).await.ok(200);
        }
        agent.post("/v1/projects", json!({"project_id": "p"})).await.ok(201);
        for (id, status) in [("pkg_1", "awaiting_review"), ("pkg_2", "complete")] {
            agent.post("/v1/projects/p/packages", package(id, status)).await.ok(201);
        }
        let fact = json!({"subject": "s", "predicate": "p", "value": "v"});
        agent.post("/v1/projects/p/facts", fact).await.ok(201);
        let work = text(&agent.post("/v1/projects/p/sessions", json!({})).await.ok(201), "session_id");
        let run = agent.post("/agent/echo/run?wait=result", json!({"input": "hello"})).await.ok(200);
        let asked = other.post("/contacts", json!({"to": "@nick.one"})).await.ok(200);
        Self {
            agent,
            owner,
            operator: server.operator(),
            session,
            channel,
            run: text(&run, "run_id"),
            thread: text(&run, "thread_id"),
            contact: text(&asked, "request_id"),
            work,
        }
    }

    /// The token of an `agent`, of its `owner`, or of the `operator`.
    pub(crate) fn token(&self, who: &str) -> &str {
        match who {
            "agent" => self.agent.token(),
            "owner" => self.owner.token(),
            _ => self.operator.token(),
        }
    }

    /// What schemathesis is told: which ids there are, and what the bearer must not do to itself.
    pub(crate) fn config(&self, who: &str) -> String {
        let mut config = String::new();
        let names: &[(&str, &[&str])] = &[
            ("sessions", &[&self.session]),
            ("channels", &[&self.channel]),
            ("projects", &["p", "nick:p"]),
            ("packages", &["pkg_1", "pkg_2"]),
            ("work", &[&self.work]),
            ("runs", &[&self.run]),
            ("of_runs", &[&self.run, &self.thread]),
            ("agents", &["echo", "@nick.one"]),
            ("handles", &["@nick.one", "@acme.helper"]),
            ("owners", &["nick", "acme"]),
            ("sovereigns", &["~nick", "~acme"]),
            ("contacts", &[&self.contact]),
        ];
        for (name, values) in names {
            config.push_str(&format!("\n[dictionaries.{name}]\nvalues = {values:?}\n"));
        }
        for (paths, parameter, dictionary) in [
            ("^/sessions/", "id", "sessions"),
            ("^/agent-channel/", "id", "channels"),
            ("^/contacts/", "id", "contacts"),
            ("^/agent/.*/get_events/", "id", "of_runs"),
            ("^/agent/.*/runs/", "run_id", "runs"),
            ("^/agent/", "name", "agents"),
            ("^/_admin/agents/", "handle", "handles"),
            ("^/_admin/orgs/", "org", "owners"),
            ("^/_admin/orgs/", "handle", "sovereigns"),
            ("^/_admin/owners/", "owner", "owners"),
            ("^/handles/", "handle", "sovereigns"),
            ("^/v1/projects/", "project_id", "projects"),
            ("^/v1/projects/", "session_id", "work"),
            ("^/v1/packages/", "package_id", "packages"),
        ] {
            config.push_str(&format!(
                "\n[[operations]]\ninclude-path-regex = {paths:?}\n[operations.parameters]\n\
                 \"path.{parameter}\" = {{ dictionary = {dictionary:?}, probability = 0.7 }}\n"
            ));
        }
        if who == "owner" {
            // Its token would be another one from then on.
            config.push_str(
                "\n[[operations]]\ninclude-operation-id = \"owner.rotate_token\"\nenabled = false\n",
            );
        }
        config
    }
}

fn package(id: &str, status: &str) -> Value {
    json!({
        "package_id": id,
        "project_id": "p",
        "relay_version": "0.1",
        "title": "A package",
        "status": status,
        "package_type": "standard",
        "review_type": "human",
        "created_at": "2026-01-01T00:00:00Z",
        "created_by": {"id": "nick.one", "type": "agent"},
    })
}
