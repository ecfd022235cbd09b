//! Runs a message once more if its run was lost with a process before the agent produced output.
//! Must not know: how a run is lost.

use plenary_log::Fault;
use plenary_runs::{StartError, command::Request, event::RunCompleted};

use crate::{Participation, message::Context, room::is_in, run_messages::SessionRun};

/// The event number of a run's end if it directly follows the run's beginning.
const FIRST_END: u64 = 2;

/// Whether a run was lost before it produced any output. A run with output may have done part of its work, so it is not
/// repeated.
pub(crate) fn was_lost_without_output(event: &RunCompleted) -> bool {
    event.lost && event.id == FIRST_END
}

impl Participation {
    /// Queues the request once more on the same thread, after the waiting ones. False if that is impossible or was done
    /// before.
    pub(crate) async fn retry(&self, session_run: &SessionRun) -> Result<bool, Fault> {
        let handle = session_run.acting.handle();
        let (Some(agent), session) = (self.agent(handle), &session_run.context.session_id) else {
            return Ok(false);
        };
        if session_run.context.again {
            return Ok(false);
        }
        let key = Self::key(handle, session, "again", &session_run.run.id.to_string());
        if self.0.log.read_key(&key.scope, &key.key).await?.is_some() {
            return Ok(true);
        }
        let (state, _) = self.0.sessions.stored_state(session).await?;
        if !is_in(&state, handle) || self.0.runs.stopped(agent.name()).await?.is_some() {
            return Ok(false);
        }
        let context = Context { again: true, ..session_run.context.clone() };
        let Some(body) = context.in_request(&session_run.request.body) else { return Ok(false) };
        let request = Request { body, ..session_run.request.clone() };
        match self
            .0
            .runs
            .begin_bound(
                &session_run.acting,
                (&agent, &session_run.context.sender),
                session_run.thread,
                request,
                &key,
            )
            .await
        {
            Ok(_) | Err(StartError::KeyReused) => {
                tracing::info!(agent = %handle, %session, run = %session_run.run.id, "a lost run is started again");
                Ok(true)
            }
            Err(StartError::Rejected(_) | StartError::OverQuota(_)) => Ok(false),
            Err(StartError::Fault(fault)) => Err(fault),
        }
    }
}
