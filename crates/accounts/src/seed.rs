//! The seed file: agents that exist from the first start, in the published operator's form (wire.md D.1). Applied at
//! every start; creates missing agents and never overwrites later changes (wire.md D.9).
//! Must not know: where the file is.

use std::collections::HashMap;

use plenary_engine::{Sealed, seal};
use plenary_kernel::{
    AgentHandle, AllowEntry,
    json::{self, JsonFault},
};
use plenary_log::Fault;
use serde_json::{Map, Value};

use crate::{
    Accounts, Authority, Failure, Policy, Rejection, Token, TokenDigest,
    agent::{command::RegisterAgent, profile::ProfileChange},
    fields::Fields,
    limits::ALLOWLIST_ENTRIES_MAX,
};

/// The members of an agent in a seed file.
const KNOWN: [&str; 7] =
    ["token", "policy", "allowlist", "display_name", "description", "card_body", "visibility"];

/// The agents of a seed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed(Vec<SeedAgent>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct SeedAgent {
    handle: AgentHandle,
    token: TokenDigest,
    /// Whether the token is shorter than the limit for chosen tokens.
    is_guessable: bool,
    policy: Policy,
    allowlist: Vec<AllowEntry>,
    profile: ProfileChange,
}

/// The reason why a seed file is refused.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// It is not JSON.
    #[error("the seed file is not acceptable JSON: {0}")]
    Json(#[from] JsonFault),
    /// It is not an object of agents.
    #[error(
        "the seed file must be a JSON object of handles, each with a token or {{\"token\", \"policy\", \"allowlist\"}}"
    )]
    NoObject,
    /// An agent in it is invalid.
    #[error("the seed file is not valid at {agent}: {why}")]
    Wrong {
        /// The member's name.
        agent: String,
        /// The flaw.
        why: String,
    },
    /// An agent in it can't be created.
    #[error("{agent} of the seed file cannot be created: {rejection}")]
    Rejected {
        /// The agent.
        agent: AgentHandle,
        /// The reason.
        rejection: Rejection,
    },
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The outcome of a seed file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeedReport {
    /// Created agents.
    pub created: usize,
    /// Existing or deleted agents, which stay unchanged.
    pub known: usize,
}

impl Seed {
    /// Agents with tokens that are short enough to guess.
    pub fn guessable(&self) -> impl Iterator<Item = &AgentHandle> {
        self.0.iter().filter(|agent| agent.is_guessable).map(|agent| &agent.handle)
    }

    /// Reads a seed file: an object of `handle: token` or `handle: {token, policy | inbound_policy, allowlist}`, the
    /// members of a profile next to them.
    /// A plain token means the policy `open`.
    pub fn parse(bytes: &[u8]) -> Result<Self, SeedError> {
        json::check(bytes)?;
        let Ok(members) = serde_json::from_slice::<Map<String, Value>>(bytes) else {
            return Err(SeedError::NoObject);
        };
        let mut bearers = HashMap::new();
        let mut agents = Vec::with_capacity(members.len());
        for (name, value) in members {
            let invalid = |why: String| SeedError::Wrong { agent: name.clone(), why };
            let agent = agent(&name, value).map_err(invalid)?;
            if let Some(other) = bearers.insert(agent.token, name.clone()) {
                return Err(invalid(format!("{other} has the same token")));
            }
            agents.push(agent);
        }
        Ok(Self(agents))
    }
}

fn agent(name: &str, value: Value) -> Result<SeedAgent, String> {
    let handle = name.parse().map_err(|reason| format!("{reason}"))?;
    let (mut members, is_plain) = match value {
        Value::Object(members) => (members, false),
        token @ Value::String(_) => (Map::from_iter([("token".to_owned(), token)]), true),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err("a token or an object is needed".to_owned());
        }
    };
    // The older name in the published operator's form.
    if let Some(policy) = members.remove("inbound_policy") {
        if members.get("policy").is_some_and(|other| *other != policy) {
            return Err("policy and inbound_policy differ".to_owned());
        }
        members.insert("policy".to_owned(), policy);
    }
    let fields = Fields::new(members);
    if let Some(unknown) = fields.unknown_member(&KNOWN) {
        return Err(format!("{unknown} is not known"));
    }
    let text_of = |refusal: plenary_kernel::Refusal| refusal.message.into_owned();
    let token: Option<Token> = fields.seeded_token("token").map_err(text_of)?;
    let policy =
        if is_plain { Policy::Open } else { fields.policy("policy").map_err(text_of)?.unwrap_or_default() };
    let token = token.ok_or("token is missing")?;
    Ok(SeedAgent {
        handle,
        is_guessable: token.is_short(),
        token: token.digest(),
        policy,
        allowlist: fields.entries("allowlist", 0..=ALLOWLIST_ENTRIES_MAX).map_err(text_of)?,
        profile: fields.profile().map_err(text_of)?,
    })
}

