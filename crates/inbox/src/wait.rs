//! Waiting for news: woken by commits, ended by a deadline, or by the end of the token or of the server.
//! Must not know: the news.

use std::time::Duration;

use plenary_accounts::{AgentCaller, Principal, TokenOwner};
use plenary_kernel::SessionId;
use plenary_log::Fault;
use tokio::time::{Instant, sleep_until};

use crate::{
    Inbox, WAITS_PER_AGENT_MAX,
    inbox_read::InboxQuery,
    marks::State,
    refusals::{InboxRefusal, Rejection},
    wire::{MessageStatus, Page},
};

/// How often a wait looks again without a wake-up.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(15);
/// How often a wait polls the marks of a message's recipients.
pub(crate) const LOOK_AT_MARKS_AFTER: Duration = Duration::from_millis(500);

impl Inbox {
    /// Returns a page with at least one item as soon as possible, or an empty one at the deadline.
    pub(crate) async fn wait(
        &self,
        caller: &AgentCaller,
        query: &InboxQuery<'_>,
        timeout: Duration,
    ) -> Result<Page, InboxRefusal> {
        let deadline = Instant::now() + timeout;
        let feed = self.0.feeds.open(&caller.handle);
        let Some(_wait) = feed.wait(WAITS_PER_AGENT_MAX) else { return Err(Rejection::TooManyWaits.into()) };
        let (mut changed, mut closed) = (feed.listen(), self.0.closed.subscribe());
        loop {
            // Before the look, so that every later change is noticed.
            changed.mark_unchanged();
            if *closed.borrow_and_update() {
                return Err(Rejection::Stopping.into());
            }
            if !self.is_valid(caller).await? {
                return Err(Rejection::Revoked.into());
            }
            let page = self.page(&caller.handle, query).await?;
            if !page.items.is_empty() {
                return Ok(page);
            }
            tokio::select! {
                _ = changed.changed() => {}
                _ = closed.changed() => {}
                // Items of a silent session come back without a wake-up.
                () = sleep_until(deadline.min(Instant::now() + LOOK_AGAIN_AFTER)) => {
                    if Instant::now() >= deadline {
                        return Ok(Page { timed_out: true, ..page });
                    }
                }
            }
        }
    }

    /// The status of a message, as soon as it has reached the state for every recipient, or at the
    /// deadline; `None` if it does not exist for the caller.
    pub(crate) async fn wait_status(
        &self,
        caller: &AgentCaller,
        (id, sequence): (&SessionId, u64),
        until: State,
        timeout: Duration,
    ) -> Result<Option<MessageStatus>, InboxRefusal> {
        let deadline = Instant::now() + timeout;
        let feed = self.0.feeds.open(&caller.handle);
        let Some(_wait) = feed.wait(WAITS_PER_AGENT_MAX) else { return Err(Rejection::TooManyWaits.into()) };
        // An answer wakes the caller. Marks at other processes wake no reader here, so they are polled.
        let (mut changed, mut closed) = (feed.listen(), self.0.closed.subscribe());
        loop {
            changed.mark_unchanged();
            if *closed.borrow_and_update() {
                return Err(Rejection::Stopping.into());
            }
            if !self.is_valid(caller).await? {
                return Err(Rejection::Revoked.into());
            }
            let Some(status) = self.status(&caller.handle, id, sequence).await? else { return Ok(None) };
            if status.recipients.iter().all(|recipient| recipient.state >= until) {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(Some(MessageStatus { timed_out: true, ..status }));
            }
            tokio::select! {
                _ = changed.changed() => {}
                _ = closed.changed() => {}
                () = sleep_until(deadline.min(Instant::now() + LOOK_AT_MARKS_AFTER)) => {}
            }
        }
    }

    pub(crate) async fn is_valid(&self, caller: &AgentCaller) -> Result<bool, Fault> {
        let principal = Principal { who: TokenOwner::Agent(caller.handle.clone()), token: caller.token };
        self.0.rooms.accounts.is_valid(&principal).await
    }
}
