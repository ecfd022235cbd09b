//! A background process for a session of a coding agent: it reports that the session's program runs, and its end. A
//! killed program runs no hook, and only this report passes its unread messages to another session.
//! Must not know: the delivered messages.

use std::time::Duration;

use plenary_client::frames::now;
use plenary_kernel::{AgentHandle, TimestampMs};
use tokio::time::{Instant, sleep};

use super::{
    background,
    event::{Event, WATCH},
    journal,
    program::{self, Program},
    shared_state::{self, HookState},
};
use crate::cli::context::Context;

/// How often to check whether the program runs.
const CHECK_EVERY: Duration = Duration::from_secs(2);
/// How often to report to the server: three times before the server takes the session as ended.
const REPORT_EVERY: Duration = Duration::from_secs(20);
/// How soon to report again after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// How long a server may refuse the reports, or not learn of the end, before this process ends; the session's next event starts
/// a new one. A server that does not answer is waited for, since an idle session has no next event; but after this time the
/// next event replaces this process, because the server may have moved.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// When the next report is due. By the wall clock, because after a sleep it is due at once.
struct Schedule {
    last_attempt: TimestampMs,
    pause: Duration,
}

impl Schedule {
    fn reported(now: TimestampMs) -> Self {
        Self { last_attempt: now, pause: REPORT_EVERY }
    }

    fn failed(now: TimestampMs) -> Self {
        Self { last_attempt: now, pause: RETRY_AFTER }
    }

    fn is_due(&self, now: TimestampMs) -> bool {
        Duration::from_millis(now.0.abs_diff(self.last_attempt.0)) >= self.pause
    }
}

/// Since when reports have failed.
#[derive(Default)]
struct Trouble {
    any: Option<Instant>,
    /// With a failure that does not pass by itself.
    lasting: Option<Instant>,
    has_resigned: bool,
}

impl Trouble {
    /// Notes a failure; whether to give up.
    fn is_hopeless(&mut self, may_pass: bool, now: Instant) -> bool {
        self.any.get_or_insert(now);
        if may_pass {
            self.lasting = None;
            return false;
        }
        now - *self.lasting.get_or_insert(now) >= GIVE_UP_AFTER
    }

    /// Whether the next event of the session is to replace this process from now on; true once.
    fn resigns(&mut self, now: Instant) -> bool {
        let resigns = !self.has_resigned && self.any.is_some_and(|since| now - since >= GIVE_UP_AFTER);
        self.has_resigned |= resigns;
        resigns
    }
}

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
    let result = result.and_then(|process| {
        let noted = state.set_watcher(session, process, program.pid);
        if noted.is_err() {
            // Unknown to the next event, which would start another.
            let _ended = Program::of(process).request_end();
        }
        noted
    });
    if let Err(why) = result {
        journal::note(&context.environment, &event.name, &format!("{handle}: {why}"));
    }
}

/// Reports the session until its program ends, or the server no longer accepts the report. Its hooks have announced it.
pub(super) async fn run(context: &Context, event: &Event, handle: &AgentHandle) -> Result<(), String> {
    let Some(program) = event.program else { return Err("no program is named".to_owned()) };
    let client = context.agent_client().map_err(|failure| journal::describe(&failure))?;
    let (mut schedule, mut trouble) = (Schedule::reported(now()), Trouble::default());
    loop {
        sleep(CHECK_EVERY).await;
        if !shared_state::is_watched_by(&context.environment, handle, &event.session, std::process::id()) {
            return Ok(());
        }
        let is_running = program.is_running();
        if is_running && !schedule.is_due(now()) {
            continue;
        }
        let moment = if is_running { "alive" } else { "gone" };
        match client.session_moment(event.coding_session(), moment).await {
            Ok(reply) if is_running && reply.live => {
                (schedule, trouble) = (Schedule::reported(now()), Trouble::default());
            }
            Ok(_) => return Ok(()),
            Err(error) if trouble.is_hopeless(is_running && error.may_pass(), Instant::now()) => {
                return Err(journal::describe(&error.into()));
            }
            Err(_) => {
                schedule = Schedule::failed(now());
                if trouble.resigns(Instant::now()) {
                    let resigned = resign(context, event, handle, program).await;
                    if let Err(why) = resigned {
                        journal::note(&context.environment, &event.name, &format!("{handle}: {why}"));
                    }
                }
            }
        }
    }
}

/// Lets the next event of the session start another process, which then replaces this one.
async fn resign(
    context: &Context,
    event: &Event,
    handle: &AgentHandle,
    program: Program,
) -> Result<(), String> {
    let until = Instant::now() + REPORT_EVERY;
    let state = HookState::take(&context.environment, handle, until).await?;
    if state.watcher(&event.session).0 == std::process::id() {
        state.set_watcher(&event.session, 0, program.pid)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_due_after_its_pause_and_after_a_sleep() {
        let ms = TimestampMs;
        let hour = 3_600_000;
        let (reported, failed) = (Schedule::reported(ms(hour)), Schedule::failed(ms(hour)));
        for (now, reports, retries) in [
            (hour, false, false),
            (hour + 5_000, false, true),
            (hour + 20_000, true, true),
            (9 * hour, true, true),
            (0, true, true),
        ] {
            assert_eq!((reported.is_due(ms(now)), failed.is_due(ms(now))), (reports, retries), "{now}");
        }
    }

    #[test]
    fn a_server_that_does_not_answer_is_waited_for_and_one_that_refuses_is_not() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut trouble = Trouble::default();
        for (second, may_pass, is_hopeless, resigns) in [
            (0, true, false, false),
            (59, true, false, false),
            (60, true, false, true),
            (30_000, true, false, false),
            (30_010, false, false, false),
            (30_069, false, false, false),
            (30_070, false, true, false),
        ] {
            assert_eq!(trouble.is_hopeless(may_pass, at(second)), is_hopeless, "{second}");
            assert_eq!(trouble.resigns(at(second)), resigns, "{second}");
        }
    }
}
