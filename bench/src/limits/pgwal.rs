//! `pgwal`: as `sqlwal`, over PostgreSQL: one connection, one INSERT and one commit for all that waits.
//! Must not know: sessions, trust, sequences, indexes.

use anyhow::{Result, bail};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_postgres::{Client, NoTls};

use super::group::{self, COMMIT_MAX, Job};

pub(super) async fn serve(url: &str) -> Result<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    client
        .batch_execute(
            "CREATE TABLE messages(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL)",
        )
        .await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    super::listening(&[listener.local_addr()?])?;
    let (jobs, waiting) = group::queue();
    tokio::select! {
        ended = write(client, waiting) => ended,
        ended = group::accept(listener, jobs) => ended,
    }
}

async fn write(client: Client, mut jobs: mpsc::Receiver<Job>) -> Result<()> {
    let insert = client.prepare("INSERT INTO messages(body) SELECT unnest($1::bytea[])").await?;
    let mut group = Vec::new();
    while jobs.recv_many(&mut group, COMMIT_MAX).await > 0 {
        let bodies: Vec<&[u8]> = group.iter().map(|job| &job.body[..]).collect();
        // A statement outside a transaction is one, and its answer comes after the flush.
        client.execute(&insert, &[&bodies]).await?;
        for job in group.drain(..) {
            let _ = job.done.send(());
        }
    }
    bail!("nobody can send any more")
}
