//! W3C Trace Context: the parent span of a request, from its `traceparent` and `tracestate`.
//! Must not know: its use.

use std::{fmt, str::FromStr};

use http::HeaderMap;
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

/// Length of a `traceparent` of version 00, and of the known part of a later one.
const KNOWN_LENGTH: usize = 55;
/// Most bytes of a `tracestate` that is kept; a longer one is dropped as a whole, without the parent.
const TRACE_STATE_BYTES_MAX: usize = 2048;

/// A possible parent of spans: its trace, its id, whether it is recorded, and the state of vendors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent(pub(crate) SpanContext);

impl TraceParent {
    /// Reads the values of the two headers; `None` if `traceparent` is invalid. An invalid `tracestate`
    /// is dropped.
    pub fn parse(traceparent: &str, tracestate: &str) -> Option<Self> {
        let bytes = traceparent.as_bytes();
        let known = traceparent.get(..KNOWN_LENGTH)?;
        let mut fields = known.split('-');
        let [version, trace, span, flags] =
            [fields.next()?, fields.next()?, fields.next()?, fields.next()?].map(lower_hex);
        let (version, trace, span, flags) = (version?, trace?, span?, flags?);
        let sized = [version, trace, span, flags].map(str::len) == [2, 32, 16, 2];
        let ended = match bytes.get(KNOWN_LENGTH) {
            None => version != "ff",
            Some(next) => *next == b'-' && !matches!(version, "00" | "ff"),
        };
        if !sized || !ended {
            return None;
        }
        let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
        let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
        let state = if tracestate.len() > TRACE_STATE_BYTES_MAX { "" } else { tracestate };
        let state = TraceState::from_str(state).unwrap_or_default();
        let context = SpanContext::new(trace, span, flags, true, state);
        context.is_valid().then_some(Self(context))
    }

    /// Reads the headers of a request; `None` without exactly one `traceparent`.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut parents = headers.get_all("traceparent").iter();
        let parent = parents.next()?.to_str().ok()?;
        if parents.next().is_some() {
            return None;
        }
        let states: Vec<_> =
            headers.get_all("tracestate").iter().filter_map(|state| state.to_str().ok()).collect();
        Self::parse(parent.trim(), &states.join(","))
    }

    /// The id of the trace in a stored `traceparent`; `None` if the text is invalid.
    pub fn trace_of(traceparent: &str) -> Option<String> {
        Some(Self::parse(traceparent, "")?.trace_id().to_string())
    }

    /// The trace's id, 32 hexadecimal digits.
    pub fn trace_id(&self) -> impl fmt::Display + use<> {
        self.0.trace_id()
    }

    /// Whether the caller that began the trace records it.
    pub fn is_sampled(&self) -> bool {
        self.0.is_sampled()
    }

    /// The `tracestate` to pass on; empty if there is none.
    pub fn state(&self) -> String {
        self.0.trace_state().header()
    }
}

/// The `traceparent` to pass on.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let context = &self.0;
        write!(f, "00-{}-{}-{:02x}", context.trace_id(), context.span_id(), context.trace_flags())
    }
}

/// The same text if it is lower-case hexadecimal, as the specification requires.
fn lower_hex(text: &str) -> Option<&str> {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_and_handed_on() {
        let parent = TraceParent::parse(GOOD, "vendor=1,other=b:2").unwrap();
        assert_eq!((parent.to_string(), parent.is_sampled()), (GOOD.to_owned(), true));
        assert_eq!(parent.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.state(), "vendor=1,other=b:2");
        assert!(!TraceParent::parse(&GOOD.replace("-01", "-00"), "").unwrap().is_sampled());
        // A later version may have further fields after the known ones; unknown flags are not passed on.
        for later in
            [GOOD.replace("00-4", "cc-4") + "-more", GOOD.replace("00-4", "cc-4"), GOOD.replace("-01", "-ff")]
        {
            assert_eq!(TraceParent::parse(&later, "").unwrap().to_string(), GOOD, "{later}");
        }
    }

    #[test]
    fn what_is_no_traceparent_is_none() {
        for bad in [
            "",
            "00",
            &GOOD[..54],
            &GOOD.to_uppercase(),
            &GOOD.replace("00-4", "ff-4"),
            &format!("{GOOD}-more"),
            &format!("{GOOD}0"),
            &GOOD.replace('4', "g"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7é01",
        ] {
            assert_eq!(TraceParent::parse(bad, ""), None, "{bad}");
        }
    }

    #[test]
    fn a_tracestate_that_is_none_or_too_long_leaves_the_parent() {
        for state in ["no equals sign", &format!("vendor={}", "x".repeat(TRACE_STATE_BYTES_MAX))] {
            assert_eq!(TraceParent::parse(GOOD, state).unwrap().state(), "", "{state}");
        }
    }

    #[test]
    fn of_two_traceparents_none_is_believed_and_several_tracestates_are_one() {
        let mut headers = HeaderMap::new();
        assert_eq!(TraceParent::from_headers(&headers), None);
        headers.append("traceparent", GOOD.parse().unwrap());
        headers.append("tracestate", "a=1".parse().unwrap());
        headers.append("tracestate", "b=2".parse().unwrap());
        assert_eq!(TraceParent::from_headers(&headers).unwrap().state(), "a=1,b=2");
        headers.append("traceparent", GOOD.parse().unwrap());
        assert_eq!(TraceParent::from_headers(&headers), None);
    }
}
