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

/// The configured issuers. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Issuers {
    all: Arc<[Arc<Issuer>]>,
    authorization: Option<Arc<Issuer>>,
}

impl Issuers {
    /// Collects issuers; `authorization` names the one that issues access tokens instead of this server.
    pub fn new(all: Vec<Arc<Issuer>>, authorization: Option<&str>) -> Self {
        let authorization = all.iter().find(|issuer| Some(issuer.name()) == authorization).cloned();
        Self { all: all.into(), authorization }
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Issuer>> {
        self.all.iter()
    }

    /// The issuer of this name, if people sign in with it.
    pub fn signing_in(&self, name: &str) -> Option<&Arc<Issuer>> {
        self.all.iter().find(|issuer| issuer.name() == name && issuer.signs_in())
    }

    /// The issuer that issues access tokens instead of this server.
    pub fn authorization(&self) -> Option<&Arc<Issuer>> {
        self.authorization.as_ref()
    }

    /// A proof of each rule, for each use of a token. A session or token that began at an issuer ends when its proof is no
    /// longer among these.
    pub fn proofs(&self) -> impl Iterator<Item = TokenDigest> {
        let gives_access = |issuer| self.authorization.as_ref().is_some_and(|one| Arc::ptr_eq(one, issuer));
        self.all.iter().flat_map(move |issuer| issuer.proofs(gives_access(issuer)))
    }

    /// Verifies a token with the keys of the issuer that it names.
    ///
    /// # Errors
    /// The reason why it is refused.
    pub async fn verify(&self, token: &str, now: TimestampMs) -> Result<(&Arc<Issuer>, Proven), Flaw> {
        let named = named_issuer(token)?;
        let issuer = self.all.iter().find(|issuer| issuer.url() == named).ok_or(Flaw::Issuer)?;
        Ok((issuer, issuer.verify(token, now).await?))
    }
}
