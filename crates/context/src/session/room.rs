//! Sessions as a room of the engine.
//! Must not know: HTTP.

use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::{Fault, IndexOp, NewEvent, StreamName};

use super::{
    command::{EndSession, StartSession},
    decide,
    event::SessionEvent,
    state::SessionState,
};
use crate::{
    Context,
    activity::{event::Activity, room::note},
    index::{CALLSIGNS, SESSIONS},
    key,
    project::decide::InProject,
    rejection::Rejection,
};

/// The streams `context.session/<project>/<session>`.
#[derive(Debug)]
pub struct SessionRoom;

impl Room for SessionRoom {
    type State = SessionState;
    type Event = SessionEvent;
    const CATEGORY: &'static str = "context.session";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut SessionState, _: Version, _: TimestampMs, event: &SessionEvent) {
        state.evolve(event);
    }
    fn payer(_: &str, _: &SessionState, event: &SessionEvent) -> Option<OwnerName> {
        match event {
            SessionEvent::SessionStarted(event) => event.by.owner(),
            SessionEvent::SessionEnded(_) => None,
        }
    }
    fn follow(id: &str, version: Version, event: &SessionEvent) -> Vec<(StreamName, NewEvent)> {
        let activity = match event {
            SessionEvent::SessionStarted(_) => Activity::SessionStarted,
            SessionEvent::SessionEnded(_) => Activity::SessionEnded,
        };
        vec![note(activity, id, version, None, None)]
    }
    fn index(id: &str, event: &SessionEvent) -> Vec<IndexOp> {
        let SessionEvent::SessionStarted(event) = event else { return Vec::new() };
        let (project, session) = id.split_once('/').unwrap_or((id, ""));
        let at = event.started_at;
        let called = (!event.callsign.is_empty())
            .then(|| key::join(&[project, &key::part(&event.callsign), at.as_str(), session]));
        let listed = IndexOp::put(SESSIONS, key::join(&[project, at.as_str(), session]));
        [listed].into_iter().chain(called.map(|key| IndexOp::put(CALLSIGNS, key))).collect()
    }
}

/// A command on a session with its context.
pub(crate) struct OnSession<'a, C> {
    pub(crate) context: &'a Context,
    /// The project's key.
    pub(crate) project: &'a str,
    pub(crate) command: &'a C,
}

macro_rules! on_session {
    ($name:literal, $command:ty, |$state:ident, $project:ident, $c:ident, $stamp:ident| $decide:expr) => {
        impl Command<SessionRoom> for OnSession<'_, $command> {
            const NAME: &'static str = $name;
            /// The session's id.
            type Reply = String;
            type Rejection = Rejection;
            type Facts = InProject;

            async fn facts(&self, _: &SessionState, conditions: &mut Conditions) -> Result<InProject, Fault> {
                let authority = &self.command.authority;
                self.context.in_project(self.project, authority, conditions).await
            }
            fn decide(
                &self,
                $state: &SessionState,
                $project: &InProject,
                at: &Point,
            ) -> Decided<SessionRoom, Self> {
                let $stamp = &at.stamp;
                let $c = self.command;
                $decide
            }
        }
    };
}

on_session!("start_session", StartSession, |_state, project, command, stamp| decide::start(
    project, command, stamp
));
on_session!("end_session", EndSession, |state, project, command, stamp| decide::end(
    state, project, command, stamp
));
