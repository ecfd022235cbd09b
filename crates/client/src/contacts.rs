//! The contacts handshake: requests and answers (wire.md D.1, 2.5 no. 19).
//! Must not know: allowlists, which the server changes on acceptance.

use plenary_kernel::{AgentHandle, ContactId};
use serde::{Deserialize, Serialize};

use crate::{
    Client, Reply, Result,
    client::{page, segment},
    sessions::Acknowledgement,
};

/// The answer of `POST /contacts`. It is the same for an unknown or closed handle (wire.md D.9).
#[derive(Debug, Clone, Deserialize)]
pub struct ContactReceipt {
    /// The request's id, `req_…`.
    pub request_id: ContactId,
}

/// A pending contact request.
#[derive(Debug, Clone, Deserialize)]
pub struct Pending {
    /// The request's id.
    pub request_id: ContactId,
    /// The requesting agent.
    pub from: AgentHandle,
    /// The requested agent.
    pub to: AgentHandle,
    /// The message of the request.
    pub message: Option<String>,
    /// When it was sent, in epoch milliseconds.
    pub created_at: u64,
}

/// The answer of `GET /contacts`.
#[derive(Debug, Clone, Deserialize)]
pub struct PendingList {
    /// The requests.
    pub contacts: Vec<Pending>,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
}

impl Client {
    /// `GET /contacts`: the requests that wait for this agent's answer, or with `outgoing` the requests that it sent.
    pub async fn contacts(&self, outgoing: bool, cursor: Option<&str>) -> Result<Reply<PendingList>> {
        let direction = if outgoing { "outgoing" } else { "incoming" };
        self.get(&page(&format!("/contacts?direction={direction}"), cursor)).await
    }

    /// `POST /contacts {to, message?}`.
    pub async fn request_contact(
        &self,
        to: &AgentHandle,
        message: Option<&str>,
    ) -> Result<Reply<ContactReceipt>> {
        #[derive(Serialize)]
        struct Body<'a> {
            to: &'a AgentHandle,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a str>,
        }
        self.post("/contacts", &Body { to, message }).await
    }

    /// `POST /contacts/{id}/accept`: adds each agent to the other's allowlist.
    ///
    /// # Errors
    /// 403 if the caller is not the owner and the agent may not configure itself.
    pub async fn accept_contact(&self, id: &ContactId) -> Result<Reply<Acknowledgement>> {
        self.post_empty(&format!("/contacts/{}/accept", segment(id.as_str()))).await
    }

    /// `POST /contacts/{id}/decline`.
    ///
    /// # Errors
    /// As [`Client::accept_contact`].
    pub async fn decline_contact(&self, id: &ContactId) -> Result<Reply<Acknowledgement>> {
        self.post_empty(&format!("/contacts/{}/decline", segment(id.as_str()))).await
    }
}
