//! The rights of an issuer's token: the agent and the scope of the matching rule, limited by the token's own scope
//! and expiry. The issuer that replaces this server's own authorization server is accepted at every operation; others
//! only at the token exchange.
//! Must not know: how a token is stored.

use futures_util::future::BoxFuture;
use plenary_accounts::{Admission, ForeignTokens, Scope};
use plenary_issuers::{AgentRule, Claims, Flaw, Issuer, Proven};
use plenary_kernel::TimestampMs;
use plenary_log::Fault;
use serde_json::Value;

use crate::OAuth;

/// What the bearer of a token that was verified may do, until when.
pub(crate) fn admission(
    issuer: &Issuer,
    proven: &Proven,
    ends: impl Fn(&AgentRule) -> TimestampMs,
) -> Result<Admission, Flaw> {
    let rule = issuer.agent(proven)?;
    let scope = narrowed(&rule.scope, &proven.claims).ok_or(Flaw::NotAdmitted)?;
    Ok(Admission {
        agent: rule.agent.clone(),
        scope,
        issuer: issuer.name().to_owned(),
        subject: proven.subject.clone(),
        ends: ends(rule),
    })
}

/// Of a rule's scope what the token's own `scope` names, where it has any word of ours; `None` where the two have nothing in
/// common.
fn narrowed(rule: &Scope, claims: &Claims) -> Option<Scope> {
    let words: Vec<&str> = match claims.get("scope").or_else(|| claims.get("scp")) {
        Some(Value::String(words)) => words.split(' ').collect(),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    let ours: Vec<&str> = words.into_iter().filter(|word| word.parse::<Scope>().is_ok()).collect();
    let Ok(named) = ours.join(" ").parse::<Scope>() else { return Some(rule.clone()) };
    if named.covers(rule) {
        return Some(rule.clone());
    }
    let of_rule = rule.words().filter(|word| word.parse().is_ok_and(|word: Scope| named.covers(&word)));
    let of_token = named.words().filter(|word| word.parse().is_ok_and(|word: Scope| rule.covers(&word)));
    of_rule.chain(of_token).collect::<Vec<_>>().join(" ").parse().ok()
}

impl OAuth {
    async fn admission_of(&self, token: &str) -> Result<Option<Admission>, Flaw> {
        let Some(issuer) = self.issuers().authorization() else { return Ok(None) };
        let proven = issuer.verify(token, self.accounts().now()).await?;
        admission(issuer, &proven, |_| proven.ends).map(Some)
    }
}

impl ForeignTokens for OAuth {
    fn admitted<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<Admission>, Fault>> {
        Box::pin(async move {
            match self.admission_of(token).await {
                Ok(found) => Ok(found),
                Err(Flaw::Unavailable) => {
                    Err(Fault::Unavailable("an issuer of tokens cannot be asked".into()))
                }
                Err(flaw) => {
                    tracing::info!(code = flaw.code(), "an access token of an issuer was refused");
                    Ok(None)
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn narrowed_to(rule: &str, claims: &Value) -> Option<String> {
        let claims = claims.as_object().unwrap().clone();
        narrowed(&rule.parse().unwrap(), &claims).map(|scope| scope.to_string())
    }

    #[test]
    fn a_token_does_no_more_than_its_rule_and_than_it_says() {
        for (rule, claims, scope) in [
            ("write", json!({}), Some("write")),
            ("write", json!({"scope": "openid profile"}), Some("write")),
            ("write", json!({"scope": "openid read"}), Some("read")),
            ("read", json!({"scope": "write"}), Some("read")),
            ("read sessions:write", json!({"scp": ["sessions:write", "email"]}), Some("sessions:write")),
            ("sessions:read inbox:write", json!({"scope": "read"}), Some("sessions:read")),
            ("sessions:write session:s", json!({"scope": "write"}), Some("sessions:write session:s")),
            ("sessions:read", json!({"scope": "inbox:read"}), None),
            ("write", json!({"scope": 7}), Some("write")),
        ] {
            assert_eq!(narrowed_to(rule, &claims).as_deref(), scope, "{rule} {claims}");
        }
    }
}
