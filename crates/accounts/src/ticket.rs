//! Tickets: a browser can't set a header on a WebSocket, so it trades its token for a ticket that opens one
//! connection within 30 s (wire.md D.1). One row an agent, in the store, so that any process may redeem it; the
//! row's revision makes a ticket single-use. Only digests are kept.
//! Must not know: HTTP.

use plenary_engine::ATTEMPTS_MAX;
use plenary_kernel::{AgentHandle, TimestampMs};
use plenary_log::{Batch, Fault, Outcome, RowOp};
use serde::{Deserialize, Serialize};

use crate::{
    Accounts, AgentCaller, Principal, TokenDigest, Who,
    limits::{TICKET_SECONDS, TICKETS_PER_AGENT_MAX, TOKEN_OCTETS_MAX},
    token::random_hex,
};

const PREFIX: &str = "plt_";

/// A ticket as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    ticket: TokenDigest,
    /// The token it was traded for; the ticket dies with it.
    token: TokenDigest,
    until: TimestampMs,
}

fn row(handle: &AgentHandle) -> String {
    format!("ticket/{handle}")
}

/// `plt_<64 hex digits>.<owner>.<name>`: it says whose row it stands in, and needs no escaping in a URL.
fn owner_of(ticket: &str) -> Option<AgentHandle> {
    let (_, handle) = ticket.strip_prefix(PREFIX)?.split_once('.')?;
    format!("@{handle}").parse().ok()
}

impl Accounts {
    /// A ticket for an agent. Past `TICKETS_PER_AGENT_MAX` unused ones its oldest is worthless.
    pub async fn ticket(&self, caller: &AgentCaller) -> Result<String, Fault> {
        let AgentCaller { handle, token } = caller;
        let ticket = format!("{PREFIX}{}.{}", random_hex(), &handle.as_str()[1..]);
        let digest = TokenDigest::of(&ticket);
        self.change(handle, |now, kept| {
            let until = TimestampMs(now.0 + TICKET_SECONDS * 1_000);
            kept.push(Kept { ticket: digest, token: *token, until });
            let spare = kept.len().saturating_sub(TICKETS_PER_AGENT_MAX);
            kept.drain(..spare);
            Some(())
        })
        .await?;
        Ok(ticket)
    }

    /// Whose ticket it is; it is worthless afterwards. `None` when it is unknown, used, too old, or its token is
    /// no longer valid.
    pub async fn redeem(&self, ticket: &str) -> Result<Option<Principal>, Fault> {
        let Some(handle) = owner_of(ticket).filter(|_| ticket.len() <= TOKEN_OCTETS_MAX) else {
            return Ok(None);
        };
        let digest = TokenDigest::of(ticket);
        let found = self
            .change(&handle, |_, kept| {
                let nth = kept.iter().position(|kept| kept.ticket.matches(&digest))?;
                Some(kept.remove(nth))
            })
            .await?;
        let Some(found) = found else { return Ok(None) };
        let principal = Principal { who: Who::Agent(handle), token: found.token };
        Ok(self.is_valid(&principal).await?.then_some(principal))
    }

    /// Changes an agent's unexpired tickets and keeps them, unless `with` finds nothing to change.
    async fn change<T>(
        &self,
        handle: &AgentHandle,
        mut with: impl FnMut(TimestampMs, &mut Vec<Kept>) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let name = row(handle);
        for _ in 0..ATTEMPTS_MAX {
            let found = self.log().read_row(&name).await?;
            let now = self.clock().now();
            let (revision, mut kept) = match &found {
                // Unreadable tickets are worth nothing: they last 30 s.
                Some(row) => (row.revision, serde_json::from_slice(&row.value).unwrap_or_default()),
                None => (0, Vec::<Kept>::new()),
            };
            kept.retain(|kept| now < kept.until);
            let Some(changed) = with(now, &mut kept) else { return Ok(None) };
            let value = serde_json::to_vec(&kept).expect("digests and times can be written");
            let op = RowOp { name: name.clone(), expected: Some(revision), value: Some(value.into()) };
            match self.log().append(Batch { rows: vec![op], ..Batch::default() }).await? {
                Outcome::Appended(_) => return Ok(Some(changed)),
                Outcome::RowConflict { .. } => {}
                Outcome::Conflict { .. } | Outcome::AlreadyDone { .. } | Outcome::KeyReused => {
                    return Err(Fault::Corrupt("a batch of one row met a condition".into()));
                }
            }
        }
        Err(Fault::Overloaded)
    }
}
