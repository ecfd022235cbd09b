//! Additional tokens of an agent: created, listed and revoked by the agent itself, or by the caller that configures it.
//! Must not know: where a token is stored.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agents::agent_path;
use crate::{Client, Reply, Result, ServerRefusal, client::segment};

/// The body of `POST /agents/me/tokens`.
#[derive(Debug, Clone, Serialize)]
pub struct CreateToken {
    /// Its scope: `read`, `write`, `ROOM:read`, `ROOM:write`, `session:ID`, `project:ID`, separated by spaces.
    pub scope: String,
    /// Its lifetime in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An additional token of an agent.
#[derive(Debug, Clone, Deserialize)]
pub struct ScopedToken {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// Its scope.
    pub scope: String,
    /// The id of the token that created it; `own` is the agent's own token.
    pub parent: Option<String>,
    /// When it was created, in milliseconds since the epoch.
    pub created_at: u64,
    /// When it expires.
    pub expires_at: Option<u64>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<u64>,
    /// The OAuth client that it was granted to.
    pub client: Option<GrantedClient>,
    /// The issuer on whose token it was issued, by its name on the server.
    pub issuer: Option<String>,
}

/// The OAuth client of a grant.
#[derive(Debug, Clone, Deserialize)]
pub struct GrantedClient {
    /// Its client id.
    pub id: String,
    /// The name that it was shown under.
    pub name: String,
}

/// A newly created token; shown only this once.
#[derive(Clone, Deserialize)]
pub struct CreatedToken {
    /// The token itself.
    pub token: String,
    /// Its description.
    #[serde(flatten)]
    pub about: ScopedToken,
}

/// The additional tokens of an agent.
#[derive(Debug, Clone, Deserialize)]
pub struct ScopedTokens {
    /// The tokens, oldest first.
    pub tokens: Vec<ScopedToken>,
}

impl Client {
    /// `GET /agents/me/tokens`, or `GET /_admin/agents/{handle}/tokens`.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub async fn tokens(&self, agent: Option<&AgentHandle>) -> Result<Reply<ScopedTokens>> {
        self.get(&agent_path(agent, "/tokens")).await
    }

    /// `POST` to the same path.
    ///
    /// # Errors
    /// 400 for an invalid scope, 403 `insufficient_scope` for more than the caller's token has, 409
    /// `too_many_tokens`, `token_ended` if the repeated request's token has ended; else as [`Client::agent`].
    pub async fn create_token(
        &self,
        agent: Option<&AgentHandle>,
        new: &CreateToken,
    ) -> Result<Reply<CreatedToken>> {
        self.post(&agent_path(agent, "/tokens"), new).await
    }

    /// `DELETE …/{id}`: closes open connections within a second.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub async fn revoke_token(&self, agent: Option<&AgentHandle>, id: &str) -> Result<Reply<Value>> {
        self.delete(&agent_path(agent, &format!("/tokens/{}", segment(id)))).await
    }
}

/// The result of a token exchange (RFC 8693); shown only this once.
#[derive(Clone, Deserialize)]
pub struct ExchangedToken {
    /// The token itself.
    pub access_token: String,
    /// Its lifetime in seconds.
    pub expires_in: u64,
    /// Its scope.
    pub scope: String,
}

/// An error in the form of RFC 6749.
#[derive(Deserialize)]
struct OAuthRefusal {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Client {
    /// `POST /oauth/token`: exchanges a token of an issuer that the server knows, for example a CI's or SPIFFE's JWT.
    ///
    /// # Errors
    /// 400 `invalid_request` when the token is not accepted, `invalid_scope`.
    pub async fn exchange_token(&self, token: &str, scope: Option<&str>) -> Result<Reply<ExchangedToken>> {
        let mut form = format!(
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange\
             &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt&subject_token={}",
            segment(token)
        );
        if let Some(scope) = scope {
            form.push_str("&scope=");
            form.push_str(&segment(scope));
        }
        let reply = self.post_form("/oauth/token", form.into()).await?;
        match serde_json::from_slice::<OAuthRefusal>(&reply.body) {
            Ok(OAuthRefusal { error, error_description }) if reply.status >= 400 => {
                let refusal = ServerRefusal { code: error, message: error_description, ..reply.refusal() };
                Err(refusal.into())
            }
            Ok(_) | Err(_) => Reply::read(reply.into_success()?),
        }
    }
}
