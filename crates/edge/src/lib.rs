//! The HTTP edge: listening, strict HTTP/1.1, HTTP/2 for gRPC, bodies as checked JSON, operations, and the documents
//! generated from them.
//! Must not know: any protocol; a room provides its operations and its form of errors.

mod admission;
mod answers;
mod bodies;
mod body;
mod challenge;
pub mod config;
mod connection;
mod deadlines;
mod elsewhere;
mod error;
mod exposed;
mod guard;
mod handshake;
mod http2;
mod inlet;
mod lines;
mod linger;
mod listener;
mod measured;
mod metrics;
mod misfit;
mod not_null;
mod objects;
mod openapi;
mod operation;
pub mod operations;
mod origin;
mod pages;
mod paths;
mod peer;
pub mod ranges;
mod reader;
mod rebinding;
mod router_bridge;
mod routes;
mod selective;
mod socket;
mod stalled;
mod strict;
mod tls;
mod traced;

pub use answers::{Allowance, BudgetCaller, LiveStream};
pub use bodies::CountedBody;
pub use body::{BodyLimit, JsonBody, StrictJson, body_refusal, read_bytes, read_json, read_stream};
pub use challenge::ScopeChallenge;
pub use config::Config;
pub use elsewhere::see_other;
pub use error::{ErrorBody, ErrorDetail, refusal_response, refused, shared_answer};
pub use exposed::{Schemas, ToolExposure};
pub use guard::Fault;
pub use handshake::{Handshake, NoHandshake};
pub use lines::{Line, Lines};
pub use listener::{ListenFault, Listener, StopReport};
pub use metrics::{METRICS_CONTENT_TYPE, Metrics};
pub use not_null::{members_not_null, not_null};
pub use openapi::{ApiInfo, openapi};
pub use operation::{Auth, Operation, OperationDoc, RefusalForm};
pub use origin::{Origin, TrustedNet};
pub use peer::{LocalAddress, OwnPage, Peer};
pub use rebinding::Foreign;
pub use routes::{
    RegistryFault, consistent, routes, with_fallbacks, with_method_refusals, with_path_refusals,
};
pub use selective::layer_where;
pub use tls::{TlsFault, TlsFiles, tls_config};
pub use traced::CallerSpan;
