//! Waits for an answer: woken by commits, ended by a time limit, or by the end of the token or the server.
//! Must not know: HTTP.

use std::time::Duration;

use plenary_accounts::{Follower, Principal};
use plenary_engine::Room as _;
use plenary_kernel::AskId;
use plenary_log::Fault;
use plenary_room::CannotWatch;
use tokio::time::{Instant, timeout_at};

use crate::{Requests, request_view::RequestReading, room::RequestRoom};

/// The interval of checks without a wake-up.
const RECHECK_AFTER: Duration = Duration::from_secs(15);

/// The end of a wait.
#[derive(Debug)]
pub(crate) enum WaitOutcome {
    /// The request: settled, or unsettled after the time limit.
    Reading(Box<RequestReading>),
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
        let Some(reading) = self.reading_for(&principal.who, id).await? else {
            return Ok(WaitOutcome::NoSuchRequest);
        };
        if reading.is_settled || wait.is_zero() {
            return Ok(WaitOutcome::Reading(Box::new(reading)));
        }
        let follower = Follower::new(Some(principal));
        let watch = match self.0.waiting.watch(&stream, follower, reading.view.owner.clone()) {
            Ok(watch) => watch,
            Err(reason) => return Ok(WaitOutcome::CannotWait(reason)),
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
            let Some(reading) = self.reading_for(&principal.who, id).await? else {
                return Ok(WaitOutcome::NoSuchRequest);
            };
            if reading.is_settled || Instant::now() >= deadline {
                return Ok(WaitOutcome::Reading(Box::new(reading)));
            }
            let until = deadline.min(Instant::now() + RECHECK_AFTER);
            let _woken = timeout_at(until, watch.mailbox().wait()).await;
        }
    }
}
