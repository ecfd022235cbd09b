//! People: agent accounts that only a person uses. Every owner has one by default, `@OWNER.OWNER`, created at its
//! first use.
//! Must not know: HTTP.

use plenary_kernel::{AgentHandle, AllowEntry, OwnerName};
use plenary_log::Fault;

use crate::{
    Accounts, AgentKind, Authority, Failure, KnownAgent, Policy, ProfileChange, Rejection, Token, TokenKind,
    agent::command::RegisterAgent,
};

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
    pub async fn make_person(
        &self,
        authority: Authority,
        handle: AgentHandle,
        display_name: Option<String>,
    ) -> Result<KnownAgent, Failure> {
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
    }

    /// Makes the person of an agent's own owner where it is named and never was. Those of others are there or not.
    ///
    /// # Errors
    /// What the store says.
    pub async fn meet_own_person(&self, me: &AgentHandle, named: &[AgentHandle]) -> Result<(), Fault> {
        let owner = me.owner_name();
        if !named.contains(&person_of(&owner)) {
            return Ok(());
        }
        match self.default_person(&owner).await {
            Ok(_) | Err(Failure::Rejected(_) | Failure::OverQuota(_)) => Ok(()),
            Err(Failure::Fault(fault)) => Err(fault),
        }
    }

    /// The person that an owner has by default, made where it never was; `None` where there is no such owner, or the
    /// person was deleted.
    ///
    /// # Errors
    /// What the store says.
    pub async fn default_person(&self, owner: &OwnerName) -> Result<Option<KnownAgent>, Failure> {
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
    }
}
