//! A wall clock that a process sees shifted: a library for it to load, which adds seconds to what the system says. Timers
//! run on the other clock and are as ever. If it moves ahead while a process runs, that is as if the machine slept.
//! Must not know: what a server does with the time.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::{Server, TempDir};

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *moving;

__attribute__((constructor)) static void follow(void) {
    const char *file = getenv("TEST_CLOCK_FILE");
    int opened = file ? open(file, O_RDONLY) : -1;
    void *mapped = opened < 0 ? MAP_FAILED : mmap(0, sizeof(int64_t), PROT_READ, MAP_SHARED, opened, 0);
    if (mapped != MAP_FAILED)
        moving = mapped;
    if (opened >= 0)
        close(opened);
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int answer = (int)syscall(SYS_clock_gettime, clock, at);
    const char *ahead = getenv("TEST_CLOCK_AHEAD_S");
    if (answer == 0 && clock == CLOCK_REALTIME && ahead)
        at->tv_sec += atol(ahead);
    if (answer == 0 && clock == CLOCK_REALTIME && moving)
        at->tv_sec += *moving;
    return answer;
}
"#;

/// The library. A server has to be told of it at each start.
#[derive(Debug)]
pub struct ShiftedClock {
    library: PathBuf,
    dir: TempDir,
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
        Some(Self { library, dir })
    }

    /// From its next start on, the server's clock is this far ahead.
    pub fn set_ahead(&self, server: &mut Server, seconds: i64) {
        for (name, value) in self.ahead(seconds) {
            server.set_env(name, &value);
        }
    }

    /// The variables of a process whose clock [`ShiftedClock::move_to`] moves while it runs.
    pub fn moving(&self) -> [(&'static str, String); 2] {
        self.move_to(0);
        let preload = ("LD_PRELOAD", self.library.display().to_string());
        [preload, ("TEST_CLOCK_FILE", self.file().display().to_string())]
    }

    /// From now on the clock of those processes is this far ahead.
    pub fn move_to(&self, seconds: i64) {
        // It is mapped by those processes, so it must not be cut, not even for a moment.
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(self.file());
        let written = file.and_then(|file| file.write_all_at(&seconds.to_ne_bytes(), 0));
        written.expect("the file can be written");
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("ahead")
    }

    /// The variables of a process whose clock is this far ahead.
    pub fn ahead(&self, seconds: i64) -> [(&'static str, String); 2] {
        [("LD_PRELOAD", self.library.display().to_string()), ("TEST_CLOCK_AHEAD_S", seconds.to_string())]
    }
}
