//! The picture that a person gets: events of a channel at a real Arize Phoenix, as one session (CH-6, CH-35).

use std::collections::BTreeSet;

use blackbox::{Address, Agent, Caller, Server, TestDependency, epoch_ms, eventually};
use serde_json::{Value, json};

/// A Phoenix on this machine, and a project of our own in it.
struct Phoenix {
    caller: Caller,
    url: String,
    project: String,
}

impl Phoenix {
    fn at(url: String) -> Self {
        let port = url.rsplit(':').next().and_then(|rest| rest.trim_end_matches('/').parse().ok());
        let address = Address::default();
        address.set_port(port.unwrap_or_else(|| panic!("{url} ends with no port")));
        let project = format!("plenary-{}-{}", std::process::id(), epoch_ms());
        Self { caller: Caller::new(address, None), url, project }
    }

    /// A server whose spans go to the project.
    async fn server(&self) -> Server {
        self.server_with("").await
    }

    async fn server_with(&self, config: &str) -> Server {
        let resource = format!("openinference.project.name={}", self.project);
        let builder = Server::builder().config(config).spans_to(&self.url);
        builder.env("OTEL_RESOURCE_ATTRIBUTES", &resource).start().await
    }

    /// A list of the project; empty as long as Phoenix does not know it.
    async fn list(&self, what: &str) -> Vec<Value> {
        let response = self.caller.get(&format!("/v1/projects/{}/{what}?limit=1000", self.project)).await;
        if response.status == 404 {
            return Vec::new();
        }
        response.ok(200)["data"].as_array().cloned().unwrap_or_default()
    }

    /// Waits for so many spans of events of that channel.
    async fn events(&self, channel: &str, count: usize) -> Vec<Value> {
        eventually(&format!("Phoenix shows {count} events of {channel}"), || async {
            let mut spans = self.list("spans").await;
            spans.retain(|span| {
                span["name"].as_str().is_some_and(|name| name.starts_with("agent-channel.event."))
                    && span["attributes"]["o2r.channel.id"] == channel
            });
            (spans.len() >= count).then_some(spans)
        })
        .await
    }
}

async fn open(agent: &Agent, title: &str) -> String {
    let channel = agent.post("/agent-channel", json!({ "title": title })).await.ok(200);
    channel["id"].as_str().expect("a channel has an id").to_owned()
}

fn traces(spans: &[Value]) -> BTreeSet<String> {
    spans.iter().map(|span| span["context"]["trace_id"].as_str().expect("a trace").to_owned()).collect()
}

/// Two channels, two agents, events with a caller's trace and without: each channel is one session with all its
/// events and no other.
#[tokio::test]
async fn ch_6_the_events_of_a_channel_are_one_session_in_phoenix() {
    let TestDependency::Available(url) = TestDependency::phoenix() else { return };
    let phoenix = Phoenix::at(url);
    let server = phoenix.server().await;
    let (alice, bob) = (server.agent("@alice.bot").await, server.agent("@bob.bot").await);
    let (first, second) = (open(&alice, "first").await, open(&bob, "second").await);
    // Of this run alone: Phoenix leaves a trace in the project that it came to first.
    let trace = format!("{:016x}{:016x}", epoch_ms(), std::process::id());
    let caller = format!("00-{trace}-00f067aa0ba902b7-01");
    let traced = [("traceparent", caller.as_str())];
    for (agent, channel, kind, headers) in [
        (&alice, &first, "spec", &[][..]),
        (&bob, &first, "status", &traced[..]),
        (&alice, &first, "comms", &traced[..]),
        (&bob, &first, "a kind of its own", &[]),
        (&bob, &second, "spec", &[]),
    ] {
        let event = json!({ "kind": kind, "payload": { "note": format!("{kind} of {channel}") } });
        agent.call("POST", &format!("/agent-channel/{channel}/event"), headers, Some(&event)).await.ok(200);
    }
    let spans = phoenix.events(&first, 4).await;
    let others = phoenix.events(&second, 1).await;
    assert_eq!((spans.len(), others.len()), (4, 1), "each event is one span: {spans:?} {others:?}");
    let sessions = phoenix.list("sessions").await;
    let ids: BTreeSet<_> = sessions.iter().filter_map(|session| session["session_id"].as_str()).collect();
    assert_eq!(ids, BTreeSet::from([first.as_str(), second.as_str()]), "{sessions:?}");
    assert_eq!(sessions.len(), 2, "one session a channel: {sessions:?}");
    for (channel, spans) in [(&first, &spans), (&second, &others)] {
        let session = sessions.iter().find(|session| session["session_id"] == channel.as_str());
        let listed = session.and_then(|session| session["traces"].as_array()).expect("a session has traces");
        let listed: BTreeSet<_> =
            listed.iter().filter_map(|trace| trace["trace_id"].as_str().map(str::to_owned)).collect();
        assert_eq!(listed, traces(spans), "the session holds the traces of its events: {sessions:?}");
    }

    let kinds: BTreeSet<_> =
        spans.iter().filter_map(|span| span["name"].as_str()?.rsplit('.').next()).collect();
    assert_eq!(kinds, BTreeSet::from(["a kind of its own", "comms", "spec", "status"]));
    for span in &spans {
        assert_eq!(span["span_kind"], "AGENT", "{span}");
        assert_eq!(span["attributes"]["session.id"], first.as_str(), "{span}");
        let said = span["attributes"]["input.value"].as_str().expect("what was said");
        assert!(said.contains(&format!("of {first}")), "{span}");
    }
    assert!(traces(&spans).contains(&trace), "the caller's trace: {spans:?}");
}

