//! The concurrent searches for agents and messages: each owner has a share.
//! Must not know: the content of a search.

use plenary_kernel::{Class, Refusal, Share, Shares, SharesFull};

use crate::{
    Accounts, TokenOwner,
    limits::{SEARCHES_AT_ONCE_MAX, SEARCHES_PER_OWNER_MAX},
};

/// The number of running searches, by owner, and the share of an owner.
pub(crate) struct Searches {
    under_way: Shares<String>,
    per_owner_max: usize,
}

impl Searches {
    fn new(per_owner_max: usize) -> Self {
        Self { under_way: Shares::new(SEARCHES_AT_ONCE_MAX, per_owner_max), per_owner_max }
    }
}

impl Accounts {
    /// Sets the share of an owner; [`SEARCHES_PER_OWNER_MAX`] unless it is set before the
    /// first one.
    pub fn set_searches_per_owner_max(&self, max: usize) {
        let _ = self.0.searches.set(Searches::new(max));
    }

    /// Takes one search of the owner's share, until the result is dropped. The operator counts as an owner.
    ///
    /// # Errors
    /// 429 `too_many_searches` past the owner's share; 503 past the limit of all.
    pub fn search_share(&self, caller: &TokenOwner) -> Result<Share<String>, Refusal> {
        let searches = self.0.searches.get_or_init(|| Searches::new(SEARCHES_PER_OWNER_MAX));
        let owner = match caller {
            TokenOwner::Operator => String::new(),
            TokenOwner::Owner(owner) => owner.to_string(),
            TokenOwner::Agent(agent) => agent.owner().to_owned(),
        };
        searches.under_way.take(owner, 1).map_err(|error| match error {
            SharesFull::Key => {
                let max = searches.per_owner_max;
                let text = format!(
                    "Your owner's agents run {max} searches, the maximum (`searches_per_owner_max`); try again \
                     when one ends."
                );
                Refusal::new(Class::TooMany, "too_many_searches", text)
            }
            SharesFull::Total => {
                let text = "The server has the maximum number of searches in progress. Retry.";
                Refusal::new(Class::Unavailable, "overloaded", text)
            }
        })
    }
}
