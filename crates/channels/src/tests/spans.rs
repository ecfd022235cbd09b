//! Exactly one span for each appended event (CH-6, CH-35).

use plenary_telemetry::{Kind, Spans, Value};
use serde_json::json;

use super::house::House;
use crate::Config;

const ANN: &str = "@o.ann";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn ch_6_35_an_append_is_one_span_below_its_caller() {
    let (spans, mut recorded) = Spans::in_memory(100);
    let house = House::with(Config::default(), spans);
    house.agent(ANN).await;
    let channel = house.channel(ANN).await;
    let line = format!("POST /agent-channel/{channel}/event");
    let body = r#"{"kind":"comms","author":"claude","payload":{ "a" : 1.0 }}"#;
    let headers = [("traceparent", PARENT), ("idempotency-key", "k")];
    let first = house.ask(ANN, &line, &headers, body).await.ok();
    let mut spans = recorded.take();
    spans.retain(|span| span.name.starts_with("agent-channel.event."));
    let [span] = &spans[..] else { panic!("one span: {spans:?}") };
    assert_eq!((span.name.as_str(), span.kind), ("agent-channel.event.comms", Kind::Internal));
    assert_eq!(span.own.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span.parent.as_deref(), Some("b7ad6b7169203331"));
    let expected = [
        ("agent.id", "claude"),
        ("input.value", r#"{ "a" : 1.0 }"#),
        ("o2r.channel.event.kind", "comms"),
        ("o2r.channel.id", channel.as_str()),
        ("openinference.span.kind", "AGENT"),
        ("session.id", channel.as_str()),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), Value::from(text.to_owned())));
    assert_eq!(span.attributes.clone().into_iter().collect::<Vec<_>>(), expected);

    // A repeated, a refused and a validated request append nothing.
    assert_eq!(house.ask(ANN, &line, &headers, body).await.ok(), first);
    house.ask(ANN, &line, &[], "{}").await.refused(422, "invalid_kind");
    house.ask(ANN, &format!("{line}?validate=1"), &[], body).await.ok();
    assert!(recorded.take().iter().all(|span| !span.name.starts_with("agent-channel.event.")));
}

#[tokio::test]
async fn ch_35_without_an_author_and_without_a_caller_a_span_stands_alone() {
    let (spans, mut recorded) = Spans::in_memory(100);
    let house = House::with(Config { open: true, ..Config::default() }, spans);
    let channel = house.channel("").await;
    house.append("", &channel, "any kind", json!({})).await;
    let spans = recorded.take();
    let span = spans.iter().find(|span| span.name == "agent-channel.event.any kind").unwrap();
    assert_eq!(span.attributes["agent.id"], Value::from("(anonymous)"));
    assert_eq!(span.parent, None);
}
