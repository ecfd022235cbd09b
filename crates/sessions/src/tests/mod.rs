//! The inner tests of the Agent Session Protocol: deciders, eligibility, stored and wire forms, and live delivery on a
//! paused clock. Ids in names are those of the protocol's requirements.

pub(crate) mod coming_and_going;
mod crossing;
mod deciding_membership;
mod deciding_offers;
mod deciding_reopen;
mod deciding_start;
mod deciding_transport;
mod eligibility;
mod invariants;
mod list_order;
mod random;
mod reading_order;
mod recipients;
mod scene;
pub(crate) mod sentences;
mod stored_forms;
mod wire_forms;
