//! Organisations as the engine sees them: owners' names with members and roles, for the protocols that address an
//! organisation (wire.md D.5).
//! Must not know: HTTP.

pub mod command;
mod decide;
pub mod event;
pub mod state;

use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room, Sealed, SideEvents, seal};
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::Fault;

use crate::{Accounts, Failure, KnownOrg, Rejection, owner};
use command::{EditOrg, OrgEdited, OrgFacts};
use event::OrgEvent;
use state::OrgState;

/// The streams `accounts.org/<org>`.
#[derive(Debug)]
pub struct OrgRoom;

impl Room for OrgRoom {
    type State = OrgState;
    type Event = OrgEvent;
    const CATEGORY: &'static str = "accounts.org";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut OrgState, _: Version, at: TimestampMs, event: &OrgEvent) {
        state.evolve(at, event);
    }
    fn payer(_: &str, _: &OrgState, event: &OrgEvent) -> Option<OwnerName> {
        match event {
            OrgEvent::OrgRegistered(event) => event.by.owner(),
            OrgEvent::MemberSet(event) => event.by.owner(),
            OrgEvent::MemberRemoved(_) => None,
        }
    }
}

struct EditOrgWith<'a> {
    accounts: &'a Accounts,
    command: EditOrg,
}

impl Command<OrgRoom> for EditOrgWith<'_> {
    const NAME: &'static str = "edit";
    type Reply = OrgEdited;
    type Rejection = Rejection;
    type Facts = OrgFacts;

    async fn facts(&self, _: &OrgState, conditions: &mut Conditions) -> Result<OrgFacts, Fault> {
        let EditOrg { authority, org, .. } = &self.command;
        let is_authorized = self.accounts.holds(authority, conditions).await?;
        let owner = self.accounts.owner(org).await?;
        conditions.push(owner.condition());
        Ok(OrgFacts { is_authorized, owner_exists: owner.state.exists() })
    }

    fn decide(&self, state: &OrgState, facts: &OrgFacts, _: &Point) -> Decided<OrgRoom, Self> {
        decide::edit(state, facts, &self.command)
    }

    fn side_events(&self, decision: &Decision<OrgEvent, OrgEdited>, _: &Stamp) -> SideEvents {
        if !decision.reply.makes_owner {
            return SideEvents::default();
        }
        owner::registration_side_events(&self.command.org, &self.command.authority.by)
    }
}

impl Accounts {
    /// An organisation, with everything that any process has committed.
    pub fn organisation<'a>(&'a self, org: &'a OwnerName) -> Sealed<'a, Result<KnownOrg, Fault>> {
        seal(async move {
            let (state, version) = self.0.orgs.fresh(org.as_str()).await?;
            Ok(KnownOrg { org: org.clone(), state, version })
        })
    }

    /// Changes an organisation. True if it is new.
    pub fn edit_org(&self, command: EditOrg) -> Sealed<'_, Result<bool, Failure>> {
        seal(async move {
            let org = command.org.clone();
            let editing = EditOrgWith { accounts: self, command };
            let execution = self.0.orgs.execute(org.as_str(), &editing, None).await?;
            if execution.reply.makes_owner {
                self.catch_up(&self.0.owners, org.as_str()).await?;
            }
            Ok(execution.reply.is_new)
        })
    }
}
