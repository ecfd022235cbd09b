//! The handle that rooms record their spans with.
//! Must not know: the network.

use std::{fmt, sync::Arc, time::Instant};

use opentelemetry::{
    InstrumentationScope, KeyValue, Value,
    trace::{Link, SpanContext, SpanId, TraceFlags, TraceId},
};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks};

use crate::{FinishedSpan, TraceParent, queue::Queue, sampler::SamplingRule};

/// The recorder of finished spans. Cheap to clone; when it is off, every call costs one comparison.
#[derive(Clone, Default)]
pub struct Spans(Option<Arc<Recorder>>);

/// An open span: its ids are known before it ends, so that log lines can name its trace.
#[derive(Debug, Clone)]
pub struct OpenSpan {
    /// The parent for spans below this one.
    pub own: TraceParent,
    /// Its parent.
    pub parent: Option<TraceParent>,
    /// When it began.
    pub start: Instant,
}

/// Turns finished spans into exported ones.
pub(crate) struct Recorder {
    queue: Queue,
    sampling: SamplingRule,
    text_chars_max: Option<usize>,
    ids: RandomIdGenerator,
    scope: InstrumentationScope,
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() { "Spans(on)" } else { "Spans(off)" })
    }
}

impl Spans {
    /// Records nothing, at no cost.
    pub const fn off() -> Self {
        Self(None)
    }

    pub(crate) fn to(recorder: Recorder) -> Self {
        Self(Some(Arc::new(recorder)))
    }

    /// Whether spans are recorded. Check it before you collect the values of a span.
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records a span with new ids. Never waits: beyond a limit of the queue the span is dropped and
    /// counted.
    pub fn record(&self, span: FinishedSpan) {
        let Some(recorder) = &self.0 else { return };
        let own = recorder.fresh(span.parent.as_ref());
        recorder.finish(&own, span);
    }

    /// The ids of a span that begins now; `None` when spans are off.
    pub fn begin(&self, parent: Option<TraceParent>, start: Instant) -> Option<OpenSpan> {
        let own = self.0.as_ref()?.fresh(parent.as_ref());
        Some(OpenSpan { own, parent, start })
    }

    /// The ids of a span that begins now, derived from a known number that other parts know too: the span's
    /// id is the lower half of the number, and without a parent its trace id is the number.
    pub fn begin_as(&self, number: u128, parent: Option<TraceParent>, start: Instant) -> Option<OpenSpan> {
        let recorder = self.0.as_ref()?;
        let bytes = number.to_be_bytes();
        let [.., a, b, c, d, e, f, g, h] = bytes;
        let span = SpanId::from_bytes([a, b, c, d, e, f, g, h]);
        Some(OpenSpan { own: recorder.own(TraceId::from_bytes(bytes), span, parent.as_ref()), parent, start })
    }

    /// Records a span that [`Spans::begin`] gave ids to, with the `parent` and `start` of `open`. Never
    /// waits.
    pub fn end(&self, open: OpenSpan, span: FinishedSpan) {
        let Some(recorder) = &self.0 else { return };
        recorder.finish(&open.own, FinishedSpan { parent: open.parent, start: open.start, ..span });
    }
}

impl Recorder {
    /// Cuts texts of attributes at `text_chars_max` characters.
    pub(crate) fn new(queue: Queue, sampling: SamplingRule, text_chars_max: Option<usize>) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let scope = InstrumentationScope::builder("plenary").with_version(version).build();
        Self { queue, sampling, text_chars_max, ids: RandomIdGenerator::default(), scope }
    }

    /// New ids.
    fn fresh(&self, parent: Option<&TraceParent>) -> TraceParent {
        let trace = parent.map_or_else(|| self.ids.new_trace_id(), |parent| parent.0.trace_id());
        self.own(trace, self.ids.new_span_id(), parent)
    }

    /// These ids, in the trace of the parent if there is one, with the parent's `tracestate`.
    fn own(&self, trace: TraceId, span: SpanId, parent: Option<&TraceParent>) -> TraceParent {
        let trace = parent.map_or(trace, |parent| parent.0.trace_id());
        let is_sampled = self.sampling.takes(trace, parent.map(TraceParent::is_sampled));
        let state = parent.map(|parent| parent.0.trace_state().clone()).unwrap_or_default();
        let flags = if is_sampled { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
        TraceParent(SpanContext::new(trace, span, flags, false, state))
    }

    fn finish(&self, own: &TraceParent, span: FinishedSpan) {
        if !own.is_sampled() {
            return;
        }
        let (start_time, end_time) = wall_clock(span.start, span.end);
        let mut links = SpanLinks::default();
        links.links = span.links.into_iter().map(|link| Link::with_context(link.0)).collect();
        let attributes =
            span.attributes.into_iter().map(|(key, value)| KeyValue::new(key, self.bounded(value))).collect();
        self.queue.push(SpanData {
            span_context: own.0.clone(),
            parent_span_id: span.parent.as_ref().map_or(SpanId::INVALID, |parent| parent.0.span_id()),
            parent_span_is_remote: span.parent.as_ref().is_some_and(|parent| parent.0.is_remote()),
            span_kind: span.kind.into(),
            name: span.name,
            start_time,
            end_time,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status: span.status.into(),
            instrumentation_scope: self.scope.clone(),
        });
    }

    fn bounded(&self, value: Value) -> Value {
        let Some(max) = self.text_chars_max else { return value };
        if !matches!(value, Value::String(_)) {
            return value;
        }
        let text = value.as_str();
        let cut = text.char_indices().nth(max).map(|(end, _)| text[..end].to_owned());
        cut.map_or(value, Value::from)
    }
}

/// The wall-clock times of two moments. Durations come from the monotonic clock, the date from the wall
/// clock at the time of recording.
#[expect(clippy::disallowed_methods, reason = "a span says when it happened; nothing is decided by it")]
fn wall_clock(start: Instant, end: Instant) -> (std::time::SystemTime, std::time::SystemTime) {
    let (now, moment) = (std::time::SystemTime::now(), Instant::now());
    let at = |then: Instant| now - moment.saturating_duration_since(then);
    (at(start), at(end.max(start)))
}
