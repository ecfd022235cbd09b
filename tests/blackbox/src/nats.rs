//! Three NATS servers of a test's own on this machine, from the binary that the environment names: started, killed,
//! started again. Knows nothing of what is kept in them.

use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::{TempDir, eventually};

/// The servers of a cluster, dropped together.
#[derive(Debug)]
pub struct NatsServers {
    binary: PathBuf,
    servers: Vec<NatsServer>,
    /// What stands before the host of each URL.
    login: &'static str,
    dir: TempDir,
}

#[derive(Debug)]
struct NatsServer {
    port: u16,
    monitor: u16,
    conf: PathBuf,
    child: Option<Child>,
}

impl NatsServers {
    /// Starts three. `None` only in a quick run, which has no servers; else the binary that `PLENARY_TEST_NATS` names
    /// must be there.
    pub async fn three() -> Option<Self> {
        Self::start(3, "always", "").await
    }

    /// Starts one, which is no cluster.
    pub async fn one() -> Option<Self> {
        Self::start(1, "always", "").await
    }

    /// Starts one that flushes now and then, which is its default.
    pub async fn one_without_flush() -> Option<Self> {
        Self::start(1, "2m", "").await
    }

    /// Starts one that takes only the user `ple` with the password `p@ss/1`.
    pub async fn one_with_password() -> Option<Self> {
        Self::start(1, "always", "ple:p%40ss%2F1@").await
    }

    async fn start(count: usize, flushes: &str, login: &'static str) -> Option<Self> {
        let named = std::env::var("PLENARY_TEST_NATS").ok().filter(|path| !path.is_empty());
        let is_quick = std::env::var("PLENARY_TEST_QUICK").is_ok_and(|value| value == "1");
        if named.is_none() && is_quick {
            return None;
        }
        let binary = named.expect("PLENARY_TEST_NATS names a nats-server: `cargo xtask test` installs one");
        let dir = TempDir::new();
        let ports: Vec<[u16; 3]> =
            free_ports(3 * count).chunks(3).map(|ports| [ports[0], ports[1], ports[2]]).collect();
        let servers = ports.iter().enumerate().map(|(nth, [port, route, monitor])| {
            let others = ports.iter().filter(|[other, ..]| other != port);
            let routes: Vec<_> =
                others.map(|[_, route, _]| format!("\"nats://127.0.0.1:{route}\"")).collect();
            let routes = routes.join(", ");
            let store = dir.path().join(format!("nats-{nth}"));
            let cluster = if count == 1 {
                String::new()
            } else {
                format!("cluster {{ name: t, listen: \"127.0.0.1:{route}\", routes: [{routes}] }}\n")
            };
            let users = "authorization { users: [{ user: ple, password: \"p@ss/1\" }] }\n";
            let users = if login.is_empty() { "" } else { users };
            let text = format!(
                "{users}server_name: n{nth}\nlisten: \"127.0.0.1:{port}\"\nmax_payload: 8388608\n\
                 http: \"127.0.0.1:{monitor}\"\n\
                 jetstream {{ store_dir: {store:?}, sync_interval: {flushes:?} }}\n{cluster}"
            );
            let conf = dir.path().join(format!("nats-{nth}.conf"));
            std::fs::write(&conf, text).expect("the configuration can be written");
            NatsServer { port: *port, monitor: *monitor, conf, child: None }
        });
        let servers = servers.collect();
        let mut all = Self { binary: binary.into(), servers, login, dir };
        for nth in 0..count {
            all.restart(nth).await;
        }
        Some(all)
    }

    /// The value of `--cluster`.
    pub fn urls(&self) -> String {
        let urls: Vec<_> = self
            .servers
            .iter()
            .map(|server| format!("nats://{}127.0.0.1:{}", self.login, server.port))
            .collect();
        urls.join(",")
    }

    /// Where the first of them says how it is configured.
    pub fn monitor(&self) -> String {
        format!("http://127.0.0.1:{}", self.servers[0].monitor)
    }

    /// Starts one that was killed, on its own data, and waits until it takes connections.
    pub async fn restart(&mut self, nth: usize) {
        let log = self.dir.path().join(format!("nats-{nth}.log"));
        let log = File::options().create(true).append(true).open(log).expect("the log file opens");
        let server = &mut self.servers[nth];
        let child = Command::new(&self.binary)
            .arg("-c")
            .arg(&server.conf)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        server.child = Some(child.expect("nats-server starts"));
        let port = server.port;
        eventually("a NATS server takes connections", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()
        })
        .await;
    }

    /// SIGKILL to the server of this name, `n0`, `n1` or `n2`; its number.
    pub fn kill(&mut self, name: &str) -> usize {
        let nth: usize = name.trim_start_matches('n').parse().expect("a server of this cluster");
        self.kill_nth(nth);
        nth
    }

    /// SIGKILL to one of them.
    pub fn kill_nth(&mut self, nth: usize) {
        if let Some(mut child) = self.servers[nth].child.take() {
            child.kill().expect("the server can be killed");
            child.wait().expect("it ends");
        }
    }
}

impl Drop for NatsServers {
    fn drop(&mut self) {
        for nth in 0..self.servers.len() {
            self.kill_nth(nth);
        }
    }
}

/// Ports that nobody listened on a moment ago.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<_> =
        (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0)).expect("a port is free")).collect();
    listeners.iter().map(|listener| listener.local_addr().expect("it is bound").port()).collect()
}
