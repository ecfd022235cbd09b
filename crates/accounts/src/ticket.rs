//! Tickets: a browser cannot set a header on a WebSocket, so it exchanges its token for a ticket that opens one
//! connection within 30 s (wire.md D.1). Each is a row in the store, so that any process may redeem it; deleting the
//! row uses it. Only digests are stored.
//! Must not know: HTTP.

use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, TimestampMs};
use plenary_log::{Batch, Fault, Outcome, RowOp};
use serde::{Deserialize, Serialize};

use crate::{
    Accounts, AgentCaller, Principal, TokenDigest, TokenOwner,
    limits::{TICKET_SECONDS, TICKETS_PER_AGENT_MAX, TOKEN_BYTES_MAX},
    token::random_hex,
};

const PREFIX: &str = "plt_";
/// Most rows of one agent that are read: more than exist, except in a burst of concurrent requests.
const ROWS_READ_MAX: usize = 4 * TICKETS_PER_AGENT_MAX;

/// The stored data of a ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredTicket {
    /// The token behind it, with which the ticket ends.
    token: TokenDigest,
    until: TimestampMs,
}

fn rows(handle: &AgentHandle) -> String {
    format!("ticket/{handle}/")
}

/// `plt_<64 hex digits>.<owner>.<name>`: it names its agent, and needs no escaping in a URL.
fn bearer_of(ticket: &str) -> Option<AgentHandle> {
    let (_, handle) = ticket.strip_prefix(PREFIX)?.split_once('.')?;
    format!("@{handle}").parse().ok()
}

impl Accounts {
    /// Creates a ticket for an agent. Past `TICKETS_PER_AGENT_MAX` unused tickets the oldest becomes invalid.
    pub fn ticket<'a>(&'a self, caller: &'a AgentCaller) -> Sealed<'a, Result<String, Fault>> {
        seal(async move {
            let AgentCaller { handle, token } = caller;
            let now = self.clock().now();
            let mut changes = self.spare(handle, now).await?;
            let ticket = format!("{PREFIX}{}.{}", random_hex(), &handle.as_str()[1..]);
            let ticket_row =
                StoredTicket { token: *token, until: TimestampMs(now.0 + TICKET_SECONDS * 1_000) };
            let value = serde_json::to_vec(&ticket_row).expect("a digest and a time can be written");
            let name = format!("{}{}", rows(handle), TokenDigest::of(&ticket).hex());
            changes.push(RowOp { name, expected: Some(0), value: Some(value.into()) });
            self.log().append(Batch { rows: changes, ..Batch::default() }).await?;
            Ok(ticket)
        })
    }

    /// The rows to delete before a new ticket: expired ones, and the oldest ones past the limit.
    async fn spare(&self, handle: &AgentHandle, now: TimestampMs) -> Result<Vec<RowOp>, Fault> {
        let mut live = Vec::new();
        let mut removed = Vec::new();
        for (name, row) in self.log().read_rows(&rows(handle), None, ROWS_READ_MAX).await? {
            match serde_json::from_slice::<StoredTicket>(&row.value) {
                Ok(stored) if now < stored.until => live.push((stored.until, name)),
                _ => removed.push(name),
            }
        }
        live.sort_unstable();
        let too_many = (live.len() + 1).saturating_sub(TICKETS_PER_AGENT_MAX);
        removed.extend(live.drain(..too_many).map(|(_, name)| name));
        Ok(removed.into_iter().map(|name| RowOp { name, expected: None, value: None }).collect())
    }

    /// Redeems a ticket and returns its agent. `None` if it is unknown, used or expired, or its token is
    /// no longer valid.
    pub fn redeem<'a>(&'a self, ticket: &'a str) -> Sealed<'a, Result<Option<Principal>, Fault>> {
        seal(async move {
            let Some(handle) = bearer_of(ticket).filter(|_| ticket.len() <= TOKEN_BYTES_MAX) else {
                return Ok(None);
            };
            let name = format!("{}{}", rows(&handle), TokenDigest::of(ticket).hex());
            let Some(row) = self.log().read_row(&name).await? else { return Ok(None) };
            let removal = RowOp { name, expected: Some(row.revision), value: None };
            let outcome = self.log().append(Batch { rows: vec![removal], ..Batch::default() }).await?;
            // An unreadable ticket is invalid; it would have been valid for 30 s.
            let stored_ticket = serde_json::from_slice::<StoredTicket>(&row.value).ok();
            let Some(stored_ticket) =
                stored_ticket.filter(|stored_ticket| self.clock().now() < stored_ticket.until)
            else {
                return Ok(None);
            };
            if !matches!(outcome, Outcome::Appended(_)) {
                return Ok(None);
            }
            let principal = Principal { who: TokenOwner::Agent(handle), token: stored_ticket.token };
            Ok(self.is_valid(&principal).await?.then_some(principal))
        })
    }
}
