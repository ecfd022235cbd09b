//! Owners: persons or organisations that own agents (ASP-2).
//! Must not know: agents' settings.

use plenary_kernel::{OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::NewToken;
use crate::{
    Client, Reply, Result,
    client::{page, segment},
};

/// The answer of `POST /_admin/owners`. The token is shown only this once.
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
    /// One page of owners.
    pub owners: Vec<OwnerEntry>,
    /// The cursor of the next page; absent on the last one.
    pub next_cursor: Option<String>,
}

/// An owner in the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OwnerEntry {
    /// Its name.
    pub owner: OwnerName,
    /// When it was created.
    pub created_at: Option<TimestampMs>,
}

impl Client {
    /// `POST /_admin/owners {owner}`, with the operator's token.
    pub async fn create_owner(&self, owner: &OwnerName) -> Result<Reply<CreatedOwner>> {
        self.post("/_admin/owners", &json!({"owner": owner})).await
    }

    /// `GET /_admin/owners`, one page by name, with the operator's token; `cursor` is the previous page's `next_cursor`.
    pub async fn owners(&self, cursor: Option<&str>) -> Result<Reply<OwnerList>> {
        self.get(&page("/_admin/owners", cursor)).await
    }

    /// `POST /_admin/owners/{owner}/rotate-token`, with the token of the operator or of the owner.
    pub async fn rotate_owner_token(&self, owner: &OwnerName) -> Result<Reply<NewToken>> {
        self.post_empty(&format!("/_admin/owners/{}/rotate-token", segment(owner.as_str()))).await
    }
}
