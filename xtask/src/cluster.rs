//! The cluster command: three nodes with three NATS servers on this machine, for trials of one network
//! on several nodes.
//! Must not know: the work of a node.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{console, needs::nats, process, workspace};

/// The operator's token of every node, for trials on this machine.
const OPERATOR: &str = "plo_trial00000000000000000000000000000000000000000000000000000";
/// The number of nodes, and of NATS servers.
const NODES: u16 = 3;

/// The ports and the data directory.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The first node's port; the others follow, then the NATS servers
    #[arg(long, default_value_t = 7_420)]
    port: u16,
    /// Directory of all data, kept for the next run [default: `cluster` in the target directory]
    #[arg(long)]
    data: Option<std::path::PathBuf>,
}

/// The started processes, killed on drop.
struct Started(Vec<Child>);

impl Drop for Started {
    fn drop(&mut self) {
        for child in self.0.iter_mut().rev() {
            // It may have ended already: Ctrl-C reaches all of them.
            let _over = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// Builds, starts, and waits until the user stops it.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    nats::ensure()?;
    let nats = nats::binary()?;
    process::run(&mut process::cargo(root, &["build", "--workspace", "--bin", "plenary"]))?;
    let target = workspace::metadata(root)?.target_directory;
    let plenary = target.join("debug/plenary");
    let data = args.data.clone().unwrap_or_else(|| target.join("cluster"));
    std::fs::create_dir_all(&data).with_context(|| format!("could not make {}", data.display()))?;
    let clients: Vec<u16> = (0..NODES).map(|nth| args.port + 10 + nth).collect();
    let routes: Vec<u16> = (0..NODES).map(|nth| args.port + 20 + nth).collect();
    let mut started = Started(Vec::new());
    for (nth, (client, route)) in clients.iter().zip(&routes).enumerate() {
        let others = routes.iter().filter(|other| *other != route);
        let mut conf = Command::new(&plenary);
        conf.args(["cluster", "nats-conf", "--name", &format!("n{nth}")]);
        conf.args(["--listen", &format!("127.0.0.1:{client}")]);
        conf.args(["--routes-listen", &format!("127.0.0.1:{route}"), "--store"]);
        conf.arg(data.join(format!("nats-{nth}")));
        others.for_each(|other| {
            conf.args(["--route", &format!("127.0.0.1:{other}")]);
        });
        let printed = conf.output().context("printing a configuration")?;
        let file = data.join(format!("nats-{nth}.conf"));
        std::fs::write(&file, printed.stdout)?;
        let log = File::create(data.join(format!("nats-{nth}.log")))?;
        let child = Command::new(&nats).arg("-c").arg(file).stderr(log).stdin(Stdio::null()).spawn();
        started.0.push(child.with_context(|| format!("could not start {}", nats.display()))?);
    }
    let urls: Vec<_> = clients.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
    let urls = urls.join(",");
    for nth in 0..NODES {
        node(&plenary, &data, args.port + nth, nth, &urls, &mut started)?;
    }
    console::print_line(&format!("    the operator's token: {OPERATOR}"));
    console::print_line(&format!("    plenary cluster status --cluster {urls}"));
    console::print_line("    Ctrl-C ends them; what they keep stays, and the next run goes on with it");
    let mut first = started.0.remove(0);
    let ended = first.wait()?;
    bail!("a NATS server has ended: {ended}")
}

fn node(plenary: &Path, data: &Path, port: u16, nth: u16, urls: &str, started: &mut Started) -> Result<()> {
    let log = File::create(data.join(format!("node-{nth}.log")))?;
    let mut command = Command::new(plenary);
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--cluster", urls, "--data"]);
    command.arg(data.join(format!("node-{nth}"))).env("PLENARY_OPERATOR_TOKEN", OPERATOR);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().with_context(|| format!("could not start {}", plenary.display()))?;
    let output = child.stdout.take();
    started.0.push(child);
    let mut first = String::new();
    let mut output = BufReader::new(output.context("its output is piped")?);
    output.read_line(&mut first)?;
    if first.is_empty() {
        let log = std::fs::read_to_string(data.join(format!("node-{nth}.log"))).unwrap_or_default();
        bail!("node {nth} did not start:\n{log}");
    }
    console::print_line(&format!("    node {nth}: {}", first.trim()));
    // Later output must not fill the pipe.
    std::thread::spawn(move || output.read_to_end(&mut Vec::new()));
    Ok(())
}
