//! Notifications of requests, as real receivers get them: signed, once or again under one id, late, gathered, given up.

mod ending;
mod lasting;
mod receivers;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use blackbox::{Agent, Builder, Caller, Collector, Export, Server, eventually};
use ring::hmac;
use serde_json::{Value, json};

/// An owner, an agent of it, and a receiver of notifications.
pub(super) struct House {
    pub(super) server: Server,
    pub(super) owner: Caller,
    pub(super) agent: Agent,
    pub(super) receiver: Collector,
}

/// A receiver on this machine is no public address.
pub(super) fn config(more: &str) -> Builder {
    Server::builder().config(&format!("[notify]\nprivate_addresses = true\n{more}"))
}

pub(super) async fn house(more: &str) -> House {
    let server = config(more).start().await;
    let owner = server.owner("nick").await;
    let agent = server.agent("@nick.cc").await;
    House { server, owner, agent, receiver: Collector::start().await }
}

impl House {
    pub(super) fn hook(&self) -> Value {
        json!({"target": {"kind": "webhook", "url": format!("{}/hook", self.receiver.url())}})
    }

    /// Makes a subscription; its id, and the secret of a webhook.
    pub(super) async fn subscribe(&self, body: Value) -> (String, String) {
        let made = self.owner.post("/notifications", body).await.ok(201);
        let id = made["subscription"]["subscription_id"].as_str().expect("an id").to_owned();
        (id, made["secret"].as_str().unwrap_or_default().to_owned())
    }

    pub(super) async fn ask(&self, title: &str) -> String {
        let body = json!({"kind": "permission", "title": title, "action": {"name": "Bash"}});
        let made = self.agent.post("/requests", body).await.ok(201);
        made["request_id"].as_str().expect("an id").to_owned()
    }

    /// Waits until so many calls were taken.
    pub(super) async fn taken(&self, count: usize) -> Vec<Export> {
        taken(&self.receiver, count).await
    }
}

pub(crate) async fn taken(receiver: &Collector, count: usize) -> Vec<Export> {
    eventually(&format!("{count} notifications"), || async {
        let mut calls = receiver.exports();
        calls.retain(|call| call.accepted);
        (calls.len() >= count).then_some(calls)
    })
    .await
}

pub(crate) fn json_of(call: &Export) -> Value {
    serde_json::from_slice(&call.bytes).expect("the body is JSON")
}

/// As the specification of Standard Webhooks has it, with another implementation of HMAC.
pub(super) fn is_signed(call: &Export, secret: &str) -> bool {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").expect("a secret")).expect("base64");
    let (id, at) = (&call.headers["webhook-id"], &call.headers["webhook-timestamp"]);
    let said = [format!("{id}.{at}.").as_bytes(), &call.bytes].concat();
    let signature = call.headers["webhook-signature"].strip_prefix("v1,").expect("version 1").to_owned();
    let signature = STANDARD.decode(signature).expect("base64");
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, &key), &said, &signature).is_ok()
}

