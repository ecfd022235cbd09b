//! A background process for an idle session: on news it prints the news where the coding agent reads it, and exits with
//! the code that wakes the session.
//! Must not know: the text of the news.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use plenary_client::{Client, Error};
use plenary_kernel::AgentHandle;
use tokio::time::{Instant, sleep};

use super::{
    deliver::compose, event::Event, inbox, journal, queue, shared_state::HookState,
    stderr_reader::StderrReader,
};
use crate::cli::context::Context;

/// The exit code at which Claude Code wakes a session.
pub(crate) const WAKE_EXIT_CODE: u8 = 2;
/// Maximum time to wait for news.
pub(crate) const WAIT_SECONDS: u64 = 12 * 3_600;
/// Maximum number of wakings in a row without a prompt of the user.
pub(super) const WAKINGS_MAX: u32 = 5;
/// The delay that lets the hook of the turn's end run first.
const BEGIN_AFTER: Duration = Duration::from_secs(2);
/// How often to check whether the session still exists, and no later process waits.
const SLICE: Duration = Duration::from_secs(5);
/// How long to wait for another hook of the agent.
const TURN_WITHIN: Duration = Duration::from_secs(5);

/// Waits; returns whether the session is to be woken.
pub(super) async fn run(context: &Context, event: &Event, handle: &AgentHandle) -> Result<bool, String> {
    if let Some(program) = event.program {
        return queue::run(context, event, handle, program).await.map(|()| false);
    }
    let reader = StderrReader::of_stderr();
    if event.is_subagent || !reader.is_open().await {
        return Ok(false);
    }
    let (me, session) = (std::process::id(), event.session.as_str());
    let take = || HookState::take(&context.environment, handle, Instant::now() + TURN_WITHIN);
    take().await?.set_waiter(session, me)?;
    sleep(BEGIN_AFTER).await;
    let client = context.agent_client().map_err(|failure| journal::describe(&failure))?;
    let until = Instant::now() + Duration::from_secs(WAIT_SECONDS);
    while Instant::now() < until {
        let is_new = has_news(&client, event).await?;
        if !reader.is_open().await {
            return Ok(false);
        }
        let state = take().await?;
        if state.waiter(session) != me {
            return Ok(false);
        }
        if is_new && wake(context, event, handle, &client, &state).await? {
            return Ok(true);
        }
        drop(state);
        if is_new {
            // Another hook showed the news meanwhile, or it cannot be shown.
            sleep(BEGIN_AFTER).await;
        }
    }
    Ok(false)
}

/// Waits for one interval. Tolerates a server that is away.
pub(super) async fn has_news(client: &Client, event: &Event) -> Result<bool, String> {
    let query = inbox::query(Some(event.coding_session().session), 1);
    match client.wait_inbox(&query, SLICE).await {
        Ok(page) => Ok(!page.items.is_empty()),
        Err(Error::Refused(refused)) if refused.status < 500 && refused.status != 429 => {
            Err(format!("the server refused: {} {}", refused.status, refused.code))
        }
        Err(_) => {
            sleep(SLICE).await;
            Ok(false)
        }
    }
}

/// Prints the news and reports it as shown; returns whether there was any.
async fn wake(
    context: &Context,
    event: &Event,
    handle: &AgentHandle,
    client: &Client,
    state: &HookState,
) -> Result<bool, String> {
    let wakings = state.wake_count(&event.session);
    if wakings >= WAKINGS_MAX {
        return Err(format!("the session was woken {wakings} times in a row and now waits for its person"));
    }
    let Some(composed) = compose(context, event, handle, client, (Instant::now(), false)).await? else {
        return Ok(false);
    };
    state.count_wake(&event.session)?;
    let mut out = io::stderr().lock();
    let printed = out.write_all(composed.text.as_bytes()).and_then(|()| out.write_all(b"\n"));
    printed.map_err(|error| format!("the news cannot be printed: {error}"))?;
    // The session is woken anyway; unmarked items are shown again.
    if let Err(error) = composed.report_shown(client, event).await {
        journal::note(&context.environment, &event.name, &journal::describe(&error.into()));
    }
    Ok(true)
}
