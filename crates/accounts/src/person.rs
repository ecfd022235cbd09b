//! People: agent accounts that only a person uses. Every owner has one by default, `@OWNER.OWNER`, created at its
//! first use.
//! Must not know: HTTP.

use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, AllowEntry, OwnerName};
use plenary_log::Fault;

use crate::{
    Accounts, AgentKind, Authority, Failure, KnownAgent, Policy, Principal, ProfileChange, Rejection, Token,
    TokenKind, TokenOwner, agent::command::RegisterAgent,
};

/// Who decides for an owner or on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    /// The bearer: of the owner or the operator where a person acts.
    pub principal: Principal,
    /// The person, if one is signed in to the console, or named by `X-ASP-Agent` beside the token.
    pub person: Option<AgentHandle>,
}

/// The person that an owner has by default.
#[must_use]
pub fn person_of(owner: &OwnerName) -> AgentHandle {
    format!("@{owner}.{owner}").parse().expect("an owner's name is also an agent's")
}

impl Accounts {
    /// Makes a person, whom the owner's own agents may contact. Nobody holds a token of it.
    ///
    /// # Errors
    /// As for every agent.
    pub fn make_person(
        &self,
        authority: Authority,
        handle: AgentHandle,
        display_name: Option<String>,
    ) -> Sealed<'_, Result<KnownAgent, Failure>> {
        seal(async move {
            let own: AllowEntry =
                format!("@{}.*", handle.owner()).parse().expect("an owner's name is in an entry");
            let command = RegisterAgent {
                authority,
                handle,
                policy: Policy::Allowlist,
                allowlist: vec![own],
                self_service: true,
                token: Token::random(TokenKind::Agent).digest(),
                kind: AgentKind::Person,
                profile: ProfileChange { display_name, ..ProfileChange::default() },
            };
            self.register_agent(command).await
        })
    }

    /// Makes the person of an agent's own owner where it is named and never was. Those of others are there or not.
    ///
    /// # Errors
    /// What the store says.
    pub fn meet_own_person<'a>(
        &'a self,
        me: &'a AgentHandle,
        named: &'a [AgentHandle],
    ) -> Sealed<'a, Result<(), Fault>> {
        seal(async move {
            let owner = me.owner_name();
            if !named.contains(&person_of(&owner)) {
                return Ok(());
            }
            match self.default_person(&owner).await {
                Ok(_) | Err(Failure::Rejected(_) | Failure::OverQuota(_)) => Ok(()),
                Err(Failure::Fault(fault)) => Err(fault),
            }
        })
    }

    /// The decider behind a bearer. A person that speaks as itself decides for its owner; in the name of another agent it
    /// remains that agent.
    ///
    /// # Errors
    /// The store failed.
    pub fn decider(&self, principal: Principal) -> Sealed<'_, Result<Decider, Fault>> {
        seal(async move {
            if let (TokenOwner::Agent(person), Some((token, of_operator))) =
                (&principal.who, principal.token.lender())
            {
                let owner = || TokenOwner::Owner(person.owner_name());
                let who = if of_operator { TokenOwner::Operator } else { owner() };
                return Ok(Decider { principal: Principal { who, token }, person: Some(person.clone()) });
            }
            let Some(open) = self.session_of(&principal).await? else {
                return Ok(Decider { principal, person: None });
            };
            let person = open.session.person.clone();
            match &principal.who {
                TokenOwner::Agent(agent) if person.as_ref() != Some(agent) => {
                    Ok(Decider { principal, person: None })
                }
                TokenOwner::Agent(_) | TokenOwner::Owner(_) | TokenOwner::Operator => {
                    Ok(Decider { principal: open.principal(None), person })
                }
            }
        })
    }

    /// The person that an owner has by default, made where it never was; `None` where there is no such owner, or the
    /// person was deleted.
    ///
    /// # Errors
    /// What the store says.
    pub fn default_person<'a>(
        &'a self,
        owner: &'a OwnerName,
    ) -> Sealed<'a, Result<Option<KnownAgent>, Failure>> {
        seal(async move {
            let handle = person_of(owner);
            let known = self.agent(&handle).await?;
            if known.state.is_taken() {
                return Ok(known.state.is_live().then_some(known));
            }
            if !self.owner(owner).await?.state.exists() {
                return Ok(None);
            }
            match self.make_person(Authority::seed(), handle.clone(), None).await {
                Ok(known) => Ok(Some(known)),
                // Somebody else was faster.
                Err(Failure::Rejected(Rejection::AgentExists)) => {
                    let known = self.fresh_agent(&handle).await?;
                    Ok(known.state.is_live().then_some(known))
                }
                Err(failure) => Err(failure),
            }
        })
    }
}
