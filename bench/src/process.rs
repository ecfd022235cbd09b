//! Child processes: the server under test and the bare limits. Each says where it listens in its first line, and
//! is killed when it is dropped. Must not know: what is measured on them.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// The operator's token of every server here.
pub(crate) const OPERATOR: &str = "the-operator-of-the-bench";
/// The configuration file of every server here: one owner stores what a figure needs.
const CONFIG: &str = "[quota]\nstored_bytes_max = 1099511627776\nstored_events_max = 1000000000\n";
/// How long a server may take to end when it is asked to.
const STOP_MAX: Duration = Duration::from_secs(15);

/// Where a server keeps its store.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// SQLite, in this directory.
    Directory(PathBuf),
    /// PostgreSQL.
    Postgres(String),
}

/// A process that listens.
#[derive(Debug)]
pub(crate) struct Listening {
    child: Child,
    /// Where it listens; a fan-out limit at two places, where messages come in and where they go out.
    pub(crate) addresses: Vec<SocketAddr>,
    /// From the start of the process to its first line.
    pub(crate) started_in: Duration,
    complaints: PathBuf,
    /// Kept open: a later line of it is nobody's error.
    _out: BufReader<ChildStdout>,
}

impl Listening {
    /// Starts the server on a store, with further arguments and variables.
    pub(crate) fn server(
        plenary: &Path,
        scratch: &Path,
        store: &Store,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let mut command = Command::new(plenary);
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("PLENARY_")) {
                command.env_remove(name);
            }
        }
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
        match store {
            Store::Directory(directory) => command.arg("--data").arg(directory),
            Store::Postgres(url) => command.arg("--database").arg(url),
        };
        let config = scratch.join("plenary.toml");
        fs::write(&config, CONFIG)?;
        command.env("PLENARY_CONFIG", config);
        command.env("PLENARY_OPERATOR_TOKEN", OPERATOR).env("PLENARY_LOG", "warn");
        command.envs(variables.iter().copied());
        Self::start(command, scratch, "server")
    }

    /// Starts a bare limit: this very program in another role.
    pub(crate) fn limit(scratch: &Path, role: &[&str]) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("limit").args(role);
        Self::start(command, scratch, role.first().copied().unwrap_or("limit"))
    }

    fn start(mut command: Command, scratch: &Path, name: &str) -> Result<Self> {
        let complaints = scratch.join(format!("{name}.log"));
        // In the scratch directory no configuration file lies about.
        command.current_dir(scratch).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(fs::OpenOptions::new().create(true).append(true).open(&complaints)?);
        let begin = Instant::now();
        let mut child = command.spawn().with_context(|| format!("could not start {name}"))?;
        let mut out = BufReader::new(child.stdout.take().context("its standard output is a pipe")?);
        let mut line = String::new();
        let read = out.read_line(&mut line);
        let started_in = begin.elapsed();
        let mut listening = Self { child, addresses: Vec::new(), started_in, complaints, _out: out };
        read?;
        let parse = |text: &str| text.trim_start_matches("http://").parse().ok();
        listening.addresses = line.split_whitespace().filter_map(parse).collect();
        if listening.addresses.is_empty() {
            bail!("{name} did not start: {line}{}", listening.complaints());
        }
        Ok(listening)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// What it wrote to standard error.
    pub(crate) fn complaints(&self) -> String {
        fs::read_to_string(&self.complaints).unwrap_or_default()
    }

    /// Its resident memory, in KiB.
    pub(crate) fn resident_kib(&self) -> Result<u64> {
        self.memory_kib("VmRSS:")
    }

    /// Its resident memory without pages of files, which the kernel maps as it likes, in KiB.
    pub(crate) fn anonymous_kib(&self) -> Result<u64> {
        self.memory_kib("RssAnon:")
    }

    /// The most that was ever resident, in KiB.
    pub(crate) fn peak_kib(&self) -> Result<u64> {
        self.memory_kib("VmHWM:")
    }

    fn memory_kib(&self, name: &str) -> Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.context("the process has ended")?.parse().with_context(|| format!("{name} is a number"))
    }

    /// Asks it to stop, and waits.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("a process id")?;
        kill_process(pid, Signal::TERM)?;
        let deadline = Instant::now() + STOP_MAX;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                bail!("the server did not stop in {STOP_MAX:?}");
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
