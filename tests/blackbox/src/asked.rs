//! What the environment asks of a run: quick or whole, with PostgreSQL or without.

use std::env;

/// The answer to "shall the PostgreSQL leg run".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Yes, on the server with this URL (a role that may create databases).
    Yes(String),
    /// No: no URL was given, and none was required.
    No,
}

impl Asked {
    /// Reads `PLENARY_TEST_POSTGRES`; panics when it is absent while `PLENARY_TEST_REQUIRE` is set, so that a run
    /// that must have the leg cannot pass without it.
    #[expect(clippy::print_stderr, reason = "the reader of the run must see that a leg was left out")]
    pub fn postgres() -> Self {
        match env::var("PLENARY_TEST_POSTGRES") {
            Ok(url) if !url.is_empty() => Self::Yes(url),
            _ => {
                let required = env::var_os("PLENARY_TEST_REQUIRE").is_some_and(|value| !value.is_empty());
                assert!(!required, "PLENARY_TEST_REQUIRE is set, but PLENARY_TEST_POSTGRES names no server");
                eprintln!("left out: PLENARY_TEST_POSTGRES is not set");
                Self::No
            }
        }
    }
}

/// `full`, or `quick` when `PLENARY_TEST_QUICK=1`.
pub fn rounds(full: usize, quick: usize) -> usize {
    if env::var("PLENARY_TEST_QUICK").is_ok_and(|value| value == "1") { quick } else { full }
}