/// Requests of every protocol are spans there, without any channel.
#[tokio::test]
async fn requests_are_spans_in_phoenix() {
    let TestDependency::Available(url) = TestDependency::phoenix() else { return };
    let phoenix = Phoenix::at(url);
    let server = phoenix.server().await;
    let alice = server.agent("@alice.bot").await;
    alice.get("/sessions").await.ok(200);
    let span = eventually("Phoenix shows the request", || async {
        phoenix.list("spans").await.into_iter().find(|span| span["name"] == "session.list")
    })
    .await;
    assert_eq!(span["attributes"]["http.route"], "/sessions", "{span}");
    assert_eq!(span["attributes"]["http.response.status_code"], 200, "{span}");
    assert_eq!(span["status_code"], "UNSET", "{span}");
}

/// Agents that answer a message, and each other, are one session there, and one trace whose spans are the graph of agents.
#[tokio::test]
async fn the_turns_of_agents_are_one_session_and_a_graph_in_phoenix() {
    let TestDependency::Available(url) = TestDependency::phoenix() else { return };
    let phoenix = Phoenix::at(url);
    let agent = |name: &str| {
        format!(
            "[agents.{name}]\nowner = \"acme\"\npolicy = \"open\"\nkind = \"echo\"\nanswers = \"always\"\nhops_max = 2\n"
        )
    };
    let server = phoenix.server_with(&[agent("one"), agent("two")].concat()).await;
    let nick = server.agent("@nick.ann").await;
    let session = nick.open(json!({"invite": ["@acme.one", "@acme.two"]})).await["session_id"].clone();
    let session = session.as_str().expect("a session");
    for handle in ["@acme.one", "@acme.two"] {
        eventually("it joins", || async {
            (nick.status_of(session, handle).await == "joined").then_some(())
        })
        .await;
    }
    nick.say(session, "ping").await;
    let turns = eventually("Phoenix shows four turns", || async {
        let mut spans = phoenix.list("spans").await;
        spans.retain(|span| span["name"].as_str().is_some_and(|name| name.starts_with("invoke_agent ")));
        (spans.len() >= 4).then_some(spans)
    })
    .await;
    assert_eq!((turns.len(), traces(&turns).len()), (4, 1), "one trace: {turns:?}");
    let edges: BTreeSet<_> = turns
        .iter()
        .map(|turn| {
            assert_eq!(turn["span_kind"], "AGENT", "{turn}");
            assert_eq!(turn["attributes"]["session.id"], session, "{turn}");
            let text = |name: &str| turn["attributes"][name].as_str().map(str::to_owned);
            (text("graph.node.parent_id"), text("graph.node.id"))
        })
        .collect();
    let edge = |from: &str, to: &str| (Some(from.to_owned()), Some(to.to_owned()));
    let expected = [
        edge("@nick.ann", "@acme.one"),
        edge("@nick.ann", "@acme.two"),
        edge("@acme.one", "@acme.two"),
        edge("@acme.two", "@acme.one"),
    ];
    assert_eq!(edges, BTreeSet::from(expected), "{turns:?}");
    let sessions = phoenix.list("sessions").await;
    let shown = sessions.iter().find(|shown| shown["session_id"] == session);
    let listed = shown.and_then(|shown| shown["traces"].as_array()).expect("the session has traces");
    let listed: BTreeSet<_> =
        listed.iter().filter_map(|trace| trace["trace_id"].as_str().map(str::to_owned)).collect();
    assert!(listed.is_superset(&traces(&turns)), "{sessions:?}");
}
