//! The metadata of the server (RFC 8414).
//! Must not know: clients.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method};
use plenary_edge::{Operation, Peer};
use plenary_kernel::Class;

use super::{OAuthError, doc, exchange};
use crate::{oauth::At, wire::Metadata};

pub(super) fn operations() -> Vec<Operation<At>> {
    let doc = doc(
        "oauth.metadata",
        Method::GET,
        "/.well-known/oauth-authorization-server",
        "What the authorization server offers, as RFC 8414 has it",
    )
    .description("404 if an external issuer is the authorization server.")
    .for_pages()
    .reply::<Metadata>()
    .errors(Class::NotFound, &["invalid_request"]);
    vec![doc.handled_by(metadata)]
}

async fn metadata(State(at): State<At>, Peer(peer): Peer, headers: HeaderMap) -> Response {
    if let Some(issuer) = at.oauth.issuers().authorization() {
        return OAuthError::elsewhere(issuer).into_response();
    }
    let base = at.origin.named_url(peer, &headers);
    let metadata = Metadata {
        authorization_endpoint: format!("{base}/oauth/authorize"),
        token_endpoint: format!("{base}/oauth/token"),
        registration_endpoint: format!("{base}/oauth/register"),
        revocation_endpoint: format!("{base}/oauth/revoke"),
        issuer: base,
        scopes_supported: ["read", "write"],
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: ["authorization_code", "refresh_token", exchange::GRANT],
        token_endpoint_auth_methods_supported: ["none"],
        revocation_endpoint_auth_methods_supported: ["none"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
    };
    Json(metadata).into_response()
}
