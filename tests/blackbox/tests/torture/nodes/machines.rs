//! What runs on the machines: a NATS server and a node each; started, killed, stopped, started again.
//! Must not know: who uses them.

use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Duration,
};

use blackbox::{Connection, TempDir, binary, eventually_within, render};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use super::{
    disks::Disk,
    place::{COUNT, Place},
};

/// The operator's token of each node.
pub(super) const OPERATOR: &str = "plo_torture00000000000000000000000000000000000000000000000000";
/// How long anything may take to come back on a busy machine.
pub(super) const BACK_MAX: Duration = Duration::from_secs(120);
/// How far the clocks of the nodes are ahead at first.
const AHEAD_S: [i64; COUNT] = [0, 300, -300];
/// How long a node may take to say whether it is ready.
const READY_MAX: Duration = Duration::from_secs(3);
/// How long a program may take to end that was asked to.
const END_MAX: Duration = Duration::from_secs(40);
/// Where the logs go of a run that fails.
const LOGS: &str = "PLENARY_TORTURE_LOGS";
/// The last lines of each log that a failure shows.
const LINES_SHOWN: usize = 12;

/// One of the two programs of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Nats,
    Node,
}

/// The machines, with everything that runs on them.
#[derive(Debug)]
pub(super) struct Machines {
    pub(super) place: Place,
    pub(super) disks: Vec<Disk>,
    /// How far the clock of each node is ahead, from its next start on.
    pub(super) ahead_s: [i64; COUNT],
    /// The machine whose NATS server has a damaged store.
    pub(super) harmed: Option<usize>,
    nats: PathBuf,
    /// Two copies of the program, and which of them each node runs.
    binaries: [PathBuf; 2],
    runs_copy: [usize; COUNT],
    running: Vec<[Option<Child>; 2]>,
    pub(super) dir: TempDir,
}

impl Machines {
    /// Starts all; `None` where there is no NATS server, in a quick run, or where no namespaces can be made.
    pub(super) async fn start() -> Option<Self> {
        let is_quick = std::env::var("PLENARY_TEST_QUICK").is_ok_and(|value| value == "1");
        let named = std::env::var("PLENARY_TEST_NATS").ok().filter(|path| !path.is_empty());
        if named.is_none() && is_quick {
            return None;
        }
        let nats = named.expect("PLENARY_TEST_NATS names a nats-server: `cargo xtask test` installs one");
        let Some(place) = Place::make() else {
            println!("skipped: this process may not make network namespaces");
            return None;
        };
        let dir = TempDir::new();
        let disks = (0..COUNT).map(|nth| Disk::make(dir.path(), nth)).collect();
        let running = (0..COUNT).map(|_| [None, None]).collect();
        let copy = dir.path().join("plenary-next");
        fs::copy(binary(), &copy).expect("the binary can be copied");
        let mut machines = Self {
            place,
            disks,
            ahead_s: AHEAD_S,
            harmed: None,
            nats: nats.into(),
            binaries: [binary(), copy],
            runs_copy: [0; COUNT],
            running,
            dir,
        };
        for nth in 0..COUNT {
            machines.configure(nth);
            machines.run(Program::Nats, nth);
        }
        for nth in 0..COUNT {
            machines.run(Program::Node, nth);
        }
        for nth in 0..COUNT {
            machines.serves(nth).await;
        }
        Some(machines)
    }

    fn configure(&self, nth: usize) {
        let address = self.place.address(nth);
        let others = (0..COUNT).filter(|other| *other != nth).map(|other| self.place.address(other));
        let routes: Vec<_> = others.map(|other| format!("\"nats://{other}:6222\"")).collect();
        let text = format!(
            "server_name: n{nth}\nlisten: \"{address}:4222\"\nhttp: \"{address}:8222\"\nmax_payload: 8388608\n\
             ping_interval: \"2s\"\nping_max: 2\nwrite_deadline: \"4s\"\n\
             jetstream {{ store_dir: \"{}\", sync_interval: always }}\n\
             cluster {{ name: t, listen: \"{address}:6222\", routes: [{}] }}\n",
            self.directory(Program::Nats, nth).display(),
            routes.join(", ")
        );
        fs::write(self.conf(nth), text).expect("the configuration can be written");
    }

    fn conf(&self, nth: usize) -> PathBuf {
        self.dir.path().join(format!("nats-{nth}.conf"))
    }

    /// Where a node keeps its replica.
    pub(super) fn data(&self, nth: usize) -> PathBuf {
        self.directory(Program::Node, nth)
    }

    fn directory(&self, program: Program, nth: usize) -> PathBuf {
        let name = match program {
            Program::Node => "data",
            Program::Nats => "nats",
        };
        self.disks[nth].at().join(name)
    }

    /// The value of `--cluster`, each node's own server first.
    pub(super) fn urls(&self, first: usize) -> String {
        let order = (0..COUNT).map(|nth| (first + nth) % COUNT);
        let urls: Vec<_> = order.map(|nth| format!("nats://{}:4222", self.place.address(nth))).collect();
        urls.join(",")
    }

