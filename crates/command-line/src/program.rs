//! What the program adds to its command line, which does not know the server.
//! Must not know: any command.

use std::{net::SocketAddr, path::PathBuf};

use plenary_mcp::server::LocalAnswers;

use crate::listen_address::ListenSource;

/// The parts of the program outside its command line.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The description of the whole command line, with the commands of the server.
    pub command: fn() -> clap::Command,
    /// The answers of every server of this version to clients of the Model Context Protocol.
    pub local_answers: fn() -> LocalAnswers,
    /// The settings of a server that is started without arguments.
    pub server_defaults: fn() -> anyhow::Result<ServerDefaults>,
}

/// The settings of a server that is started without arguments: from the environment, the user's own file, and the defaults.
#[derive(Debug, Clone)]
pub struct ServerDefaults {
    /// The listen address.
    pub listen: SocketAddr,
    /// The source of the address.
    pub listen_source: ListenSource,
    /// The directory of the store, if a setting names one.
    pub data: Option<PathBuf>,
}
