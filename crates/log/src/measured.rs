//! The metrics of the writer: the time from an append to its outcome, and the number of waiting appends.
//! Must not know: the content of an append.

use std::time::Instant;

use prometheus_client::metrics::{gauge::Gauge, histogram::Histogram};

/// Upper bounds of the buckets, in seconds.
const BOUNDS_S: [f64; 10] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

/// The metrics of a log's writer. Cloning shares them.
#[derive(Debug, Clone)]
pub struct AppendMetrics {
    /// Seconds from an append to its outcome; its count is the number of appends.
    pub duration: Histogram,
    /// Appends whose outcome is pending.
    pub waiting: Gauge,
}

impl Default for AppendMetrics {
    fn default() -> Self {
        Self { duration: Histogram::new(BOUNDS_S), waiting: Gauge::default() }
    }
}

/// One pending append; it counts as waiting until this is dropped.
#[derive(Debug)]
pub(crate) struct AppendTimer {
    metrics: AppendMetrics,
    since: Instant,
}

impl AppendMetrics {
    pub(crate) fn begin(&self) -> AppendTimer {
        self.waiting.inc();
        AppendTimer { metrics: self.clone(), since: Instant::now() }
    }
}

impl AppendTimer {
    pub(crate) fn since(&self) -> Instant {
        self.since
    }
}

impl Drop for AppendTimer {
    fn drop(&mut self) {
        self.metrics.waiting.dec();
        self.metrics.duration.observe(self.since.elapsed().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_waits_until_it_has_its_outcome() {
        let metrics = AppendMetrics::default();
        let (one, other) = (metrics.begin(), metrics.begin());
        drop(one);
        assert_eq!(metrics.waiting.get(), 1);
        drop(other);
        assert_eq!(metrics.waiting.get(), 0);
    }
}
