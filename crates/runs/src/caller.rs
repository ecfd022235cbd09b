//! The caller (wire.md D.8: a token is required).
//! Must not know: the operation.

use axum::extract::FromRequestParts;
use http::request::Parts;
use plenary_accounts::{Actor, Authority, Credentials, HostedIdentity, Principal, identify};

use crate::{Runs, command::Caller, refusals::RunRefusal, registry::Agent};

/// The sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestCaller(pub(crate) Principal, Option<u32>);

/// The same for what a browser reads by itself, where `?ticket=` stands in for a header that it can't send.
#[derive(Debug, Clone)]
pub(crate) struct StreamCaller(pub(crate) RequestCaller);

impl RequestCaller {
    /// Who asks with a request.
    pub(crate) async fn identify(parts: &Parts, runs: &Runs) -> Result<Self, RunRefusal> {
        let principal = identify(parts, runs.accounts(), Credentials::Header).await?;
        Ok(Self(principal, parts.extensions.get().map(HostedIdentity::hops)))
    }

    /// As commands on an agent's threads want it.
    pub(crate) fn caller(&self, agent: &Agent) -> Caller {
        Caller {
            authority: self.0.clone().into(),
            agent: agent.name().into(),
            owner: agent.owner(),
            gate: agent.gate(),
            on_behalf_of: None,
        }
    }

    /// How deep in a chain of callers what it asks for is at least: one deeper than the run whose agent asks.
    pub(crate) fn depth_min(&self) -> u32 {
        self.1.map_or(0, |hops| hops.saturating_add(1))
    }

    /// Who it is.
    pub(crate) fn actor(&self) -> Actor {
        Authority::from(self.0.clone()).by
    }
}

impl FromRequestParts<Runs> for RequestCaller {
    type Rejection = RunRefusal;

    async fn from_request_parts(parts: &mut Parts, runs: &Runs) -> Result<Self, RunRefusal> {
        Self::identify(parts, runs).await
    }
}

impl FromRequestParts<Runs> for StreamCaller {
    type Rejection = RunRefusal;

    async fn from_request_parts(parts: &mut Parts, runs: &Runs) -> Result<Self, RunRefusal> {
        Ok(Self(RequestCaller(identify(parts, runs.accounts(), Credentials::HeaderOrTicket).await?, None)))
    }
}
