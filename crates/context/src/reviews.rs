//! The review log of a package: its deposit and every step, from the events.
//! Must not know: HTTP.

use plenary_kernel::rfc3339::Utc;
use plenary_log::StoredEvent;

use crate::{
    package::event::{PackageEvent, PackageMoved},
    wire::ReviewStep,
};

/// The entry of the review log for an event.
pub(crate) fn step_of(stored: &StoredEvent, event: &PackageEvent) -> ReviewStep {
    let here = || Utc(stored.at).to_string();
    match event {
        PackageEvent::PackageDeposited(event) => ReviewStep {
            action: "deposit",
            from: None,
            status: event.status.as_str(),
            review_type: event.review_type.as_str(),
            note: None,
            by: event.by.to_string(),
            at: event.at.map_or_else(here, |at| at.to_string()),
            content_hash: event.hash.to_string(),
        },
        PackageEvent::PackageFlagged(event) => moved("flag", event, here()),
        PackageEvent::PackageReviewed(event) => moved("review", event, here()),
    }
}

fn moved(action: &'static str, event: &PackageMoved, here: String) -> ReviewStep {
    ReviewStep {
        action,
        from: Some(event.from.as_str()),
        status: event.status.as_str(),
        review_type: event.review_type.as_str(),
        note: event.note.clone(),
        by: event.by.to_string(),
        at: event.at.map_or(here, |at| at.to_string()),
        content_hash: event.hash.to_string(),
    }
}
