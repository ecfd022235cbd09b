//! A wall clock that a server sees shifted: a library for it to load, which adds seconds to what the system says. Timers
//! run on the other clock and are as ever.
//! Must not know: what a server does with the time.

use std::path::PathBuf;
use std::process::Command;

use crate::{Server, TempDir};

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    int answer = (int)syscall(SYS_clock_gettime, clock, at);
    const char *ahead = getenv("TEST_CLOCK_AHEAD_S");
    if (answer == 0 && clock == CLOCK_REALTIME && ahead)
        at->tv_sec += atol(ahead);
    return answer;
}
"#;

/// The library. A server has to be told of it at each start.
#[derive(Debug)]
pub struct ShiftedClock {
    library: PathBuf,
    _dir: TempDir,
}

impl ShiftedClock {
    /// Makes it with the C compiler that the build needs too. None where processes cannot be given a library so.
    pub fn make() -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let dir = TempDir::new();
        let (source, library) = (dir.path().join("clock.c"), dir.path().join("clock.so"));
        std::fs::write(&source, SOURCE).expect("the source can be written");
        let made =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).status();
        assert!(made.expect("there is a C compiler").success(), "the library can be made");
        Some(Self { library, _dir: dir })
    }

    /// From its next start on, the server's clock is this far ahead.
    pub fn set_ahead(&self, server: &mut Server, seconds: i64) {
        for (name, value) in self.ahead(seconds) {
            server.set_env(name, &value);
        }
    }

    /// The variables of a process whose clock is this far ahead.
    pub fn ahead(&self, seconds: i64) -> [(&'static str, String); 2] {
        [("LD_PRELOAD", self.library.display().to_string()), ("TEST_CLOCK_AHEAD_S", seconds.to_string())]
    }
}
