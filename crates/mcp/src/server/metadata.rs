//! What protects `/mcp`, for clients that look it up (RFC 9728): bearer tokens, which the operator or an owner gives
//! out. There is no authorization server, so none is named.
//! Must not know: how a token is checked.

use axum::{Json, extract::State};
use http::HeaderMap;
use plenary_edge::Peer;
use schemars::JsonSchema;
use serde::Serialize;

use super::Mcp;

/// The metadata of a protected resource.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProtectedResource")]
pub(super) struct Protected {
    /// The URL of the resource.
    resource: String,
    /// What it is called.
    resource_name: &'static str,
    /// Where a token may stand: in the header alone.
    bearer_methods_supported: [&'static str; 1],
    /// Where its operations are described.
    resource_documentation: String,
}

pub(super) async fn protected(State(mcp): State<Mcp>, peer: Peer, headers: HeaderMap) -> Json<Protected> {
    let base = mcp.0.origin.base_url(peer.0, &headers);
    Json(Protected {
        resource: format!("{base}/mcp"),
        resource_name: "Plenary",
        bearer_methods_supported: ["header"],
        resource_documentation: format!("{base}/openapi.json"),
    })
}

/// Where the metadata stands, for the challenge of a 401.
pub(super) fn challenge(base: &str) -> String {
    format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"")
}
