//! What runs on the machines: a NATS server and a node each; started, killed, stopped, started again.
//! Must not know: who uses them.

use std::{
    fs::{self, File},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use blackbox::{Connection, ShiftedClock, TempDir, binary, eventually_within, render};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    disks::Disk,
    place::{COUNT, Place},
};

/// The operator's token of each node.
pub(super) const OPERATOR: &str = "plo_torture00000000000000000000000000000000000000000000000000";
/// How long anything may take to come back on a busy machine.
pub(super) const BACK_MAX: Duration = Duration::from_secs(120);
/// How far the clocks of the nodes are ahead.
const AHEAD_S: [i64; COUNT] = [0, 300, -300];

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
    nats: PathBuf,
    clock: Option<ShiftedClock>,
    running: Vec<[Option<Child>; 2]>,
    dir: TempDir,
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
        let clock = ShiftedClock::make();
        let mut machines = Self { place, disks, nats: nats.into(), clock, running, dir };
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
            self.disks[nth].at().join("nats").display(),
            routes.join(", ")
        );
        fs::write(self.conf(nth), text).expect("the configuration can be written");
    }

    fn conf(&self, nth: usize) -> PathBuf {
        self.dir.path().join(format!("nats-{nth}.conf"))
    }

    /// Where a node keeps its replica.
    pub(super) fn data(&self, nth: usize) -> PathBuf {
        self.disks[nth].at().join("data")
    }

    /// Where a NATS server keeps its streams.
    pub(super) fn store(&self, nth: usize) -> PathBuf {
        self.disks[nth].at().join("nats")
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
                let mut command = self.place.on(nth, &binary());
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
                if let Some(clock) = &self.clock {
                    command.envs(clock.ahead(AHEAD_S[nth]));
                }
                command
            }
        };
        let log = log.expect("the log file opens");
        let child = command.stdout(Stdio::null()).stderr(log).spawn().expect("it starts");
        self.running[nth][program as usize] = Some(child);
    }

    /// Waits until a node answers.
    pub(super) async fn serves(&self, nth: usize) {
        let asked = render("GET", "/readyz", &[], None);
        eventually_within(
            BACK_MAX,
            &format!("node {nth} serves; its log: {}", self.logged(nth)),
            async || {
                let asking = async {
                    let mut connection = Connection::open(self.socket(nth)).await.ok()?;
                    connection.round_trip(&asked).await.ok()
                };
                let answer = timeout(Duration::from_secs(3), asking).await.ok()??;
                (answer.status == 200).then_some(())
            },
        )
        .await;
    }

    /// The end of what a node has logged.
    pub(super) fn logged(&self, nth: usize) -> String {
        let text = fs::read_to_string(self.dir.path().join(format!("Node-{nth}.log"))).unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(12).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
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

    /// Whether a node runs, as far as is known.
    pub(super) fn runs(&self, nth: usize) -> bool {
        self.running[nth][Program::Node as usize].is_some()
    }

    /// SIGSTOP or SIGCONT.
    pub(super) fn signal(&self, program: Program, nth: usize, signal: Signal) {
        let child = self.running[nth][program as usize].as_ref().expect("it runs");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("process ids fit")).expect("not zero");
        kill_process(pid, signal).expect("it can be signalled");
    }

    /// What `plenary cluster` answers to the operator, who is on none of the machines.
    pub(super) fn asked(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", self.dir.path()).env("PLENARY_CLUSTER", self.urls(0));
        let output = command.arg("cluster").args(args).output().expect("the binary starts");
        let text = |octets| String::from_utf8(octets).expect("it prints UTF-8");
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    /// The state of the journal of the log, once there is one with a leader and a node with the pen.
    async fn status(&self) -> Value {
        eventually_within(BACK_MAX, "somebody leads and somebody writes", async || {
            let (_, out, _) = self.asked(&["status", "--json"]);
            let status: Value = serde_json::from_str(out.lines().next()?).ok()?;
            let has_pen = status["nodes"].as_array()?.iter().any(|node| node["pen"] == true);
            (status["leader"].is_string() && has_pen).then_some(status)
        })
        .await
    }

    /// The node that has the pen.
    pub(super) async fn pen(&self) -> usize {
        let status = self.status().await;
        let nodes = status["nodes"].as_array().expect("a list");
        let mut with_pen = nodes.iter().filter(|node| node["pen"] == true);
        nth(with_pen.next().expect("one has it")["node"].as_str())
    }

    /// The NATS server that leads the journal of the log.
    pub(super) async fn leader(&self) -> usize {
        nth(self.status().await["leader"].as_str())
    }
}

fn nth(name: Option<&str>) -> usize {
    let number = name.and_then(|name| name.strip_prefix('n')).and_then(|number| number.parse().ok());
    number.expect("the name of a machine")
}

impl Drop for Machines {
    fn drop(&mut self) {
        for nth in 0..COUNT {
            for program in [Program::Node, Program::Nats] {
                self.kill(program, nth);
            }
        }
        if std::thread::panicking() {
            for nth in 0..COUNT {
                println!("--- node {nth} ---\n{}", self.logged(nth));
            }
        }
    }
}
