//! The decisions on a notification. Pure.
//! Must not know: how it is sent.

use bytes::Bytes;
use plenary_accounts::Authority;
use plenary_engine::Decision;
use plenary_kernel::{OwnerName, Stamp, TimestampMs};
use serde::{Deserialize, Serialize};

use super::{
    event::{
        AttemptBegun, AttemptFailed, DeliveryEvent, DeliverySubject, NoticeAdded, NoticeEnded, NoticePutOff,
        NoticeRevived,
    },
    state::{DeliveryState, Progress},
};
use crate::{DIGEST_ITEMS_MAX, DIGEST_ITEMS_OF_STRANGERS_MAX, LEASE_MS, PAUSE_MS_MAX};

/// The retry policy, in milliseconds: the first pause, and the time until a notification is abandoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    pub(crate) first: u64,
    pub(crate) all: u64,
}

/// The recorded result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttemptRecord {
    /// The receiver accepted it.
    Accepted,
    /// A temporary failure: the error, and the least delay of a retry in milliseconds.
    Failed(String, Option<u64>),
    /// A permanent failure.
    Refused(String),
    /// There was nothing to send.
    Needless,
}

/// A new item of a notification.
#[derive(Debug, Clone)]
pub(crate) struct NewItem {
    pub(crate) subject: DeliverySubject,
    /// The position of its event, so that each event is added once.
    pub(crate) item: u64,
    /// The time of its digest; `None` if it is sent alone.
    pub(crate) digest: Option<TimestampMs>,
    /// The other owner whose agent caused it, if one did.
    pub(crate) stranger: Option<OwnerName>,
    /// The notice, as JSON.
    pub(crate) notice: Bytes,
}

/// A command on a notification.
#[derive(Debug, Clone)]
pub(crate) enum DeliveryStep {
    Add(NewItem),
    /// Starts an attempt, if the notification is due and no other attempt is active.
    Begin,
    /// Postpones a due notification until this time.
    Postpone(TimestampMs),
    /// Ends the attempt whose claim lasts until this time.
    End(TimestampMs, AttemptRecord),
    /// Queues a dead letter again.
    Revive(Authority),
    /// Drops a dead letter.
    Forget,
    /// Shortens a wait that began before the clock was set back by so many milliseconds; zero if that is not known.
    ShortenWait(u64),
}

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// Nothing changed.
    Nothing,
    Done,
    /// The attempt started; its claim lasts until this time.
    Begun(TimestampMs),
    /// The notification accepts no more items; a new one is needed.
    Closed,
}

type DeliveryDecision = Decision<DeliveryEvent, Outcome>;

pub(crate) fn decide(
    state: &DeliveryState,
    stamp: &Stamp,
    patience: Patience,
    step: &DeliveryStep,
) -> DeliveryDecision {
    match step {
        DeliveryStep::Add(new) => add(state, stamp, new),
        DeliveryStep::Begin => begin(state, stamp),
        DeliveryStep::Postpone(next) => postpone(state, stamp, *next),
        DeliveryStep::End(until, attempted) => end(state, stamp, patience, (*until, attempted)),
        DeliveryStep::Revive(authority) => match (&state.subject, state.progress) {
            (Some(subject), Progress::Dead(died)) => {
                let (subject, by) = (subject.clone(), authority.by.clone());
                let event = NoticeRevived { subject, died, due: stamp.now, by };
                Decision::new(vec![DeliveryEvent::NoticeRevived(event)], Outcome::Done)
            }
            _ => Decision::unchanged(Outcome::Nothing),
        },
        DeliveryStep::ShortenWait(set_back) => shorten_wait(state, stamp, *set_back),
        DeliveryStep::Forget => match (&state.subject, state.progress) {
            (Some(subject), Progress::Dead(died)) => {
                let event = NoticeEnded {
                    subject: subject.clone(),
                    due: None,
                    died: Some(died),
                    at: stamp.now,
                    error: state.error.clone(),
                };
                Decision::new(vec![DeliveryEvent::NoticeDropped(event)], Outcome::Done)
            }
            _ => Decision::unchanged(Outcome::Nothing),
        },
    }
}

