//! The requirements of the tests of the clients: mypy, pytest and the frameworks of the examples from
//! PyPI, the TypeScript compiler from npm, and a Node. Every release is pinned.
//! Must not know: the tests.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{mcp_node, npm, python::Packages};

const PACKAGES: Packages = Packages {
    name: "what the tests of the clients need",
    variable: "PLENARY_TEST_CLIENTS_PYTHON",
    directory: "clients-python",
    requirements: &[
        "hatchling==1.33.0",
        "httpx2==2.16.2",
        "langchain-openai==1.7.3",
        "langgraph==1.2.22",
        "mypy==2.4.1",
        "openai-agents==0.24.0",
        "pydantic-ai-slim[openai]==2.68.0",
        "pytest==9.2.0",
        "typing_extensions==4.16.0",
        "websockets==16.1.1",
    ],
    constraints: include_str!("../../clients-constraints.txt"),
    bare: false,
    size: "about 300 MB on disk, half a minute",
};
const LOCK: &str = include_str!("../../../clients/typescript/package-lock.json");

/// The installed programs and packages.
pub(crate) struct Tools {
    /// The Python with the packages.
    pub(crate) python: String,
    pub(crate) compiler: Compiler,
}

/// The TypeScript compiler.
pub(crate) struct Compiler {
    pub(crate) node: PathBuf,
    pub(crate) tsc: PathBuf,
}

/// Installs missing or outdated packages.
pub(crate) fn ensure(typescript: &Path) -> Result<Tools> {
    PACKAGES.ensure()?;
    Ok(Tools { python: PACKAGES.installed()?.url, compiler: compiler(typescript)? })
}

/// The same for the compiler alone.
pub(crate) fn compiler(typescript: &Path) -> Result<Compiler> {
    mcp_node::ensure()?;
    npm::ensure_in(typescript, LOCK, "the TypeScript compiler (about 35 MB on disk)")?;
    let node = Path::new(&mcp_node::start()?.url).join("node");
    Ok(Compiler { node, tsc: typescript.join("node_modules/typescript/bin/tsc") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requirements_are_among_the_constraints() {
        let pinned: Vec<&str> = PACKAGES.constraints.lines().collect();
        let examples = include_str!("../../../clients/examples/requirements.txt").lines();
        for required in PACKAGES.requirements.iter().copied().chain(examples) {
            assert!(pinned.contains(&required.replace("[openai]", "").as_str()), "{required}");
        }
        assert!(pinned.iter().all(|line| line.contains("==")), "every release is pinned");
    }

    #[test]
    fn every_release_of_npm_is_pinned_by_its_digest_and_by_no_address() {
        assert!(LOCK.contains("\"integrity\": \"sha512-") && !LOCK.contains("\"resolved\""));
    }
}
