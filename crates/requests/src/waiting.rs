//! Waits for an answer: woken by commits, ended by a time limit, or by the end of the token or the server.
//! Must not know: HTTP.

use std::time::Duration;

use plenary_accounts::Principal;
use plenary_engine::Room as _;
use plenary_kernel::AskId;
use plenary_log::Fault;
use plenary_room::CannotWatch;
use tokio::time::{Instant, timeout_at};

use crate::{Requests, reading::RequestReading, room::RequestRoom};

/// The interval of checks without a wake-up.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(15);

/// The end of a wait.
#[derive(Debug)]
pub(crate) enum WaitOutcome {
    /// The request: settled, or unsettled after the time limit.
    Seen(Box<RequestReading>),
    /// The request does not exist, or not for the caller.
    NoSuchRequest,
    /// The token was revoked meanwhile.
    Revoked,
    /// The limit of an owner's waits is reached, or the server stops.
    CannotWait(CannotWatch),
}

impl Requests {
    /// The request once it is settled, or its current state after the time limit.
    pub(crate) async fn wait(
        &self,
        principal: &Principal,
        id: &AskId,
        wait: Duration,
    ) -> Result<WaitOutcome, Fault> {
        let deadline = Instant::now() + wait;
        let stream = RequestRoom::stream(id.as_str());
        let Some(seen) = self.seen_by(&principal.who, id).await? else {
            return Ok(WaitOutcome::NoSuchRequest);
        };
        if seen.is_settled || wait.is_zero() {
            return Ok(WaitOutcome::Seen(Box::new(seen)));
        }
        let watch = match self.0.waiting.watch(&stream, (), seen.view.owner.clone()) {
            Ok(watch) => watch,
            Err(why) => return Ok(WaitOutcome::CannotWait(why)),
        };
        loop {
            // Before the read, so that a change after it is not missed.
            let marks = watch.mailbox().take();
            if marks.closing.is_some() {
                return Ok(WaitOutcome::CannotWait(CannotWatch::Stopping));
            }
            if !self.accounts().is_valid(principal).await? {
                return Ok(WaitOutcome::Revoked);
            }
            let Some(seen) = self.seen_by(&principal.who, id).await? else {
                return Ok(WaitOutcome::NoSuchRequest);
            };
            if seen.is_settled || Instant::now() >= deadline {
                return Ok(WaitOutcome::Seen(Box::new(seen)));
            }
            let until = deadline.min(Instant::now() + LOOK_AGAIN_AFTER);
            let _woken = timeout_at(until, watch.mailbox().wait()).await;
        }
    }
}
