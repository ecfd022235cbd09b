//! One claim of this session: announce, extend, release.
//! Must not know: the claims of others.

use std::time::Duration;

use plenary_client::{
    Reply,
    frames::{FrameReceipt, LeaseExtend, LockRelease, LockRequest, Payload, Uuid, now as wall_now},
};
use plenary_kernel::TimestampMs;
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
/// How often to look whether the machine has slept.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// A shorter sleep is none: the two clocks are read one after the other.
const SLEEP_MIN: Duration = Duration::from_secs(1);
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
        let (mut in_trouble, mut clocks) = (false, Clocks::read(Instant::now(), wall_now()));
        loop {
            sleep_until(schedule.due.min(Instant::now() + LOOK_EVERY)).await;
            let now = Instant::now();
            let slept = clocks.slept(now, wall_now());
            schedule.age(slept);
            announce = announce.checked_sub(slept).unwrap_or(now);
            if now < schedule.due {
                continue;
            }
            // Listeners have forgotten a claim that is over, and ignore its extension.
            let result = if now >= announce || now >= schedule.expires {
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

/// Both clocks: only the wall clock runs on while the machine sleeps.
struct Clocks {
    running: Instant,
    wall: TimestampMs,
}

impl Clocks {
    const fn read(running: Instant, wall: TimestampMs) -> Self {
        Self { running, wall }
    }

    /// Reads them again; how long the machine slept meanwhile.
    fn slept(&mut self, running: Instant, wall: TimestampMs) -> Duration {
        let passed = Duration::from_millis(wall.0.saturating_sub(self.wall.0));
        let slept = passed.saturating_sub(running - self.running);
        *self = Self::read(running, wall);
        if slept < SLEEP_MIN { Duration::ZERO } else { slept }
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

    /// Counts a sleep, in which the clock of these moments stood still.
    fn age(&mut self, slept: Duration) {
        self.expires = self.expires.checked_sub(slept).unwrap_or(self.expires);
        self.due = self.due.checked_sub(slept).unwrap_or(self.due);
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
    fn a_claim_is_over_after_a_sleep_that_is_longer_than_its_lease() {
        let (lease, start) = (Duration::from_secs(100), Instant::now());
        let mut schedule = Schedule::announced(lease, start);
        let mut clocks = Clocks::read(start, TimestampMs(1_000));
        let awake = start + Duration::from_secs(2);
        for (wall, over) in [(3_900, false), (100_000, false), (10_000, false), (3_700_000, true)] {
            let slept = clocks.slept(awake, TimestampMs(wall));
            schedule.age(slept);
            assert_eq!(schedule.expires <= awake, over, "{wall}");
        }
        assert!(schedule.due <= awake);
    }

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