#[tokio::test]
async fn a_webhook_is_signed_and_its_link_answers_the_request() {
    let house = house("").await;
    let (id, secret) = house.subscribe(house.hook()).await;
    let request = house.ask("Run the tests").await;
    let call = house.taken(1).await.remove(0);
    assert_eq!(call.target, "/hook");
    assert!(is_signed(&call, &secret), "{call:?}");
    let age =
        blackbox::epoch_ms() / 1_000 - call.headers["webhook-timestamp"].parse::<i64>().expect("seconds");
    assert!(age < 300, "{age}");
    let body = json_of(&call);
    assert_eq!(
        (&body["type"], &body["data"]["request"]["title"]),
        (&json!("request.created"), &json!("Run the tests"))
    );
    assert_eq!(body["data"]["request"]["request_id"], json!(request));
    let link = body["data"]["link"].as_str().expect("a link").to_owned();
    let path = link.strip_prefix(&house.server.url()).expect("a link of this server").to_owned();
    // The link that was made for the message leaves the version that people answer as it was.
    let seen = house.owner.get(&format!("/requests/{request}")).await.ok(200);
    assert_eq!(seen["version"], 1);
    let page = house.owner.get(&path).await;
    assert_eq!(page.status, 200);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let tapped = house.owner.request("POST", &path, &form, Some(b"answer=accept"));
    let mut connection =
        blackbox::Connection::open(house.owner.address().place()).await.expect("a connection");
    assert_eq!(connection.round_trip(&tapped).await.expect("an answer").status, 200);
    let heard = house.agent.get(&format!("/requests/{request}?wait=60")).await.ok(200);
    assert_eq!((&heard["answer"]["type"], &heard["answer"]["by"]), (&json!("accept"), &json!("link")));
    let listed = house.owner.get("/notifications").await.ok(200);
    assert_eq!(listed["subscriptions"][0]["subscription_id"], json!(id));
    assert!(!listed.to_string().contains("/hook") && !listed.to_string().contains("whsec_"), "{listed}");
}

#[tokio::test]
async fn each_event_that_was_asked_for_comes_and_no_other() {
    let house = house("").await;
    let mut body = house.hook();
    body["events"] = json!(["request.answered", "request.withdrawn", "request.expired"]);
    house.subscribe(body).await;
    let answered = house.ask("one").await;
    let accept = json!({"type": "accept", "version": 1});
    house.owner.post(&format!("/requests/{answered}/answer"), accept).await.ok(200);
    let call = json_of(&house.taken(1).await[0]);
    assert_eq!(
        (&call["type"], &call["data"]["request"]["answer"]),
        (&json!("request.answered"), &json!("accept"))
    );
    assert_eq!(call["data"]["request"]["answered_by"], "~nick");
    assert!(call["data"].get("link").is_none(), "{call}");
    let withdrawn = house.ask("two").await;
    house.agent.delete(&format!("/requests/{withdrawn}")).await;
    assert_eq!(json_of(&house.taken(2).await[1])["type"], "request.withdrawn");
    let deadline = blackbox::epoch_ms() + 200;
    let late = json!({"kind": "question", "title": "three", "deadline_at": deadline});
    house.agent.post("/requests", late).await.ok(201);
    assert_eq!(json_of(&house.taken(3).await[2])["type"], "request.expired");
}

#[tokio::test]
async fn filters_leave_out_what_nobody_wants_to_hear_of() {
    let house = house("").await;
    let other = house.server.agent("@nick.codex").await;
    let mut body = house.hook();
    body["agents"] = json!(["@nick.cc"]);
    body["kinds"] = json!(["permission"]);
    body["min_urgency"] = json!("normal");
    let (id, _) = house.subscribe(body).await;
    other.post("/requests", json!({"kind": "permission", "title": "other agent"})).await.ok(201);
    house.agent.post("/requests", json!({"kind": "question", "title": "other kind"})).await.ok(201);
    house.ask("first").await;
    let first = json_of(&house.taken(1).await[0]);
    assert_eq!(first["data"]["request"]["title"], "first", "nothing before it");
    let path = format!("/notifications/{id}");
    house.owner.patch(&path, json!({"min_urgency": "high"})).await.ok(200);
    house.ask("not pressing").await;
    let deadline = blackbox::epoch_ms() + 60_000;
    let pressing = json!({"kind": "permission", "title": "pressing", "deadline_at": deadline});
    house.agent.post("/requests", pressing).await.ok(201);
    let second = json_of(&house.taken(2).await[1]);
    assert_eq!(second["data"]["request"]["title"], "pressing", "nothing before it");
    house.owner.patch(&path, json!({"enabled": false})).await.ok(200);
    // Another one has it once the server has looked at it.
    let (witness, _) = house.subscribe(house.hook()).await;
    house
        .agent
        .post("/requests", json!({"kind": "permission", "title": "off", "deadline_at": deadline}))
        .await
        .ok(201);
    assert_eq!(json_of(&house.taken(3).await[2])["data"]["request"]["title"], "off");
    house.owner.delete(&format!("/notifications/{witness}")).await.ok(204);
    house.owner.patch(&path, json!({"enabled": true, "min_urgency": "low"})).await.ok(200);
    house.ask("on").await;
    assert_eq!(json_of(&house.taken(4).await[3])["data"]["request"]["title"], "on", "nothing before it");
}

