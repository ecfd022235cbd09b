//! The metadata of the protected resource `/mcp` (RFC 9728): bearer tokens, which the operator or an owner creates,
//! or which a client gets from the authorization server at the same URL, or from an external issuer.
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
pub(super) struct ProtectedResource {
    /// The URL of the resource.
    resource: String,
    /// The issuer of its access tokens: this server, or an external issuer.
    authorization_servers: [String; 1],
    /// The scopes to request; the person may grant fewer.
    scopes_supported: [&'static str; 2],
    /// Its name.
    resource_name: &'static str,
    /// The accepted places of a token: only the header.
    bearer_methods_supported: [&'static str; 1],
    /// The URL of the description of its operations.
    resource_documentation: String,
}

pub(super) async fn protected(
    State(mcp): State<Mcp>,
    peer: Peer,
    headers: HeaderMap,
) -> Json<ProtectedResource> {
    let base = mcp.0.origin.named_url(peer.0, &headers);
    Json(ProtectedResource {
        resource: format!("{base}/mcp"),
        authorization_servers: [mcp.0.authorization_server.clone().unwrap_or_else(|| base.clone())],
        scopes_supported: SCOPES,
        resource_name: "Plenary",
        bearer_methods_supported: ["header"],
        resource_documentation: format!("{base}/openapi.json"),
    })
}

/// The default scopes of a client.
const SCOPES: [&str; 2] = ["read", "write"];

/// The challenge of a 401: the URL of the metadata, and the scope to request.
pub(super) fn challenge(base: &str) -> String {
    format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\", scope=\"write\"")
}

/// The challenge of a 403: the sufficient scope (RFC 6750, 3.1).
pub(super) fn step_up(base: &str, scope: &str) -> String {
    format!(
        "Bearer error=\"insufficient_scope\", scope=\"{scope}\", \
         resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\""
    )
}
