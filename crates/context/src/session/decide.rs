//! The decisions on a session. Pure.
//! Must not know: its packages.

use plenary_engine::Decision;
use plenary_kernel::Stamp;

use super::{
    command::{EndSession, StartSession},
    event::{SessionEnded, SessionEvent, SessionStarted},
    state::SessionState,
};
use crate::{
    attribution::{itself, speaks_as},
    malformed::ContextFault,
    moment::Moment,
    package::decide::enter,
    project::decide::InProject,
    rejection::Rejection,
};

/// Decides `StartSession`: allowed for every caller that may deposit (AP-13, AP-14).
pub fn start(
    project: &InProject,
    command: &StartSession,
    stamp: &Stamp,
) -> Result<Decision<SessionEvent, String>, Rejection> {
    let by = &command.authority.by;
    enter(project, by, false, |access| access.write)?;
    let itself = itself(by);
    let actor_id = command.actor_id.clone().unwrap_or(itself.id);
    if !speaks_as(by, &actor_id, command.attribution) {
        return Err(Rejection::NotThatActor("actor_id"));
    }
    if project.project.archived_at.is_some() {
        return Err(Rejection::ProjectArchived);
    }
    let event = SessionStarted {
        by: by.clone(),
        session_id: command.session_id.clone(),
        actor_id,
        actor_type: command.actor_type.unwrap_or(itself.kind),
        callsign: command.callsign.clone(),
        started_at: Moment::of(stamp.now),
        extensions: command.extensions.clone(),
    };
    Ok(Decision::new(vec![SessionEvent::SessionStarted(event)], command.session_id.clone()))
}

/// Decides `EndSession`: allowed for the session's actor, once. Repeating the same end is no error.
pub fn end(
    state: &SessionState,
    project: &InProject,
    command: &EndSession,
    stamp: &Stamp,
) -> Result<Decision<SessionEvent, String>, Rejection> {
    let by = &command.authority.by;
    enter(project, by, false, |access| access.write)?;
    let Some(started) = &state.started else { return Err(Rejection::SessionNotFound) };
    if started.by != *by && !speaks_as(by, &started.actor_id, command.attribution) {
        return Err(Rejection::NotPermitted);
    }
    if let Some(ended_at) = state.ended_at {
        // Nothing can be set on an ended session: extensions that differ are refused and not dropped (AP-89).
        let is_same = command.ended_at.is_none_or(|asked| asked == ended_at)
            && started.extensions.has_all(&command.extensions);
        return if is_same {
            Ok(Decision::unchanged(started.session_id.clone()))
        } else {
            Err(Rejection::SessionEnded)
        };
    }
    let ended_at = command.ended_at.unwrap_or_else(|| Moment::of(stamp.now).max(started.started_at));
    if ended_at < started.started_at {
        return Err(ContextFault::field("ended_at", "not before the session's start").into());
    }
    let event = SessionEnded { by: by.clone(), ended_at, extensions: command.extensions.clone() };
    let session_id = started.session_id.clone();
    Ok(Decision::new(vec![SessionEvent::SessionEnded(event)], session_id))
}
