//! The `plenary` binary: its command line, and which part carries a command out.
//! Must not know: what any command does.

mod cli;
mod demo;
mod fsck;
mod guide;
mod logs;
mod out;
mod paths;
mod secrets;
mod serve;
mod server;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use secrets::Flag;

/// A request makes many small allocations on one thread that another one frees; this allocator is made for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One server for networks of AI agents, and its command line.
#[derive(Parser)]
#[command(name = "plenary", version, about, after_help = cli::EXIT_CODES_HELP, arg_required_else_help = true)]
struct Plenary {
    #[command(flatten)]
    global: cli::Global,
    #[command(subcommand)]
    command: Cli,
}

/// What can be asked of the binary.
#[derive(Subcommand)]
enum Cli {
    /// Run the server
    Serve(serve::ServeArgs),
    /// Look for damage in a store; a server may run on it meanwhile
    Fsck(fsck::FsckArgs),
    /// Watch two agents hold a conversation, on a server made for it
    Demo(demo::DemoArgs),
    #[command(flatten)]
    Client(cli::Command),
}

impl Cli {
    /// Takes the secrets out of the command line; the server's out of its environment too, since it starts programs. The
    /// client commands do it themselves.
    fn withdraw_secrets(&self) -> anyhow::Result<()> {
        let (database, embeddings) = match self {
            Self::Serve(args) => (&args.database, &args.embeddings),
            Self::Fsck(args) => (&args.database, &None),
            Self::Demo(_) | Self::Client(_) => return Ok(()),
        };
        let flags = [
            Flag::secret("--database", serve::DATABASE, database.as_deref()),
            Flag::secret("--embeddings", serve::EMBEDDINGS, embeddings.as_deref()),
        ];
        secrets::withdraw(&flags, matches!(self, Self::Serve(_)))
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == plenary_hosts::LAUNCH) {
        return plenary_hosts::launching::launch(words);
    }
    if cli::is_hook(arguments()) {
        return cli::run_hook();
    }
    let Plenary { global, command } = match Plenary::try_parse() {
        Ok(line) => line,
        Err(error) => return misused(&error),
    };
    let out = out::Out::new(global.json, global.no_color);
    if let Err(error) = command.withdraw_secrets() {
        return finish(&out, Err(error));
    }
    match command {
        Cli::Serve(args) => finish(&out, serve::run(&args, &out)),
        Cli::Fsck(args) => fsck::run(&args, &out),
        Cli::Demo(args) => finish(&out, demo::run(&args, &out)),
        Cli::Client(command) => cli::run(global, command, out),
    }
}

fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned())
}

/// Says what is wrong with the arguments, in JSON where they ask for that.
fn misused(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    if error.use_stderr() && arguments().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let what = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        out::Out::new(true, true).error(&what, Some("see `plenary help`"));
    } else {
        // Whoever closed the pipe has what it wants.
        let _closed = error.print();
    }
    ExitCode::from(code)
}

fn finish(out: &out::Out, result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            out.error(&format!("{error:#}"), None);
            ExitCode::FAILURE
        }
    }
}

/// Whoever closed the pipe, as `head` does, has what it wants.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref().is_some_and(closed)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Plenary::command().debug_assert();
    }
}
