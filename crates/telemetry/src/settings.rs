//! The operator's settings, from OpenTelemetry's own variables; invalid ones are reported and ignored.
//! Must not know: the environment itself, or the transport of spans.

mod endpoint;
mod pairs;
#[cfg(test)]
mod tests;

use std::{fmt, path::PathBuf, time::Duration};

use http::Uri;

use crate::sampler::SamplingRule;

/// The limit of the queue's size (`OTEL_BSP_MAX_QUEUE_SIZE`), in spans.
const QUEUE_SPANS_MAX: usize = 1 << 20;
/// The longest time that a variable may set.
const TIME_MAX: Duration = Duration::from_secs(3_600);

/// How and where spans are exported.
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// The complete URL for the spans.
    pub(crate) endpoint: Uri,
    /// Headers of each request; their values are secrets.
    pub(crate) headers: Vec<(String, String)>,
    /// The time limit of one batch, with all its attempts.
    pub(crate) timeout: Duration,
    /// The only certificate authorities to trust, a PEM file; the system's when absent.
    pub(crate) certificate: Option<PathBuf>,
    /// The source of the spans: `service.name` and more.
    pub(crate) resource: Vec<(String, String)>,
    /// Which traces are recorded.
    pub(crate) sampling: SamplingRule,
    /// Longest text of an attribute, in characters.
    pub(crate) text_chars_max: Option<usize>,
    /// Most spans that wait.
    pub(crate) queue_spans_max: usize,
    /// Most spans of one batch.
    pub(crate) batch_spans_max: usize,
    /// How long a span waits for others of its batch.
    pub(crate) schedule_delay: Duration,
    /// The time limit of one export.
    pub(crate) export_timeout: Duration,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("destination", &self.destination()).finish_non_exhaustive()
    }
}

/// The result of reading the variables.
#[derive(Debug)]
pub struct Configuration {
    /// Absent if nothing is exported.
    pub settings: Option<Settings>,
    /// The variables that were ignored, one sentence each, without any value that may be secret.
    pub warnings: Vec<String>,
}

impl Settings {
    /// Reads the variables; `variable` looks one up. An empty one counts as absent.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Configuration {
        let mut reader = Reader { variable: &variable, warnings: Vec::new() };
        let settings = reader.settings();
        Configuration { settings, warnings: reader.warnings }
    }

    /// The destination for logs: without user, password and query.
    pub fn destination(&self) -> String {
        let uri = &self.endpoint;
        let (host, path) = (uri.host().unwrap_or_default(), uri.path());
        let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{host}{port}{path}", uri.scheme_str().unwrap_or("http"))
    }
}

struct Reader<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    warnings: Vec<String>,
}

