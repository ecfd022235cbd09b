//! Starts a program so that all its processes end with it: through this binary itself, which stays between the two
//! ([`crate::launcher`]).
//! Must not know: the work of the launcher.

use std::{ffi::OsString, path::PathBuf, process::ExitStatus};

/// The hidden command of the binary.
pub const COMMAND: &str = "__launch";
/// The exit code of a launcher that could not start its program; the reason is on its standard error.
pub(crate) const CANNOT_START: u8 = 125;
/// Exit codes above this one encode the signal that ended the program, as in shells.
const BY_SIGNAL: i32 = 128;
/// The highest number of a signal.
const SIGNAL_MAX: i32 = 64;

/// The launcher between the server and its programs, if any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launcher(Option<PathBuf>);

impl Launcher {
    /// This binary, which implements [`COMMAND`].
    pub fn this_binary() -> Self {
        // This path refers to the running binary even after an upgrade replaced the file.
        let itself = PathBuf::from("/proc/self/exe");
        Self(if itself.exists() { Some(itself) } else { std::env::current_exe().ok() })
    }

    /// No launcher: programs are started directly, and processes that leave the group survive.
    pub const fn none() -> Self {
        Self(None)
    }

    /// The command line that starts a program.
    pub(crate) fn command_line(&self, program: &[String]) -> Vec<OsString> {
        let own = self.0.iter().flat_map(|path| [path.clone().into_os_string(), COMMAND.into()]);
        own.chain(program.iter().map(Into::into)).collect()
    }

    pub(crate) fn is_between(&self) -> bool {
        self.0.is_some()
    }

    /// The signal that ended the program, if the status contains one.
    pub(crate) fn signal(&self, status: ExitStatus) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt as _;
        let reported =
            status.code().map(|code| code - BY_SIGNAL).filter(|signal| (1..=SIGNAL_MAX).contains(signal));
        status.signal().or(reported.filter(|_| self.is_between()))
    }

    /// Whether the status means that the launcher could not start its program.
    pub(crate) fn could_not_start(&self, status: ExitStatus) -> bool {
        self.is_between() && status.code() == Some(CANNOT_START.into())
    }
}
