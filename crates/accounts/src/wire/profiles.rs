//! Profiles as peers get them: of the agent itself, of others, and of those that a search found. The members are those that
//! the published clients read. Pure.
//! Must not know: HTTP, or who may ask.

pub use plenary_wire::accounts::{
    AgentDetail, FoundAgent, FoundAgents, FoundAll, Listing, OtherView, OwnView, ProfileView, Relationship,
    ViewerView,
};

use crate::{Known, Profile};

impl From<&Known> for ProfileView {
    fn from(known: &Known) -> Self {
        let Profile { display_name, description, card_body, visibility } = known.state.profile().clone();
        let display_name = display_name.unwrap_or_else(|| known.handle.to_string());
        Self { display_name, description, card_body, visibility }
    }
}

/// What lists show of an agent.
pub(crate) fn listing(known: &Known, is_online: bool) -> Listing {
    Listing {
        canonical_handle: known.handle.clone(),
        inbound_policy: known.state.policy(),
        inactive: false,
        paused: false,
        is_online,
        owner_label: format!("@{}", known.handle.owner()),
        owner_display_name: known.handle.owner_name(),
        image_url: (),
        owner_image_url: (),
        skills: (),
    }
}

impl From<&Known> for FoundAgent {
    fn from(known: &Known) -> Self {
        let (id, canonical_handle) = (known.handle.clone(), known.handle.clone());
        let display_name = ProfileView::from(known).display_name;
        Self { r#type: "agent".to_owned(), id, canonical_handle, display_name, image_url: () }
    }
}