fn add(state: &DeliveryState, stamp: &Stamp, new: &NewItem) -> DeliveryDecision {
    if state.items.contains(&new.item) {
        return Decision::unchanged(Outcome::Nothing);
    }
    let due = match (&state.subject, state.progress) {
        (None, _) => new.digest.unwrap_or(stamp.now),
        // A digest that was not attempted yet accepts items. Items of strangers have their own limit.
        (Some(_), Progress::Waiting(due)) if state.digest && state.attempts == 0 => {
            let is_full = match new.stranger {
                Some(_) => state.of_strangers >= DIGEST_ITEMS_OF_STRANGERS_MAX,
                None => state.items.len() - state.of_strangers >= DIGEST_ITEMS_MAX,
            };
            if is_full {
                return Decision::unchanged(Outcome::Nothing);
            }
            due
        }
        (Some(_), _) => return Decision::unchanged(Outcome::Closed),
    };
    let event = NoticeAdded {
        subject: state.subject.as_ref().unwrap_or(&new.subject).clone(),
        item: new.item,
        due,
        digest: new.digest.is_some(),
        stranger: new.stranger.clone(),
        notice: new.notice.clone(),
    };
    Decision::new(vec![DeliveryEvent::NoticeAdded(event)], Outcome::Done)
}

fn begin(state: &DeliveryState, stamp: &Stamp) -> DeliveryDecision {
    let (Some(subject), Some(due)) = (&state.subject, state.due().filter(|due| *due <= stamp.now)) else {
        return Decision::unchanged(Outcome::Nothing);
    };
    let until = TimestampMs(stamp.now.0.saturating_add(LEASE_MS));
    let event = AttemptBegun { subject: subject.clone(), due, until };
    Decision::new(vec![DeliveryEvent::AttemptBegun(event)], Outcome::Begun(until))
}

fn postpone(state: &DeliveryState, stamp: &Stamp, next: TimestampMs) -> DeliveryDecision {
    let due = state.due().filter(|due| *due <= stamp.now && stamp.now < next);
    let (Some(subject), Some(due)) = (&state.subject, due) else {
        return Decision::unchanged(Outcome::Nothing);
    };
    let event = NoticePutOff { subject: subject.clone(), due, next };
    Decision::new(vec![DeliveryEvent::NoticePutOff(event)], Outcome::Done)
}

/// The wait ends as much earlier as the clock was set back; in any case after the longest pause. A digest has its own time.
fn shorten_wait(state: &DeliveryState, stamp: &Stamp, set_back: u64) -> DeliveryDecision {
    let (Some(subject), Progress::Waiting(due)) = (&state.subject, state.progress) else {
        return Decision::unchanged(Outcome::Nothing);
    };
    let is_new = state.attempts == 0;
    let latest = stamp.now.0.saturating_add(if is_new { 0 } else { PAUSE_MS_MAX });
    let next = TimestampMs(due.0.saturating_sub(set_back).min(latest)).max(stamp.now);
    if next >= due || is_new && state.digest {
        return Decision::unchanged(Outcome::Nothing);
    }
    let event = NoticePutOff { subject: subject.clone(), due, next };
    Decision::new(vec![DeliveryEvent::NoticePutOff(event)], Outcome::Done)
}

