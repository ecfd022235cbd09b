//! A server with a directory of its own: start, kill, stop, start again on the same data, make agents.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::{Value, json};

use crate::postgres::NATS;
use crate::process::{Process, write_file};
use crate::{Address, Agent, Caller, Certificate, TempDir};

/// The operator's token of every server under test.
const OPERATOR: &str = "plo_blackbox0000000000000000000000000000000000000000000000000000";
/// A graceful stop takes at most ten seconds (`docs/limits.md`), and a busy machine has as much again, and again.
const STOP_MAX: Duration = Duration::from_secs(30);

/// How to start a server.
#[derive(Debug, Default)]
pub struct Builder {
    grace: Option<String>,
    database: Option<String>,
    seed: Option<Value>,
    config: Option<String>,
    own_operator_token: bool,
    tls: bool,
    data: Option<PathBuf>,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Builder {
    /// `--grace`, for example `300ms`; 30 s when not called.
    pub fn grace(mut self, grace: &str) -> Self {
        self.grace = Some(grace.to_owned());
        self
    }

    /// `--database`, a PostgreSQL URL; SQLite in the data directory when not called. `nats://…#NETWORK` makes it a node of
    /// a cluster.
    pub fn database(mut self, url: &str) -> Self {
        if let Some((servers, network)) = url.split_once('#').filter(|_| url.starts_with(NATS)) {
            return self
                .arg("--cluster")
                .arg(servers)
                .arg("--cluster-network")
                .arg(network)
                .arg("--cluster-dev");
        }
        self.database = Some(url.to_owned());
        self
    }

    /// `--data`, a directory that stays when the server goes; a fresh one when not called.
    pub fn data(mut self, data: &std::path::Path) -> Self {
        self.data = Some(data.to_owned());
        self
    }

    /// `--seed`, the content of the file.
    pub fn seed(mut self, seed: Value) -> Self {
        self.seed = Some(seed);
        self
    }

    /// `--config`, the content of the file.
    pub fn config(mut self, toml: &str) -> Self {
        self.config = Some(toml.to_owned());
        self
    }

    /// The server makes its own operator token, as on a first start without configuration.
    pub fn own_operator_token(mut self) -> Self {
        self.own_operator_token = true;
        self
    }

    /// `--tls-cert` and `--tls-key`, with a certificate made for this server; it is spoken to over TLS.
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Any further argument.
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// Any variable of its environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Spans go there, without waiting for others to travel with.
    pub fn spans_to(self, endpoint: &str) -> Self {
        self.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_BSP_SCHEDULE_DELAY", "20")
    }

    /// Starts it and waits until it listens.
    pub async fn start(self) -> Server {
        let dir = TempDir::new();
        let data = self.data.unwrap_or_else(|| dir.path().join("data"));
        let mut args: Vec<OsString> = vec!["serve".into(), "--listen".into(), "127.0.0.1:0".into()];
        args.extend(["--grace".into(), self.grace.unwrap_or_else(|| "30s".to_owned()).into()]);
        match self.database {
            Some(url) => args.extend(["--database".into(), url.into(), "--data".into(), data.clone().into()]),
            None => args.extend(["--data".into(), data.clone().into()]),
        }
        if let Some(seed) = self.seed {
            let path = dir.path().join("seed.json");
            write_file(&path, &seed.to_string());
            args.extend(["--seed".into(), path.into()]);
        }
        if let Some(config) = self.config {
            let path = dir.path().join("plenary.toml");
            write_file(&path, &config);
            args.extend(["--config".into(), path.into()]);
        }
        let tls = self.tls.then(|| Certificate::make(dir.path()));
        if let Some(tls) = &tls {
            args.extend(["--tls-cert".into(), tls.file.clone().into()]);
            args.extend(["--tls-key".into(), tls.key.clone().into()]);
        }
        args.extend(self.args.into_iter().map(OsString::from));
        let mut env = self.env;
        if !self.own_operator_token {
            env.push(("PLENARY_OPERATOR_TOKEN".to_owned(), OPERATOR.to_owned()));
        }
        let log = dir.path().join("stderr.log");
        let process = Process::start(&args, &env, &log).await;
        let address = Address::with_tls(tls.as_ref().map(|tls| tls.trusted(rustls::ALL_VERSIONS)));
        address.set_port(process.port);
        let (process, stdout) = (Some(process), String::new());
        Server { args, env, log, data, address, tls, process, stdout, _dir: dir }
    }
}

/// A server under test.
#[derive(Debug)]
pub struct Server {
    args: Vec<OsString>,
    env: Vec<(String, String)>,
    log: PathBuf,
    data: PathBuf,
    address: Address,
    tls: Option<Certificate>,
    process: Option<Process>,
    stdout: String,
    _dir: TempDir,
}

impl Server {
    /// A server on SQLite with a grace of 30 s.
    pub async fn start() -> Self {
        Builder::default().start().await
    }

