//! Owners: persons or organisations that own agents (ASP-2).
//! Must not know: agents' settings.

use plenary_kernel::OwnerName;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{Client, Reply, Result};

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
}

/// One owner of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerEntry {
    /// Its name.
    pub owner: String,
}

impl<'de> Deserialize<'de> for OwnerEntry {
    /// Takes the bare name or an object with a member `owner`: the specification fixes neither.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let name = value.as_str().or_else(|| value.get("owner").and_then(Value::as_str));
        name.map(|owner| Self { owner: owner.into() })
            .ok_or_else(|| serde::de::Error::custom("no owner's name"))
    }
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

    /// `GET /_admin/owners`; the operator's token.
    ///
    /// # Errors
    /// As every call.
    pub async fn owners(&self) -> Result<Reply<OwnerList>> {
        self.get("/_admin/owners").await
    }
}
