//! The `plenary` binary: its command line, and the dispatch to its parts.
//! Must not know: the work of any command.

mod cluster;
mod demo;
mod fsck;
mod log_copy;
mod logs;
mod serve;
mod server;

use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use plenary_command_line::{
    browser, cli, duration, guide, listen_address, out, paths,
    program::{self, Program},
    secrets,
};
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
    /// Play and check conversations of agents on temporary servers
    Demo(demo::DemoArgs),
    #[command(flatten)]
    Client(cli::ClientCommand),
}

impl Cli {
    /// Removes the secrets from the command line, and for the server also from its environment, since it starts programs.
    /// The client commands do this themselves.
    fn withdraw_secrets(&self) -> anyhow::Result<()> {
        let (database, cluster, embeddings, rerank) = match self {
            Self::Serve(args) => (&args.database, &args.cluster, &args.embeddings, &args.rerank),
            Self::Fsck(args) => (&args.database, &None, &None, &None),
            Self::Cluster(args) => (&None, args.servers(), &None, &None),
            Self::Log(args) => return secrets::withdraw(&args.secrets(), None),
            Self::Demo(_) | Self::Client(_) => return Ok(()),
        };
        let flags = [
            Flag::secret("--database", serve::DATABASE, database.as_deref()),
            Flag::secret("--cluster", serve::CLUSTER, cluster.as_deref()),
            Flag::secret("--embeddings", serve::EMBEDDINGS, embeddings.as_deref()),
            Flag::secret("--rerank", serve::RERANK, rerank.as_deref()),
        ];
        let starts_programs = matches!(self, Self::Serve(_));
        secrets::withdraw(&flags, starts_programs.then_some(Plenary::command))
    }
}

/// What the command line takes from the server.
const PROGRAM: Program = Program {
    command: Plenary::command,
    local_answers: server::local_answers,
    server_defaults: serve::without_arguments,
};

fn main() -> ExitCode {
    let mut command_line = std::env::args_os().skip(1);
    if command_line.next().is_some_and(|first| first == plenary_hosts::LAUNCH) {
        return plenary_hosts::launcher::launch(command_line);
    }
    if cli::is_hook(arguments()) {
        return cli::run_hook(PROGRAM);
    }
    // Help and errors of usage are printed before the option is parsed.
    let is_plain = arguments().any(|argument| argument == "--no-color");
    let color = if is_plain { ColorChoice::Never } else { ColorChoice::Auto };
    let command_line = cli::grouped(cli::ignoring_empty(Plenary::command())).color(color);
    let parsed = command_line.try_get_matches();
    let Plenary { global, command } = match parsed.and_then(|found| Plenary::from_arg_matches(&found)) {
        Ok(line) => line,
        Err(error) => {
            let (words, command): (Vec<_>, _) = (arguments().skip(1).collect(), Plenary::command());
            let error = cli::naming_variables(error, &command);
            return misused(&cli::suggesting_commands(error, &command, &words));
        }
    };
    let out = out::Out::new(global.json, global.no_color);
    let is_client = matches!(command, Cli::Client(_));
    if !is_client && let Some(code) = cli::refuse_peer(&global, &out) {
        return code;
    }
    let checked = if is_client { Ok(()) } else { logs::check_filter() };
    if let Err(error) = checked.and_then(|()| command.withdraw_secrets()) {
        return finish(&out, Err(error));
    }
    match command {
        Cli::Serve(args) => finish(&out, serve::run(&args, &out)),
        Cli::Fsck(args) => fsck::run(&args, &out),
        Cli::Cluster(args) => cluster::run(&args, &out),
        Cli::Log(args) => log_copy::run(&args, &out),
        Cli::Demo(args) => finish(&out, demo::run(&args, &out)),
        Cli::Client(command) => cli::run(global, command, out, PROGRAM),
    }
}

fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned())
}

/// Reports wrong arguments, as JSON if `--json` is among them.
fn misused(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    if error.use_stderr() && arguments().any(|argument| argument == "--json") {
        let (message, next) = misuse(&error.render().to_string());
        out::Out::new(true, true).error(&message, Some(&next));
    } else {
        // Ignored: a reader that closed the pipe needs no more output.
        let _closed = error.print();
    }
    ExitCode::from(code)
}

