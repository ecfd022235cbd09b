//! The decision whether a project may have a blob. Pure.
//! Must not know: its content.

use plenary_engine::Decision;

use super::{command::KeepBlob, event::BlobKept, state::BlobState};
use crate::{package::decide::enter, project::decide::InProject, rejection::Rejection};

/// Checks that the bearer may add blobs to the project now.
pub fn may_keep(project: &InProject, by: &plenary_accounts::Actor) -> Result<(), Rejection> {
    enter(project, by, false, |access| access.write)?;
    if project.project.archived_at.is_some() { Err(Rejection::ProjectArchived) } else { Ok(()) }
}

/// Decides `KeepBlob`; the reply is whether the blob is new to the project.
pub fn keep(
    state: &BlobState,
    project: &InProject,
    command: &KeepBlob,
) -> Result<Decision<BlobKept, bool>, Rejection> {
    let by = &command.authority.by;
    may_keep(project, by)?;
    if state.is_kept {
        return Ok(Decision::unchanged(false));
    }
    Ok(Decision::new(vec![BlobKept { by: by.clone(), bytes: command.bytes }], true))
}
