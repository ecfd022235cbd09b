//! An owner with one of everything, and everybody who has nothing to do with it.

use std::collections::BTreeMap;

use blackbox::{Agent, Caller, Server, eventually};
use serde_json::{Value, json};

use super::rows::Who;

/// In everything that is somebody's: who may not read it never sees the word.
pub(super) const WHISPER: &str = "whisper";
/// The SHA-256 of the word.
const CONTENT: &str = "ba7955598f2007bc8cee7329ece0f63ee59f2dbb40d59ad17aadfee76b1092ae";
/// What the built-in agent is asked so that it makes an artifact.
const DEMO: &str = r#"{"demo": ["artifact"]}"#;

/// A notification that is not taken at once is given up.
const IMPATIENT: &str = "[notify]\nprivate_addresses = true\nretry_for = \"0s\"\n";

/// What a name in a path stands for: one that is there, and one that never was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Owner,
    Handle,
    Name,
    Page,
    Sovereign,
    Entry,
    BlockedHandle,
    Contact,
    Session,
    Sequence,
    File,
    Channel,
    Project,
    Work,
    Content,
    Package,
    Hosted,
    Seat,
    Echo,
    Run,
    Thread,
    State,
    History,
    Response,
    Artifact,
    Ask,
    AskRule,
    Link,
    Subscription,
    Dead,
    Tasks,
    TokenId,
}

pub(super) struct World {
    pub(super) server: Server,
    real: BTreeMap<Thing, String>,
    callers: BTreeMap<Who, Caller>,
    /// Tokens that are none any more, and what became of them.
    dead: Vec<(&'static str, Caller)>,
    /// A ticket that was used.
    pub(super) spent_ticket: String,
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is a text of {value}")).to_owned()
}

pub(super) fn package(project: &str, id: &str) -> Value {
    let plain = project.rsplit(':').next().unwrap_or(project);
    json!({
        "package_id": id,
        "project_id": plain,
        "relay_version": "0.1",
        "title": WHISPER,
        "status": "awaiting_review",
        "package_type": "standard",
        "review_type": "human",
        "created_at": "2026-01-01T00:00:00Z",
        "created_by": {"id": "somebody", "type": "agent"},
    })
}

impl World {
    pub(super) async fn make() -> Self {
        let hosted =
            |name: &str, kind: &str| format!("[agents.{name}]\nowner = \"nick\"\nkind = \"{kind}\"\n");
        let config = hosted("gnomes", "echo") + &hosted("perch", "connected") + IMPATIENT;
        let server = Server::builder().config(&config).start().await;
        let owner = server.owner("nick").await;
        let foreign_owner = server.owner("acme").await;
        let own = server.closed_agent("@nick.one", &["@nick.*", "@eve.bot"]).await;
        let partner = server.closed_agent("@nick.two", &["@nick.*"]).await;
        let sibling = server.closed_agent("@nick.three", &["@nick.*"]).await;
        let foreign_agent = server.agent("@acme.bot").await;
        let blocked = server.agent("@eve.bot").await;
        for agent in [&own, &partner, &sibling] {
            server.block(agent, &blocked.handle).await;
        }
        let mut real = BTreeMap::from([
            (Thing::Owner, "nick".to_owned()),
            (Thing::Handle, own.handle.clone()),
            (Thing::Name, "one".to_owned()),
            (Thing::Page, "app.js".to_owned()),
            (Thing::Sovereign, "~nick".to_owned()),
            (Thing::Entry, "@eve.bot".to_owned()),
            (Thing::BlockedHandle, blocked.handle.clone()),
            (Thing::Sequence, "1".to_owned()),
            (Thing::Project, "nick%3Awhisper".to_owned()),
            (Thing::Content, CONTENT.to_owned()),
            (Thing::Package, "pkg_whisper".to_owned()),
            (Thing::Hosted, "gnomes".to_owned()),
            (Thing::Seat, "perch".to_owned()),
            (Thing::Echo, "echo".to_owned()),
            (Thing::Tasks, "tasks".to_owned()),
        ]);
        server.operator().put("/_admin/orgs/nick", json!({})).await;
        let contact = partner.post("/contacts", json!({"to": own.handle, "message": WHISPER})).await.ok(200);
        real.insert(Thing::Contact, text(&contact, "request_id"));
        let (session, file) = Self::session(&own, &partner).await;
        real.extend([(Thing::Session, session), (Thing::File, file)]);
        let channel = own.post("/agent-channel", json!({"title": WHISPER})).await.ok(200);
        let id = text(&channel, "id");
        for kind in ["spec", "state", "status"] {
            let event = json!({"kind": kind, "payload": {"goal": WHISPER}});
            own.post(&format!("/agent-channel/{id}/event"), event).await.ok(200);
        }
        real.insert(Thing::Channel, id);
        real.extend([(Thing::Work, Self::context(&own).await), (Thing::TokenId, Self::token(&own).await)]);
        real.extend(Self::run(&own).await);
        let run = own.post("/agent/echo/run?wait=result", json!({"input": DEMO})).await.ok(200);
        let run = text(&run, "run_id");
        let events = own.get(&format!("/agent/echo/get_events/{run}?since=0")).await.ok(200);
        let made =
            events.as_array().and_then(|all| all.iter().find(|one| one["type"] == "ArtifactGenerated"));
        let url = text(made.unwrap_or_else(|| panic!("an artifact is among {events}")), "url");
        real.insert(Thing::Artifact, url.rsplit('/').next().unwrap_or_default().to_owned());
        real.extend(Self::notifications(&own, &owner).await);
        real.extend(Self::requests(&own, &owner).await);
        let spent_ticket = Self::spend_ticket(&own).await;
        let dead = Self::bury(&server).await;
        let callers = BTreeMap::from([
            (Who::ForeignAgent, (*foreign_agent).clone()),
            (Who::ForeignOwner, foreign_owner),
            (Who::Blocked, (*blocked).clone()),
            (Who::Sibling, (*sibling).clone()),
            (Who::Own, (*own).clone()),
            (Who::Owner, owner),
        ]);
        Self { server, real, callers, dead, spent_ticket }
    }

