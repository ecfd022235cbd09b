//! Notices to the user of a session, not to the model: messages do not arrive there until somebody acts. Each session shows one.
//! Must not know: the messages.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::{fd::AsFd, unix::fs::OpenOptionsExt as _},
    path::Path,
};

use plenary_client::{BaseUrl, Error, FaultKind};
use plenary_kernel::json::digest;
use serde_json::Value;

use super::{
    answer::notice,
    event::{Event, Moment},
    shared_state::HookState,
};
use crate::{
    cli::{context::Context, environment::Environment, failure::Failure},
    out::without_numbers,
};

/// The status of a server whose disk is full.
const STORE_FULL: &str = "store_full";

/// What the user has to know about a failure that does not pass by itself: messages do not arrive here until somebody acts.
pub(super) fn notice_of(event: &Event, failure: &Failure, server: Option<&BaseUrl>) -> Option<String> {
    let connect = format!("plenary connect {}", event.coding.as_str());
    let (what, next) = match failure {
        Failure::Unreachable { what, .. } => (what.clone(), None),
        Failure::Call(Error::Network(fault)) => match (fault.kind, server) {
            // A slow or failing server may have received the report.
            (FaultKind::Refused | FaultKind::Unreachable | FaultKind::Resolve, Some(server)) => {
                (format!("no server answers at {server}"), None)
            }
            (FaultKind::Unproved, _) => (fault.to_string(), Some(format!("`{connect}` in this directory"))),
            _ => return None,
        },
        Failure::Call(Error::Refused(refused)) if refused.status == 401 => {
            let what = "the server does not accept the saved token of this directory's agent";
            (what.to_owned(), Some(format!("`{connect}` in this directory")))
        }
        Failure::Auth { what, missing: Some(_), .. } => {
            (what.clone(), Some(format!("`{connect}` in this directory")))
        }
        // Files of this program that cannot be read.
        Failure::Auth { what, next, .. } | Failure::Usage { what, next } => {
            (what.clone(), Some(next.clone()))
        }
        Failure::Local { what, next } => {
            (what.clone(), Some(next.clone().unwrap_or_else(|| "correct it".to_owned())))
        }
        Failure::Call(_) | Failure::Refused { .. } | Failure::Output(_) | Failure::Reported(_) => {
            return None;
        }
    };
    Some(match next {
        None => format!(
            "Plenary: {what}. Messages wait there, and nothing is lost. Start it with `plenary serve`; `plenary doctor` shows more."
        ),
        Some(next) => {
            format!(
                "Plenary: {what}. Messages do not arrive in this session. Next: {next}; `plenary doctor` shows more."
            )
        }
    })
}

/// The notice that the hooks cannot write their state, with the place and the error.
pub(super) fn unwritable(why: &str) -> String {
    format!(
        "Plenary: {}. Messages do not arrive in this session; they wait, and nothing is lost. Next: make that place writable, or make \
         room on its disk.",
        without_numbers(why)
    )
}

/// The notice that a server does not store what was shown. What passes by itself is no matter to the user.
pub(super) fn unready(reason: &str, server: &BaseUrl) -> Option<String> {
    (reason == STORE_FULL).then(|| {
        format!(
            "Plenary: the disk of the server at {server} is full. Messages do not arrive in this session; they wait there, and nothing is \
             lost. Next: make room on it."
        )
    })
}

/// Shows the user a notice, once in a session.
pub(super) fn notify_once(
    context: &Context,
    event: &Event,
    text: Option<String>,
    state: Option<&HookState>,
) -> Result<(), String> {
    let Some(notice) = text.and_then(|text| notice(event, &text)) else { return Ok(()) };
    let noted = state.and_then(|state| state.is_first_notice(&event.session).ok());
    let is_first = noted.unwrap_or_else(|| {
        // Where nothing can be written at all, the start of the session is the only event that comes once.
        is_first_elsewhere(&context.environment, &event.session).unwrap_or(event.moment == Moment::Start)
    });
    if is_first { print_notice(&notice) } else { Ok(()) }
}

