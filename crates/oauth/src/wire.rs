//! The messages of OAuth on the wire. Pure.
//! Must not know: HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metadata of the server (RFC 8414).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AuthorizationServer")]
pub(crate) struct Metadata {
    /// Its URL.
    pub(crate) issuer: String,
    /// Where a person is sent.
    pub(crate) authorization_endpoint: String,
    /// Where a client gets tokens.
    pub(crate) token_endpoint: String,
    /// Where a client registers (RFC 7591).
    pub(crate) registration_endpoint: String,
    /// Where a client gives a token back (RFC 7009).
    pub(crate) revocation_endpoint: String,
    /// Words of scopes, among others.
    pub(crate) scopes_supported: [&'static str; 2],
    /// Codes alone.
    pub(crate) response_types_supported: [&'static str; 1],
    /// In the query.
    pub(crate) response_modes_supported: [&'static str; 1],
    /// How tokens are got.
    pub(crate) grant_types_supported: [&'static str; 3],
    /// Clients have no secrets.
    pub(crate) token_endpoint_auth_methods_supported: [&'static str; 1],
    /// The same.
    pub(crate) revocation_endpoint_auth_methods_supported: [&'static str; 1],
    /// The hash of a challenge (RFC 7636).
    pub(crate) code_challenge_methods_supported: [&'static str; 1],
    /// Answers have `iss` (RFC 9207).
    pub(crate) authorization_response_iss_parameter_supported: bool,
    /// An id of a client may be the URL of its document.
    pub(crate) client_id_metadata_document_supported: bool,
}

/// A registration, as far as it counts here; the rest is passed over.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "describes what is read")]
pub(crate) struct Registration {
    /// Where the client may be called back: at most eight.
    redirect_uris: Vec<String>,
    /// What it calls itself.
    client_name: Option<String>,
}

/// A client that has registered. It has no secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClientRegistration {
    /// The id; what was registered stands in it.
    pub(crate) client_id: String,
    /// When, in seconds since the epoch.
    pub(crate) client_id_issued_at: u64,
    /// What it calls itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) client_name: String,
    /// Where it may be called back.
    pub(crate) redirect_uris: Vec<String>,
    /// How it gets tokens.
    pub(crate) grant_types: [&'static str; 2],
    /// What it is answered with.
    pub(crate) response_types: [&'static str; 1],
    /// It does not show who it is.
    pub(crate) token_endpoint_auth_method: &'static str,
}

/// Tokens.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tokens {
    /// What the client sends with each request.
    pub(crate) access_token: String,
    /// What it is, where it was got in exchange (RFC 8693).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) issued_token_type: Option<&'static str>,
    /// `Bearer`.
    pub(crate) token_type: &'static str,
    /// For how many seconds.
    pub(crate) expires_in: u64,
    /// With which it gets the next ones, once; absent where a token was exchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// What they may do.
    pub(crate) scope: String,
}

/// Why not (RFC 6749, 5.2).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OAuthError")]
pub(crate) struct Refusal<'a> {
    /// A stable code.
    pub(crate) error: &'a str,
    /// For people.
    pub(crate) error_description: &'a str,
}
