//! What every figure needs: sizes, a place for stores, servers and limits, and the flush count.
//! Must not know: a single figure.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tokio_postgres::NoTls;

use crate::{
    RunArgs, console,
    disk::Disk,
    process::{Listening, Store},
};

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// How often limit and subject take turns.
    pub(crate) rounds: usize,
    /// Sending before the count begins.
    pub(crate) warm: Duration,
    /// Sending that counts.
    pub(crate) window: Duration,
    /// Messages of a round of latencies.
    pub(crate) timed: u64,
    /// Connected participants of the wide session.
    pub(crate) participants: usize,
    /// Events that a reader has missed.
    pub(crate) missed: u64,
    /// Sessions of the one agent, and those among them with news.
    pub(crate) sessions: usize,
    pub(crate) news: usize,
    /// Idle connections.
    pub(crate) idle: usize,
    /// Readers of large answers who read nothing.
    pub(crate) slow: usize,
    /// Packages among which some are found.
    pub(crate) packages: u64,
    /// Events in the grown log.
    pub(crate) grown: u64,
}

impl Sizes {
    fn of(args: &RunArgs) -> Self {
        let whole = Self {
            rounds: 3,
            warm: Duration::from_secs(1),
            window: Duration::from_secs(3),
            timed: 1_000,
            participants: 1_000,
            missed: 1_000_000,
            sessions: 100_000,
            news: 1_000,
            idle: 10_000,
            slow: 900,
            packages: 100_000,
            grown: if args.full { 10_000_000 } else { 1_000_000 },
        };
        if !args.quick {
            return whole;
        }
        Self {
            rounds: 3,
            warm: Duration::from_millis(200),
            window: Duration::from_millis(500),
            timed: 100,
            participants: 100,
            missed: 20_000,
            sessions: 2_000,
            news: 100,
            idle: 500,
            slow: 100,
            packages: 2_000,
            grown: 20_000,
        }
    }
}

/// One measurement.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) sizes: Sizes,
    plenary: PathBuf,
    scratch: PathBuf,
    postgres: Option<String>,
    model: Option<String>,
    disk: Disk,
    stores: usize,
    /// The store with many sessions, once it is built.
    pub(crate) grown: Option<crate::figures::Grown>,
}

impl Bench {
    pub(crate) fn new(args: &RunArgs) -> Result<Self> {
        let scratch = args.scratch.join(format!("bench-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).context("could not make the scratch directory")?;
        let scratch = scratch.canonicalize()?;
        let disk = Disk::of(&scratch)?;
        let plenary = args.plenary.canonicalize().context("there is no such server binary")?;
        let (sizes, postgres, model) = (Sizes::of(args), args.postgres.clone(), args.model.clone());
        Ok(Self { sizes, plenary, scratch, postgres, model, disk, stores: 0, grown: None })
    }

    /// The server's binary.
    pub(crate) fn plenary(&self) -> &Path {
        &self.plenary
    }

    /// Where files may be put.
    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// A directory that nobody has used.
    pub(crate) fn fresh(&mut self) -> PathBuf {
        self.stores += 1;
        self.scratch.join(format!("store-{}", self.stores))
    }

    /// The server, on an empty SQLite store.
    pub(crate) fn server(&mut self) -> Result<Listening> {
        let store = Store::Directory(self.fresh());
        self.server_on(&store)
    }

    pub(crate) fn server_on(&self, store: &Store) -> Result<Listening> {
        Listening::server(&self.plenary, &self.scratch, store, &[], &[])
    }

    /// The server, on an empty SQLite store, with further arguments.
    pub(crate) fn server_with(&mut self, args: &[&str]) -> Result<Listening> {
        let store = Store::Directory(self.fresh());
        Listening::server(&self.plenary, &self.scratch, &store, args, &[])
    }

    /// The server, on an empty SQLite store, with these variables in its environment.
    pub(crate) fn server_in(&mut self, variables: &[(&str, &str)]) -> Result<Listening> {
        let store = Store::Directory(self.fresh());
        Listening::server(&self.plenary, &self.scratch, &store, &[], variables)
    }

    /// The directory of an embedding model, if there is one.
    pub(crate) fn model(&self) -> Option<String> {
        self.model.clone()
    }

    /// A bare limit.
    pub(crate) fn limit(&self, role: &[&str]) -> Result<Listening> {
        Listening::limit(&self.scratch, role)
    }

    /// The bare limit `sqlwal`, on an empty store.
    pub(crate) fn sqlwal(&mut self) -> Result<Listening> {
        let data = self.fresh();
        self.limit(&["sqlwal", "--data", data.to_str().context("a path in UTF-8")?])
    }

    /// Whether there is a PostgreSQL.
    pub(crate) fn has_postgres(&self) -> bool {
        self.postgres.is_some()
    }

    /// An empty database; the URL of it.
    pub(crate) async fn database(&mut self) -> Result<String> {
        let url = self.postgres.clone().context("no PostgreSQL was given")?;
        self.stores += 1;
        let name = format!("bench_{}_{}", std::process::id(), self.stores);
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
        let connection = tokio::spawn(connection);
        client.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        drop(client);
        connection.await??;
        let (server, _) = url.rsplit_once('/').context("the URL names a database")?;
        Ok(format!("{server}/{name}"))
    }

    /// Does something durable; where the disk counts flushes, there must have been some. Gives them as well.
    pub(crate) async fn flushing<T>(
        &self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<(T, Option<u64>)> {
        let before = self.disk.flushes();
        let done = work.await?;
        let flushes = self.disk.flushes().zip(before).map(|(after, before)| after - before);
        ensure!(flushes != Some(0), "messages were acknowledged and the disk has not flushed once");
        Ok((done, flushes))
    }

    /// Whether the disk counts its flushes.
    pub(crate) fn counts_flushes(&self) -> bool {
        self.disk.flushes().is_some()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.scratch) {
            console::print_line(&format!("warning: the scratch directory stays: {error}"));
        }
    }
}