    /// Where a node listens.
    pub(super) fn socket(&self, nth: usize) -> SocketAddr {
        format!("{}:7420", self.place.address(nth)).parse().expect("an address")
    }

    /// Starts one that does not run.
    pub(super) fn run(&mut self, program: Program, nth: usize) {
        if self.running[nth][program as usize].is_some() {
            return;
        }
        let name = format!("{program:?}-{nth}.log");
        let log = File::options().create(true).append(true).open(self.dir.path().join(name));
        let mut command = match program {
            Program::Nats => {
                let mut command = self.place.on(nth, &self.nats);
                command.arg("-c").arg(self.conf(nth));
                command
            }
            Program::Node => {
                let mut command = self.place.on(nth, &self.binaries[self.runs_copy[nth]]);
                command.args([
                    "serve",
                    "--listen",
                    &self.socket(nth).to_string(),
                    "--cluster",
                    &self.urls(nth),
                ]);
                command.args(["--cluster-node", &format!("n{nth}"), "--data"]).arg(self.data(nth));
                command.args(["--cluster-monitor", &format!("http://{}:8222", self.place.address(nth))]);
                command.env("PLENARY_OPERATOR_TOKEN", OPERATOR);
                command.args(["--test-clock-ahead", &self.ahead_s[nth].to_string()]);
                command
            }
        };
        let log = log.expect("the log file opens");
        let child = command.stdout(Stdio::null()).stderr(log).spawn().expect("it starts");
        self.running[nth][program as usize] = Some(child);
    }

    /// Waits until a node is ready.
    pub(super) async fn serves(&self, nth: usize) {
        let what = format!("node {nth} serves; its log: {}", self.logged(nth));
        eventually_within(BACK_MAX, &what, async || self.is_ready(nth).await.then_some(())).await;
    }

    /// Whether a node says that it is ready.
    pub(super) async fn is_ready(&self, nth: usize) -> bool {
        let asked = render("GET", "/readyz", &[], None);
        let asking = async {
            let mut connection = Connection::open(self.socket(nth)).await.ok()?;
            connection.round_trip(&asked).await.ok()
        };
        matches!(timeout(READY_MAX, asking).await, Ok(Some(answer)) if answer.status == 200)
    }

    /// The end of what a node has logged.
    pub(super) fn logged(&self, nth: usize) -> String {
        self.last_lines(Program::Node, nth)
    }

    fn last_lines(&self, program: Program, nth: usize) -> String {
        let name = format!("{program:?}-{nth}.log");
        let text = fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(LINES_SHOWN).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    fn keep_logs(&self, into: &Path) {
        fs::create_dir_all(into).expect("a directory can be made");
        for entry in fs::read_dir(self.dir.path()).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|end| end == "log") {
                fs::copy(entry.path(), into.join(entry.file_name())).expect("a log can be copied");
            }
        }
    }

    /// SIGKILL.
    pub(super) fn kill(&mut self, program: Program, nth: usize) {
        if let Some(mut child) = self.running[nth][program as usize].take() {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self, program: Program, nth: usize) -> bool {
        let running = &mut self.running[nth][program as usize];
        let has_ended = running.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
        if has_ended {
            *running = None;
        }
        has_ended
    }

    /// SIGTERM, and a clean end in time demanded.
    pub(super) async fn stop(&mut self, program: Program, nth: usize) {
        self.signal(program, nth, Signal::TERM);
        let mut child = self.running[nth][program as usize].take().expect("it runs");
        let end = || std::future::ready(child.try_wait().expect("it is ours"));
        let status = eventually_within(END_MAX, "a program that was asked to ends", end).await;
        // NATS says by its exit code that a signal ended it.
        assert!(status.success() || program == Program::Nats, "{status}: {}", self.last_lines(program, nth));
    }

    /// The node runs the other copy of the program from its next start on.
    pub(super) fn change_binary(&mut self, nth: usize) {
        self.runs_copy[nth] = 1 - self.runs_copy[nth];
    }

    /// Removes all that a stopped program keeps.
    pub(super) fn empty(&mut self, program: Program, nth: usize) {
        assert!(self.running[nth][program as usize].is_none(), "it does not run");
        fs::remove_dir_all(self.directory(program, nth)).expect("what it keeps can be removed");
    }

    /// SIGSTOP or SIGCONT.
    pub(super) fn signal(&self, program: Program, nth: usize, signal: Signal) {
        let child = self.running[nth][program as usize].as_ref().expect("it runs");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("process ids fit")).expect("not zero");
        kill_process(pid, signal).expect("it can be signalled");
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for nth in 0..COUNT {
            for program in [Program::Node, Program::Nats] {
                self.kill(program, nth);
            }
        }
        if std::thread::panicking() {
            if let Ok(into) = std::env::var(LOGS) {
                self.keep_logs(into.as_ref());
            }
            for nth in 0..COUNT {
                println!("--- node {nth} ---\n{}", self.logged(nth));
                println!("--- NATS server {nth} ---\n{}", self.last_lines(Program::Nats, nth));
            }
        }
    }
}
