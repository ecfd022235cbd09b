//! The harness of the black-box suite: it starts the real `plenary` binary and speaks raw bytes to it.
//!
//! Everything here is written from the protocol's documents. It must not know the server's code: no crate of the
//! workspace is a dependency, and HTTP, WebSocket and event streams are spoken by small clients of its own, so that a mistake in the
//! libraries the server uses cannot hide itself on both sides.
//!
//! A failed expectation panics with what was asked and what came back; the server's log is printed beside it.

mod agent;
mod certificate;
mod check;
mod cli;
mod clock;
mod collector;
mod embeddings;
mod environment;
mod http;
mod load;
mod model;
mod nats;
mod place;
mod postgres;
mod process;
mod reader;
mod relay;
mod response;
mod scene;
mod server;
mod socket;
mod stream;
mod tally;
mod temp;
mod upload;
pub mod wsframe;

use std::time::Duration;

pub use agent::{Agent, Caller};
pub use certificate::Certificate;
pub use check::{assert_gapless, assert_keys, content_of, kinds, sequences};
pub use cli::{Cli, CommandOutput, RunningCommand};
pub use clock::ShiftedClock;
pub use collector::{Behaviour, Collector, Export, Span};
pub use embeddings::{Embeddings, Mood};
pub use environment::{TestDependency, rounds};
pub use http::{Address, Connection, render};
pub use load::{AckedMessage, Sender, check_log};
pub use model::{Model, Prompt, Turn, delta};
pub use nats::NatsServers;
pub use place::{Place, trusting};
pub use postgres::Database;
pub use process::binary;
pub use reader::Reader;
pub use relay::Relay;
pub use response::Response;
pub use scene::{enter, pair, room};
pub use server::{Builder, Server};
pub use socket::{Frame, Pongs, Socket};
pub use stream::{Delivery, Stream, StreamItem};
pub use tally::Tally;
pub use temp::TempDir;
pub use upload::{BOUNDARY, MULTIPART, multipart};
pub use wsframe::{FrameReader, encode};

/// How long a test waits for something that must happen. Generous, because the machine may be busy building.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Milliseconds since the epoch, to compare with the server's own stamps.
#[expect(clippy::disallowed_methods, reason = "the suite stands outside the server and has no Stamp")]
pub fn epoch_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.expect("the clock is past 1970").as_millis()).expect("milliseconds fit")
}

/// Asks again until `probe` gives a value, within [`PATIENCE`]; panics with `what` otherwise.
pub async fn eventually<T, F>(what: &str, probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    eventually_within(PATIENCE, what, probe).await
}

/// The same with another patience, for deadlines of the server that are longer.
pub async fn eventually_within<T, F>(patience: Duration, what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let deadline = tokio::time::Instant::now() + patience;
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(tokio::time::Instant::now() < deadline, "never came true within {patience:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What `work` gives; panics with `what` when it takes longer than [`PATIENCE`]. For what ends by itself: the machine's
/// speed is no part of a test.
pub async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(value) => value,
        Err(_) => panic!("not over within {PATIENCE:?}: {what}"),
    }
}

/// Lets time pass until the moment at which a test strikes: a kill at a random time, a return near a deadline.
/// Never for waiting until something is true.
pub async fn strike_after(pause: Duration) {
    tokio::time::sleep(pause).await;
}
