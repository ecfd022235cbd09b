//! `plenary completions`: a completion script for a shell.
//! Must not know: the commands.

use clap::Args;
use clap_complete::Shell;

use super::{context::Context, failure::Failure};

/// The arguments of `completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  plenary completions bash > ~/.local/share/bash-completion/completions/plenary"
)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(context: &Context, args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut (context.program.command)(), "plenary", &mut script);
    Ok(context.out.bytes(&script)?)
}
