//! The scheduler of the room: sends due notifications, with a limit on concurrent ones in total and per owner, so
//! that a slow receiver delays no others.
//! Must not know: how a notification is sent.

use std::{
    collections::{BTreeSet, HashMap},
    sync::atomic::Ordering,
    time::Duration,
};

use plenary_kernel::{NoticeId, OwnerName, TimestampMs, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order};
use tokio::{
    task::{Id, JoinSet},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Notify, SENDS_MAX, SENDS_PER_OWNER_MAX,
    delivery::{
        DUE,
        decide::{AttemptRecord, DeliveryStep},
        state::Progress,
        time,
    },
    hours::quiet_until,
};

/// The interval of the scheduler.
const EVERY: Duration = Duration::from_millis(200);
/// The pause after a fault.
const PAUSE: Duration = Duration::from_secs(1);
/// Most due notifications that are searched for one that may be sent.
const LOOKED_AT_MAX: usize = 20 * READ_ROWS_MAX;
/// How far back a clock is set at least; less may be the difference of two readings.
const SET_BACK_MS_MIN: u64 = 1_000;
/// Most waiting notifications that are looked at, at a start and after the clock was set back.
const AHEAD_MAX: usize = READ_ROWS_MAX;
/// Most damaged notifications that are remembered.
const DAMAGED_MAX: usize = 1_000;

/// The active attempts.
#[derive(Default)]
struct Sends {
    tasks: JoinSet<Result<(), Fault>>,
    under_way: HashMap<Id, (OwnerName, NoticeId)>,
    /// Damaged notifications, skipped until the server restarts so that they do not delay later ones.
    damaged: BTreeSet<NoticeId>,
}

impl Sends {
    fn may_send(&self, owner: &OwnerName, id: &NoticeId) -> bool {
        let is_sent = self.under_way.values().any(|(_, other)| other == id) || self.damaged.contains(id);
        let of_owner = self.under_way.values().filter(|(other, _)| other == owner).count();
        !is_sent && of_owner < SENDS_PER_OWNER_MAX
    }

    fn leave_out(&mut self, damaged: Option<NoticeId>) {
        // Beyond the limit they are tried again.
        if self.damaged.len() >= DAMAGED_MAX {
            self.damaged.clear();
        }
        self.damaged.extend(damaged);
    }

    /// Removes finished attempts; whether there were any.
    fn sweep(&mut self) -> bool {
        let mut any = false;
        while let Some(over) = self.tasks.try_join_next_with_id() {
            any = true;
            let id = match over {
                Ok((id, Ok(()))) => id,
                Ok((id, Err(fault @ Fault::Corrupt(_)))) => {
                    tracing::error!(%fault, "a damaged notification is not sent");
                    let damaged = self.under_way.get(&id).map(|(_, notice)| notice.clone());
                    self.leave_out(damaged);
                    id
                }
                Ok((id, Err(fault))) => {
                    tracing::warn!(%fault, "a notification is not sent yet");
                    id
                }
                // A panic ends the task: the claim expires, and the notification is sent again.
                Err(error) => {
                    tracing::error!(%error, "sending a notification ended early");
                    error.id()
                }
            };
            self.under_way.remove(&id);
        }
        any
    }
}

impl Notify {
    /// Turns events of requests into notifications and sends due ones, until the server stops.
    pub(crate) async fn work(&self, stop: CancellationToken) {
        let handle = |event| {
            let notify = self.clone();
            async move { notify.handle_event(&event).await }
        };
        let working = async {
            tokio::join!(self.0.reactor.react(handle), self.send_due());
        };
        stop.run_until_cancelled(working).await;
    }

    /// Ends the attempts of a process that has died, so that they are repeated. On a shared store the process may
    /// still live; there the claims expire by themselves.
    pub(crate) async fn take_over(&self) -> Result<(), Fault> {
        if self.log().shared() {
            return Ok(());
        }
        let mut rows = self.log().index_rows(DUE, "", Order::Ascending);
        while let Some(row) = rows.next().await? {
            if let Some(id) = row.key.rsplit('/').next().and_then(|id| id.parse::<NoticeId>().ok()) {
                let ended = self.end_abandoned(&id).await;
                Fault::skip_corrupt(ended, "a damaged notification is not taken over")?;
            }
        }
        Ok(())
    }

    async fn end_abandoned(&self, id: &NoticeId) -> Result<(), Fault> {
        let (state, _) = self.0.deliveries.state(id.as_str()).await?;
        if let Progress::Trying(until) = state.progress {
            let ended = AttemptRecord::Failed("the server ended".to_owned(), None);
            self.handle(id, DeliveryStep::End(until, ended)).await?;
        }
        Ok(())
    }

