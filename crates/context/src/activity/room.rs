//! The activity stream as a room of the engine.
//! Must not know: HTTP.

use plenary_engine::Room;
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::{NewEvent, StreamName};
use serde::{Deserialize, Serialize};

use super::event::{Activity, ActivityNoted};

/// The streams `context.activity/<project>`.
#[derive(Debug)]
pub(crate) struct ActivityRoom;

/// The state of an activity stream. Empty, because no decision uses the entries; only their number counts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Notes;

impl Room for ActivityRoom {
    type State = Notes;
    type Event = ActivityNoted;
    const CATEGORY: &'static str = "context.activity";
    const SNAPSHOT_FORM: u16 = 1;

    fn folds(_: &ActivityNoted) -> bool {
        false
    }
    /// No charge: the event that an entry is about is charged.
    fn payer(_: &str, _: &Notes, _: &ActivityNoted) -> Option<OwnerName> {
        None
    }
    fn evolve(_: &mut Notes, _: Version, _: TimestampMs, _: &ActivityNoted) {}
}

/// The entry for the event at this version of the stream `on`, which belongs to a project.
pub(crate) fn note(
    activity: Activity,
    on: &str,
    version: Version,
    draft_of: Option<String>,
    trace: Option<Box<str>>,
) -> (StreamName, NewEvent) {
    let project = on.split_once('/').map_or(on, |(project, _)| project);
    let noted = ActivityNoted { activity, on: on.to_owned(), version: version.0, draft_of, trace };
    (ActivityRoom::stream(project), noted.encode())
}
