//! `sqlwal`: one SQLite writer thread, WAL, `synchronous=FULL`, group commit, one insert a message. After the
//! commit whoever is connected to the second address gets the message, one write each.
//! Must not know: sessions, trust, sequences, indexes.

use std::path::PathBuf;

use anyhow::Result;
use bytes::Bytes;
use rusqlite::Connection;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::group::{self, COMMIT_MAX, Job};

/// Most commits that wait for delivery.
const DELIVERIES_MAX: usize = 1_024;

pub(super) async fn serve(data: PathBuf) -> Result<()> {
    std::fs::create_dir_all(&data)?;
    let connection = Connection::open(data.join("limit.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE messages(id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;",
    )?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let receivers = TcpListener::bind("127.0.0.1:0").await?;
    super::listening(&[listener.local_addr()?, receivers.local_addr()?])?;
    let (jobs, waiting) = group::queue();
    let (committed, deliveries) = mpsc::channel(DELIVERIES_MAX);
    std::thread::spawn(move || write(&connection, waiting, &committed));
    tokio::spawn(deliver(receivers, deliveries));
    group::accept(listener, jobs).await
}

fn write(
    connection: &Connection,
    mut jobs: mpsc::Receiver<Job>,
    committed: &mpsc::Sender<Vec<Bytes>>,
) -> Result<()> {
    let mut begin = connection.prepare("BEGIN IMMEDIATE")?;
    let mut insert = connection.prepare("INSERT INTO messages(body) VALUES(?1)")?;
    let mut commit = connection.prepare("COMMIT")?;
    let mut group = Vec::new();
    while jobs.blocking_recv_many(&mut group, COMMIT_MAX) > 0 {
        begin.execute([])?;
        for job in &group {
            insert.execute([&job.body[..]])?;
        }
        commit.execute([])?;
        let mut bodies = Vec::with_capacity(group.len());
        for job in group.drain(..) {
            let _ = job.done.send(());
            bodies.push(job.body);
        }
        if committed.blocking_send(bodies).is_err() {
            break;
        }
    }
    Ok(())
}

async fn deliver(listener: TcpListener, mut committed: mpsc::Receiver<Vec<Bytes>>) -> Result<()> {
    let mut receivers: Vec<TcpStream> = Vec::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                stream.set_nodelay(true)?;
                receivers.push(stream);
            }
            bodies = committed.recv() => {
                let Some(bodies) = bodies else { return Ok(()) };
                for receiver in &mut receivers {
                    for body in &bodies {
                        receiver.write_all(body).await?;
                    }
                }
            }
        }
    }
}