    async fn send_due(&self) {
        let (mut sends, mut before) = (Sends::default(), None);
        loop {
            let has_room = sends.sweep();
            let now = self.now();
            if let Some(set_back) = set_back(before.replace(now), now)
                && let Err(fault) = self.shorten_waits(set_back).await
            {
                tracing::warn!(%fault, "notifications wait for a time of a clock that was set back");
            }
            if has_room || self.0.next_due.load(Ordering::Acquire) <= now.0 {
                // Set before the search, so that a time that is noted meanwhile is not lost.
                self.0.next_due.store(u64::MAX, Ordering::Release);
                if let Err(fault) = self.launch(&mut sends).await {
                    tracing::warn!(%fault, "notifications that are due are not looked up; it is tried again");
                    self.0.next_due.store(0, Ordering::Release);
                    sleep(PAUSE).await;
                }
            }
            let _rung = timeout(EVERY, self.0.bell.notified()).await;
        }
    }

    /// Shortens the waits that began before the clock was set back.
    async fn shorten_waits(&self, set_back: u64) -> Result<(), Fault> {
        let (mut rows, mut looked_at) = (self.log().index_rows(DUE, "", Order::Ascending), 0);
        while looked_at < AHEAD_MAX
            && let Some(row) = rows.next().await?
        {
            let Some((due_at, id)) = row.key.split_once('/') else { continue };
            if *due_at <= *time(self.now()) {
                continue;
            }
            looked_at += 1;
            if let Ok(id) = id.parse() {
                let shortened = self.shorten_wait(&id, set_back).await;
                Fault::skip_corrupt(shortened, "a damaged notification waits on")?;
            }
        }
        Ok(())
    }

    /// The same for one. The end of quiet hours is a time of the new clock too.
    async fn shorten_wait(&self, id: &NoticeId, set_back: u64) -> Result<(), Fault> {
        let (state, _) = self.0.deliveries.state(id.as_str()).await?;
        let Some(subject) = &state.subject else { return Ok(()) };
        let (subscriptions, _) = self.0.subscriptions.fresh(subject.owner.as_str()).await?;
        let subscription = subscriptions.get(&subject.subscription);
        let quiet = subscription.and_then(|subscription| subscription.quiet.as_ref());
        if quiet_until(quiet, self.now()).is_none() {
            self.handle(id, DeliveryStep::ShortenWait(set_back)).await?;
        }
        Ok(())
    }

    /// Starts attempts for due notifications within the limits.
    async fn launch(&self, sends: &mut Sends) -> Result<(), Fault> {
        let (mut rows, mut looked_at) = (self.log().index_rows(DUE, "", Order::Ascending), 0);
        while looked_at < LOOKED_AT_MAX
            && sends.tasks.len() < SENDS_MAX
            && let Some(row) = rows.next().await?
        {
            looked_at += 1;
            let Some((due_at, id)) = row.key.split_once('/') else { continue };
            if *due_at > *time(self.now()) {
                if let Ok(due_at) = due_at.parse() {
                    self.0.next_due.fetch_min(due_at, Ordering::AcqRel);
                }
                break;
            }
            let owner = std::str::from_utf8(&row.value).ok().and_then(|owner| owner.parse().ok());
            let (Some(owner), Ok(id)) = (owner, id.parse::<NoticeId>()) else { continue };
            if sends.may_send(&owner, &id) {
                let (notify, attempted) = (self.clone(), id.clone());
                let task = sends.tasks.spawn(async move { notify.attempt(&attempted).await });
                sends.under_way.insert(task.id(), (owner, id));
            }
        }
        Ok(())
    }
}

/// By how many milliseconds the clock was set back since it was looked at before; `None` if it was not. At the first look nothing is
/// known.
fn set_back(before: Option<TimestampMs>, now: TimestampMs) -> Option<u64> {
    let by = before.map_or(0, |before| before.0.saturating_sub(now.0));
    (before.is_none() || by > SET_BACK_MS_MIN).then_some(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_start_and_after_the_clock_was_set_back_waits_are_looked_at() {
        for (before, now, by) in [
            (None, 5_000, Some(0)),
            (Some(5_000), 6_000, None),
            (Some(5_000), 4_000, None),
            (Some(3_600_000), 1_000, Some(3_599_000)),
        ] {
            assert_eq!(set_back(before.map(TimestampMs), TimestampMs(now)), by, "{before:?} {now}");
        }
    }
}
