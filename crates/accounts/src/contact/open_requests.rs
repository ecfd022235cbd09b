//! The open contact requests of one agent: received and sent.
//! Must not know: HTTP, or permissions to read them.

use std::collections::HashSet;

use plenary_engine::{Room as _, Sealed, seal};
use plenary_kernel::{AgentHandle, ContactId, TimestampMs, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order};

use super::{ContactRoom, event::ContactEvent};
use crate::{Accounts, inbox::contact_request, inbox_of, index::CONTACTS_PENDING};

/// How much of an agent's notices one page looks through.
const NOTICES_READ_MAX: usize = 2_000;

/// A request that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitingContact {
    pub(crate) request: ContactId,
    pub(crate) from: AgentHandle,
    pub(crate) to: AgentHandle,
    pub(crate) message: Option<String>,
    pub(crate) at: TimestampMs,
}

/// A request for contact that somebody may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactWaiting {
    /// The requesting agent.
    pub from: AgentHandle,
    /// Who is asked.
    pub to: AgentHandle,
    /// The message of the request.
    pub message: Option<String>,
}

impl Accounts {
    /// A request for contact, as long as it waits for an answer and the two are in each other's reach.
    ///
    /// # Errors
    /// The store failed.
    pub fn contact_waiting<'a>(
        &'a self,
        id: &'a ContactId,
    ) -> Sealed<'a, Result<Option<ContactWaiting>, Fault>> {
        seal(async move {
            if !self.awaits_answer(id).await? {
                return Ok(None);
            }
            let stream = ContactRoom::stream(id.as_str());
            let Some(first) = self.log().read_stream(&stream, Version::ZERO, 1).await?.pop() else {
                return Ok(None);
            };
            Ok(match ContactEvent::decode(&first)? {
                ContactEvent::ContactRequested(request) => {
                    Some(ContactWaiting { from: request.from, to: request.to, message: request.message })
                }
                ContactEvent::ContactRepeated(_)
                | ContactEvent::ContactAccepted(_)
                | ContactEvent::ContactDeclined(_) => None,
            })
        })
    }

    /// The contact requests to an agent after a version, and the version to continue after if there may be more.
    pub(crate) async fn contacts_received(
        &self,
        agent: &AgentHandle,
        after: Version,
        limit: usize,
    ) -> Result<(Vec<WaitingContact>, Option<Version>), Fault> {
        let (stream, mut read_version, mut notices_read) = (inbox_of(agent), after, 0);
        let (mut waiting_contacts, mut seen_requests) = (Vec::new(), HashSet::new());
        loop {
            let events = self.log().read_stream(&stream, read_version, READ_ROWS_MAX).await?;
            for event in &events {
                if waiting_contacts.len() == limit || notices_read == NOTICES_READ_MAX {
                    return Ok((waiting_contacts, Some(read_version)));
                }
                (read_version, notices_read) = (event.version, notices_read + 1);
                let Some(notice) = contact_request(event)? else { continue };
                if seen_requests.insert(notice.request.clone()) && self.awaits_answer(&notice.request).await?
                {
                    let (request, from, message) = (notice.request, notice.from, notice.message);
                    waiting_contacts.push(WaitingContact {
                        request,
                        from,
                        to: agent.clone(),
                        message,
                        at: event.at,
                    });
                }
            }
            if events.len() < READ_ROWS_MAX {
                return Ok((waiting_contacts, None));
            }
        }
    }

    /// The contact requests of an agent, by the handle of the recipient, and the last recipient if there are more. A
    /// request to an agent that does not exist, or that never receives it, waits like any other.
    pub(crate) async fn contacts_sent(
        &self,
        agent: &AgentHandle,
        after: Option<&AgentHandle>,
        limit: usize,
    ) -> Result<(Vec<WaitingContact>, Option<AgentHandle>), Fault> {
        let prefix = format!("{agent}/");
        let after = after.map(|to| format!("{prefix}{to}"));
        let log = self.log();
        let mut rows =
            log.read_index(CONTACTS_PENDING, &prefix, after.as_deref(), limit + 1, Order::Ascending).await?;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let mut waiting_contacts = Vec::with_capacity(rows.len());
        for row in rows {
            let corrupt_row = || Fault::Corrupt(format!("{} in {CONTACTS_PENDING}", row.key));
            let to: AgentHandle = row.key[prefix.len()..].parse().map_err(|_| corrupt_row())?;
            let id = std::str::from_utf8(&row.value).map_err(|_| corrupt_row())?;
            let first = log
                .read_stream(&ContactRoom::stream(id), Version::ZERO, 1)
                .await?
                .pop()
                .ok_or_else(corrupt_row)?;
            let ContactEvent::ContactRequested(request_event) = ContactEvent::decode(&first)? else {
                return Err(corrupt_row());
            };
            let request = id.parse().map_err(|_| corrupt_row())?;
            waiting_contacts.push(WaitingContact {
                request,
                from: agent.clone(),
                to,
                message: request_event.message,
                at: first.at,
            });
        }
        let last = waiting_contacts.last().map(|last| last.to.clone()).filter(|_| has_more);
        Ok((waiting_contacts, last))
    }
}
