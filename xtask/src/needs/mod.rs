//! The external requirements of checks and tests: tools, and servers.
//! Must not know: the stages that use them. A server is one module here and one line in `SERVERS`.

use anyhow::Result;

use guard::Guard;

pub(crate) mod a2a;
mod apt;
pub(crate) mod browser;
pub(crate) mod clients;
pub(crate) mod coding_agents;
pub(crate) mod guard;
pub(crate) mod mcp_node;
mod mcp_python;
mod model;
mod moto;
pub(crate) mod musl;
pub(crate) mod nats;
pub(crate) mod network;
mod npm;
mod openid;
mod phoenix;
mod ports;
mod postgres;
mod python;
pub(crate) mod rust_tools;
mod schemathesis;
pub(crate) mod uv;

/// A server for tests, or files that they need.
pub(crate) struct Server {
    /// Its name for people.
    pub(crate) name: &'static str,
    /// Installs it if it is missing.
    pub(crate) ensure: fn() -> Result<()>,
    /// Starts a private instance of it.
    pub(crate) start: fn() -> Result<Running>,
    /// The figure of the benchmark that uses it, and the benchmark's option for its address.
    pub(crate) measured: Option<(&'static str, &'static str)>,
}

/// Every server.
pub(crate) const SERVERS: &[Server] = &[
    Server {
        name: "PostgreSQL",
        ensure: postgres::ensure,
        start: postgres::start,
        measured: Some(("P11", "--postgresql")),
    },
    Server { name: "Phoenix", ensure: phoenix::ensure, start: phoenix::start, measured: None },
    Server {
        name: "embedding model",
        ensure: model::ensure,
        start: model::start,
        measured: Some(("P20", "--model")),
    },
    Server { name: "moto", ensure: moto::ensure, start: moto::start, measured: None },
    Server { name: "NATS", ensure: nats::ensure, start: nats::start, measured: None },
    Server { name: "MCP in Python", ensure: mcp_python::ensure, start: mcp_python::start, measured: None },
    Server { name: "MCP in Node", ensure: mcp_node::ensure, start: mcp_node::start, measured: None },
    Server { name: "OpenID provider", ensure: openid::ensure, start: openid::start, measured: None },
    Server { name: "schemathesis", ensure: schemathesis::ensure, start: schemathesis::start, measured: None },
];

/// The variables with the addresses of servers for tests.
pub(crate) const SERVER_VARIABLES: &[&str] = &[
    postgres::VARIABLE,
    postgres::AUTHORITY,
    phoenix::VARIABLE,
    moto::VARIABLE,
    nats::VARIABLE,
    model::VARIABLE,
    mcp_python::VARIABLE,
    mcp_node::VARIABLE,
    openid::VARIABLE,
    schemathesis::VARIABLE,
];

/// A server that runs until this is dropped, or this process ends in any way.
pub(crate) struct Running {
    /// The variable with its address for tests.
    pub(crate) variable: &'static str,
    /// Its address, or the directory of the files.
    pub(crate) url: String,
    /// Further variables for tests.
    pub(crate) more: Vec<(&'static str, String)>,
    /// Stops it; absent for a server that the caller started.
    _guard: Option<Guard>,
}
