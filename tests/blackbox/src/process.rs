//! One run of the binary: found, started, asked for its address, signalled, waited for.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// A debug build on a busy machine, with a database to prepare, may take this long to listen.
const START_MAX: Duration = Duration::from_secs(60);
/// What the server prints first on stdout, followed by its address.
const GREETING: &str = "listening on ";
/// How that address begins.
const ORIGINS: [&str; 2] = ["http://127.0.0.1:", "https://127.0.0.1:"];

/// What stands before the port in the log.
const LISTENING: &str = "\"message\":\"listening\",\"address\":\"127.0.0.1:";

/// A running server process. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// The port it listens on.
    pub(crate) port: u16,
    stdout: Arc<Mutex<String>>,
}

/// The port of the last start that a log tells of.
fn logged_port(log: &str) -> Option<u16> {
    let (_, rest) = log.rsplit_once(LISTENING)?;
    rest.split('"').next()?.parse().ok()
}

/// The port that the log names behind the bytes that stood there before the start.
async fn await_logged_port(log: &Path, before: usize) -> Option<u16> {
    let deadline = tokio::time::Instant::now() + START_MAX;
    while tokio::time::Instant::now() < deadline {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        if let Some(port) = text.get(before..).and_then(logged_port) {
            return Some(port);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    None
}

impl Process {
    /// Starts the binary and waits until it listens. stderr is appended to `log`.
    pub(crate) async fn start(args: &[OsString], env: &[(String, String)], log: &Path) -> Self {
        let stderr = File::options().create(true).append(true).open(log).expect("the log file opens");
        let before = std::fs::read_to_string(log).map_or(0, |text| text.len());
        let mut command = Command::new(binary());
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("PLENARY_") || text.starts_with("OTEL_") {
                command.env_remove(name);
            }
        }
        command.envs(env.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let first = timeout(START_MAX, lines.next_line()).await;
        let port = match &first {
            Ok(Ok(Some(line))) => {
                let url = line.strip_prefix(GREETING).unwrap_or_default();
                // A public URL may be one of this machine too, as that of a relay is.
                let is_public = args.iter().any(|arg| arg == "--public-url");
                let mut origins = ORIGINS.iter().filter(|_| !is_public);
                let port = origins.find_map(|origin| url.strip_prefix(origin));
                match port.and_then(|port| port.trim_end_matches('/').parse().ok()) {
                    Some(port) => Some(port),
                    // It prints its public URL where it has one; the log says where it listens.
                    None if url.starts_with("http") => await_logged_port(log, before).await,
                    None => None,
                }
            }
            _ => None,
        };
        let Some(port) = port else {
            let stderr = std::fs::read_to_string(log).unwrap_or_default();
            panic!("{command:?} did not print `{GREETING}URL` first, but {first:?}; stderr:\n{stderr}");
        };
        let stdout = Arc::new(Mutex::new(String::new()));
        tokio::spawn(collect(lines, Arc::clone(&stdout)));
        Self { child, port, stdout }
    }

    /// Starts the binary in the expectation that it refuses to run; its status and stderr.
    pub(crate) async fn start_refused(args: &[OsString]) -> (ExitStatus, String) {
        let mut command = Command::new(binary());
        command.args(args).stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(START_MAX, command.output()).await.expect("it gives up in time");
        let output = output.expect("it starts");
        (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// SIGKILL, and the end awaited.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.expect("the server can be killed");
    }

    /// SIGKILL without waiting, for drops.
    pub(crate) fn kill_now(&mut self) {
        // It may be over already.
        let result = self.child.start_kill();
        drop(result);
    }

    /// The process id, while it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// SIGTERM.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// SIGHUP.
    pub(crate) fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.id().expect("the server runs");
        let pid = Pid::from_raw(i32::try_from(id).expect("process ids fit")).expect("not zero");
        kill_process(pid, signal).expect("the server can be signalled");
    }

    /// Waits for the end, at most so long.
    pub(crate) async fn wait(&mut self, limit: Duration) -> ExitStatus {
        let status = timeout(limit, self.child.wait()).await;
        status
            .unwrap_or_else(|_| panic!("the server still runs after {limit:?}"))
            .expect("the server can be waited for")
    }

    /// What came on stdout after the first line.
    pub(crate) fn stdout(&self) -> String {
        self.stdout.lock().expect("nobody panics with it").clone()
    }
}

/// The command line and the environment of a process, as they stand in `/proc`.
pub(crate) fn proc_texts(id: u32) -> (String, String) {
    let text = |name: &str| {
        let bytes = std::fs::read(format!("/proc/{id}/{name}")).expect("the process runs");
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    (text("cmdline"), text("environ"))
}

/// Sets the soft limit of open files of a process that this one has started.
pub(crate) fn limit_open_files(id: u32, limit: u64) {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let maximum = getrlimit(Resource::Nofile).maximum;
    prlimit(pid, Resource::Nofile, Rlimit { current: Some(limit), maximum }).expect("the limit is set");
}

async fn collect(mut lines: Lines<BufReader<ChildStdout>>, into: Arc<Mutex<String>>) {
    while let Ok(Some(line)) = lines.next_line().await {
        let mut text = into.lock().expect("nobody panics with it");
        text.push_str(&line);
        text.push('\n');
    }
}

/// `PLENARY_BIN`, or the binary of the same build as this test executable.
pub fn binary() -> PathBuf {
    let path = match std::env::var_os("PLENARY_BIN") {
        Some(path) => PathBuf::from(path),
        None => {
            let test = std::env::current_exe().expect("the test executable knows its path");
            let profile = test.parent().and_then(Path::parent).expect("it lies in target/<profile>/deps");
            profile.join("plenary")
        }
    };
    assert!(
        path.is_file(),
        "no server binary at {}: build it with `cargo build -p plenary` (add `--release` when the tests run with \
         `--release`), or name another in PLENARY_BIN",
        path.display()
    );
    path
}

/// Writes a file that a server reads at its start.
pub(crate) fn write_file(path: &Path, text: &str) {
    let mut file = File::create(path).expect("the file can be made");
    file.write_all(text.as_bytes()).expect("the file can be written");
}
