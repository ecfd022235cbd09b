//! A private Arize Phoenix, on an empty database.
//! Must not know: what the tests do with it.

use std::time::Duration;

use anyhow::Result;

use super::{
    Running, ports,
    python::{Packages, Program},
};

/// The variable with its address for tests.
pub(super) const VARIABLE: &str = "PLENARY_TEST_PHOENIX";

const PROGRAM: Program = Program {
    packages: Packages {
        name: "Arize Phoenix",
        variable: VARIABLE,
        directory: "phoenix",
        requirements: &["arize-phoenix==20.26.0"],
        constraints: include_str!("../../phoenix-constraints.txt"),
        bare: false,
        size: "about 850 MB on disk, a minute or two",
    },
    up: "Uvicorn running on",
    // It migrates its database at each start in a fresh directory, which takes a while on a busy
    // machine.
    start_max: Duration::from_secs(180),
    configure: |command, directory, port| {
        command
            .args(["-m", "phoenix.server.main", "serve"])
            .env("PHOENIX_WORKING_DIR", directory)
            .env("PHOENIX_HOST", "127.0.0.1")
            .env("PHOENIX_PORT", port.to_string())
            .env("PHOENIX_GRPC_PORT", ports::free()?.to_string())
            .env("PHOENIX_TELEMETRY_ENABLED", "false");
        Ok(())
    },
};

/// Installs it if it is missing or outdated.
pub(super) fn ensure() -> Result<()> {
    PROGRAM.packages.ensure()
}

pub(super) fn start() -> Result<Running> {
    PROGRAM.start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requirements_are_among_the_constraints() {
        let pinned: Vec<&str> = PROGRAM.packages.constraints.lines().collect();
        assert!(PROGRAM.packages.requirements.iter().all(|required| pinned.contains(required)));
        assert!(pinned.iter().all(|line| line.contains("==")), "every release is pinned");
    }
}