fn end(
    state: &DeliveryState,
    stamp: &Stamp,
    patience: Patience,
    (until, attempted): (TimestampMs, &AttemptRecord),
) -> DeliveryDecision {
    // If another process took the notification over, its attempt counts.
    let (Some(subject), true) = (&state.subject, state.progress == Progress::Trying(until)) else {
        return Decision::unchanged(Outcome::Nothing);
    };
    let ended = |error: &str| NoticeEnded {
        subject: subject.clone(),
        due: Some(until),
        died: None,
        at: stamp.now,
        error: error.to_owned(),
    };
    let event = match attempted {
        AttemptRecord::Accepted => DeliveryEvent::NoticeDelivered(ended("")),
        AttemptRecord::Needless => DeliveryEvent::NoticeDropped(ended("")),
        AttemptRecord::Refused(error) => DeliveryEvent::NoticeDied(ended(error)),
        AttemptRecord::Failed(error, retry_after) => {
            let next = TimestampMs(stamp.now.0.saturating_add(pause(patience, state.attempts, *retry_after)));
            let since = state.since.unwrap_or(stamp.now);
            if next.0.saturating_sub(since.0) > patience.all {
                DeliveryEvent::NoticeDied(ended(error))
            } else {
                let (subject, due, error) = (subject.clone(), until, error.clone());
                DeliveryEvent::AttemptFailed(AttemptFailed { subject, due, next, error })
            }
        }
    };
    Decision::new(vec![event], Outcome::Done)
}

/// The pause before the next attempt: doubled each time, at least as long as the receiver asks, at most an hour.
fn pause(patience: Patience, attempts: u32, retry_after: Option<u64>) -> u64 {
    let doubled =
        patience.first.saturating_mul(1_u64.checked_shl(attempts.saturating_sub(1)).unwrap_or(u64::MAX));
    doubled.max(retry_after.unwrap_or(0)).min(PAUSE_MS_MAX)
}

#[cfg(test)]
mod tests {
    use plenary_accounts::Actor;
    use plenary_kernel::SubscriptionId;

    use super::*;

    const PATIENCE: Patience = Patience { first: 1_000, all: 10_000 };

    fn subject() -> DeliverySubject {
        DeliverySubject {
            owner: "ann".parse().unwrap(),
            subscription: SubscriptionId::mint(&Stamp::new(TimestampMs(1), [0; 10]), 0),
            created: TimestampMs(1),
        }
    }

    fn add(item: u64, digest: Option<u64>) -> DeliveryStep {
        let digest = digest.map(TimestampMs);
        DeliveryStep::Add(NewItem { subject: subject(), item, digest, stranger: None, notice: "{}".into() })
    }

    fn add_of_stranger(item: u64, digest: u64) -> DeliveryStep {
        let (digest, stranger) = (Some(TimestampMs(digest)), Some("bob".parse().unwrap()));
        DeliveryStep::Add(NewItem { subject: subject(), item, digest, stranger, notice: "{}".into() })
    }

    fn done(state: &mut DeliveryState, now: u64, step: &DeliveryStep) -> Outcome {
        let decided = decide(state, &Stamp::new(TimestampMs(now), [0; 10]), PATIENCE, step);
        decided.events.iter().for_each(|event| state.evolve(event));
        decided.reply
    }

    fn begin_attempt(state: &mut DeliveryState, now: u64) -> TimestampMs {
        let Outcome::Begun(until) = done(state, now, &DeliveryStep::Begin) else { panic!("it is not due") };
        until
    }

    fn failed() -> AttemptRecord {
        AttemptRecord::Failed("503".into(), None)
    }

    #[test]
    fn given_one_attempt_then_no_other_begins_before_its_claim_expires() {
        let mut state = DeliveryState::default();
        assert_eq!(done(&mut state, 5, &add(1, None)), Outcome::Done);
        assert_eq!(done(&mut state, 5, &add(1, None)), Outcome::Nothing, "the same again");
        let until = begin_attempt(&mut state, 5);
        assert_eq!(done(&mut state, 6, &DeliveryStep::Begin), Outcome::Nothing);
        let other = begin_attempt(&mut state, until.0);
        assert_eq!(
            done(&mut state, 7, &DeliveryStep::End(until, AttemptRecord::Accepted)),
            Outcome::Nothing,
            "another attempt took it over"
        );
        assert_eq!(done(&mut state, 8, &DeliveryStep::End(other, AttemptRecord::Accepted)), Outcome::Done);
        assert_eq!(state.progress, Progress::Over);
    }

