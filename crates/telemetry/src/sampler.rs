//! The sampled traces: those that their caller samples, and a share of the rest by the operator's
//! settings.
//! Must not know: spans.

use opentelemetry::trace::{SpanKind, TraceId};
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, ShouldSample};

/// The rule that decides whether a trace is recorded (`OTEL_TRACES_SAMPLER`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SamplingRule {
    /// Whether a caller's decision counts.
    pub(crate) parent_based: bool,
    /// The share of traces without such a decision that are recorded, 0 to 1.
    pub(crate) ratio: f64,
}

impl Default for SamplingRule {
    /// `parentbased_always_on`.
    fn default() -> Self {
        Self { parent_based: true, ratio: 1.0 }
    }
}

impl SamplingRule {
    /// Whether a span of this trace is recorded; `caller` is the decision of its parent.
    pub(crate) fn takes(&self, trace: TraceId, caller: Option<bool>) -> bool {
        if let (true, Some(sampled)) = (self.parent_based, caller) {
            return sampled;
        }
        let result = Sampler::TraceIdRatioBased(self.ratio).should_sample(
            None,
            trace,
            "",
            &SpanKind::Internal,
            &[],
            &[],
        );
        result.decision == SamplingDecision::RecordAndSample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_decides_unless_the_operator_decides_alone() {
        let trace = TraceId::from(1_u128 << 100);
        let all = SamplingRule::default();
        assert!(all.takes(trace, None) && all.takes(trace, Some(true)) && !all.takes(trace, Some(false)));
        let none = SamplingRule { parent_based: true, ratio: 0.0 };
        assert!(!none.takes(trace, None) && none.takes(trace, Some(true)));
        let alone = SamplingRule { parent_based: false, ratio: 0.0 };
        assert!(!alone.takes(trace, Some(true)));
    }

    #[test]
    fn a_ratio_takes_about_its_part() {
        let half = SamplingRule { parent_based: true, ratio: 0.5 };
        // Spread evenly over the low 64 bits, which the sampler reads.
        let traces =
            (0..1_000_u128).map(|n| TraceId::from((1 << 100) | (n * (u128::from(u64::MAX) / 1_000))));
        let sampled = traces.filter(|trace| half.takes(*trace, None)).count();
        assert!((450..550).contains(&sampled), "{sampled}");
    }
}
