//! Spans kept in the process, so that a room's tests can read the spans that it records.
//! Must not know: the export.

use std::collections::BTreeMap;

use opentelemetry::{Value, trace::SpanId};
use prometheus_client::metrics::counter::Counter;

use crate::{
    Kind, Spans, TraceParent,
    queue::{Outlet, queue},
    sampler::SamplingRule,
    spans::Recorder,
};

/// Receives the recorded spans in place of a collector.
pub struct MemoryCollector {
    outlet: Outlet,
    dropped: Counter,
}

/// A recorded span.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectedSpan {
    /// Its name.
    pub name: String,
    /// Its side of the exchange.
    pub kind: Kind,
    /// Its own ids.
    pub own: TraceParent,
    /// The id of its parent, 16 hexadecimal digits.
    pub parent: Option<String>,
    /// The spans that it links to.
    pub links: Vec<TraceParent>,
    /// Its attributes.
    pub attributes: BTreeMap<String, Value>,
    /// Whether it ended with an error.
    pub failed: bool,
}

impl Spans {
    /// Keeps spans in the process, `spans_max` at most, for tests.
    pub fn in_memory(spans_max: usize) -> (Self, MemoryCollector) {
        let dropped = Counter::default();
        let (queue, outlet) = queue(spans_max, dropped.clone());
        (Self::to(Recorder::new(queue, SamplingRule::default(), None)), MemoryCollector { outlet, dropped })
    }
}

impl MemoryCollector {
    /// Takes the spans since the last call, in order.
    pub fn take(&mut self) -> Vec<CollectedSpan> {
        let mut spans = Vec::new();
        while let Some(queued) = self.outlet.next_now() {
            let span = queued.span;
            let parent = (span.parent_span_id != SpanId::INVALID).then(|| span.parent_span_id.to_string());
            spans.push(CollectedSpan {
                name: span.name.into_owned(),
                kind: span.span_kind.into(),
                own: TraceParent(span.span_context),
                links: span.links.iter().map(|link| TraceParent(link.span_context.clone())).collect(),
                parent,
                attributes: span.attributes.into_iter().map(|pair| (pair.key.into(), pair.value)).collect(),
                failed: matches!(span.status, opentelemetry::trace::Status::Error { .. }),
            });
        }
        spans
    }

    /// The number of spans that were dropped because the queue was full.
    pub fn dropped(&self) -> u64 {
        self.dropped.get()
    }
}

impl std::fmt::Debug for MemoryCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{FinishedSpan, Status, queue::QUEUE_BYTES_MAX};

    const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn span(name: &'static str, parent: Option<&str>) -> FinishedSpan {
        let end = Instant::now();
        FinishedSpan {
            links: Vec::new(),
            name: name.into(),
            kind: Kind::Internal,
            parent: parent.map(|text| TraceParent::parse(text, "vendor=1").unwrap()),
            start: end - Duration::from_millis(5),
            end,
            attributes: vec![("a", "text".into()), ("n", 7.into())],
            status: Status::Unset,
        }
    }

    #[test]
    fn a_span_has_the_ids_of_what_it_is_of_and_its_links() {
        let (spans, mut collector) = Spans::in_memory(4);
        let number = 0x0199_aaaa_bbbb_7ccc_8ddd_eeee_ffff_0001_u128;
        let (parent, now) = (TraceParent::parse(CALLER, ""), Instant::now());
        let root = spans.begin_as(number, None, now).unwrap();
        assert_eq!(root.own.to_string(), "00-0199aaaabbbb7ccc8dddeeeeffff0001-8dddeeeeffff0001-01");
        let below = spans.begin_as(number, parent.clone(), now).unwrap();
        assert_eq!(below.own.to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-8dddeeeeffff0001-01");
        let links: Vec<_> = parent.into_iter().collect();
        spans.end(below, FinishedSpan { links: links.clone(), ..span("below", None) });
        let [below] = collector.take().try_into().unwrap();
        assert_eq!((below.parent.as_deref(), below.links), (Some("00f067aa0ba902b7"), links));
    }

    #[test]
    fn a_span_belongs_to_its_parent_or_begins_a_trace() {
        let (spans, mut collector) = Spans::in_memory(4);
        spans.record(span("child", Some(CALLER)));
        spans.record(span("root", None));
        let [child, root] = collector.take().try_into().unwrap();
        assert_eq!((child.name.as_str(), child.parent.as_deref()), ("child", Some("00f067aa0ba902b7")));
        assert_eq!(child.own.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(child.own.state(), "vendor=1");
        assert_eq!(child.attributes["n"], Value::I64(7));
        assert_eq!(root.parent, None);
        assert_ne!(root.own.trace_id().to_string(), child.own.trace_id().to_string());
    }

    #[test]
    fn an_open_span_keeps_its_ids_and_is_a_parent() {
        let (spans, mut collector) = Spans::in_memory(4);
        let open = spans.begin(TraceParent::parse(CALLER, ""), Instant::now()).unwrap();
        let below = FinishedSpan { parent: Some(open.own.clone()), ..span("below", None) };
        spans.record(below);
        spans.end(open.clone(), FinishedSpan { status: Status::Error, ..span("server", None) });
        let [below, server] = collector.take().try_into().unwrap();
        assert_eq!((&server.own, server.parent.as_deref()), (&open.own, Some("00f067aa0ba902b7")));
        assert!(server.failed && !below.failed);
        assert_eq!(below.own.trace_id().to_string(), server.own.trace_id().to_string());
    }

    #[test]
    fn what_the_caller_does_not_have_recorded_is_not_recorded_nor_counted_as_lost() {
        let (spans, mut collector) = Spans::in_memory(4);
        spans.record(span("silent", Some(&CALLER.replace("-01", "-00"))));
        assert_eq!((collector.take(), collector.dropped()), (Vec::new(), 0));
    }

    #[test]
    fn past_the_number_of_spans_they_are_dropped_and_counted() {
        let (spans, mut collector) = Spans::in_memory(2);
        for _ in 0..5 {
            spans.record(span("x", None));
        }
        assert_eq!((collector.take().len(), collector.dropped()), (2, 3));
        spans.record(span("x", None));
        assert_eq!((collector.take().len(), collector.dropped()), (1, 3));
    }

    #[test]
    fn past_the_bytes_of_the_queue_spans_are_dropped_and_counted() {
        let (spans, mut collector) = Spans::in_memory(1_000);
        let mebibyte = "x".repeat(1 << 20);
        for _ in 0..20 {
            spans
                .record(FinishedSpan { attributes: vec![("a", mebibyte.clone().into())], ..span("x", None) });
        }
        let count = collector.take().len();
        assert_eq!((count, collector.dropped()), (QUEUE_BYTES_MAX / (1 << 20) - 1, 20 - count as u64));
        spans.record(span("x", None));
        assert_eq!(collector.take().len(), 1, "what was taken out makes room");
    }

    #[test]
    fn off_records_nothing() {
        let spans = Spans::off();
        spans.record(span("x", None));
        assert!(!spans.is_on() && spans.begin(None, Instant::now()).is_none());
    }
}