    /// A run, and what it is called over other protocols.
    async fn run(own: &Agent) -> [(Thing, String); 5] {
        let said = own.post("/agent/echo/run?wait=result", json!({"input": WHISPER})).await.ok(200);
        let (said, thread) = (text(&said, "run_id"), text(&said, "thread_id"));
        [
            (Thing::State, format!("threads/{thread}/state")),
            (Thing::History, format!("threads/{thread}/history")),
            (Thing::Thread, thread),
            (Thing::Response, format!("resp_{said}.0.echo")),
            (Thing::Run, said),
        ]
    }

    /// The id of a token beside the agent's own.
    async fn token(own: &Agent) -> String {
        text(&own.post("/agents/me/tokens", json!({"scope": "read"})).await.ok(201), "id")
    }

    /// A session whose first message names a file; the ids of both.
    async fn session(own: &Agent, partner: &Agent) -> (String, String) {
        let file = own.upload_file(WHISPER, WHISPER.as_bytes()).await;
        let session = own.open(json!({
            "invite": [partner.handle],
            "topic": WHISPER,
            "initial_message": {"content": [
                {"type": "text", "text": WHISPER},
                {"type": "file", "file_id": file, "name": WHISPER},
            ]},
        }));
        (text(&session.await, "session_id"), file)
    }

    /// A project with something of each kind; the id of its session of work.
    async fn context(own: &Caller) -> String {
        own.post("/v1/projects", json!({"project_id": WHISPER})).await.ok(201);
        let mut package = package(WHISPER, "pkg_whisper");
        package["created_by"]["id"] = "nick.one".into();
        own.post("/v1/projects/whisper/packages", package).await.ok(201);
        let fact = json!({"subject": "s", "predicate": "p", "value": WHISPER});
        own.post("/v1/projects/whisper/facts", fact).await.ok(201);
        let put = own.request(
            "PUT",
            &format!("/v1/projects/whisper/blobs/{CONTENT}"),
            &[],
            Some(WHISPER.as_bytes()),
        );
        let put = own.bytes(&put).await;
        assert_eq!(put.status, 201, "{put}");
        text(&own.post("/v1/projects/whisper/sessions", json!({})).await.ok(201), "session_id")
    }

    /// A subscription, and a notification that did not arrive.
    async fn notifications(own: &Caller, owner: &Caller) -> [(Thing, String); 2] {
        let target = json!({"kind": "webhook", "url": "http://127.0.0.1:1/"});
        let made = owner.post("/notifications", json!({"name": WHISPER, "target": target})).await.ok(201);
        own.post("/requests", json!({"kind": "question", "title": WHISPER})).await.ok(201);
        let dead = eventually("it does not arrive", || async {
            let list = owner.get("/notifications/dead").await.ok(200);
            list["notifications"][0]["notice_id"].as_str().map(str::to_owned)
        });
        let dead = dead.await;
        let id = text(&made["subscription"], "subscription_id");
        owner.patch(&format!("/notifications/{id}"), json!({"enabled": false})).await.ok(200);
        [(Thing::Subscription, id), (Thing::Dead, dead)]
    }

