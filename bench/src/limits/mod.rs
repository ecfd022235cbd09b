//! The bare limits: each the smallest program that does what the server cannot do without, and nothing else.
//! Must not know: any product code.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::Result;
use clap::Subcommand;

use crate::console;

mod axumws;
mod collector;
mod echo;
mod embeddings;
mod fan;
mod group;
mod pgwal;
mod replay;
mod sqlwal;

/// Which one.
#[derive(Subcommand)]
pub(crate) enum Limit {
    /// HTTP/1.1 POST, keep-alive, empty answer
    Echo,
    /// POST, one SQLite writer with group commit, flushed before the answer; delivered over raw TCP
    Sqlwal {
        /// Where the database goes
        #[arg(long)]
        data: PathBuf,
    },
    /// The same over PostgreSQL
    Pgwal {
        /// The database
        #[arg(long)]
        url: String,
    },
    /// The OpenAI form of embeddings, vectors that mean nothing
    Embeddings,
    /// Takes spans
    Collector,
    /// Raw TCP, one write for a number of messages and receiver
    Fan {
        /// How many receivers there will be
        #[arg(long)]
        receivers: usize,
        /// Most messages of one write
        #[arg(long)]
        batch: usize,
        /// Bytes of a message
        #[arg(long)]
        bytes: usize,
    },
    /// WebSockets that are held open
    Axumws,
    /// A SQLite table to a socket, in order
    Replay {
        /// Where the database goes
        #[arg(long)]
        data: PathBuf,
        /// How many rows it has
        #[arg(long)]
        rows: u32,
        /// Bytes of a row
        #[arg(long)]
        bytes: usize,
    },
}

/// Runs until the process is killed.
pub(crate) fn run(limit: Limit) -> Result<()> {
    match limit {
        Limit::Echo => runtime()?.block_on(echo::serve()),
        Limit::Sqlwal { data } => runtime()?.block_on(sqlwal::serve(data)),
        Limit::Pgwal { url } => runtime()?.block_on(pgwal::serve(&url)),
        Limit::Embeddings => runtime()?.block_on(embeddings::serve()),
        Limit::Collector => runtime()?.block_on(collector::serve()),
        Limit::Fan { receivers, batch, bytes } => runtime()?.block_on(fan::serve(receivers, batch, bytes)),
        Limit::Axumws => runtime()?.block_on(axumws::serve()),
        Limit::Replay { data, rows, bytes } => replay::serve(&data, rows, bytes),
    }
}

/// As many threads as the server's own runtime has.
fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Says where it listens, as the server does.
fn listening(addresses: &[SocketAddr]) -> Result<()> {
    let texts: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    Ok(console::print(&format!("listening on {}", texts.join(" ")))?)
}
