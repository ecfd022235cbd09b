//! Blobs as a room of the engine.
//! Must not know: HTTP.

use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::{Fault, IndexOp, NewEvent, StreamName};

use super::{command::KeepBlob, decide, event::BlobKept, state::BlobState};
use crate::{
    Context,
    activity::{event::Activity, room::note},
    index::BLOBS,
    project::decide::InProject,
    rejection::Rejection,
};

/// The streams `context.blob/<project>/<sha256>`.
#[derive(Debug)]
pub(crate) struct BlobRoom;

impl Room for BlobRoom {
    type State = BlobState;
    type Event = BlobKept;
    const CATEGORY: &'static str = "context.blob";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut BlobState, _: Version, _: TimestampMs, _: &BlobKept) {
        state.is_kept = true;
    }
    fn payer(_: &str, _: &BlobState, event: &BlobKept) -> Option<OwnerName> {
        event.by.owner()
    }
    fn content_bytes(event: &BlobKept) -> u64 {
        event.bytes
    }
    fn follow(id: &str, version: Version, _: &BlobKept) -> Vec<(StreamName, NewEvent)> {
        vec![note(Activity::BlobKept, id, version, None, None)]
    }
    fn index(id: &str, event: &BlobKept) -> Vec<IndexOp> {
        vec![IndexOp::put_value(BLOBS, id.to_owned(), event.bytes.to_string())]
    }
}

/// `KeepBlob` with its context.
pub(crate) struct KeepBlobWith<'a> {
    pub(crate) context: &'a Context,
    /// The project's key.
    pub(crate) project: &'a str,
    pub(crate) command: &'a KeepBlob,
}

impl Command<BlobRoom> for KeepBlobWith<'_> {
    const NAME: &'static str = "keep";
    type Reply = bool;
    type Rejection = Rejection;
    type Facts = InProject;

    async fn facts(&self, _: &BlobState, conditions: &mut Conditions) -> Result<InProject, Fault> {
        self.context.in_project(self.project, &self.command.authority, conditions).await
    }
    fn decide(&self, state: &BlobState, project: &InProject, _: &Point) -> Decided<BlobRoom, Self> {
        decide::keep(state, project, self.command)
    }
    /// The quota was already checked by a pledge, before the bytes were stored.
    fn exceeds_quota(&self) -> bool {
        true
    }
}
