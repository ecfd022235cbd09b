//! Waiting for news: woken by what is committed, ended by a deadline, by the end of the token or of the server.
//! Must not know: what the news are.

use std::time::Duration;

use plenary_accounts::AgentCaller;
use plenary_log::Fault;
use tokio::time::{Instant, sleep_until};

use crate::{
    Inbox, WAITS_PER_AGENT_MAX,
    reading::Ask,
    refusals::{Refused, Rejection},
    wire::Page,
};

/// How often is looked again whether nothing was said of it.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(15);

impl Inbox {
    /// A page as soon as there is an item at least, or an empty one at the deadline.
    pub(crate) async fn wait(
        &self,
        caller: &AgentCaller,
        ask: &Ask,
        timeout: Duration,
    ) -> Result<Page, Refused> {
        let deadline = Instant::now() + timeout;
        let desk = self.0.desks.open(&caller.handle);
        let Some(_place) = desk.wait(WAITS_PER_AGENT_MAX) else { return Err(Rejection::TooManyWaits.into()) };
        let (mut changed, mut closed) = (desk.listen(), self.0.closed.subscribe());
        loop {
            // Before the look, so that nothing that comes after it goes unheard.
            changed.mark_unchanged();
            if *closed.borrow_and_update() {
                return Err(Rejection::Stopping.into());
            }
            if !self.is_valid(caller).await? {
                return Err(Rejection::Revoked.into());
            }
            let page = self.page(&caller.handle, ask).await?;
            if !page.items.is_empty() {
                return Ok(page);
            }
            tokio::select! {
                _ = changed.changed() => {}
                _ = closed.changed() => {}
                // What was handed to a session that is silent comes back without anybody being told.
                () = sleep_until(deadline.min(Instant::now() + LOOK_AGAIN_AFTER)) => {
                    if Instant::now() >= deadline {
                        return Ok(Page { timed_out: true, ..page });
                    }
                }
            }
        }
    }

    async fn is_valid(&self, caller: &AgentCaller) -> Result<bool, Fault> {
        let me = self.0.rooms.accounts.agent(&caller.handle).await?;
        Ok(me.state.is_live() && me.state.accepts_token(&caller.token))
    }
}
