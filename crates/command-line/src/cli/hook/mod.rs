//! `plenary hook`: a coding agent reports an event of its session, and gets unread messages.
//! Must not know: how a coding agent is connected; the content of a digest.

mod answer;
mod background;
mod deliver;
mod deposit;
mod elicitation;
mod event;
mod inbox;
mod invitations;
mod journal;
mod notices;
mod permission;
mod person;
mod printed;
mod program;
mod queue;
mod shared_state;
mod stderr_reader;
mod wake;
mod watch;

use std::{
    io::Read as _,
    panic::{AssertUnwindSafe, catch_unwind, set_hook},
    path::{Path, PathBuf},
    sync::mpsc,
    time::{Duration, Instant},
};

use clap::Args;
use plenary_client::Error;
use plenary_kernel::AgentHandle;

use super::{
    connect::{self, CodingAgent},
    context::Context,
    environment::Environment,
    failure::Failure,
    identity,
};
pub(crate) use event::STOPS_MAX;
pub(crate) use event::{ELICITATION, PERMISSION, WAIT};
use event::{Event, Moment};
pub(crate) use journal::{describe, file as journal_file};
pub(crate) use printed::note_printed;
pub(crate) use program::{Program, calling_program};
pub(crate) use queue::WAKE_VAR;
pub(crate) use shared_state::{session_in, state_file_of};
pub(crate) use wake::{WAIT_SECONDS, WAKE_EXIT_CODE};

/// Largest input of a hook; a larger one is not read.
const INPUT_BYTES_MAX: u64 = 16 << 20;
/// The default deadline of a hook.
const DEADLINE_MS: u64 = 250;
/// How long a session may wait for its agent to be created, once in each directory.
const FIRST_USE_WITHIN: Duration = Duration::from_secs(5);
/// The share of the time in which the answer must be ready; the rest is for reporting it.
const ANSWER_SHARE: f64 = 0.8;

/// The variable by which Claude Code identifies itself to the programs that it runs.
const PROGRAM_VAR: &str = "AI_AGENT";

#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// The event, e.g. `SessionStart` [default: the event named by the JSON on standard input]
    event: Option<String>,
    /// The coding agent, as `connect` calls it [default: detected from the JSON]
    #[arg(long, value_name = "CODING AGENT")]
    client: Option<String>,
    /// Show the answer without marking anything as seen and without counting a turn; an error is on standard error
    #[arg(long)]
    peek: bool,
    /// Deadline of the whole command, in milliseconds; after it nothing is printed [env: PLENARY_HOOK_DEADLINE_MS]
    /// [default: 250]
    #[arg(long, value_name = "N")]
    deadline_ms: Option<u64>,
    /// For a permission request or an elicitation: seconds to wait for a person's answer before the coding agent asks
    #[arg(long, value_name = "N", default_value_t = 60)]
    wait_seconds: u64,
}

/// Never fails, and prints nothing except the answer: an error must not affect the coding agent. Returns whether the
/// session is to be woken.
pub(crate) fn run(context: &Context, args: &Hook) -> bool {
    let started_at = Instant::now();
    // Also a bug prints nothing; the journal has it.
    set_hook(Box::new(|_| {}));
    let all = args.deadline_ms.map_or_else(|| deadline(&context.environment), Duration::from_millis);
    let failed = |event: &str, why: &str| {
        journal::note(&context.environment, event, why);
        // Only people and `doctor` peek.
        if args.peek {
            context.out.note(why);
        }
        false
    };
    let event = match read_event(context, args, all) {
        Ok(event) => event,
        Err(why) => return failed(args.event.as_deref().unwrap_or("-"), &why),
    };
    failing_open(|| respond(context, args, &event, started_at, all))
        .unwrap_or_else(|why| failed(&event.name, &why))
}

/// How long a hook may take.
pub(crate) fn deadline(environment: &Environment) -> Duration {
    let variable = environment.var("PLENARY_HOOK_DEADLINE_MS");
    Duration::from_millis(variable.and_then(|text| text.parse().ok()).unwrap_or(DEADLINE_MS))
}

/// What the work returns; a panic is an error like any other.
fn failing_open<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        Err(format!("a bug in this program: {text}"))
    })
}

/// Whether a coding agent takes text at one of its events.
pub(crate) fn accepts_text_at(coding: CodingAgent, event: &str) -> bool {
    event::read(b"", Some(coding.tool().own_event(event)), Some(coding.as_str()))
        .is_ok_and(|event| answer::takes_answer(&event))
}

/// Records why a hook could not start.
pub(crate) fn failed(context: &Context, args: &Hook, why: &Failure) {
    journal::note(&context.environment, args.event.as_deref().unwrap_or("-"), &describe(why));
}

