//! Notifications as the engine sees them: the streams `notify.delivery/<notice>`, their indexes, their commands.
//! Must not know: HTTP.

pub(crate) mod decide;
pub(crate) mod event;
pub(crate) mod state;

use bytes::Bytes;
use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::{Fault, IndexOp};

use crate::Notify;
use decide::{DeliveryStep, Outcome};
use event::{DeliveryEvent, DeliverySubject};
use state::DeliveryState;

/// The notifications that wait, `<at>/<notice>`, with the owner as the value.
pub(crate) const DUE: &str = "notify.due";
/// The queued notifications about requests of the owner's own agents: `<owner>/<notice>`.
pub(crate) const QUEUED: &str = "notify.queued";
/// The queued notifications about requests that strangers caused: `<owner>/<notice>`.
pub(crate) const QUEUED_OF_STRANGERS: &str = "notify.queued_of_strangers";
/// The dead letters: `<owner>/<at>/<notice>`.
pub(crate) const DEAD: &str = "notify.dead";

/// A time as part of a key, in sortable form.
pub(crate) fn time(time: TimestampMs) -> String {
    format!("{:020}", time.0)
}

/// The streams `notify.delivery/<notice>`.
#[derive(Debug)]
pub(crate) struct DeliveryRoom;

fn due(id: &str, subject: &DeliverySubject, due_at: TimestampMs) -> IndexOp {
    IndexOp::put_value(
        DUE,
        format!("{}/{id}", time(due_at)),
        Bytes::copy_from_slice(subject.owner.as_str().as_bytes()),
    )
}

fn not_due(id: &str, due_at: TimestampMs) -> IndexOp {
    IndexOp::delete(DUE, format!("{}/{id}", time(due_at)))
}

fn queued(id: &str, subject: &DeliverySubject) -> String {
    format!("{}/{id}", subject.owner)
}

fn dead(id: &str, subject: &DeliverySubject, due_at: TimestampMs) -> String {
    format!("{}/{}/{id}", subject.owner, time(due_at))
}

impl Room for DeliveryRoom {
    type State = DeliveryState;
    type Event = DeliveryEvent;
    const CATEGORY: &'static str = "notify.delivery";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut DeliveryState, _: Version, _: TimestampMs, event: &DeliveryEvent) {
        state.evolve(event);
    }
    fn index(id: &str, event: &DeliveryEvent) -> Vec<IndexOp> {
        let subject = event.subject();
        match event {
            DeliveryEvent::NoticeAdded(event) => {
                let list = if event.stranger.is_some() { QUEUED_OF_STRANGERS } else { QUEUED };
                vec![due(id, subject, event.due), IndexOp::put(list, queued(id, subject))]
            }
            DeliveryEvent::AttemptBegun(event) => vec![not_due(id, event.due), due(id, subject, event.until)],
            DeliveryEvent::AttemptFailed(event) => vec![not_due(id, event.due), due(id, subject, event.next)],
            DeliveryEvent::NoticePutOff(event) => vec![not_due(id, event.due), due(id, subject, event.next)],
            DeliveryEvent::NoticeDelivered(ended)
            | DeliveryEvent::NoticeDied(ended)
            | DeliveryEvent::NoticeDropped(ended) => {
                let no_more = |name| IndexOp::delete(name, queued(id, subject));
                let mut ops = vec![no_more(QUEUED), no_more(QUEUED_OF_STRANGERS)];
                ops.extend(ended.due.map(|due_at| not_due(id, due_at)));
                ops.extend(ended.died.map(|due_at| IndexOp::delete(DEAD, dead(id, subject, due_at))));
                let is_dead = matches!(event, DeliveryEvent::NoticeDied(_));
                ops.extend(is_dead.then(|| IndexOp::put(DEAD, dead(id, subject, ended.at))));
                ops
            }
            DeliveryEvent::NoticeRevived(event) => vec![
                IndexOp::delete(DEAD, dead(id, subject, event.died)),
                IndexOp::put(QUEUED, queued(id, subject)),
                due(id, subject, event.due),
            ],
        }
    }
    /// The first event counts towards the owner's quota, unless a stranger caused it; later events count towards
    /// nobody's.
    fn payer(_: &str, _: &DeliveryState, event: &DeliveryEvent) -> Option<OwnerName> {
        match event {
            DeliveryEvent::NoticeAdded(event) => {
                event.stranger.is_none().then(|| event.subject.owner.clone())
            }
            DeliveryEvent::AttemptBegun(_)
            | DeliveryEvent::AttemptFailed(_)
            | DeliveryEvent::NoticePutOff(_)
            | DeliveryEvent::NoticeDelivered(_)
            | DeliveryEvent::NoticeDied(_)
            | DeliveryEvent::NoticeDropped(_)
            | DeliveryEvent::NoticeRevived(_) => None,
        }
    }
}

/// A command on a notification.
pub(crate) struct DeliveryCommand<'a> {
    pub(crate) notify: &'a Notify,
    pub(crate) step: DeliveryStep,
}

/// The caller's token is no longer valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unauthenticated;

impl Command<DeliveryRoom> for DeliveryCommand<'_> {
    const NAME: &'static str = "do_delivery";
    type Reply = Outcome;
    type Rejection = Unauthenticated;
    type Facts = bool;

    async fn facts(&self, _: &DeliveryState, conditions: &mut Conditions) -> Result<bool, Fault> {
        Ok(match &self.step {
            DeliveryStep::Revive(authority) => self.notify.accounts().holds(authority, conditions).await?,
            DeliveryStep::Add(_)
            | DeliveryStep::Begin
            | DeliveryStep::Postpone(_)
            | DeliveryStep::End(..)
            | DeliveryStep::Forget
            | DeliveryStep::ShortenWait(_) => true,
        })
    }

    fn decide(&self, state: &DeliveryState, holds: &bool, at: &Point) -> Decided<DeliveryRoom, Self> {
        if !holds {
            return Err(Unauthenticated);
        }
        Ok(decide::decide(state, &at.stamp, self.notify.patience(), &self.step))
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}