impl Accounts {
    /// Creates the agents of a seed file that never existed; they may configure themselves (wire.md D.1).
    pub fn apply_seed<'a>(&'a self, seed: &'a Seed) -> Sealed<'a, Result<SeedReport, SeedError>> {
        seal(async move {
            let mut seeded = SeedReport::default();
            for agent in &seed.0 {
                let command = RegisterAgent {
                    policy: agent.policy,
                    allowlist: agent.allowlist.clone(),
                    self_service: true,
                    profile: agent.profile.clone(),
                    ..RegisterAgent::new(Authority::seed(), agent.handle.clone(), agent.token)
                };
                match self.register_agent(command).await {
                    Ok(_) => seeded.created += 1,
                    Err(Failure::Rejected(Rejection::AgentExists)) => seeded.known += 1,
                    Err(Failure::Rejected(rejection)) => {
                        return Err(SeedError::Rejected { agent: agent.handle.clone(), rejection });
                    }
                    Err(Failure::OverQuota(exceeded)) => return Err(exceeded.without_payer().into()),
                    Err(Failure::Fault(fault)) => return Err(fault.into()),
                }
            }
            Ok(seeded)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid(text: &str) -> String {
        Seed::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_token_alone_means_open_and_an_object_means_what_it_says() {
        let seed = Seed::parse(
            br#"{"@a.b": "t1", "@c.d": {"token": "t2"},
                "@e.f": {"token": "t3", "inbound_policy": "open", "allowlist": ["@a.*"]},
                "@g.h": {"token": "t4", "policy": "allowlist"}}"#,
        )
        .unwrap();
        let agents: Vec<_> =
            seed.0.iter().map(|agent| (agent.handle.as_str(), agent.policy, agent.allowlist.len())).collect();
        let expected = [
            ("@a.b", Policy::Open, 0),
            ("@c.d", Policy::Allowlist, 0),
            ("@e.f", Policy::Open, 1),
            ("@g.h", Policy::Allowlist, 0),
        ];
        assert_eq!(agents, expected);
        assert_eq!(seed.0[0].token, TokenDigest::of("t1"));
        assert_eq!(Seed::parse(b"{}").unwrap().0, []);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(invalid("{").contains("not acceptable JSON"));
        assert!(invalid(r#"{"@a.b":"x","@a.b":"y"}"#).contains("is a duplicate"));
        assert!(invalid("[]").contains("object of handles"));
        for (text, agent, expected) in [
            (r#"{"a.b":"t"}"#, "a.b", "agent handle"),
            (r#"{"@a.b":7}"#, "@a.b", "a token or an object"),
            (r#"{"@a.b":""}"#, "@a.b", "token"),
            (r#"{"@a.b":{"policy":"open"}}"#, "@a.b", "token is missing"),
            (r#"{"@a.b":{"token":"t","policy":"ajar"}}"#, "@a.b", "policy must be"),
            (r#"{"@a.b":{"token":"t","policy":"open","inbound_policy":"allowlist"}}"#, "@a.b", "differ"),
            (r#"{"@a.b":{"token":"t","polcy":"open"}}"#, "@a.b", "polcy is not known"),
            (r#"{"@a.b":{"token":"t","allowlist":["@a"]}}"#, "@a.b", "allowlist"),
            (r#"{"@a.b":{"token":"t","display_name":""}}"#, "@a.b", "display_name must not be empty"),
            (r#"{"@a.b":{"token":"t","visibility":"all"}}"#, "@a.b", "visibility must be"),
            (r#"{"@a.b":"t","@c.d":"t"}"#, "@c.d", "same token"),
        ] {
            let text = invalid(text);
            assert!(text.contains(agent) && text.contains(expected), "{text}");
        }
    }
}