/// A person's own subscription: what is given to somebody else is not told there, and what is given to the person later is.
#[tokio::test]
async fn what_is_given_to_one_person_is_told_to_that_person_and_not_to_another() {
    let house = house("").await;
    for handle in ["@nick.bob", "@nick.mara"] {
        house.owner.post("/_admin/people", json!({"handle": handle})).await.ok(201);
    }
    let bobs = Collector::start().await;
    let hook = |url: String| json!({"kind": "webhook", "url": format!("{url}/hook")});
    let bob = json!({"target": hook(bobs.url()), "person": "@nick.bob"});
    for person in ["@nick.cc", "@nick.nobody", "@acme.bob"] {
        let wrong = json!({"target": hook(bobs.url()), "person": person});
        house.owner.post("/notifications", wrong).await.assert_refused(400, "invalid_person");
    }
    let (id, _) = house.subscribe(bob).await;
    let mut mara = house.hook();
    mara["person"] = "@nick.mara".into();
    house.subscribe(mara).await;
    let shown = house.owner.get(&format!("/notifications/{id}")).await.ok(200);
    assert_eq!(shown["person"], "@nick.bob");
    let asked = async |title: &str, to: Option<&str>| {
        let mut body = json!({"kind": "permission", "title": title, "action": {"name": "Bash"}});
        if let Some(to) = to {
            body["to"] = to.into();
        }
        let made = house.agent.post("/requests", body).await.ok(201);
        made["request_id"].as_str().expect("an id").to_owned()
    };
    asked("for bob", Some("@nick.bob")).await;
    let later = asked("for mara", Some("@nick.mara")).await;
    asked("for anybody", None).await;
    let titles = |calls: Vec<Export>| {
        let mut all: Vec<_> =
            calls.iter().map(|call| json_of(call)["data"]["request"]["title"].to_string()).collect();
        all.sort();
        all
    };
    assert_eq!(titles(taken(&bobs, 2).await), [r#""for anybody""#, r#""for bob""#]);
    assert_eq!(titles(house.taken(2).await), [r#""for anybody""#, r#""for mara""#]);
    house.owner.post(&format!("/requests/{later}/delegate"), json!({"to": "@nick.bob"})).await.ok(200);
    assert_eq!(titles(taken(&bobs, 3).await), [r#""for anybody""#, r#""for bob""#, r#""for mara""#]);
    let everybody = json!({"person": null});
    let changed = house.owner.patch(&format!("/notifications/{id}"), everybody).await.ok(200);
    assert_eq!(changed.get("person"), None);
    asked("for mara again", Some("@nick.mara")).await;
    assert_eq!(taken(&bobs, 4).await.len(), 4);
    assert_eq!(house.taken(3).await.len(), 3, "what was given to another person is not told twice");
}

#[tokio::test]
async fn a_test_says_what_came_of_it() {
    let house = house("").await;
    let (id, secret) = house.subscribe(house.hook()).await;
    let path = format!("/notifications/{id}/test");
    assert_eq!(house.owner.post_empty(&path).await.ok(200), json!({"delivered": true}));
    let call = house.taken(1).await.remove(0);
    assert!(is_signed(&call, &secret));
    assert_eq!(json_of(&call)["type"], "request.test");
    house.receiver.behave(blackbox::Behaviour::Answer(500));
    let failed = house.owner.post_empty(&path).await.ok(200);
    assert_eq!(
        (&failed["delivered"], &failed["error"]),
        (&json!(false), &json!("the receiver answered 500"))
    );
}

#[tokio::test]
async fn what_is_no_subscription_is_refused_with_its_code() {
    let house = house("").await;
    let hook = house.hook();
    for (member, value, code) in [
        ("target", json!({"kind": "webhook", "url": "ftp://example.org"}), "invalid_target"),
        ("target", json!({"kind": "webhook", "url": "http://user@example.org"}), "invalid_target"),
        ("target", json!({"kind": "webhook", "url": "http://example.org:99999/hook"}), "invalid_target"),
        ("target", json!({"kind": "ntfy", "url": "https://ntfy.sh/"}), "invalid_target"),
        ("target", json!({"kind": "telegram", "bot_token": "1/../x", "chat_id": "1"}), "invalid_target"),
        (
            "target",
            json!({"kind": "web_push", "endpoint": "https://h/", "p256dh": "x", "auth": "y"}),
            "invalid_target",
        ),
        ("target", json!({"kind": "pigeon"}), "invalid_body"),
        ("events", json!([]), "invalid_filter"),
        ("name", json!(""), "invalid_name"),
        ("quiet", json!({"time_zone": "Nowhere", "from": "22:00", "to": "07:00"}), "invalid_quiet"),
        ("digest_minutes", json!(0), "invalid_digest"),
        ("unknown", json!(1), "invalid_body"),
    ] {
        let mut body = hook.clone();
        body[member] = value;
        house.owner.post("/notifications", body).await.assert_refused(400, code);
    }
    let mail = json!({"target": {"kind": "email", "to": "nick@example.org"}});
    house.owner.post("/notifications", mail).await.assert_refused(409, "no_mail");
    for _ in 0..20 {
        house.subscribe(hook.clone()).await;
    }
    house.owner.post("/notifications", hook).await.assert_refused(409, "too_many_subscriptions");
}

#[tokio::test]
async fn addresses_that_are_not_public_are_not_reached() {
    let receiver = Collector::start().await;
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let port = receiver.url().rsplit(':').next().expect("a port").to_owned();
    for host in ["127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]", "10.0.0.1"] {
        let body = json!({"target": {"kind": "webhook", "url": format!("http://{host}:{port}/")}});
        owner.post("/notifications", body).await.assert_refused(400, "invalid_target");
    }
    // A name is looked at when it is connected to.
    let body = json!({"target": {"kind": "webhook", "url": format!("http://localhost:{port}/")}});
    let made = owner.post("/notifications", body).await.ok(201);
    let id = made["subscription"]["subscription_id"].as_str().expect("an id").to_owned();
    let tested = owner.post_empty(&format!("/notifications/{id}/test")).await.ok(200);
    assert_eq!(tested, json!({"delivered": false, "error": "the name leads to no public address"}));
    assert!(receiver.exports().is_empty());
}

/// Subscriptions and notifications count for their owner, in the append and in the check of a store.
#[tokio::test]
async fn what_notifications_store_is_counted_as_it_is_appended() {
    let mut house = house("").await;
    let url = format!("{}/{}", house.receiver.url(), "x".repeat(1_800));
    for _ in 0..20 {
        house.subscribe(json!({"target": {"kind": "webhook", "url": url}, "enabled": false})).await;
    }
    house.ask("one").await;
    house.server.stop().await;
    assert_sound(&house.server);
}

/// `plenary fsck` finds neither damage nor a wrong count.
pub(crate) fn assert_sound(server: &Server) {
    let fsck =
        std::process::Command::new(blackbox::binary()).arg("fsck").arg("--data").arg(server.data()).output();
    let fsck = fsck.expect("fsck runs");
    let (out, err) = (String::from_utf8_lossy(&fsck.stdout), String::from_utf8_lossy(&fsck.stderr));
    assert!(fsck.status.success(), "{out}{err}");
}