/// Reads the event within the hook's deadline.
fn read_event(context: &Context, args: &Hook, within: Duration) -> Result<Event, String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes);
        // Fails if the receiver timed out.
        let _late = sender.send(read.map(|_| bytes));
    });
    let bytes = receiver.recv_timeout(within).map_err(|_| "standard input does not end".to_owned())?;
    let bytes = bytes.map_err(|error| format!("standard input cannot be read: {error}"))?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        return Err("standard input is too large".to_owned());
    }
    let client = args.client.clone().or_else(|| context.environment.var(identity::CLIENT_VAR));
    let mut event = event::read(&bytes, args.event.as_deref(), client.as_deref())?;
    event.takes_context = event::takes_context(context.environment.var(PROGRAM_VAR).as_deref());
    event.name_after(|| calling_program(&context.environment));
    event.input = bytes;
    Ok(event)
}

fn respond(
    context: &Context,
    args: &Hook,
    event: &Event,
    started_at: Instant,
    all: Duration,
) -> Result<bool, String> {
    let Some(directory) = directory(context, event) else { return Ok(false) };
    let mut started_at = started_at;
    let mut handle = match agent_of(context, event, &directory) {
        Ok(handle) => handle,
        Err(failure) => {
            // A directory that came with such a file says nothing to anybody.
            if !args.peek && identity::had_settings(&context.environment, &directory) {
                notices::notify_no_agent(event, &failure)?;
            }
            return Err(describe(&failure));
        }
    };
    if handle.is_none() && !args.peek {
        handle = first_use(context, event, &directory)?;
        // A new agent gets the full time for its news.
        started_at = Instant::now();
    }
    let Some(handle) = handle else { return Ok(false) };
    let context = context.speaking_as(&handle, &directory);
    match event.moment {
        Moment::Compact if event.is_routine => Ok(false),
        Moment::Compact | Moment::End => {
            if !args.peek && !event.is_subagent && !event.is_routine {
                let reported = async {
                    let client = context.agent_client().map_err(|failure| describe(&failure))?;
                    deliver::report_moment(event, &client, (started_at + all).into())
                        .await
                        .map_err(|failure| failure.why)
                };
                if let Err(why) = wait_for(reported) {
                    journal::note(&context.environment, &event.name, &why);
                }
            }
            deposit::spawn(&context, &handle, &directory).map(|()| false)
        }
        Moment::Start | Moment::Prompt | Moment::Tool | Moment::Stop => {
            let deadlines = (started_at + all.mul_f64(ANSWER_SHARE), started_at + all);
            let work = deliver::run(&context, event, &handle, args.peek, deadlines);
            wait_for(work).map(|()| false)
        }
        Moment::Permission => {
            let within = Duration::from_secs(args.wait_seconds);
            wait_for(permission::run(&context, event, within)).map(|()| false)
        }
        Moment::Elicitation => {
            let within = Duration::from_secs(args.wait_seconds);
            wait_for(elicitation::run(&context, event, within)).map(|()| false)
        }
        Moment::Watch => wait_for(watch::run(&context, event, &handle)).map(|()| false),
        Moment::Wait => wait_for(wake::run(&context, event, &handle)),
    }
}

fn wait_for<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime cannot start: {error}"))?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// The directory in which the session started; the coding agent may have changed its directory since. Without links, as the
/// tools of the session see it: both are one agent.
fn directory(context: &Context, event: &Event) -> Option<PathBuf> {
    let started_in = identity::session_directory(&context.environment, event.coding.as_str());
    let named = started_in.or_else(|| event.directory.clone());
    let real = named.map(|named| named.canonicalize().unwrap_or(named));
    real.or_else(|| context.environment.directory().cloned())
}

/// The agent. `None` is valid: user settings run the hook in any directory.
fn agent_of(context: &Context, event: &Event, directory: &Path) -> Result<Option<AgentHandle>, Failure> {
    let identity = context.identity_of(event.coding.as_str(), directory)?;
    Ok(identity.map(|identity| identity.handle))
}

/// The agent of a directory in which user settings take effect for the first time.
fn first_use(context: &Context, event: &Event, directory: &Path) -> Result<Option<AgentHandle>, String> {
    if event.is_subagent || !matches!(event.moment, Moment::Start | Moment::Prompt) {
        return Ok(None);
    }
    wait_for(async {
        let agent =
            tokio::time::timeout(FIRST_USE_WITHIN, connect::first_use(context, event.coding, directory));
        let late = |_| "the agent of this directory could not be made in time".to_owned();
        let agent = agent.await.map_err(late)?;
        // Reported only at the start of a session.
        if let Err(Failure::Call(Error::Network(_)) | Failure::Unreachable { .. }) = &agent
            && event.moment == Moment::Start
        {
            notices::notify_agent_missing(event)?;
        }
        agent.map_err(|failure| describe(&failure))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_a_failure_like_any_other() {
        assert_eq!(failing_open(|| Ok::<_, String>(7)), Ok(7));
        let failed = failing_open::<()>(|| panic!("it is {}", "odd"));
        assert_eq!(failed, Err("a bug in this program: it is odd".to_owned()));
    }
}
