//! Additional tokens of an agent: create, list, end; by the agent itself, or by the caller that configures it.
//! Must not know: where a token is stored.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Client, Reply, Result, ServerRefusal, client::segment};

/// The body of `POST /agents/me/tokens`.
#[derive(Debug, Clone, Serialize)]
pub struct CreateToken {
    /// What it may do: `read`, `write`, `ROOM:read`, `ROOM:write`, `session:ID`, `project:ID`, with spaces between.
    pub scope: String,
    /// After how many seconds it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
    /// What its maker calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A token beside an agent's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScopedToken {
    /// Its id.
    pub id: String,
    /// What its maker calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it may do.
    pub scope: String,
    /// With which token it was made; `own` is the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When it was made, in ms since the epoch.
    pub created_at: u64,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// When it was last used, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<u64>,
    /// The client that it was granted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<GrantedClient>,
    /// The issuer by whose word it was given, by its name at the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

/// The client of a grant.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GrantedClient {
    /// By which id it calls itself.
    pub id: String,
    /// By which name it was shown.
    pub name: String,
}

/// A token that was made; shown this once.
#[derive(Clone, Serialize, Deserialize)]
pub struct CreatedToken {
    /// What its bearer sends.
    pub token: String,
    /// What is known of it.
    #[serde(flatten)]
    pub about: ScopedToken,
}

/// The tokens of an agent beside its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScopedTokens {
    /// The oldest first.
    pub tokens: Vec<ScopedToken>,
}

/// The agent whose tokens these are: the caller, or one that its owner names.
fn path(of: Option<&AgentHandle>, rest: &str) -> String {
    match of {
        None => format!("/agents/me/tokens{rest}"),
        Some(handle) => format!("/_admin/agents/{}/tokens{rest}", segment(handle.as_str())),
    }
}

impl Client {
    /// `GET /agents/me/tokens`, or `GET /_admin/agents/{handle}/tokens`.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub async fn tokens(&self, of: Option<&AgentHandle>) -> Result<Reply<ScopedTokens>> {
        self.get(&path(of, "")).await
    }

    /// `POST` there.
    ///
    /// # Errors
    /// 400 for a scope that is none, 403 `insufficient_scope` for more than the caller's token has, 409
    /// `too_many_tokens`; else as [`Client::agent`].
    pub async fn create_token(
        &self,
        of: Option<&AgentHandle>,
        new: &CreateToken,
    ) -> Result<Reply<CreatedToken>> {
        self.post(&path(of, ""), new).await
    }

    /// `DELETE …/{id}`: open connections close within a second.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub async fn revoke_token(&self, of: Option<&AgentHandle>, id: &str) -> Result<Reply<Value>> {
        self.delete(&path(of, &format!("/{}", segment(id)))).await
    }
}

/// A token that was got for another one (RFC 8693); shown this once.
#[derive(Clone, Serialize, Deserialize)]
pub struct ExchangedToken {
    /// What its bearer sends.
    pub access_token: String,
    /// For how many seconds.
    pub expires_in: u64,
    /// What it may do.
    pub scope: String,
}

/// A refusal as RFC 6749 has it.
#[derive(Deserialize)]
struct OAuthRefusal {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Client {
    /// `POST /oauth/token`, for a token of an issuer that the server knows: a JWT of a CI, or of SPIFFE.
    ///
    /// # Errors
    /// As every call; 400 `invalid_request` when the token is not accepted, `invalid_scope`.
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
