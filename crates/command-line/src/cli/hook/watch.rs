//! A background process for a session of a coding agent: it reports that the session's program runs, and its end. A
//! killed program runs no hook, and only this report passes its unread messages to another session.
//! Must not know: the delivered messages.

use std::time::Duration;

use plenary_kernel::AgentHandle;
use tokio::time::{Instant, sleep};

use super::{
    background,
    event::{Event, WATCH},
    journal, program,
    shared_state::{self, HookState},
};
use crate::cli::context::Context;

/// How often to check whether the program runs.
const CHECK_EVERY: Duration = Duration::from_secs(2);
/// How often to report to the server: three times before the server takes the session as ended.
const REPORT_EVERY: Duration = Duration::from_secs(20);
/// How long a server may not answer before this process ends; the session's next event starts a new one.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// Starts the process, unless one runs already. The events of an unwatched session are its only sign of life.
pub(super) fn begin(context: &Context, event: &Event, handle: &AgentHandle, state: &HookState) {
    let session = event.session.as_str();
    if session.is_empty() {
        return;
    }
    let Some(program) = program::calling_program(&context.environment) else { return };
    let (process, watched) = state.watcher(session);
    // A session that resumed in another program needs a new watcher.
    if watched == program.pid && program::is_running(process) {
        return;
    }
    let result = background::spawn(context, event, WATCH, &program);
    let result = result.and_then(|process| state.set_watcher(session, process, program.pid));
    if let Err(why) = result {
        journal::note(&context.environment, &event.name, &format!("{handle}: {why}"));
    }
}

/// Reports the session until its program ends, or the server no longer accepts the report. Its hooks have announced it.
pub(super) async fn run(context: &Context, event: &Event, handle: &AgentHandle) -> Result<(), String> {
    let Some(program) = event.program else { return Err("no program is named".to_owned()) };
    let client = context.agent_client().map_err(|failure| journal::describe(&failure))?;
    let (mut last_success, mut report_at) = (Instant::now(), Instant::now() + REPORT_EVERY);
    loop {
        sleep(CHECK_EVERY).await;
        if !shared_state::is_watched_by(&context.environment, handle, &event.session, std::process::id()) {
            return Ok(());
        }
        let is_running = program.is_running();
        if !is_running || Instant::now() >= report_at {
            let moment = if is_running { "alive" } else { "gone" };
            match client.session_moment(event.coding_session(), moment).await {
                Ok(reply) if is_running && reply.live => {
                    last_success = Instant::now();
                    report_at = last_success + REPORT_EVERY;
                }
                Ok(_) => return Ok(()),
                Err(_) if last_success.elapsed() < GIVE_UP_AFTER => {}
                Err(error) => return Err(journal::describe(&error.into())),
            }
        }
    }
}
