//! `plenary agent host`: an agent on this machine, attached to the server while the command runs.
//! Must not know: how a run is executed, or the transport of frames.

mod identity;
mod reporter;
mod session;
mod standard_error;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use clap::{Args, ValueEnum};
use plenary_client::attach::AttachOptions;
use plenary_hosts::{
    ConfigFault, Launcher,
    acp::{self, Acp},
    exec::{self, Exec},
    hosting::{AgentHost, RUNS_MAX},
};
use plenary_kernel::AgentHandle;
use plenary_runs::Runner;

use super::{context::Context, failure::Failure};
use crate::interrupts::Interrupts;
use reporter::HostReporter;
use session::ServedHost;

/// Upper limit of the number of concurrent runs.
const RUNS_MAX_MAX: u16 = 1_024;

const HELP: &str = "\
Examples:
  plenary agent host @nick.helper -- python3 helper.py
  plenary agent host @nick.coder --kind acp --directory ~/src -- claude-code-acp

An agent that does not exist is created if you may create it. Its owner and the owner's other agents may then run it with \
`plenary run nick.helper TEXT`. Its policy, allowlist and blocks (`plenary agent --help`) decide which other agents may open a session with it \
and run it: host only programs that they may use.

The command is started without a shell, once for each run (exec) or each thread (acp). It inherits the environment except \
PLENARY_…, AWS_… and OTEL_EXPORTER_OTLP_…HEADERS; --env adds variables. Its standard error is \
shown with its run.

A lost connection is restored by itself; the runs that used it are canceled. Ctrl-C, SIGTERM \
and the end of the terminal (except under nohup) end the active runs; a second signal exits at once.

With --json each event is one JSON object on a line of standard output, with its type: made, attached, lost, run_started, \
run_completed, stopping.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Host {
    /// The agent, e.g. `@nick.helper`
    handle: AgentHandle,
    /// Protocol of the command: the line protocol (exec) or the Agent Client Protocol (acp)
    #[arg(long, value_enum, default_value_t = Kind::Exec)]
    kind: Kind,
    /// Working directory of the command [default: the current directory]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Set an environment variable of the command; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Purpose of the agent, one line
    #[arg(long, value_name = "TEXT")]
    purpose: Option<String>,
    /// A tool that the agent uses, shown for information; may be repeated
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// Number of runs at a time; further runs wait
    #[arg(long, value_name = "N", default_value_t = u16::try_from(RUNS_MAX).unwrap_or(RUNS_MAX_MAX),
        value_parser = clap::value_parser!(u16).range(1..=i64::from(RUNS_MAX_MAX)))]
    runs_max: u16,
    /// Wait for the server if it is not up yet
    #[arg(long)]
    wait: bool,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The protocol of the command.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// One JSON object per line; a process for each run.
    Exec,
    /// The protocol between editors and coding agents; a process for each thread.
    Acp,
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("write NAME=VALUE".into()),
    }
}

pub(crate) async fn run(context: &Context, args: Host) -> Result<(), Failure> {
    let runner = runner(&args)?;
    let teller = HostReporter::new(context.out, args.handle.clone());
    let client = identity::client(context, &args.handle, &teller).await?;
    standard_error::on_standard_error(context.out);
    let options = AttachOptions { purpose: args.purpose, tools: args.tools, wait_for_server: args.wait };
    let attachment = client.attach(&args.handle, &options);
    let host = AgentHost::new(runner, args.handle.as_str(), usize::from(args.runs_max));
    let server = client.base().to_string();
    ServedHost::new(
        attachment,
        host,
        teller,
        server,
        Interrupts::with_hangup().map_err(|error| Failure::signals(&error))?,
    )
    .serve()
    .await
}

fn runner(args: &Host) -> Result<Arc<dyn Runner>, Failure> {
    let directory = args.directory.as_ref().map(|path| std::path::absolute(path).unwrap_or(path.clone()));
    if let Some(path) = directory.as_ref().filter(|path| !path.is_dir()) {
        let next = "name an existing directory with --directory";
        return Err(Failure::usage(format!("there is no directory {}", path.display()), next));
    }
    let (command, env): (_, BTreeMap<_, _>) = (args.command.clone(), args.env.iter().cloned().collect());
    let (purpose, tools, launcher) = (String::new(), Vec::new(), Launcher::this_binary());
    let wrong = |fault: ConfigFault| {
        Failure::usage(fault.to_string(), "end the command line with `-- PROGRAM ARGUMENT …`")
    };
    let (runner, checked): (Arc<dyn Runner>, _) = match args.kind {
        Kind::Exec => {
            let request_types = Vec::new();
            let settings = exec::Settings { command, directory, env, purpose, tools, request_types };
            let exec = Exec::new(settings, &launcher).map_err(wrong)?;
            let checked = exec.check_program();
            (Arc::new(exec), checked)
        }
        Kind::Acp => {
            let settings =
                acp::Settings { command, directory, env, rest: None, opening_max: None, purpose, tools };
            let acp = Acp::new(settings, &launcher).map_err(wrong)?;
            let checked = acp.check_program();
            (Arc::new(acp), checked)
        }
    };
    // A host that fails each run at once would get the runs of all others: it is always the least busy.
    checked.map_err(|why| Failure::usage(why, "name an installed program after `--`"))?;
    Ok(runner)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        host: Host,
    }

    fn parse(args: &[&str]) -> Result<Host, clap::Error> {
        Line::try_parse_from([&["host", "@nick.helper"], args].concat()).map(|line| line.host)
    }

    #[test]
    fn the_command_follows_two_hyphens_and_keeps_its_own_flags() {
        let host = parse(&["--env", "A=b=c", "--tool", "x", "--", "python3", "-u", "--json"]).unwrap();
        assert_eq!(host.command, ["python3", "-u", "--json"]);
        assert_eq!(host.env, [("A".to_owned(), "b=c".to_owned())]);
        assert_eq!(usize::from(host.runs_max), RUNS_MAX);
        for wrong in [
            &[][..],
            &["--"],
            &["python3"],
            &["--env", "A", "--", "x"],
            &["--env", "=b", "--", "x"],
            &["--runs-max", "0", "--", "x"],
            &["--runs-max", "1025", "--", "x"],
            &["--kind", "openai", "--", "x"],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_can_t_be_started_anywhere_is_wrong_usage() {
        let refused = |args: &[&str]| runner(&parse(args).unwrap()).err().unwrap();
        for wrong in [
            &["--directory", "/nonexistent", "--", "sh"][..],
            &["--", ""],
            &["--kind", "acp", "--", ""],
            &["--", "/nonexistent/program"],
            &["--kind", "acp", "--", "/nonexistent/program"],
        ] {
            assert!(matches!(refused(wrong), Failure::Usage { .. }), "{wrong:?}");
        }
        assert!(runner(&parse(&["--", "sh"]).unwrap()).is_ok());
    }
}