    #[test]
    fn given_failures_then_pauses_double_and_end_with_its_death() {
        let mut state = DeliveryState::default();
        done(&mut state, 0, &add(1, None));
        for (now, due) in [(0, 1_000), (1_000, 3_000), (3_000, 7_000)] {
            let until = begin_attempt(&mut state, now);
            done(&mut state, now, &DeliveryStep::End(until, failed()));
            assert_eq!(state.progress, Progress::Waiting(TimestampMs(due)));
            assert_eq!(done(&mut state, due - 1, &DeliveryStep::Begin), Outcome::Nothing);
        }
        let until = begin_attempt(&mut state, 7_000);
        done(&mut state, 7_000, &DeliveryStep::End(until, failed()));
        assert_eq!((state.progress, state.attempts), (Progress::Dead(TimestampMs(7_000)), 4));
        let authority = Authority { by: Actor::Operator, token: None };
        assert_eq!(done(&mut state, 90_000, &DeliveryStep::Revive(authority)), Outcome::Done);
        let until = begin_attempt(&mut state, 90_000);
        done(&mut state, 90_000, &DeliveryStep::End(until, AttemptRecord::Refused("410".into())));
        assert_eq!(state.progress, Progress::Dead(TimestampMs(90_000)));
        assert_eq!(done(&mut state, 90_001, &DeliveryStep::Forget), Outcome::Done);
        assert_eq!(state.progress, Progress::Over);
    }

    #[test]
    fn given_a_requested_delay_then_it_is_kept_up_to_an_hour() {
        assert_eq!(pause(PATIENCE, 1, Some(5_000)), 5_000);
        assert_eq!(pause(PATIENCE, 4, Some(5_000)), 8_000);
        assert_eq!(pause(PATIENCE, 1, Some(u64::MAX)), PAUSE_MS_MAX);
        assert_eq!(pause(PATIENCE, 200, None), PAUSE_MS_MAX);
    }

    #[test]
    fn given_a_digest_then_it_accepts_items_until_it_is_sent() {
        let mut state = DeliveryState::default();
        for item in 0..DIGEST_ITEMS_MAX as u64 {
            assert_eq!(done(&mut state, item, &add(item, Some(500))), Outcome::Done);
        }
        assert_eq!(done(&mut state, 400, &add(900, Some(500))), Outcome::Nothing, "it is full");
        assert_eq!(done(&mut state, 499, &DeliveryStep::Begin), Outcome::Nothing);
        begin_attempt(&mut state, 500);
        assert_eq!(done(&mut state, 501, &add(901, Some(500))), Outcome::Closed);
    }

    #[test]
    fn given_many_items_of_strangers_then_the_agents_own_still_fit() {
        let mut state = DeliveryState::default();
        for item in 0..DIGEST_ITEMS_OF_STRANGERS_MAX as u64 {
            assert_eq!(done(&mut state, item, &add_of_stranger(item, 500)), Outcome::Done);
        }
        assert_eq!(
            done(&mut state, 400, &add_of_stranger(900, 500)),
            Outcome::Nothing,
            "their share is full"
        );
        for item in 1_000..1_000 + DIGEST_ITEMS_MAX as u64 {
            assert_eq!(done(&mut state, 400, &add(item, Some(500))), Outcome::Done);
        }
        assert_eq!(done(&mut state, 400, &add(2_000, Some(500))), Outcome::Nothing, "it is full");
    }

