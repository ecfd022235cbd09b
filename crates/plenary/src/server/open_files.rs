//! The process's limit of open files, and the number of connections that it allows.
//! Must not know: the listener.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit is raised up to this, if the hard limit allows it: enough for the connections, and little enough for
/// programs that the server starts and that close every possible descriptor.
const OPEN_FILES: u64 = 65_536;
/// Open files that connections leave to the store, contents, outgoing calls and programs, beyond the quarter.
const OTHERS_MIN: u64 = 64;

/// Raises the soft limit of open files and returns it; `None` if there is no limit.
pub(super) fn raise() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let soft = current?;
    let wanted = OPEN_FILES.min(maximum.unwrap_or(OPEN_FILES));
    if soft >= wanted {
        return Some(soft);
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => Some(wanted),
        Err(error) => {
            tracing::debug!(%error, "the limit of open files is not raised");
            Some(soft)
        }
    }
}

/// Pure: the connections that a limit of open files allows: three quarters of it, and of a small one half.
pub(super) fn connections(limit: u64) -> usize {
    let others = (limit / 4).max(OTHERS_MIN).min(limit / 2);
    usize::try_from(limit - others).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_open_files_to_the_rest() {
        assert_eq!(connections(65_536), 49_152);
        assert_eq!(connections(1_024), 768);
        assert_eq!(connections(128), 64);
        assert_eq!(connections(64), 32);
    }

    #[test]
    fn a_raised_limit_is_not_lowered_again() {
        let first = raise();
        assert_eq!(raise(), first);
        assert_eq!(getrlimit(Resource::Nofile).current, first);
    }
}
