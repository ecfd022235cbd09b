//! The authorization server, as the rest of the server uses it.
//! Must not know: HTTP.

use std::sync::Arc;

use axum::extract::FromRef;
use plenary_accounts::Accounts;
use plenary_edge::Origin;
use plenary_issuers::Issuers;
use plenary_log::Log;
use plenary_outward::guard::GuardedPool;

use crate::document::Documents;

/// The room. Cheap to clone.
#[derive(Clone)]
pub struct OAuth(Arc<Inner>);

struct Inner {
    log: Log,
    accounts: Accounts,
    documents: Documents,
    issuers: Issuers,
}

impl OAuth {
    /// The room in a log. Clients' documents are fetched through `pool`; with `plain_too` also over `http`.
    /// `issuers` are external; their tokens can be exchanged.
    pub fn new(
        log: Log,
        accounts: Accounts,
        (pool, plain_too): (Option<GuardedPool>, bool),
        issuers: Issuers,
    ) -> Self {
        Self(Arc::new(Inner { log, accounts, documents: Documents::new(pool, plain_too), issuers }))
    }

    pub(crate) fn log(&self) -> &Log {
        &self.0.log
    }
    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }
    pub(crate) fn issuers(&self) -> &Issuers {
        &self.0.issuers
    }
    pub(crate) fn documents(&self) -> &Documents {
        &self.0.documents
    }
}

/// The room, and the URL at which clients reach the server.
#[derive(Clone)]
pub(crate) struct At {
    pub(crate) oauth: OAuth,
    pub(crate) origin: Arc<Origin>,
}

impl FromRef<At> for Accounts {
    fn from_ref(at: &At) -> Self {
        at.oauth.accounts().clone()
    }
}
