//! The forms that clients and pages send, for the description; `Parameters` reads them.
//! Must not know: HTTP.

use schemars::JsonSchema;

/// The form of the page on which a person lets a client in.
#[derive(JsonSchema)]
#[schemars(rename = "OAuthDecision")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Decision {
    /// The query of the page.
    request: String,
    /// The mark of the page.
    csrf: String,
    /// `allow`; anything else denies.
    decision: Option<String>,
    /// The agent as which the client may speak.
    agent: Option<String>,
    /// The name of a new agent, instead of `agent`.
    new_agent: Option<String>,
    /// What the client may do.
    scope: Option<String>,
    /// For how many days.
    days: Option<String>,
}

/// The form of the sign-in.
#[derive(JsonSchema)]
#[schemars(rename = "OAuthSignIn")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct SignIn {
    /// The link of `plenary console`.
    link: String,
    /// The query of the page that is shown afterwards.
    request: Option<String>,
}

/// A request for tokens (RFC 6749, 4.1.3 and 6; RFC 8693, 2.1).
#[derive(JsonSchema)]
#[schemars(rename = "OAuthTokenRequest")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct TokenRequest {
    /// `authorization_code`, `refresh_token`, or `urn:ietf:params:oauth:grant-type:token-exchange`.
    grant_type: String,
    /// The client; not for an exchange.
    client_id: Option<String>,
    /// The code.
    code: Option<String>,
    /// The secret of the code's challenge (RFC 7636).
    code_verifier: Option<String>,
    /// The address that the code was sent to.
    redirect_uri: Option<String>,
    /// The refresh token.
    refresh_token: Option<String>,
    /// A narrower scope.
    scope: Option<String>,
    /// The servers that the token is for (RFC 8707).
    resource: Option<Vec<String>>,
    /// The same, for an exchange.
    audience: Option<String>,
    /// The token to exchange.
    subject_token: Option<String>,
    /// Its kind.
    subject_token_type: Option<String>,
    /// The kind of the new token.
    requested_token_type: Option<String>,
}

/// A token that is given back (RFC 7009).
#[derive(JsonSchema)]
#[schemars(rename = "OAuthRevocation")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Revocation {
    /// The token.
    token: String,
    /// The client.
    client_id: Option<String>,
}