    /// A request that waits, a rule that came of another, and a link that nobody made.
    async fn requests(own: &Caller, owner: &Caller) -> [(Thing, String); 3] {
        let body = json!({"kind": "permission", "title": WHISPER, "action": {"name": WHISPER}});
        let answered = text(&own.post("/requests", body.clone()).await.ok(201), "request_id");
        let rule = json!({"agent": "@nick.two", "tool": WHISPER, "expires_in_days": 1});
        let answer = json!({"type": "accept", "version": 1, "rule": rule});
        owner.post(&format!("/requests/{answered}/answer"), answer).await.ok(200);
        let rules = owner.get("/requests/rules").await.ok(200);
        let (ask, rule) = (own.post("/requests", body).await.ok(201), &rules["rules"][0]);
        let ask = (Thing::Ask, text(&ask, "request_id"));
        [ask, (Thing::AskRule, text(rule, "rule_id")), (Thing::Link, "0".repeat(64))]
    }

    /// A ticket that opened a socket.
    async fn spend_ticket(own: &Caller) -> String {
        let made = own.post_empty("/auth/ticket").await.ok(200);
        let ticket = text(&made, "ticket");
        let stranger = Caller::new(own.address().clone(), None);
        let socket = stranger.socket(&format!("/connect?ticket={ticket}"), blackbox::Pongs::Answer).await;
        socket.cut().await;
        ticket
    }

    /// Whoever once held a token.
    async fn bury(server: &Server) -> Vec<(&'static str, Caller)> {
        let removed = server.agent("@old.removed").await;
        server.operator().delete("/_admin/agents/@old.removed").await;
        let rotated = server.agent("@old.rotated").await;
        server.operator().post_empty("/_admin/agents/@old.rotated/rotate-token").await.ok(200);
        let old_owner = server.owner("older").await;
        server.operator().post_empty("/_admin/owners/older/rotate-token").await.ok(200);
        let wrong = |token: &str| server.bearer(token);
        vec![
            ("a token that never was", wrong(&format!("pla_{}", "0".repeat(64)))),
            ("no token at all of that form", wrong("x")),
            ("a removed agent", (*removed).clone()),
            ("an agent's token before it was rotated", (*rotated).clone()),
            ("an owner's token before it was rotated", old_owner),
        ]
    }

    /// Who asks.
    pub(super) fn caller(&self, who: Who) -> &Caller {
        &self.callers[&who]
    }

    /// Everybody whose token works.
    pub(super) fn living(&self) -> impl Iterator<Item = (Who, &Caller)> {
        self.callers.iter().map(|(who, caller)| (*who, caller))
    }

    /// Everybody whose token does not.
    pub(super) fn dead(&self) -> &[(&'static str, Caller)] {
        &self.dead
    }

    /// The name of a thing that is there, or of one that never was.
    pub(super) fn name(&self, thing: Thing, is_real: bool) -> &str {
        if is_real { &self.real[&thing] } else { absent(thing) }
    }
}

/// As long as those that are there, so that an answer may say the name and still look alike.
fn absent(thing: Thing) -> &'static str {
    match thing {
        Thing::Owner => "mike",
        Thing::Handle => "@nick.six",
        Thing::Name => "six",
        Thing::Page => "web.js",
        Thing::Sovereign => "~mike",
        // What is on a list tells nothing where the list is not there.
        Thing::Entry => "@eve.bot",
        Thing::BlockedHandle => "@eve.bot",
        Thing::Contact => "req_01HW7AB12CDEFGHJKMNPQRSTVW",
        Thing::Session => "sess_01HW7AB12CDEFGHJKMNPQRSTVW",
        Thing::Sequence => "1",
        Thing::File => "file_01HW7AB12CDEFGHJKMNPQRSTVW",
        // No channel has an id that begins so in a world of one.
        Thing::Channel => "XXXX",
        Thing::Project => "nick%3Anothing",
        Thing::Work => "sess_00000000000000000000000000000000",
        Thing::Content => "0000000000000000000000000000000000000000000000000000000000000000",
        Thing::Package => "pkg_nothing",
        Thing::Hosted => "nobody",
        Thing::Seat => "noone",
        Thing::Echo => "echo",
        Thing::Tasks => "tests",
        Thing::Thread => "00000000-0000-4000-8000-000000000000",
        Thing::State => "threads/00000000-0000-4000-8000-000000000000/state",
        Thing::History => "threads/00000000-0000-4000-8000-000000000000/history",
        Thing::Run => "00000000-0000-4000-8000-000000000000",
        Thing::Response => "resp_00000000-0000-4000-8000-000000000000.0.echo",
        Thing::Artifact => "00000000-0000-4000-8000-000000000000",
        Thing::Ask => "ask_01HW7AB12CDEFGHJKMNPQRSTVW",
        Thing::AskRule => "rule_01HW7AB12CDEFGHJKMNPQRSTVW",
        Thing::Subscription => "sub_01HW7AB12CDEFGHJKMNPQRSTVW",
        Thing::Dead => "ntf_00112233445566778899AABBCCDDEEFF",
        Thing::Link => "0000000000000000000000000000000000000000000000000000000000000000",
        Thing::TokenId => "01HW7AB12CDEFGHJKMNPQRSTVW",
    }
}
