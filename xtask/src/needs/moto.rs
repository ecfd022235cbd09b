//! A private moto server, which speaks S3, accepts any key, and stores everything in memory.
//! Must not know: what the tests do with it.

use std::time::Duration;

use anyhow::Result;

use super::{
    Running,
    python::{Packages, Program},
};

/// The variable with its address for tests.
pub(super) const VARIABLE: &str = "PLENARY_TEST_S3";

const PROGRAM: Program = Program {
    packages: Packages {
        name: "moto",
        variable: VARIABLE,
        directory: "moto",
        requirements: &[
            "moto==5.2.5",
            "Flask==3.1.3",
            "flask-cors==6.0.5",
            "py-partiql-parser==0.6.3",
            "PyYAML==6.0.3",
        ],
        constraints: include_str!("../../moto-constraints.txt"),
        bare: false,
        size: "about 140 MB on disk, half a minute",
    },
    up: "Running on http",
    start_max: Duration::from_secs(60),
    configure: |command, _, port| {
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
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
