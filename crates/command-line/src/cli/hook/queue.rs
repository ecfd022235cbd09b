//! A background process for an idle session of Codex: on news it puts one line into Codex's own queue, which wakes the
//! session; the hook of that prompt then prints the news. At most one line is outstanding.
//! Must not know: the news.

use std::{ffi::OsString, process::Stdio, time::Duration};

use plenary_kernel::AgentHandle;
use tokio::time::{Instant, timeout};

use super::{
    background,
    event::{Event, Moment, QUEUED, WAIT},
    journal,
    program::{self, Program},
    shared_state::HookState,
    wake::{WAIT_SECONDS, WAKINGS_MAX, has_news},
};
use crate::cli::{connect::CodingAgent, context::Context, identity};

/// The variable set for a session of `plenary codex`: it is woken on news.
pub(crate) const WAKE_VAR: &str = "PLENARY_WAKE";
/// How long Codex may take to queue a line.
const QUEUED_WITHIN: Duration = Duration::from_secs(20);
/// How long to wait for another hook of the agent.
const TURN_WITHIN: Duration = Duration::from_secs(5);

/// Starts the process when the session becomes idle, and ends it when the user sends a prompt.
pub(super) fn begin(context: &Context, event: &Event, handle: &AgentHandle, state: &HookState) {
    if event.coding != CodingAgent::Codex || !event.is_named() {
        return;
    }
    let session = event.session.as_str();
    let result = match event.moment {
        Moment::Prompt if event.is_wake_prompt => {
            state.set_queued(session, false).and_then(|()| state.set_waiter(session, 0))
        }
        Moment::Prompt => state.set_waiter(session, 0),
        Moment::Start | Moment::Stop if is_wake_enabled(context) => {
            match program::calling_program(&context.environment) {
                Some(program) => background::spawn(context, event, WAIT, &program)
                    .and_then(|process| state.set_waiter(session, process)),
                None => Ok(()),
            }
        }
        Moment::Start
        | Moment::Stop
        | Moment::Tool
        | Moment::Compact
        | Moment::End
        | Moment::Wait
        | Moment::Watch
        | Moment::Permission
        | Moment::Elicitation => Ok(()),
    };
    if let Err(why) = result {
        journal::note(&context.environment, &event.name, &format!("{handle}: {why}"));
    }
}

/// Whether `connect --wake` or `plenary codex` enabled it.
fn is_wake_enabled(context: &Context) -> bool {
    if context.environment.var(WAKE_VAR).is_some() {
        return true;
    }
    let directory = context.environment.directory();
    directory.is_some_and(|directory| {
        identity::wakes(&context.environment, directory, CodingAgent::Codex.as_str()).unwrap_or_default()
    })
}

/// Waits for news, and queues the line. Ends with the session, or when the user sends a prompt.
pub(super) async fn run(
    context: &Context,
    event: &Event,
    handle: &AgentHandle,
    program: Program,
) -> Result<(), String> {
    let (me, session) = (std::process::id(), event.session.as_str());
    let client = context.agent_client().map_err(|failure| journal::describe(&failure))?;
    let until = Instant::now() + Duration::from_secs(WAIT_SECONDS);
    while Instant::now() < until {
        let is_new = has_news(&client, event).await?;
        if !program.is_running() {
            return Ok(());
        }
        let state = HookState::take(&context.environment, handle, Instant::now() + TURN_WITHIN).await?;
        if state.waiter(session) != me {
            return Ok(());
        }
        if !is_new {
            continue;
        }
        if state.is_queued(session) {
            return Err("the session was already notified of the news and has not read it".to_owned());
        }
        let wakings = state.wake_count(session);
        if wakings >= WAKINGS_MAX {
            return Err(format!(
                "the session was woken {wakings} times in a row and now waits for its person"
            ));
        }
        // Stored first: queueing a line twice is worse than not queueing it.
        state.set_queued(session, true)?;
        state.count_wake(session)?;
        state.set_waiter(session, 0)?;
        drop(state);
        return queue(session, program).await;
    }
    Ok(())
}

/// Makes the Codex that runs the session queue the line.
async fn queue(session: &str, program: Program) -> Result<(), String> {
    let own = std::fs::read_link(format!("/proc/{}/exe", program.pid));
    let own = own.ok().filter(|path| path.file_name().is_some_and(|name| name == "codex"));
    let codex = own.map_or_else(|| OsString::from("codex"), Into::into);
    let mut command = tokio::process::Command::new(codex);
    command.args(["queue", "--thread", session, "--message", QUEUED]).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = |why: String| format!("`codex queue` did not wake the session: {why}");
    let ended =
        timeout(QUEUED_WITHIN, command.status()).await.map_err(|_| failed("it does not end".to_owned()))?;
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("it ended with {status}"))),
        Err(error) => Err(failed(error.to_string())),
    }
}