    #[test]
    fn given_a_time_without_attempts_then_it_does_not_count() {
        let mut state = DeliveryState::default();
        done(&mut state, 0, &add(1, None));
        let until = begin_attempt(&mut state, 0);
        done(&mut state, 0, &DeliveryStep::End(until, failed()));
        for (now, due) in [(100_000, 102_000), (102_000, 106_000)] {
            let until = begin_attempt(&mut state, now);
            done(&mut state, now, &DeliveryStep::End(until, failed()));
            assert_eq!(state.progress, Progress::Waiting(TimestampMs(due)));
        }
        let until = begin_attempt(&mut state, 106_000);
        done(&mut state, 106_000, &DeliveryStep::End(until, failed()));
        assert_eq!(state.progress, Progress::Dead(TimestampMs(106_000)));
    }

    #[test]
    fn given_a_clock_that_was_set_back_then_a_pause_is_not_longer_for_that() {
        const HOUR: u64 = 3_600_000;
        let waiting = |state: &DeliveryState| state.due().unwrap().0;
        let mut state = DeliveryState::default();
        done(&mut state, 10 * HOUR, &add(1, None));
        let mut new = state.clone();
        assert_eq!(
            done(&mut new, 10 * HOUR, &DeliveryStep::ShortenWait(HOUR)),
            Outcome::Nothing,
            "it is due"
        );
        assert_eq!(done(&mut new, 9 * HOUR, &DeliveryStep::ShortenWait(0)), Outcome::Done);
        begin_attempt(&mut new, 9 * HOUR);
        let until = begin_attempt(&mut state, 10 * HOUR);
        assert_eq!(
            done(&mut state, 9 * HOUR, &DeliveryStep::ShortenWait(HOUR)),
            Outcome::Nothing,
            "it is sent"
        );
        done(&mut state, 10 * HOUR, &DeliveryStep::End(until, failed()));
        let mut unknown = state.clone();
        assert_eq!(done(&mut state, 9 * HOUR, &DeliveryStep::ShortenWait(HOUR)), Outcome::Done);
        assert_eq!(waiting(&state), 9 * HOUR + 1_000);
        assert_eq!(done(&mut state, 9 * HOUR, &DeliveryStep::ShortenWait(HOUR)), Outcome::Done);
        assert_eq!(waiting(&state), 9 * HOUR, "not before now");
        assert_eq!(done(&mut unknown, 9 * HOUR + 1_000, &DeliveryStep::ShortenWait(0)), Outcome::Nothing);
        assert_eq!(done(&mut unknown, 2 * HOUR, &DeliveryStep::ShortenWait(0)), Outcome::Done);
        assert_eq!(waiting(&unknown), 2 * HOUR + PAUSE_MS_MAX);
        let mut digest = DeliveryState::default();
        done(&mut digest, HOUR, &add(1, Some(9 * HOUR)));
        assert_eq!(
            done(&mut digest, HOUR, &DeliveryStep::ShortenWait(HOUR)),
            Outcome::Nothing,
            "it collects"
        );
    }

    #[test]
    fn given_quiet_hours_then_it_waits_for_their_end_and_they_do_not_count() {
        let mut state = DeliveryState::default();
        done(&mut state, 0, &add(1, None));
        let until = begin_attempt(&mut state, 0);
        done(&mut state, 0, &DeliveryStep::End(until, failed()));
        let postpone = DeliveryStep::Postpone(TimestampMs(50_000));
        assert_eq!(done(&mut state, 999, &postpone), Outcome::Nothing, "it is not due");
        assert_eq!(done(&mut state, 1_000, &postpone), Outcome::Done);
        assert_eq!(done(&mut state, 49_999, &DeliveryStep::Begin), Outcome::Nothing);
        let until = begin_attempt(&mut state, 50_000);
        assert_eq!(done(&mut state, 50_001, &postpone), Outcome::Nothing, "it is being sent");
        done(&mut state, 50_000, &DeliveryStep::End(until, failed()));
        assert_eq!(state.progress, Progress::Waiting(TimestampMs(52_000)), "longer than is tried otherwise");
    }
}
