//! The open contact requests of one agent: received and sent.
//! Must not know: HTTP, or permissions to read them.

use std::collections::HashSet;

use plenary_engine::{Room as _, Sealed, seal};
use plenary_kernel::{AgentHandle, ContactId, TimestampMs, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order};

use super::{ContactRoom, event::ContactEvent};
use crate::{Accounts, inbox::contact_request, inbox_of, index::CONTACTS_PENDING};

/// How much of an agent's notices one page looks through.
const NOTICES_LOOKED_AT_MAX: usize = 2_000;

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
        me: &AgentHandle,
        after: Version,
        limit: usize,
    ) -> Result<(Vec<WaitingContact>, Option<Version>), Fault> {
        let (stream, mut read, mut looked) = (inbox_of(me), after, 0);
        let (mut waiting, mut known) = (Vec::new(), HashSet::new());
        loop {
            let events = self.log().read_stream(&stream, read, READ_ROWS_MAX).await?;
            for event in &events {
                if waiting.len() == limit || looked == NOTICES_LOOKED_AT_MAX {
                    return Ok((waiting, Some(read)));
                }
                (read, looked) = (event.version, looked + 1);
                let Some(notice) = contact_request(event)? else { continue };
                if known.insert(notice.request.clone()) && self.awaits_answer(&notice.request).await? {
                    let (request, from, message) = (notice.request, notice.from, notice.message);
                    waiting.push(WaitingContact { request, from, to: me.clone(), message, at: event.at });
                }
            }
            if events.len() < READ_ROWS_MAX {
                return Ok((waiting, None));
            }
        }
    }

    /// What an agent asked, by the handle of whom it asked, and the last of them if there are more. Who does not exist,
    /// and who will not be told, waits like everybody else.
    pub(crate) async fn contacts_sent(
        &self,
        me: &AgentHandle,
        after: Option<&AgentHandle>,
        limit: usize,
    ) -> Result<(Vec<WaitingContact>, Option<AgentHandle>), Fault> {
        let prefix = format!("{me}/");
        let after = after.map(|to| format!("{prefix}{to}"));
        let log = self.log();
        let mut rows =
            log.read_index(CONTACTS_PENDING, &prefix, after.as_deref(), limit + 1, Order::Ascending).await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let mut waiting = Vec::with_capacity(rows.len());
        for row in rows {
            let wrong = || Fault::Corrupt(format!("{} in {CONTACTS_PENDING}", row.key));
            let to: AgentHandle = row.key[prefix.len()..].parse().map_err(|_| wrong())?;
            let id = std::str::from_utf8(&row.value).map_err(|_| wrong())?;
            let first =
                log.read_stream(&ContactRoom::stream(id), Version::ZERO, 1).await?.pop().ok_or_else(wrong)?;
            let ContactEvent::ContactRequested(requested) = ContactEvent::decode(&first)? else {
                return Err(wrong());
            };
            let request = id.parse().map_err(|_| wrong())?;
            waiting.push(WaitingContact {
                request,
                from: me.clone(),
                to,
                message: requested.message,
                at: first.at,
            });
        }
        let last = waiting.last().map(|last| last.to.clone()).filter(|_| more);
        Ok((waiting, last))
    }
}
