//! Additional tokens of an agent on the wire. Pure.
//! Must not know: HTTP, or permissions.

use plenary_kernel::{Refusal, TimestampMs, text};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    agent::tokens::IssuedToken,
    fields::Fields,
    limits::{SCOPE_BYTES_MAX, TOKEN_LASTS_S_MAX, TOKEN_NAME_CHARS_MAX},
    scope::Scope,
};

/// `POST /agents/me/tokens` and `POST /_admin/agents/{handle}/tokens`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "NewToken")]
pub(crate) struct TokenRequest {
    /// Its scope: words with spaces between, `read` and `write` for every room, `ROOM:read` and `ROOM:write` for one
    /// of accounts, sessions, frames, channels, context, runs, requests, inbox. With `session:ID` or `project:ID` it is
    /// limited to those.
    #[schemars(with = "String", length(min = 1, max = SCOPE_BYTES_MAX))]
    pub scope: Scope,
    /// Its validity in seconds; when absent it ends with the token that creates it.
    #[schemars(range(min = 1, max = TOKEN_LASTS_S_MAX))]
    pub expires_in: Option<u64>,
    /// The name that its creator chose.
    #[schemars(length(min = 1, max = TOKEN_NAME_CHARS_MAX))]
    pub name: Option<String>,
}

impl TokenRequest {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        let scope = fields.text("scope", SCOPE_BYTES_MAX, "invalid_scope")?.unwrap_or_default();
        let scope = scope
            .parse::<Scope>()
            .map_err(|wrong| Refusal::malformed("invalid_scope", format!("scope: {wrong}.")))?;
        let expires_in = fields.number("expires_in", 1..=TOKEN_LASTS_S_MAX, "invalid_expires_in")?;
        let name = fields.text("name", 4 * TOKEN_NAME_CHARS_MAX, "invalid_name")?;
        if let Some(name) = &name {
            let fits = name.chars().count() <= TOKEN_NAME_CHARS_MAX;
            let checked = if fits {
                text::check_line(name)
            } else {
                Err(format!("must have at most {TOKEN_NAME_CHARS_MAX} characters"))
            };
            checked.map_err(|why| Refusal::malformed("invalid_name", format!("name {why}.")))?;
        }
        Ok(Self { scope, expires_in, name })
    }
}

/// An additional token, or a grant for a client; never the secret itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentToken")]
pub struct AgentTokenView {
    /// Its id.
    pub id: String,
    /// The name that its creator chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its scope.
    pub scope: String,
    /// The id of the token that created it, and with which it ends; `own` for the agent's own. Absent if the owner
    /// or the operator created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its time of creation, in ms since the epoch.
    pub created_at: u64,
    /// Its expiry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Its last use, accurate to a minute; absent before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<u64>,
    /// The client of a grant. A grant is not a token itself, but the parent of the client's tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientView>,
    /// The configured name of the issuer whose token was exchanged for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

/// The client of a grant.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GrantedClient")]
pub struct ClientView {
    /// Its OAuth client id.
    pub id: String,
    /// The name that the person saw.
    pub name: String,
}

impl AgentTokenView {
    pub(crate) fn new(id: &str, token: &IssuedToken, last_used: Option<TimestampMs>) -> Self {
        let client = token.client.as_ref();
        Self {
            id: id.to_owned(),
            name: token.name.clone(),
            scope: token.scope.to_string(),
            parent: token.parent.clone(),
            created_at: token.created_at.0,
            expires_at: token.expires_at.map(|at| at.0),
            last_used_at: last_used.map(|at| at.0),
            client: client
                .map(|client| ClientView { id: client.client_id.clone(), name: client.name.clone() }),
            issuer: token.issuer.clone(),
        }
    }
}

/// A new token. The secret is shown only once.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentTokenMade")]
pub struct MadeToken {
    /// The token, `pls_…`.
    pub token: String,
    /// Its data.
    #[serde(flatten)]
    pub view: AgentTokenView,
}

/// The additional tokens of an agent, the oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentTokens")]
pub struct AgentTokenList {
    /// The tokens.
    pub tokens: Vec<AgentTokenView>,
}
