//! Owners: persons or organisations that own agents (ASP-2).
//! Must not know: agents' settings.

use plenary_kernel::{OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};

use super::NewToken;
use crate::{
    Client, Reply, Result,
    client::{page, segment},
};

/// The answer of `POST /_admin/owners`. The token is shown this once.
#[derive(Clone, Serialize, Deserialize)]
pub struct CreatedOwner {
    /// The owner.
    pub owner: OwnerName,
    /// Its token, `plw_…`.
    pub token: String,
}

/// The answer of `GET /_admin/owners`.
#[derive(Debug, Clone, Deserialize)]
pub struct OwnerList {
    /// Every owner.
    pub owners: Vec<OwnerEntry>,
    /// Where the next page begins; absent at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// One owner of the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OwnerEntry {
    /// Its name.
    pub owner: OwnerName,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<TimestampMs>,
}

impl Client {
    /// `POST /_admin/owners {owner}`; the operator's token.
    ///
    /// # Errors
    /// As every call.
    pub async fn create_owner(&self, owner: &OwnerName) -> Result<Reply<CreatedOwner>> {
        #[derive(Serialize)]
        struct Body<'a> {
            owner: &'a OwnerName,
        }
        self.post("/_admin/owners", &Body { owner }).await
    }

    /// `GET /_admin/owners`, one page by name; `cursor` is the last page's `next_cursor`. The operator's token.
    ///
    /// # Errors
    /// As every call.
    pub async fn owners(&self, cursor: Option<&str>) -> Result<Reply<OwnerList>> {
        self.get(&page("/_admin/owners", cursor)).await
    }

    /// `POST /_admin/owners/{owner}/rotate-token`; the operator's token, or the owner's own.
    ///
    /// # Errors
    /// As every call.
    pub async fn rotate_owner_token(&self, owner: &OwnerName) -> Result<Reply<NewToken>> {
        self.post_empty(&format!("/_admin/owners/{}/rotate-token", segment(owner.as_str()))).await
    }
}
