//! Accounts of agents that this server runs: created at the start if they never existed, and used inside the process.
//! Nobody holds such an agent's token unless its owner requests one.
//! Must not know: how an agent runs, or what it does.

use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, AllowEntry};
use plenary_log::Fault;

use crate::{
    Accounts, Actor, Authority, Failure, Policy, Principal, Rejection, Token, TokenDigest, TokenKind,
    TokenOwner, agent::command::RegisterAgent,
};

/// An agent that this server runs, as it is made where it never was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedAgent {
    /// Its handle.
    pub handle: AgentHandle,
    /// What its account is made with; `None` where whoever is to hold its token makes it.
    pub account: Option<(Policy, Vec<AllowEntry>)>,
}

/// Why an agent's account can't be made.
#[derive(Debug, thiserror::Error)]
pub enum NotHosted {
    /// The command is refused.
    #[error("the account {0} cannot be created: {1}")]
    Rejected(AgentHandle, Rejection),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// This process as one of the agents that it runs, or for a person of an agent's owner. Only [`Accounts::acting`] and
/// [`Accounts::acting_for_person`] make it, and nothing that a peer sends becomes it. It counts for as long as the account is
/// there: in each append as much as a token does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedIdentity {
    handle: AgentHandle,
    hops: u32,
}

impl HostedIdentity {
    /// The acting identity.
    pub fn handle(&self) -> &AgentHandle {
        &self.handle
    }

    /// How many agents of this server have passed on what it acts upon; 0 when somebody else asked.
    pub fn hops(&self) -> u32 {
        self.hops
    }

    /// What stands in the place of a token.
    pub fn proof(&self) -> TokenDigest {
        TokenDigest::INSIDE
    }

    /// The same as the bearer of a token.
    pub fn principal(&self) -> Principal {
        Principal { who: TokenOwner::Agent(self.handle.clone()), token: TokenDigest::INSIDE }
    }

    /// The authority with which it acts.
    pub fn authority(&self) -> Authority {
        Authority { by: Actor::Agent(self.handle.clone()), token: Some(TokenDigest::INSIDE) }
    }
}

impl Accounts {
    /// Says which agents this server runs, and makes the accounts that never were. Whoever made one by hand made that
    /// of the agent; a deleted one stays deleted.
    ///
    /// # Errors
    /// When an account can't be made, or the store fails.
    pub fn host(&self, agents: Vec<HostedAgent>) -> Sealed<'_, Result<(), NotHosted>> {
        seal(async move {
            for HostedAgent { handle, account } in &agents {
                let Some((policy, allowlist)) = account.clone() else { continue };
                // Nobody has seen the token, and nobody will.
                let token = Token::random(TokenKind::Agent).digest();
                let command = RegisterAgent::new(Authority::seed(), handle.clone(), token);
                let command = RegisterAgent { policy, allowlist, ..command };
                match self.register_agent(command).await {
                    Ok(_) => {
                        tracing::info!(agent = %handle, "the account of a configured agent was created")
                    }
                    Err(Failure::Rejected(Rejection::AgentExists)) => {}
                    Err(Failure::Rejected(rejection)) => {
                        return Err(NotHosted::Rejected(handle.clone(), rejection));
                    }
                    Err(Failure::OverQuota(exceeded)) => return Err(exceeded.without_payer().into()),
                    Err(Failure::Fault(fault)) => return Err(fault.into()),
                }
            }
            agents.into_iter().for_each(|agent| self.hosts(agent.handle));
            Ok(())
        })
    }

    /// This server runs the agent from now on.
    pub fn hosts(&self, handle: AgentHandle) {
        self.0.hosted.write().insert(handle);
    }

    /// It runs it no more.
    pub fn hosts_no_more(&self, handle: &AgentHandle) {
        self.0.hosted.write().remove(handle);
    }

    /// Whether this server runs the agent.
    pub fn is_hosted(&self, handle: &AgentHandle) -> bool {
        self.0.hosted.read().contains(handle)
    }

    /// This process as an agent that it runs, upon something that so many of its agents have passed on; `None` for
    /// anybody else.
    pub fn acting(&self, handle: &AgentHandle, hops: u32) -> Option<HostedIdentity> {
        self.is_hosted(handle).then(|| HostedIdentity { handle: handle.clone(), hops })
    }

    /// This process as an agent, to carry out what a person of its owner answered for it.
    pub fn acting_for_person(&self, handle: &AgentHandle) -> HostedIdentity {
        HostedIdentity { handle: handle.clone(), hops: 0 }
    }
}
