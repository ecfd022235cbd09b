//! Clients of Agent2Agent, of the Agent Client Protocol, of OpenAI's API, of LangGraph's and agentic-framework's that were not written here, from PyPI and npm, and a Node. Every release is pinned.
//! Must not know: what the tests do with them.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{npm, python};

const PYTHON: python::Packages = python::Packages {
    name: "the Python SDK of A2A, and OpenAI's client",
    variable: "PLENARY_TEST_A2A_PYTHON",
    directory: "a2a-python",
    requirements: &[
        "a2a-sdk==1.3.0",
        "alter-runtime==0.4.16",
        "grpcio==1.85.1",
        "langgraph-sdk==0.4.14",
        "openai==3.54.0",
        "PyJWT==2.15.1",
        "rfc8785==0.1.4",
        "sse-starlette==3.7.0",
        "uvicorn==0.54.0",
    ],
    constraints: include_str!("../../a2a-constraints.txt"),
    bare: false,
    size: "about 110 MB on disk, some seconds",
};
const AGENTIC: python::Packages = python::Packages {
    name: "agentic-framework",
    variable: "PLENARY_TEST_AGENTIC_PYTHON",
    directory: "agentic-python",
    requirements: &["agentic-framework==0.3.11"],
    constraints: include_str!("../../agentic-constraints.txt"),
    // Its dashboards need only a small part of its agents' dependencies, which take a gigabyte.
    bare: true,
    size: "about 590 MB on disk, a minute",
};
const NODE: npm::Packages = npm::Packages {
    variable: "PLENARY_TEST_A2A_NODE",
    name: "the TypeScript SDKs of A2A and of the Agent Client Protocol",
    size: "about 130 MB on disk, some seconds",
    directory: "a2a-clients",
    manifest: include_str!("../../a2a-clients/package.json"),
    lock: include_str!("../../a2a-clients/package-lock.json"),
};

/// The installed programs and packages.
pub(crate) struct Tools {
    /// The Python with the packages.
    pub(crate) python: String,
    /// The Python with agentic-framework.
    pub(crate) agentic: String,
    pub(crate) node: PathBuf,
    /// The package of the TypeScript SDK of A2A.
    pub(crate) sdk: PathBuf,
    /// The same of the Agent Client Protocol.
    pub(crate) acp_sdk: PathBuf,
}

/// Installs missing or outdated packages.
pub(crate) fn ensure() -> Result<Tools> {
    PYTHON.ensure()?;
    AGENTIC.ensure()?;
    NODE.ensure()?;
    let directory = NODE.start()?.url;
    let directory = Path::new(&directory);
    let package = |name: &str| directory.join("node_modules").join(name);
    let (sdk, acp_sdk) = (package("@a2a-js/sdk"), package("@agentclientprotocol/sdk"));
    let (python, agentic) = (PYTHON.installed()?.url, AGENTIC.installed()?.url);
    Ok(Tools { python, agentic, node: directory.join("node"), sdk, acp_sdk })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_is_pinned() {
        for packages in [PYTHON, AGENTIC] {
            let pinned: Vec<&str> = packages.constraints.lines().collect();
            assert!(packages.requirements.iter().all(|required| pinned.contains(required)));
            assert!(pinned.iter().all(|line| line.contains("==")), "every release is pinned");
        }
        assert!(NODE.pins(&["1.3.0", "2.4.0", "24.21.0"]));
    }
}
