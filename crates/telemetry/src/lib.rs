//! Spans of the server's work, exported to a collector that the operator names (wire.md D.6).
//! Must not know: any protocol, or the source of a span.
//!
//! A room holds a [`Spans`], checks [`Spans::is_on`] before it collects the values of a span, and gives
//! each finished span to [`Spans::record`], which never waits and never fails. Without a collector
//! nothing is recorded and no task runs.

mod collected;
pub mod conventions;
mod export;
mod fault;
mod queue;
mod sampler;
mod scope;
mod settings;
mod span;
mod spans;
mod trace_parent;
mod transport;

pub use collected::{CollectedSpan, MemoryCollector};
pub use export::Telemetry;
pub use fault::Fault;
pub use opentelemetry::Value;
pub use queue::Counts;
pub use scope::{EnteredScope, SpanScope, current, current_scope, in_current_scope, note, note_conversation};
pub use settings::{Configuration, Settings};
pub use span::{FinishedSpan, Kind, Status};
pub use spans::{OpenSpan, Spans};
pub use trace_parent::TraceParent;
