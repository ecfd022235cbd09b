//! Organisations and their members (wire.md D.1, D.4).
//! Must not know: the rights of members.

use plenary_kernel::{OwnerName, SovereignHandle, TimestampMs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Client, Reply, Result,
    client::{page, segment},
};

/// An organisation, with one page of its members by handle.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Org {
    /// Its name.
    pub org: OwnerName,
    /// When it was created.
    pub created_at: Option<TimestampMs>,
    /// The members.
    pub members: Vec<OrgMember>,
    /// The cursor of the next page of members; absent on the last one.
    pub next_cursor: Option<String>,
}

/// A member of an organisation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OrgMember {
    /// The member's handle.
    pub handle: SovereignHandle,
    /// Its roles in the organisation.
    #[serde(default)]
    pub roles: Vec<String>,
}

fn member_path(org: &OwnerName, member: &SovereignHandle) -> String {
    format!("/_admin/orgs/{}/members/{}", segment(org.as_str()), segment(member.as_str()))
}

impl Client {
    /// `GET /_admin/orgs/{org}`, one page of members; with the token of the operator, or of the owner of the same name.
    /// `cursor` is the previous page's `next_cursor`.
    pub async fn org(&self, org: &OwnerName, cursor: Option<&str>) -> Result<Reply<Org>> {
        self.get(&page(&format!("/_admin/orgs/{}", segment(org.as_str())), cursor)).await
    }

    /// `PUT /_admin/orgs/{org}`: creates the organisation; does nothing if it exists.
    pub async fn put_org(&self, org: &OwnerName) -> Result<Reply<Value>> {
        self.put(&format!("/_admin/orgs/{}", segment(org.as_str())), &json!({})).await
    }

    /// `PUT /_admin/orgs/{org}/members/{~owner} {roles}`: creates or replaces the membership.
    pub async fn put_member(
        &self,
        org: &OwnerName,
        member: &SovereignHandle,
        roles: &[String],
    ) -> Result<Reply<Value>> {
        self.put(&member_path(org, member), &json!({"roles": roles})).await
    }

    /// `DELETE /_admin/orgs/{org}/members/{~owner}`.
    pub async fn remove_member(&self, org: &OwnerName, member: &SovereignHandle) -> Result<Reply<Value>> {
        self.delete(&member_path(org, member)).await
    }
}