    /// A server with these agents, each with policy `open`.
    pub async fn with<const N: usize>(handles: [&str; N]) -> (Self, [Agent; N]) {
        let server = Self::start().await;
        let mut agents = Vec::new();
        for handle in handles {
            agents.push(server.agent(handle).await);
        }
        (server, agents.try_into().unwrap_or_else(|_| panic!("an agent for each handle")))
    }

    /// A server with `@alice.bot` and `@bob.bot` in a session.
    pub async fn with_pair() -> (Self, Agent, Agent, String) {
        let server = Self::start().await;
        let (alice, bob, id) = crate::pair(&server).await;
        (server, alice, bob, id)
    }

    /// A server on a store that is there already.
    pub async fn on(data: &str) -> Self {
        Builder { data: Some(data.into()), ..Builder::default() }.start().await
    }

    /// Another way to start one.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Where it listens, also after a restart.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Its certificate; only where it speaks TLS.
    pub fn certificate(&self) -> &Certificate {
        self.tls.as_ref().expect("the server speaks TLS")
    }

    /// Its URL.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address.get())
    }

    /// Its data directory.
    pub fn data(&self) -> &PathBuf {
        &self.data
    }

    /// SIGKILL; everything in flight is lost that was not acknowledged.
    pub async fn kill(&mut self) {
        let mut process = self.process.take().expect("the server runs");
        process.kill().await;
        self.stdout.push_str(&process.stdout());
    }

    /// SIGTERM, without waiting.
    pub fn terminate(&self) {
        self.process.as_ref().expect("the server runs").terminate();
    }

    /// SIGHUP.
    pub fn hang_up(&self) {
        self.process.as_ref().expect("the server runs").hang_up();
    }

    /// Waits for the end after [`Server::terminate`]; panics when it takes longer than the documents allow.
    pub async fn wait(&mut self) -> ExitStatus {
        let mut process = self.process.take().expect("the server runs");
        let status = process.wait(STOP_MAX).await;
        self.stdout.push_str(&process.stdout());
        status
    }

    /// SIGTERM, and a clean end in time demanded.
    pub async fn stop(&mut self) {
        self.terminate();
        let status = self.wait().await;
        assert!(status.success(), "a graceful stop exits 0, not {status}");
    }

    /// A variable of its environment from its next start on.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.env.retain(|(variable, _)| variable != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Starts again on the same data, after [`Server::kill`] or [`Server::stop`].
    pub async fn restart(&mut self) {
        assert!(self.process.is_none(), "the server still runs");
        let process = Process::start(&self.args, &self.env, &self.log).await;
        self.address.set_port(process.port);
        self.process = Some(process);
    }

    /// SIGKILL and start again.
    pub async fn crash(&mut self) {
        self.kill().await;
        self.restart().await;
    }

    /// A second process on the same data directory, expected to refuse: its status and stderr.
    pub async fn start_twin(&self) -> (ExitStatus, String) {
        Process::start_refused(&self.args).await
    }

    /// Everything that the server printed so far, on both streams.
    pub fn output_text(&self) -> String {
        let running = self.process.as_ref().map(Process::stdout).unwrap_or_default();
        let stderr = std::fs::read(&self.log).unwrap_or_default();
        format!("{}{running}{}", self.stdout, String::from_utf8_lossy(&stderr))
    }

