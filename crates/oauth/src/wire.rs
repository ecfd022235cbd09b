//! The messages of OAuth on the wire. Pure.
//! Must not know: HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metadata of the server (RFC 8414).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AuthorizationServer")]
pub(crate) struct Metadata {
    /// The URL of the server.
    pub(crate) issuer: String,
    /// The endpoint to which a person is sent.
    pub(crate) authorization_endpoint: String,
    /// The endpoint at which a client gets tokens.
    pub(crate) token_endpoint: String,
    /// The endpoint at which a client registers (RFC 7591).
    pub(crate) registration_endpoint: String,
    /// The endpoint at which a client revokes a token (RFC 7009).
    pub(crate) revocation_endpoint: String,
    /// Some of the supported scopes.
    pub(crate) scopes_supported: [&'static str; 2],
    /// Authorization codes only.
    pub(crate) response_types_supported: [&'static str; 1],
    /// The response is in the query.
    pub(crate) response_modes_supported: [&'static str; 1],
    /// The supported grants.
    pub(crate) grant_types_supported: [&'static str; 3],
    /// Clients have no secrets.
    pub(crate) token_endpoint_auth_methods_supported: [&'static str; 1],
    /// Clients have no secrets.
    pub(crate) revocation_endpoint_auth_methods_supported: [&'static str; 1],
    /// The methods of code challenges (RFC 7636).
    pub(crate) code_challenge_methods_supported: [&'static str; 1],
    /// Authorization responses contain `iss` (RFC 9207).
    pub(crate) authorization_response_iss_parameter_supported: bool,
    /// A client's id may be the URL of its document.
    pub(crate) client_id_metadata_document_supported: bool,
}

/// A registration; other members are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "describes what is read")]
pub(crate) struct Registration {
    /// The redirect URIs of the client, at most eight.
    redirect_uris: Vec<String>,
    /// The name that the client chose.
    client_name: Option<String>,
}

/// A registered client. It has no secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClientRegistration {
    /// The id, which contains the registered data.
    pub(crate) client_id: String,
    /// The time of registration, in seconds since the epoch.
    pub(crate) client_id_issued_at: u64,
    /// The name that the client chose.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) client_name: String,
    /// The redirect URIs.
    pub(crate) redirect_uris: Vec<String>,
    /// The grants that it can use.
    pub(crate) grant_types: [&'static str; 2],
    /// The response types that it can use.
    pub(crate) response_types: [&'static str; 1],
    /// The client does not authenticate.
    pub(crate) token_endpoint_auth_method: &'static str,
}

/// The tokens of a client.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tokens {
    /// The token that the client sends with each request.
    pub(crate) access_token: String,
    /// The type of an exchanged token (RFC 8693).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) issued_token_type: Option<&'static str>,
    /// `Bearer`.
    pub(crate) token_type: &'static str,
    /// The validity in seconds.
    pub(crate) expires_in: u64,
    /// The token for the next tokens, valid once; absent after a token exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// The granted scope.
    pub(crate) scope: String,
}

/// A refusal (RFC 6749, 5.2).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OAuthError")]
pub(crate) struct Refusal<'a> {
    /// A stable code.
    pub(crate) error: &'a str,
    /// A description for people.
    pub(crate) error_description: &'a str,
}