impl Reader<'_> {
    fn settings(&mut self) -> Option<Settings> {
        if self.disabled() || !self.exporter_is_otlp() {
            return None;
        }
        let endpoint = endpoint::read(self)?;
        self.protocol();
        self.unsupported();
        let queue_spans_max = self.count("OTEL_BSP_MAX_QUEUE_SIZE", 2_048, QUEUE_SPANS_MAX);
        let batch_default = queue_spans_max.min(512);
        Some(Settings {
            endpoint,
            headers: pairs::headers(self),
            timeout: self.time(&["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"], 10_000),
            certificate: self
                .first(&["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"])
                .map(|(_, path)| path.into()),
            resource: pairs::resource(self),
            sampling: self.sampling(),
            text_chars_max: self.text_chars_max(),
            queue_spans_max,
            batch_spans_max: self.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", batch_default, queue_spans_max),
            schedule_delay: self.time(&["OTEL_BSP_SCHEDULE_DELAY"], 5_000),
            export_timeout: self.time(&["OTEL_BSP_EXPORT_TIMEOUT"], 30_000),
        })
    }

    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The first of these that is set; variables for traces come before the general ones.
    fn first<'n>(&self, names: &[&'n str]) -> Option<(&'n str, String)> {
        names.iter().find_map(|name| Some((*name, self.get(name)?)))
    }

    fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }

    fn disabled(&mut self) -> bool {
        match self.get("OTEL_SDK_DISABLED") {
            Some(value) if value.eq_ignore_ascii_case("true") => true,
            Some(value) if !value.eq_ignore_ascii_case("false") => {
                self.warn(
                    "OTEL_SDK_DISABLED is neither true nor false; spans are not switched off by it".into(),
                );
                false
            }
            _ => false,
        }
    }

    fn exporter_is_otlp(&mut self) -> bool {
        let Some(list) = self.get("OTEL_TRACES_EXPORTER") else { return true };
        let mut otlp = false;
        for exporter in list.split(',').map(str::trim) {
            match exporter {
                "otlp" => otlp = true,
                "none" | "" => {}
                other => {
                    self.warn(format!("OTEL_TRACES_EXPORTER: `{other}` is not supported; otlp and none are"))
                }
            }
        }
        otlp
    }

    fn protocol(&mut self) {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
        if let Some((name, protocol)) = self.first(&names)
            && protocol != "http/protobuf"
        {
            self.warn(format!(
                "{name}: `{protocol}` is not supported; spans are sent as http/protobuf, usually to port 4318"
            ));
        }
    }

    fn unsupported(&mut self) {
        let compression = ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"];
        if let Some((name, coding)) = self.first(&compression)
            && coding != "none"
        {
            self.warn(format!("{name}: `{coding}` is not supported; spans are sent uncompressed"));
        }
        for name in [
            "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
            "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
            "OTEL_EXPORTER_OTLP_CLIENT_KEY",
        ] {
            if self.get(name).is_some() {
                self.warn(format!("{name} is not supported; the collector is not shown a certificate"));
            }
        }
    }

    /// A time in milliseconds.
    fn time(&mut self, names: &[&str], default_ms: u64) -> Duration {
        let default = Duration::from_millis(default_ms);
        let Some((name, text)) = self.first(names) else { return default };
        match text.parse().ok().filter(|ms| *ms > 0).map(Duration::from_millis) {
            Some(time) => time.min(TIME_MAX),
            None => {
                self.warn(format!("{name} is not a number of milliseconds above 0; {default_ms} is used"));
                default
            }
        }
    }

    fn count(&mut self, name: &str, default: usize, max: usize) -> usize {
        let Some(text) = self.get(name) else { return default };
        match text.parse::<usize>() {
            Ok(count) if (1..=max).contains(&count) => count,
            Ok(count) if count > max => {
                self.warn(format!("{name}: {count} is too many; {max} is used"));
                max
            }
            _ => {
                self.warn(format!("{name} is not a number above 0; {default} is used"));
                default
            }
        }
    }

    fn text_chars_max(&mut self) -> Option<usize> {
        let names = ["OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"];
        let (name, text) = self.first(&names)?;
        let max = text.parse().ok();
        if max.is_none() {
            self.warn(format!("{name} is not a number; texts are not cut"));
        }
        max
    }

    fn sampling(&mut self) -> SamplingRule {
        let Some(sampler) = self.get("OTEL_TRACES_SAMPLER") else { return SamplingRule::default() };
        let (parent_based, rest) = match sampler.strip_prefix("parentbased_") {
            Some(rest) => (true, rest),
            None => (false, sampler.as_str()),
        };
        let ratio = match rest {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => self.ratio(),
            _ => {
                self.warn(format!(
                    "OTEL_TRACES_SAMPLER: `{sampler}` is not supported; parentbased_always_on is used"
                ));
                return SamplingRule::default();
            }
        };
        SamplingRule { parent_based, ratio }
    }

    fn ratio(&mut self) -> f64 {
        let Some(text) = self.get("OTEL_TRACES_SAMPLER_ARG") else { return 1.0 };
        let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        if ratio.is_none() {
            self.warn("OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1; 1 is used".into());
        }
        ratio.unwrap_or(1.0)
    }
}
