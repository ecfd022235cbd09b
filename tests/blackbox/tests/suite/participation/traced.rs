//! Turns of agents in sessions, as spans: who answered whom, over all hops. Must not know: what was said.

use blackbox::{Agent, Collector, Server, Span, TempDir, eventually};
use serde_json::json;

use super::speak::{PUPPET, contents, joined, open, opened, puppet, says};

/// The turns that were exported, at least so many.
async fn turns(collector: &Collector, count: usize) -> Vec<Span> {
    eventually(&format!("{count} turns"), || async {
        let mut spans = collector.spans();
        spans.retain(|span| span.name.starts_with("invoke_agent "));
        (spans.len() >= count).then_some(spans)
    })
    .await
}

async fn two(collector: &Collector) -> (Server, Agent, String) {
    let lines = "kind = \"echo\"\nanswers = \"always\"\nhops_max = 2";
    let config = [open("one", lines), open("two", lines)].concat();
    let server = Server::builder().config(&config).spans_to(&collector.url()).start().await;
    let nick = server.agent("@nick.ann").await;
    let id = opened(&nick, &["@acme.one", "@acme.two"], None).await;
    for handle in ["@acme.one", "@acme.two"] {
        joined(&nick, &id, handle).await;
    }
    (server, nick, id)
}

/// A message and all that agents answer to it, and to each other, is one trace: each turn is below what it answers, links to
/// it, and says whose it was.
#[tokio::test]
async fn a_message_and_the_turns_that_answer_it_are_one_trace_and_a_graph() {
    let collector = Collector::start().await;
    let (_server, nick, id) = two(&collector).await;
    nick.say(&id, "ping").await;
    let sent = collector.wait_for_span("session.send").await;
    let turns = turns(&collector, 4).await;
    assert_eq!(turns.len(), 4, "each answers nick, and the other: {turns:?}");
    for turn in &turns {
        assert_eq!((&turn.trace, turn.links.as_slice()), (&sent.trace, &[turn.parent.clone()][..]));
        assert_eq!(turn.attributes["session.id"], id);
        assert_eq!(turn.attributes["gen_ai.conversation.id"], id);
    }
    let edge = |turn: &Span| {
        let text = |name: &str| turn.attributes[name].as_str().expect("text").to_owned();
        (text("graph.node.parent_id"), text("graph.node.id"))
    };
    let (first, second): (Vec<_>, Vec<_>) = turns.iter().partition(|turn| turn.parent == sent.id);
    let mut edges = [
        first.iter().map(|turn| edge(turn)).collect::<Vec<_>>(),
        second.iter().map(|turn| edge(turn)).collect(),
    ];
    edges.iter_mut().for_each(|edges| edges.sort());
    let named = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(edges[0], [named("@nick.ann", "@acme.one"), named("@nick.ann", "@acme.two")]);
    assert_eq!(edges[1], [named("@acme.one", "@acme.two"), named("@acme.two", "@acme.one")]);
    for turn in second {
        assert!(first.iter().any(|before| before.id == turn.parent), "it answers a turn: {turn:?}");
    }
}

/// The span of a message stays with it: a turn after a restart still points at it, and nobody is shown it.
#[tokio::test]
async fn a_turn_after_a_restart_links_to_the_message_from_before() {
    let collector = Collector::start().await;
    let config = open("puppet", &puppet());
    let mut server = Server::builder().config(&config).spans_to(&collector.url()).start().await;
    let nick = server.agent("@nick.ann").await;
    let (directory, trace) = (TempDir::new(), "4bf92f3577b34da6a3ce929d0e0e4736");
    let (mark, gate) = (directory.path().join("mark"), directory.path().join("gate"));
    let id = opened(&nick, &[PUPPET], None).await;
    joined(&nick, &id, PUPPET).await;
    let caller = format!("00-{trace}-00f067aa0ba902b7-01");
    let body = json!({"content": format!("mark {}\ngate {}\ntext done", mark.display(), gate.display())});
    let path = format!("/sessions/{id}/messages");
    nick.call("POST", &path, &[("traceparent", &caller)], Some(&body)).await.ok(201);
    let sent = collector.wait_for_span("session.send").await;
    eventually("the agent is at work", || async { mark.exists().then_some(()) }).await;
    server.crash().await;
    std::fs::write(&gate, "open").expect("the file can be written");
    assert_eq!(contents(&says(&nick, &id, PUPPET, 1).await), ["done"]);
    let turn = turns(&collector, 1).await.remove(0);
    assert_eq!((turn.links.as_slice(), turn.trace.as_str()), (&[sent.id][..], trace));
    assert!(!json!(nick.history(&id).await).to_string().contains(trace), "it is never shown");
}