/// The message of a misuse with its hints, as one line, and the help of its command.
fn misuse(text: &str) -> (String, String) {
    let told = text.split("\nUsage:").next().unwrap_or_default();
    let told = told.split("\nFor more information").next().unwrap_or_default();
    let words: Vec<&str> = told.trim_start_matches("error: ").split_whitespace().collect();
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: plenary "));
    let is_name =
        |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let command: Vec<&str> = usage.unwrap_or_default().split_whitespace().take_while(is_name).collect();
    let next = ["see `plenary help"].into_iter().chain(command).collect::<Vec<_>>().join(" ");
    (words.join(" "), next + "`")
}

fn finish(out: &out::Out, result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            out.failure(&error);
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
    fn the_help_has_no_two_blank_lines_and_its_coding_agents_one_line_each() {
        let help = cli::grouped(Plenary::command()).render_help().to_string();
        assert!(!help.contains("\n\n\n"), "{help}");
        let start = help.split("Start a coding agent").nth(1).and_then(|rest| rest.split("  e.g.").next());
        let entries: Vec<&str> = start.unwrap_or_default().lines().skip(1).collect();
        assert!(entries.len() > 10 && entries.iter().all(|line| !line.starts_with("   ")), "{help}");
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
            let command_line: Vec<String> =
                group.example.split(" | ").last().map(split_words).unwrap_or_default();
            let parsed = Plenary::command().try_get_matches_from(&command_line);
            assert!(parsed.is_ok(), "{}: {}", group.example, parsed.unwrap_err());
        }
    }

    /// The words of a line; a quoted word may contain spaces.
    fn split_words(line: &str) -> Vec<String> {
        let quoted = line.split('"').enumerate();
        let parts = quoted.flat_map(|(nth, part)| match nth % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        parts.collect()
    }

    #[test]
    fn a_misuse_says_what_is_missing_and_names_the_help_of_its_command() {
        let said = |words: &[&str]| {
            let error = cli::grouped(Plenary::command()).try_get_matches_from(words).unwrap_err();
            misuse(&error.render().to_string())
        };
        let (message, next) = said(&["plenary", "send"]);
        assert!(message.contains("required arguments were not provided: <"), "{message}");
        assert_eq!(next, "see `plenary help send`");
        let (message, next) = said(&["plenary", "requests", "list", "--stat"]);
        assert!(message.contains("--stat") && message.contains("tip:"), "{message}");
        assert!(!message.contains("Usage") && !message.contains("For more information"), "{message}");
        assert_eq!(next, "see `plenary help requests list`");
    }

    #[test]
    fn an_unknown_command_names_the_nearest_or_all_of_its_group() {
        let said = |words: &[&str]| {
            let command = Plenary::command();
            let error = cli::grouped(command.clone()).try_get_matches_from(words).unwrap_err();
            let words: Vec<String> = words.iter().skip(1).map(|word| (*word).to_owned()).collect();
            misuse(&cli::suggesting_commands(error, &command, &words).render().to_string()).0
        };
        let message = said(&["plenary", "conect", "claude"]);
        assert!(message.contains("exist: 'connect', "), "the nearest is first: {message}");
        assert_eq!(message.matches('\'').count(), 6, "two are enough: {message}");
        let message = said(&["plenary", "--json", "context", "list"]);
        assert!(message.contains("tip: its commands are ") && message.contains("deposit"), "{message}");
        let message = said(&["plenary", "xyzzy"]);
        assert!(message.contains("`plenary help` lists the commands"), "{message}");
    }

    #[test]
    fn every_flag_with_a_secret_is_withdrawn() {
        let command = Plenary::command();
        let mut secret: Vec<_> = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments)
            .filter(|argument| argument.is_hide_env_values_set())
            .filter_map(|argument| argument.get_long())
            .collect();
        secret.sort_unstable();
        secret.dedup();
        assert_eq!(secret, ["cluster", "database", "embeddings", "rerank"], "`Plenary` withdraws these");
    }

    #[test]
    fn what_may_be_a_secret_is_withdrawn_and_settings_are_not() {
        for name in [
            "PLENARY_OPERATOR_TOKEN",
            "PLENARY_TOKEN",
            "PLENARY_DATABASE",
            "PLENARY_EMBEDDINGS",
            "PLENARY_EMBEDDINGS_API_KEY",
            "PLENARY_RERANK",
            "PLENARY_RERANK_API_KEY",
            "PLENARY_FAR_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        ] {
            assert!(secrets::is_secret(name, Plenary::command), "{name}");
        }
        for name in
            ["PLENARY_LISTEN", "PLENARY_DATA", "PLENARY_CONFIG", "AWS_REGION", "PATH", "OTEL_SDK_DISABLED"]
        {
            assert!(!secrets::is_secret(name, Plenary::command), "{name}");
        }
    }
}
