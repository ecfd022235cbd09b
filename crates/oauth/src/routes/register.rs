//! Registration (RFC 7591), open to everybody: nothing is stored, and only the redirect URIs are checked.
//! Must not know: people.

use axum::{
    Json,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use plenary_edge::{Operation, read_bytes};
use plenary_kernel::Class;

use super::{OAuthError, doc};
use crate::{
    client::{Client, Metadata},
    limits::FORM_BYTES_MAX,
    oauth::At,
    wire::{ClientRegistration, Registration},
};

pub(super) fn operations() -> Vec<Operation<At>> {
    let doc = doc("oauth.register", Method::POST, "/oauth/register", "Register a client, as RFC 7591 has it")
        .description("Clients have no secrets. The id contains the registered data, so a server stores no list of clients.")
        .for_pages()
        .request::<Registration>()
        .success(StatusCode::CREATED)
        .reply::<ClientRegistration>()
        .errors(Class::Malformed, &["invalid_client_metadata", "invalid_redirect_uri"])
        .errors(Class::NotFound, &["invalid_request"])
        .errors(Class::TooLarge, &["invalid_request"]);
    vec![doc.handled_by(register)]
}

async fn register(State(at): State<At>, parts: Parts, body: Body) -> Response {
    registered(&at, &parts, body).await.unwrap_or_else(OAuthError::into_response)
}

async fn registered(at: &At, parts: &Parts, body: Body) -> Result<Response, OAuthError> {
    if let Some(issuer) = at.oauth.issuers().authorization() {
        return Err(OAuthError::elsewhere(issuer));
    }
    let body = read_bytes(parts, body, FORM_BYTES_MAX).await?;
    let metadata: Metadata = serde_json::from_slice(&body)
        .map_err(|_| OAuthError::new("invalid_client_metadata", "The body is no metadata of a client."))?;
    let client = Client::register(metadata).map_err(|_| {
        let why =
            "redirect_uris: one to eight; https, http on the client's own machine, or the scheme of an app.";
        OAuthError::new("invalid_redirect_uri", why)
    })?;
    let body = ClientRegistration {
        client_id: client.id,
        client_id_issued_at: at.oauth.accounts().now().0 / 1_000,
        client_name: client.name,
        redirect_uris: client.redirects,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
    };
    let mut answer = (StatusCode::CREATED, Json(body)).into_response();
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}