/// Notifies the user if the state could not be written, and returns the result.
pub(super) fn or_notify(
    context: &Context,
    event: &Event,
    state: &HookState,
    written: Result<(), String>,
) -> Result<(), String> {
    if let Err(why) = &written {
        notify_once(context, event, Some(unwritable(why)), Some(state))?;
    }
    written
}

/// Whether this is the first notice of a session, where the state of the hooks cannot be written: an empty file in a temporary
/// directory tells, which needs no room on a disk. `None` if no such file can be made either.
fn is_first_elsewhere(environment: &Environment, session: &str) -> Option<bool> {
    if session.is_empty() {
        return None;
    }
    let user = rustix::process::getuid().as_raw();
    let name = format!("plenary-told-{user}-{}", hex::encode(&digest(session.as_bytes())[..8]));
    let directories = ["XDG_RUNTIME_DIR", "TMPDIR"].map(|name| environment.var(name));
    directories.into_iter().flatten().chain(["/tmp".to_owned()]).find_map(|directory| {
        let path = Path::new(&directory).join(&name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(_) => Some(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Some(false),
            Err(_) => None,
        }
    })
}

/// Tells the user at the start of a session that its agent is unknown here.
pub(super) fn notify_no_agent(event: &Event, failure: &Failure) -> Result<(), String> {
    let text =
        notice_of(event, failure, None).filter(|_| event.moment == Moment::Start && !event.is_subagent);
    let notice = text.and_then(|text| notice(event, &text)).filter(|_| somebody_reads());
    notice.map_or(Ok(()), |notice| print_notice(&notice))
}

/// Tells the user that no server answers, so the directory's agent cannot be created.
pub(super) fn notify_agent_missing(event: &Event) -> Result<(), String> {
    let text = "Plenary: no server answers, so this directory has no agent yet. Start it with `plenary serve`; the agent is made at \
                your next prompt.";
    notice(event, text).map_or(Ok(()), |notice| print_notice(&notice))
}

fn print_notice(notice: &Value) -> Result<(), String> {
    print(&notice.to_string()).map_err(|error| format!("the answer cannot be printed: {error}"))
}

/// Whether anybody can read the output: a closed standard output has become the null device by now.
pub(super) fn somebody_reads() -> bool {
    let out = io::stdout();
    match (rustix::fs::fstat(out.as_fd()), rustix::fs::stat("/dev/null")) {
        (Ok(out), Ok(null)) => out.st_rdev != null.st_rdev,
        (Err(_), _) => false,
        (Ok(_), Err(_)) => true,
    }
}

pub(super) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_the_first_of_a_session_once_without_any_state() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().to_str().unwrap();
        let is_first = |vars: &[(&str, &str)], session: &str| {
            is_first_elsewhere(&Environment::of_test(root.path(), vars), session)
        };
        let missing = format!("{directory}/missing");
        for vars in
            [[("TMPDIR", directory), ("HOME", "/")], [("XDG_RUNTIME_DIR", &missing), ("TMPDIR", directory)]]
        {
            let session = vars[0].0;
            assert_eq!((is_first(&vars, session), is_first(&vars, session)), (Some(true), Some(false)));
        }
        assert_eq!(is_first(&[("TMPDIR", directory)], ""), None);
    }

    #[test]
    fn only_what_somebody_must_mend_is_told() {
        let server = "http://127.0.0.1:7420".parse().unwrap();
        assert!(unready("store_full", &server).is_some_and(|text| text.contains("127.0.0.1:7420 is full")));
        assert_eq!(unready("store_overloaded", &server), None);
        let text = unwritable("/srv/n/.local/state/plenary/hooks: Read-only file system (os error 30)");
        assert!(
            text.starts_with("Plenary: /srv/n/.local/state/plenary/hooks: Read-only file system. "),
            "{text}"
        );
    }
}
