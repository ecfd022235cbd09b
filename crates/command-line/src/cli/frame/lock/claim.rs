//! One claim of this session: announce, extend, release.
//! Must not know: the claims of others.

use std::time::Duration;

use plenary_client::{
    Reply,
    frames::{FrameReceipt, LeaseExtend, LockRelease, LockRequest, Payload, Uuid},
};
use tokio::time::{Instant, sleep_until, timeout};

use crate::cli::{
    context::Context,
    failure::Failure,
    frame::{
        compose::{FrameArgs, whole_ms},
        seat::Speaker,
    },
};

/// How long the release may take; the command is over, and the claim expires anyway.
const RELEASE_MAX: Duration = Duration::from_secs(5);
/// The share of the retention after which the claim is announced again for new listeners. An extension does not
/// repeat what it extends.
const ANNOUNCE_SHARE: u32 = 2;
/// The retention if the server does not report it.
const RETENTION_TIME: Duration = Duration::from_secs(300);

/// A claim of this session.
pub(super) struct Claim<'a> {
    pub(super) context: &'a Context,
    pub(super) speaker: Speaker,
    pub(super) frame: FrameArgs,
    pub(super) resource: String,
    pub(super) lease_id: Uuid,
    pub(super) lease: Duration,
    pub(super) intent: Option<String>,
}

impl Claim<'_> {
    async fn send(&self, payload: &Payload) -> Result<Reply<FrameReceipt>, Failure> {
        self.frame.send(self.context, &self.speaker, payload).await
    }

    /// Announces the claim.
    pub(super) async fn announce(&self) -> Result<Reply<FrameReceipt>, Failure> {
        let request = LockRequest {
            resource: self.resource.clone(),
            lease_id: self.lease_id.clone(),
            ttl_ms: whole_ms(self.lease),
            intent: self.intent.clone(),
        };
        self.send(&Payload::LockRequest(request)).await
    }

    async fn extend(&self) -> Result<Reply<FrameReceipt>, Failure> {
        let extend = LeaseExtend { lease_id: self.lease_id.clone(), ttl_ms: whole_ms(self.lease) };
        self.send(&Payload::LeaseExtend(extend)).await
    }

    /// Extends the claim until it is dropped. An error is reported once, and does not stop the work under the claim.
    pub(super) async fn keep_extended(&self) {
        let retention_time = match self.speaker.client.retention(&self.speaker.handle).await {
            Ok(retention) => Duration::from_millis(retention.max_age_ms),
            Err(_) => RETENTION_TIME,
        };
        let mut schedule = Schedule::announced(self.lease, Instant::now());
        let mut announce = Instant::now() + retention_time / ANNOUNCE_SHARE;
        let mut in_trouble = false;
        loop {
            sleep_until(schedule.due).await;
            let now = Instant::now();
            let result = if now >= announce {
                announce = now + retention_time / ANNOUNCE_SHARE;
                // Announce before extending: a new listener would ignore the extension.
                match self.announce().await {
                    Ok(_) => self.extend().await,
                    Err(failure) => Err(failure),
                }
            } else {
                self.extend().await
            };
            match result {
                Ok(_) => {
                    schedule.extended(now);
                    in_trouble = false;
                }
                Err(failure) => {
                    if !in_trouble {
                        self.note(&format!(
                            "the claim was not extended ({}); trying again",
                            describe(&failure)
                        ));
                    }
                    in_trouble = true;
                    schedule.failed(Instant::now());
                }
            }
        }
    }

    /// Releases the claim.
    pub(super) async fn release(&self) {
        let release = LockRelease { lease_id: self.lease_id.clone(), resource: Some(self.resource.clone()) };
        let payload = Payload::LockRelease(release);
        let reason = match timeout(RELEASE_MAX, self.send(&payload)).await {
            Ok(Ok(_)) => return,
            Ok(Err(failure)) => describe(&failure),
            Err(_) => "no answer".to_owned(),
        };
        self.note(&format!("the claim was not released ({reason}); it expires by itself"));
    }

    /// Prints a note beside the command's own output.
    pub(super) fn note(&self, text: &str) {
        self.context.out.note(&format!("plenary: {text}"));
    }
}

/// When a claim is extended: a quarter of a lease after its expiry was last moved, so that most of a lease always remains.
struct Schedule {
    lease: Duration,
    expires: Instant,
    due: Instant,
}

impl Schedule {
    /// The schedule of a claim that was announced at this time.
    fn announced(lease: Duration, now: Instant) -> Self {
        let expires = now + lease;
        Self { lease, expires, due: expires - lease * 3 / 4 }
    }

    /// Moves the expiry as listeners do: an extension counts from the expiry, or from now if the claim has expired.
    fn extended(&mut self, now: Instant) {
        self.expires = self.expires.max(now) + self.lease;
        self.due = self.expires - self.lease * 3 / 4;
    }

    /// Tries again soon; the expiry stays.
    fn failed(&mut self, now: Instant) {
        self.due = now + (self.lease / 10).max(Duration::from_millis(500));
    }
}

fn describe(failure: &Failure) -> String {
    if let Failure::Call(error) = failure { error.to_string() } else { "it could not be sent".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_do_not_delay_later_extensions() {
        let (lease, start) = (Duration::from_secs(100), Instant::now());
        let mut schedule = Schedule::announced(lease, start);
        assert_eq!(schedule.due, start + lease / 4);
        for _ in 0..20 {
            schedule.failed(schedule.due);
            assert!(schedule.due < schedule.expires, "one failure leaves time for another attempt");
            schedule.extended(schedule.due);
            assert_eq!(schedule.expires - schedule.due, lease * 3 / 4);
        }
        let late = schedule.expires + lease;
        schedule.extended(late);
        assert_eq!((schedule.expires, schedule.due), (late + lease, late + lease / 4));
    }
}
