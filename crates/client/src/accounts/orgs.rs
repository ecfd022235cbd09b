//! Organisations and who belongs to them (wire.md D.1, D.4).
//! Must not know: what membership allows.

use plenary_kernel::{OwnerName, SovereignHandle};
use serde::Serialize;
use serde_json::Value;

use crate::{Client, Reply, Result, client::segment};

fn member_path(org: &OwnerName, member: &SovereignHandle) -> String {
    format!("/_admin/orgs/{}/members/{}", segment(org.as_str()), segment(member.as_str()))
}

impl Client {
    /// `PUT /_admin/orgs/{org}`: makes the organisation, or leaves it as it is.
    ///
    /// # Errors
    /// As every call.
    pub async fn put_org(&self, org: &OwnerName) -> Result<Reply<Value>> {
        #[derive(Serialize)]
        struct Body {}
        self.put(&format!("/_admin/orgs/{}", segment(org.as_str())), &Body {}).await
    }

    /// `PUT /_admin/orgs/{org}/members/{~owner} {roles}`: makes or replaces the membership.
    ///
    /// # Errors
    /// As every call.
    pub async fn put_member(
        &self,
        org: &OwnerName,
        member: &SovereignHandle,
        roles: &[String],
    ) -> Result<Reply<Value>> {
        #[derive(Serialize)]
        struct Body<'a> {
            roles: &'a [String],
        }
        self.put(&member_path(org, member), &Body { roles }).await
    }

    /// `DELETE /_admin/orgs/{org}/members/{~owner}`.
    ///
    /// # Errors
    /// As every call.
    pub async fn remove_member(&self, org: &OwnerName, member: &SovereignHandle) -> Result<Reply<Value>> {
        self.delete(&member_path(org, member)).await
    }
}
