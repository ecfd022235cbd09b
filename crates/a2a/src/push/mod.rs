//! Push notifications (sections 3.1.7 to 3.1.10, 4.3): the URLs at which clients get tasks, as the engine sees them.
//! Must not know: the bindings, or how notifications are sent.

pub(crate) mod calls;
mod decide;
mod event;
mod push_queue;
mod schedule;

use plenary_accounts::{Accounts, Authority};
use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::{Fault, IndexOp};

use self::event::PushEvent;
pub(crate) use self::{
    decide::{PushState, PushStep, Rejection},
    push_queue::PushBoard,
};

/// The unsettled configurations: `<stream of the task>/<owner>/<task>/<configuration>`.
pub(crate) const WATCHED: &str = "a2a.push";

/// The streams `a2a.push/<owner>`.
#[derive(Debug)]
pub(crate) struct PushRoom;

fn row(owner: &str, event: &PushEvent) -> String {
    let key = event.key();
    format!("{}/{owner}/{}/{}", key.stream, key.task, key.id)
}

impl Room for PushRoom {
    type State = PushState;
    type Event = PushEvent;
    const CATEGORY: &'static str = "a2a.push";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut PushState, _: Version, _: TimestampMs, event: &PushEvent) {
        state.evolve(event);
    }
    fn index(owner: &str, event: &PushEvent) -> Vec<IndexOp> {
        let key = row(owner, event);
        vec![match event {
            PushEvent::PushConfigSet(_) => IndexOp::put(WATCHED, key),
            PushEvent::PushConfigDeleted(_) | PushEvent::PushConfigSettled(_) => {
                IndexOp::delete(WATCHED, key)
            }
        }]
    }
    fn payer(owner: &str, _: &PushState, event: &PushEvent) -> Option<OwnerName> {
        match event {
            PushEvent::PushConfigSet(_) => owner.parse().ok(),
            PushEvent::PushConfigDeleted(_) | PushEvent::PushConfigSettled(_) => None,
        }
    }
}

/// A command on an owner's configurations.
pub(crate) struct PushCommand {
    pub(crate) accounts: Accounts,
    /// The caller; `None` for the server itself.
    pub(crate) authority: Option<Authority>,
    pub(crate) step: PushStep,
}

impl Command<PushRoom> for PushCommand {
    const NAME: &'static str = "do_push";
    type Reply = ();
    type Rejection = Rejection;
    type Facts = bool;

    async fn facts(&self, _: &PushState, conditions: &mut Conditions) -> Result<bool, Fault> {
        Ok(match &self.authority {
            Some(authority) => self.accounts.holds(authority, conditions).await?,
            None => true,
        })
    }

    fn decide(&self, state: &PushState, is_authorized: &bool, _: &Point) -> Decided<PushRoom, Self> {
        if *is_authorized { decide::decide(state, &self.step) } else { Err(Rejection::Unauthenticated) }
    }

    fn exceeds_quota(&self) -> bool {
        matches!(self.step, PushStep::Delete(_) | PushStep::Settle(_))
    }
}