    /// What the server wrote to stderr so far.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until the server has written these words to stderr: it logs on a thread of its own.
    pub async fn wait_for_log(&self, words: &str) {
        crate::eventually(&format!("the log contains {words:?}"), || async {
            self.log_text().contains(words).then_some(())
        })
        .await;
    }

    /// The command line and the environment of the process, as they stand in `/proc`.
    pub fn proc_texts(&self) -> (String, String) {
        crate::process::proc_texts(self.process.as_ref().and_then(Process::id).expect("the server runs"))
    }

    /// Leaves the process this many open files beyond those that it has.
    pub fn leave_open_files(&self, more: u64) {
        let id = self.process.as_ref().and_then(Process::id).expect("the server runs");
        let open = std::fs::read_dir(format!("/proc/{id}/fd")).expect("its files are listed").count() as u64;
        crate::process::limit_open_files(id, open + more);
    }

    /// Resident memory of the process now, in KiB.
    pub fn resident_kib(&self) -> u64 {
        self.memory_kib("VmRSS:")
    }

    /// The most that the process ever had resident, in KiB.
    pub fn peak_kib(&self) -> u64 {
        self.memory_kib("VmHWM:")
    }

    fn memory_kib(&self, what: &str) -> u64 {
        let id = self.process.as_ref().and_then(Process::id).expect("the server runs");
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the process has a status");
        let line = status.lines().find_map(|line| line.strip_prefix(what)).expect("the figure is known");
        line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
    }

    /// The bytes that the process has read from files and sockets so far.
    pub fn read_bytes(&self) -> u64 {
        let id = self.process.as_ref().and_then(Process::id).expect("the server runs");
        let io = std::fs::read_to_string(format!("/proc/{id}/io")).expect("the process has counts");
        let line = io.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("the count is there");
        line.parse().expect("a number of bytes")
    }

    /// The operator.
    pub fn operator(&self) -> Caller {
        self.bearer(OPERATOR)
    }

    /// Whoever holds this token.
    pub fn bearer(&self, token: &str) -> Caller {
        Caller::new(self.address.clone(), Some(token))
    }

    /// Someone without a token.
    pub fn stranger(&self) -> Caller {
        Caller::new(self.address.clone(), None)
    }

    /// A new owner; the caller holds the owner's token.
    pub async fn owner(&self, owner: &str) -> Caller {
        let made = self.operator().post("/_admin/owners", json!({ "owner": owner })).await.ok(201);
        self.bearer(made["token"].as_str().expect("an owner gets a token"))
    }

    /// A new agent with policy `open`.
    pub async fn agent(&self, handle: &str) -> Agent {
        self.agent_as(json!({ "handle": handle, "policy": "open" })).await
    }

    /// A new agent with policy `allowlist` and these entries.
    pub async fn closed_agent(&self, handle: &str, allowlist: &[&str]) -> Agent {
        self.agent_as(json!({ "handle": handle, "policy": "allowlist", "allowlist": allowlist })).await
    }

    /// A new agent, as `POST /_admin/agents` takes it.
    pub async fn agent_as(&self, body: Value) -> Agent {
        let made = self.operator().post("/_admin/agents", body).await.ok(201);
        let handle = made["handle"].as_str().expect("an agent has a handle");
        Agent::new(handle, self.address.clone(), made["token"].as_str().expect("an agent gets a token"))
    }

    /// The operator lists `other` as blocked by `blocker`.
    pub async fn block(&self, blocker: &Agent, other: &str) {
        let path = format!("/_admin/agents/{}/blocks", blocker.handle);
        self.operator().post(&path, json!({ "handle": other })).await.ok(201);
    }
}

impl Drop for Server {
    #[expect(clippy::print_stderr, reason = "the log belongs beside the failure")]
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill_now();
        }
        if std::thread::panicking() {
            let printed = self.output_text();
            let start = printed.len().saturating_sub(6_000);
            let start = (start..printed.len()).find(|at| printed.is_char_boundary(*at)).unwrap_or(0);
            eprintln!("--- the server printed (the last of it) ---\n{}\n---", &printed[start..]);
        }
    }
}
