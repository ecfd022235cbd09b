//! `plenary demo`: a conversation of two agents on a server made for it.
//! Must not know: the command line's other commands.

use std::net::SocketAddr;

use clap::Args;

use crate::out::Out;

/// Settings of the demonstration. `--json` is the global one.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Stop after the last step; exit with an error when a step was not as specified
    #[arg(long)]
    pub once: bool,
    /// Address to listen on [default: 127.0.0.1, any free port]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
}

/// Plays the demonstration.
pub(crate) fn run(args: &DemoArgs, out: &Out) -> anyhow::Result<()> {
    anyhow::bail!("this build has no demonstration in it yet (asked for {args:?}, json: {})", out.is_json())
}
