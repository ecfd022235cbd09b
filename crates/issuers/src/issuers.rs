//! The issuers of a server.
//! Must not know: the use of a token.

use std::sync::Arc;

use plenary_accounts::TokenDigest;
use plenary_kernel::TimestampMs;

use crate::{
    flaw::Flaw,
    issuer::Issuer,
    verify::{Proven, named_issuer},
};

/// Every issuer that is configured. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Issuers {
    all: Arc<[Arc<Issuer>]>,
    authorization: Option<Arc<Issuer>>,
}

impl Issuers {
    /// These issuers; `authorization` names the one that gives access tokens in place of this server.
    #[must_use]
    pub fn new(all: Vec<Arc<Issuer>>, authorization: Option<&str>) -> Self {
        let authorization = all.iter().find(|issuer| Some(issuer.name()) == authorization).cloned();
        Self { all: all.into(), authorization }
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Issuer>> {
        self.all.iter()
    }

    /// The issuer of this name, where people sign in by it.
    #[must_use]
    pub fn signing_in(&self, name: &str) -> Option<&Arc<Issuer>> {
        self.all.iter().find(|issuer| issuer.name() == name && issuer.signs_in())
    }

    /// The one that gives access tokens in place of this server.
    #[must_use]
    pub fn authorization(&self) -> Option<&Arc<Issuer>> {
        self.authorization.as_ref()
    }

    /// What sessions and tokens may hang on that began at an issuer: a proof of each rule, for each use that a token may be put to.
    pub fn proofs(&self) -> impl Iterator<Item = TokenDigest> {
        let gives_access = |issuer| self.authorization.as_ref().is_some_and(|one| Arc::ptr_eq(one, issuer));
        self.all.iter().flat_map(move |issuer| issuer.proofs(gives_access(issuer)))
    }

    /// A token of whichever issuer it names.
    ///
    /// # Errors
    /// Why it is not accepted.
    pub async fn verify(&self, token: &str, now: TimestampMs) -> Result<(&Arc<Issuer>, Proven), Flaw> {
        let named = named_issuer(token)?;
        let issuer = self.all.iter().find(|issuer| issuer.url() == named).ok_or(Flaw::Issuer)?;
        Ok((issuer, issuer.verify(token, now).await?))
    }
}
