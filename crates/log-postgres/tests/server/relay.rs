//! A relay to the server that can be cut, or set to cut at the next commit.

use std::sync::Arc;

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_postgres::{Config, config::Host};

/// A commit as the writer sends it: a simple query.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
/// The text of a statement that is a whole transaction, where it is prepared: its name is before it.
const ALONE: &[u8] = b"\0WITH p0 AS (UPDATE head SET last = $1, streams = $2 WHERE";

/// The application name of connections that receive notifications.
const LISTENING: &[u8] = b"plenary signal";

/// The treatment of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// All bytes pass.
    Open,
    /// All connections are cut, and new ones fail.
    Cut,
    /// The next commit does not reach the server; then `Cut`.
    CutBeforeCommit,
    /// Existing connections for notifications get no more answers; the others work.
    Still,
    /// The next commit reaches the server and its answer is lost; then `Cut`.
    CutAfterCommit,
}

pub(crate) struct Relay {
    url: String,
    way: Arc<watch::Sender<Way>>,
}

impl Relay {
    /// A relay to the server of the tests.
    pub(crate) async fn start() -> Self {
        let (config, server) = test_server();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let here = listener.local_addr().expect("the port is known").port();
        let way = Arc::new(watch::Sender::new(Way::Open));
        tokio::spawn(accept(listener, server, way.clone()));
        Self { url: through(&config, here), way }
    }
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
    /// Waits until a commit was lost or its answer was.
    pub(crate) async fn cut(&self) {
        self.way.subscribe().wait_for(|way| *way == Way::Cut).await.expect("the relay stands");
    }
}

/// The server of the tests, and its address.
pub(super) fn test_server() -> (Config, (String, u16)) {
    let config: Config = super::url().parse().expect("the URL is well-formed");
    let [Host::Tcp(host)] = config.get_hosts() else { panic!("the test server must be reached by TCP") };
    let server = (host.clone(), config.get_ports().first().copied().unwrap_or(5432));
    (config, server)
}

/// The server at another port of this machine. A relay reads the bytes, which TLS would hide.
pub(super) fn through(config: &Config, port: u16) -> String {
    let mut url = format!("host=127.0.0.1 port={port} sslmode=disable");
    for (name, value) in [("user", config.get_user()), ("dbname", config.get_dbname())] {
        if let Some(value) = value {
            url += &format!(" {name}='{value}'");
        }
    }
    if let Some(password) = config.get_password() {
        url += &format!(" password='{}'", String::from_utf8_lossy(password));
    }
    url
}

async fn accept(listener: TcpListener, server: (String, u16), way: Arc<watch::Sender<Way>>) {
    while let Ok((client, _)) = listener.accept().await {
        if *way.borrow() == Way::Cut {
            continue;
        }
        let server = TcpStream::connect((server.0.as_str(), server.1)).await.expect("the server is there");
        let is_older = *way.borrow() != Way::Still;
        tokio::spawn(relay(client, server, way.clone(), is_older));
    }
}

/// Runs until either side ends or the relay is cut; dropping both sockets cuts the connection.
async fn relay(client: TcpStream, server: TcpStream, way: Arc<watch::Sender<Way>>, is_older: bool) {
    let mut watched = way.subscribe();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // Whether this connection's next answers are to be lost.
    let lost = watch::Sender::new(false);
    // Whether it receives notifications and may be stalled.
    let listens = watch::Sender::new(false);
    let listening = is_older.then_some(&listens);
    tokio::select! {
        () = requests(from_client, to_server, &way, &lost, listening) => {}
        () = answers(from_server, to_client, &way, &lost, &listens) => {}
        _ = watched.wait_for(|way| *way == Way::Cut) => {}
    }
}

async fn requests(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    way: &watch::Sender<Way>,
    lost: &watch::Sender<bool>,
    listens: Option<&watch::Sender<bool>>,
) {
    let (mut buffer, mut alone) = (vec![0; 1 << 16], Vec::new());
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let chunk = &buffer[..read];
        // The first message contains the purpose of the connection.
        if let Some(listens) = listens
            && find(chunk, LISTENING).is_some()
        {
            listens.send_replace(true);
        }
        let commit =
            find(chunk, COMMIT).or_else(|| alone.iter().find_map(|bind: &Vec<u8>| find(chunk, bind)));
        alone.extend(prepared_alone(chunk));
        let now = *way.borrow();
        let passes = match (commit, now) {
            (Some(at), Way::CutBeforeCommit) => &chunk[..at],
            (Some(_), Way::CutAfterCommit) => {
                lost.send_replace(true);
                chunk
            }
            _ => chunk,
        };
        if to.write_all(passes).await.is_err() {
            return;
        }
        if passes.len() < chunk.len() {
            way.send_replace(Way::Cut);
            return;
        }
    }
}

fn find(chunk: &[u8], part: &[u8]) -> Option<usize> {
    chunk.windows(part.len()).position(|window| window == part)
}

/// What is in a message that runs the statement which this chunk prepares, if that is a whole transaction.
fn prepared_alone(chunk: &[u8]) -> Option<Vec<u8>> {
    let end = find(chunk, ALONE)?;
    let begin = chunk[..end].iter().rposition(|byte| *byte == b's')?;
    Some([b"\0", &chunk[begin..=end]].concat())
}

async fn answers(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    way: &watch::Sender<Way>,
    lost: &watch::Sender<bool>,
    listens: &watch::Sender<bool>,
) {
    let mut buffer = vec![0; 1 << 16];
    let mut watched = way.subscribe();
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let chunk = &buffer[..read];
        if *listens.borrow() && watched.wait_for(|way| *way != Way::Still).await.is_err() {
            return;
        }
        if *lost.borrow() {
            // The answer to COMMIT is the last one, or that to a statement outside a transaction.
            if find(chunk, b"COMMIT\0").is_some() || find(chunk, b"Z\0\0\0\x05I").is_some() {
                way.send_replace(Way::Cut);
                return;
            }
            continue;
        }
        if to.write_all(chunk).await.is_err() {
            return;
        }
    }
}
