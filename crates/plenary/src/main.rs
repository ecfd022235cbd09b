//! The `plenary` binary: its command line, and the dispatch to its parts.
//! Must not know: the work of any command.

mod browser;
mod cli;
mod cluster;
mod demo;
mod fsck;
mod guide;
mod log_copy;
mod logs;
mod out;
mod paths;
mod secrets;
mod serve;
mod server;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use secrets::Flag;

/// A request makes many small allocations on one thread that another thread frees; this allocator handles that well.
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

/// The subcommands.
#[derive(Subcommand)]
enum Cli {
    /// Run the server
    Serve(serve::ServeArgs),
    /// Check a store for damage; a server may be running on it
    Fsck(fsck::FsckArgs),
    /// Set up and check a network of several nodes
    Cluster(cluster::ClusterArgs),
    /// Copy a store
    Log(log_copy::LogArgs),
    /// Play a conversation of two agents on a temporary server
    Demo(demo::DemoArgs),
    #[command(flatten)]
    Client(cli::Command),
}

impl Cli {
    /// Removes the secrets from the command line, and for the server also from its environment, since it starts programs.
    /// The client commands do this themselves.
    fn withdraw_secrets(&self) -> anyhow::Result<()> {
        let (database, cluster, embeddings, rerank) = match self {
            Self::Serve(args) => (&args.database, &args.cluster, &args.embeddings, &args.rerank),
            Self::Fsck(args) => (&args.database, &None, &None, &None),
            Self::Cluster(args) => (&None, args.servers(), &None, &None),
            Self::Log(_) | Self::Demo(_) | Self::Client(_) => return Ok(()),
        };
        let flags = [
            Flag::secret("--database", serve::DATABASE, database.as_deref()),
            Flag::secret("--cluster", serve::CLUSTER, cluster.as_deref()),
            Flag::secret("--embeddings", serve::EMBEDDINGS, embeddings.as_deref()),
            Flag::secret("--rerank", serve::RERANK, rerank.as_deref()),
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
    let parsed = cli::grouped(Plenary::command()).try_get_matches();
    let Plenary { global, command } = match parsed.and_then(|found| Plenary::from_arg_matches(&found)) {
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
        Cli::Cluster(args) => cluster::run(&args, &out),
        Cli::Log(args) => finish(&out, log_copy::run(&args, &out)),
        Cli::Demo(args) => finish(&out, demo::run(&args, &out)),
        Cli::Client(command) => cli::run(global, command, out),
    }
}

fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned())
}

/// Reports wrong arguments, as JSON if `--json` is among them.
fn misused(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    if error.use_stderr() && arguments().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let what = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        out::Out::new(true, true).error(&what, Some("see `plenary help`"));
    } else {
        // Ignored: a reader that closed the pipe needs no more output.
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

/// Whether the reader closed the pipe, as `head` does, because it needs no more output.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref().is_some_and(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        cli::grouped(Plenary::command()).debug_assert();
    }

    #[test]
    fn every_command_stands_in_one_group_of_the_help() {
        let command = Plenary::command();
        let named: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = cli::GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        grouped.sort_unstable();
        let mut named = named;
        named.sort_unstable();
        assert_eq!(grouped, named);
    }

    #[test]
    fn every_example_of_the_help_is_a_command_line() {
        for group in cli::GROUPS {
            let words: Vec<String> = group.example.split(" | ").last().map(words_of).unwrap_or_default();
            let parsed = Plenary::command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{}: {}", group.example, parsed.unwrap_err());
        }
    }

    /// The words of a line; a quoted word may contain spaces.
    fn words_of(line: &str) -> Vec<String> {
        let quoted = line.split('"').enumerate();
        let parts = quoted.flat_map(|(nth, part)| match nth % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        parts.collect()
    }
}
