//! The settings of a test run from the environment: quick or complete, and the services that it may use.

use std::env;

/// A service that some tests need: a server, a model, or a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestDependency {
    /// It is available at this URL or path.
    Available(String),
    /// It is not configured, and the run does not require it.
    Missing,
}

impl TestDependency {
    /// PostgreSQL, as a role that may create databases: `PLENARY_TEST_POSTGRES`. Panics when it is absent while
    /// `PLENARY_TEST_REQUIRE` is set, so that a run that must have it cannot pass without.
    pub fn postgres() -> Self {
        Self::from_variable("PLENARY_TEST_POSTGRES")
    }

    /// Arize Phoenix on this machine: `PLENARY_TEST_PHOENIX`. Panics as [`TestDependency::postgres`] does.
    pub fn phoenix() -> Self {
        Self::from_variable("PLENARY_TEST_PHOENIX")
    }

    /// The directory of the model all-MiniLM-L6-v2: `PLENARY_TEST_MODEL`. Panics as [`TestDependency::postgres`] does.
    pub fn model() -> Self {
        Self::from_variable("PLENARY_TEST_MODEL")
    }

    /// A server that speaks S3 and takes any key: `PLENARY_TEST_S3`. Panics as [`TestDependency::postgres`] does.
    pub fn s3() -> Self {
        Self::from_variable("PLENARY_TEST_S3")
    }

    /// A Python with the package `mcp`: `PLENARY_TEST_MCP_PYTHON`. Panics as [`TestDependency::postgres`] does.
    pub fn mcp_python() -> Self {
        Self::from_variable("PLENARY_TEST_MCP_PYTHON")
    }

    /// A directory with a `node` and the clients of the Model Context Protocol from npm: `PLENARY_TEST_MCP_NODE`.
    /// Panics as [`TestDependency::postgres`] does.
    pub fn mcp_node() -> Self {
        Self::from_variable("PLENARY_TEST_MCP_NODE")
    }

    /// A directory with a `node` and the OpenID provider from npm: `PLENARY_TEST_OPENID`. Panics as [`TestDependency::postgres`]
    /// does.
    pub fn openid() -> Self {
        Self::from_variable("PLENARY_TEST_OPENID")
    }

    /// A Python with the packages `schemathesis` and `openapi-spec-validator`: `PLENARY_TEST_SCHEMATHESIS`. Panics as
    /// [`TestDependency::postgres`] does.
    pub fn schemathesis() -> Self {
        Self::from_variable("PLENARY_TEST_SCHEMATHESIS")
    }

    #[expect(clippy::print_stderr, reason = "the reader of the run must see what was left out")]
    fn from_variable(variable: &str) -> Self {
        match env::var(variable) {
            Ok(url) if !url.is_empty() => Self::Available(url),
            _ => {
                let required = env::var_os("PLENARY_TEST_REQUIRE").is_some_and(|value| !value.is_empty());
                assert!(!required, "PLENARY_TEST_REQUIRE is set, but {variable} names no server");
                eprintln!("left out: {variable} is not set");
                Self::Missing
            }
        }
    }
}

/// `full`, or `quick` when `PLENARY_TEST_QUICK=1`.
pub fn rounds(full: usize, quick: usize) -> usize {
    if env::var("PLENARY_TEST_QUICK").is_ok_and(|value| value == "1") { quick } else { full }
}
