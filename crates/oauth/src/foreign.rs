//! The rights of an issuer's token: the agent and the scope of the matching rule, limited by the token's own scope
//! and expiry. The issuer that replaces this server's own authorization server is accepted at every operation; others
//! only at the token exchange.
//! Must not know: how a token is stored.

use plenary_accounts::{Admission, ForeignTokens, Scope, agent::tokens::IssuerStatement};
use plenary_issuers::{AgentRule, Claims, Flaw, Issuer, Proven, TokenUse};
use plenary_kernel::TimestampMs;
use plenary_log::Fault;
use plenary_room::async_trait;
use serde_json::Value;

use crate::OAuth;

/// The rights of the bearer of a verified token, and their end.
pub(crate) fn admission(
    issuer: &Issuer,
    proven: &Proven,
    put_to: TokenUse,
    ends: impl Fn(&AgentRule) -> TimestampMs,
) -> Result<Admission, Flaw> {
    let rule = issuer.agent(proven)?;
    let scope = in_common(&rule.scope, &proven.claims).ok_or(Flaw::NotAdmitted)?;
    Ok(Admission {
        agent: rule.agent.clone(),
        scope,
        issuer: issuer.name().to_owned(),
        subject: proven.subject.clone(),
        statement: IssuerStatement {
            signed: proven.signed,
            until: proven.accepted_until(),
            rule: Some(issuer.agent_proof(rule, put_to)),
        },
        resource: None,
        ends: ends(rule),
    })
}

/// The intersection of a rule's scope and the token's own, if the token's scope has a word of this server; `None` if it is
/// empty.
fn in_common(rule: &Scope, claims: &Claims) -> Option<Scope> {
    let texts: Vec<&str> = match claims.get("scope").or_else(|| claims.get("scp")) {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    let words = texts.into_iter().flat_map(str::split_ascii_whitespace);
    let known: Vec<&str> = words.filter(|word| Scope::is_known(word)).collect();
    if known.is_empty() {
        return Some(rule.clone());
    }
    rule.meet(&known.join(" ").parse().ok()?)
}

impl OAuth {
    async fn admission_of(&self, token: &str) -> Result<Option<Admission>, Flaw> {
        let Some(issuer) = self.issuers().authorization() else { return Ok(None) };
        let proven = issuer.verify(token, self.accounts().now()).await?;
        admission(issuer, &proven, TokenUse::Access, |_| proven.ends).map(Some)
    }
}

#[async_trait]
impl ForeignTokens for OAuth {
    async fn admitted(&self, token: &str) -> Result<Option<Admission>, Fault> {
        match self.admission_of(token).await {
            Ok(found) => Ok(found),
            Err(Flaw::Unavailable) => Err(Fault::Unavailable("an issuer of tokens cannot be asked".into())),
            Err(flaw) => {
                tracing::info!(code = flaw.code(), "an access token of an issuer was refused");
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn common_of(rule: &str, claims: &Value) -> Option<String> {
        let claims = claims.as_object().unwrap().clone();
        in_common(&rule.parse().unwrap(), &claims).map(|scope| scope.to_string())
    }

    #[test]
    fn a_token_permits_no_more_than_its_rule_and_its_scope() {
        for (rule, claims, scope) in [
            ("write", json!({}), Some("write")),
            ("write", json!({"scope": "openid profile"}), Some("write")),
            ("write", json!({"scope": "openid read"}), Some("read")),
            ("read", json!({"scope": "write"}), Some("read")),
            ("read sessions:write", json!({"scp": ["sessions:write", "email"]}), Some("sessions:write")),
            ("sessions:read inbox:write", json!({"scope": "read"}), Some("inbox:read sessions:read")),
            ("sessions:write session:s", json!({"scope": "write"}), Some("sessions:write session:s")),
            ("read sessions:write session:s", json!({"scope": "openid read"}), Some("read session:s")),
            (
                "sessions:write inbox:read session:s",
                json!({"scope": "inbox:read"}),
                Some("inbox:read session:s"),
            ),
            ("write", json!({"scope": "sessions:write session:s"}), Some("sessions:write session:s")),
            (
                "write",
                json!({"scp": ["sessions:write session:s", "openid"]}),
                Some("sessions:write session:s"),
            ),
            ("write session:a", json!({"scope": "write session:b"}), None),
            ("sessions:read", json!({"scope": "inbox:read"}), None),
            // An unreadable or empty restriction makes the token invalid, not unrestricted.
            ("write", json!({"scope": "write session:a/b"}), None),
            ("write", json!({"scope": "session:s"}), None),
            ("write", json!({"scope": " "}), Some("write")),
            ("write", json!({"scope": 7}), Some("write")),
        ] {
            assert_eq!(common_of(rule, &claims).as_deref(), scope, "{rule} {claims}");
        }
    }
}
