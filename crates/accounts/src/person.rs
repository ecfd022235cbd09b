//! People: agent accounts that only a person uses. Every owner has one by default, `@OWNER.OWNER`, created at its
//! first use.
//! Must not know: HTTP.

use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, AllowEntry, OwnerName};
use plenary_log::Fault;

use crate::{
    Accounts, AgentKind, Authority, Failure, KnownAgent, Principal, ProfileChange, Rejection, Token,
    TokenKind, TokenOwner, agent::command::RegisterAgent,
};

/// The decider for an owner or the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    /// The bearer: the owner or the operator if a person acts.
    pub principal: Principal,
    /// The person, if one is signed in to the console, or named by `X-ASP-Agent` beside the token.
    pub person: Option<AgentHandle>,
}

/// The handle of an owner's default person.
pub fn person_of(owner: &OwnerName) -> AgentHandle {
    format!("@{owner}.{owner}").parse().expect("an owner's name is also an agent's")
}

impl Accounts {
    /// Creates a person, whom the owner's own agents may contact. It has no token.
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
            let own_agents: AllowEntry =
                format!("@{}.*", handle.owner()).parse().expect("an owner's name is in an entry");
            let token = Token::random(TokenKind::Agent).digest();
            let command = RegisterAgent {
                allowlist: vec![own_agents],
                self_service: true,
                kind: AgentKind::Person,
                profile: ProfileChange { display_name, ..ProfileChange::default() },
                ..RegisterAgent::new(authority, handle, token)
            };
            self.register_agent(command).await
        })
    }

    /// Creates the default person of an agent's owner when it is first named. Persons of other owners are not created.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn ensure_own_person<'a>(
        &'a self,
        agent: &'a AgentHandle,
        named_agents: &'a [AgentHandle],
    ) -> Sealed<'a, Result<(), Fault>> {
        seal(async move {
            let owner = agent.owner_name();
            if !named_agents.contains(&person_of(&owner)) {
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
                let caller = if of_operator { TokenOwner::Operator } else { owner() };
                return Ok(Decider {
                    principal: Principal { who: caller, token },
                    person: Some(person.clone()),
                });
            }
            let Some(open_session) = self.session_of(&principal).await? else {
                return Ok(Decider { principal, person: None });
            };
            let person = open_session.session.rights.person.clone();
            match &principal.who {
                TokenOwner::Agent(agent) if person.as_ref() != Some(agent) => {
                    Ok(Decider { principal, person: None })
                }
                TokenOwner::Agent(_) | TokenOwner::Owner(_) | TokenOwner::Operator => {
                    Ok(Decider { principal: open_session.principal(None), person })
                }
            }
        })
    }

    /// The default person of an owner, created if necessary; `None` if the owner does not exist or the
    /// person was deleted.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn default_person<'a>(
        &'a self,
        owner: &'a OwnerName,
    ) -> Sealed<'a, Result<Option<KnownAgent>, Failure>> {
        seal(async move {
            let handle = person_of(owner);
            let person = self.agent(&handle).await?;
            if person.state.is_reserved() {
                return Ok(person.state.is_live().then_some(person));
            }
            if !self.owner(owner).await?.state.exists() {
                return Ok(None);
            }
            match self.make_person(Authority::seed(), handle.clone(), None).await {
                Ok(person) => Ok(Some(person)),
                // Another request was faster.
                Err(Failure::Rejected(Rejection::AgentExists)) => {
                    let person = self.fresh_agent(&handle).await?;
                    Ok(person.state.is_live().then_some(person))
                }
                Err(failure) => Err(failure),
            }
        })
    }
}
