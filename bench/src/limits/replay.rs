//! `replay`: the rows of one SQLite table, read in order and written to a socket.
//! Must not know: who may see what.

use std::{
    io::{BufWriter, Write as _},
    net::TcpListener,
    path::Path,
};

use anyhow::Result;
use rusqlite::Connection;

const WRITE_BYTES: usize = 64 << 10;

pub(super) fn serve(data: &Path, rows: u32, bytes: usize) -> Result<()> {
    std::fs::create_dir_all(data)?;
    let mut connection = Connection::open(data.join("limit.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE messages(id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;",
    )?;
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare("INSERT INTO messages(body) VALUES(?1)")?;
        let body = vec![b'x'; bytes];
        for _ in 0..rows {
            insert.execute([&body])?;
        }
    }
    transaction.commit()?;
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    super::listening(&[listener.local_addr()?])?;
    let mut select = connection.prepare("SELECT body FROM messages ORDER BY id")?;
    for stream in listener.incoming() {
        let mut out = BufWriter::with_capacity(WRITE_BYTES, stream?);
        let mut found = select.query([])?;
        while let Some(row) = found.next()? {
            out.write_all(row.get_ref(0)?.as_blob()?)?;
        }
        out.flush()?;
    }
    Ok(())
}
