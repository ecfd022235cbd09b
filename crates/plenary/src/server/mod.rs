//! The server: opens a store, builds the rooms on it, serves them with a listener, and runs background work. Only
//! this part names concrete backends.

mod address_file;
mod agents;
mod background;
mod certificate;
mod clock;
mod cluster;
mod model;
mod open_files;
mod operator;
mod privacy;
mod private_file;
mod probe;
mod recount;
mod release;
mod rooms;
mod same_operator;
mod settings;
mod store;
mod surface;
mod toolbox;
mod unfinished;
mod usage;

use std::{io::ErrorKind, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use plenary_accounts::{Seed, SeedReport, TokenDigest};
use plenary_context::Indexes;
use plenary_edge::{Listener, Metrics, TlsFiles};
use plenary_hub::CloseReason;
use plenary_log::{AppendMetrics, Fault};
use plenary_telemetry::Telemetry;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use address_file::AddressFile;
pub(crate) use cluster::{Keepers, LOG, NETWORK, SIGNALS};
pub(crate) use operator::OperatorToken;
pub(crate) use recount::{Miscount, Recount};
use rooms::{RoomInputs, Rooms};
use same_operator::Network;

use crate::listen_address::ListenSource;
pub(crate) use settings::{Settings, check_database};
pub(crate) use store::index_in;
pub(crate) use surface::{descriptions, local_answers};
pub(crate) use toolbox::OwnTools;

/// How long the last spans may take, while the store closes.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// A running server.
pub(crate) struct Server {
    url: String,
    near: String,
    certificate: Option<Arc<TlsFiles>>,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<plenary_edge::StopReport>,
    tasks: TaskTracker,
    rooms: Rooms,
    closing: store::StoreClose,
    toolbox: Arc<OwnTools>,
    telemetry: Telemetry,
}

impl Server {
    /// Opens the store, finishes the work that a crash interrupted, applies the seed, and listens.
    pub(crate) async fn start(settings: Settings, operator: &mut OperatorToken) -> anyhow::Result<Self> {
        let telemetry = telemetry(&settings);
        let store::Store { opened, closing, index, everything, nats } = store::open(&settings).await?;
        release::check(&opened.log).await?;
        let database = settings.database.as_deref().map(Network::Database);
        if let Some(network) = nats.as_ref().map(Network::Cluster).or(database) {
            same_operator::check(&opened.log, operator, &network).await?;
        }
        operator.keep()?;
        let semantic = model::open(&settings).await?;
        opened.log.ledger().limit(settings.quota.stored());
        let operator = TokenDigest::of(operator.secret());
        let reranker = model::open_reranker(&settings).await?;
        let indexes = Indexes { lexical: index, semantic, reranker };
        let opening = RoomInputs { log: opened.log, operator, indexes, everything };
        let rooms = Rooms::build(&settings, opening, &telemetry).await?;

        usage::count(&rooms).await?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        background::dispatch(&tasks, opened.feed, &rooms);
        rooms.accounts.sweep().await.context("finishing what was left of blocks and deletions")?;
        if let Some(seed_file) = &settings.seed {
            apply_seed(&rooms, seed_file).await?;
        }
        let hosted = settings.agents.hosted.clone();
        rooms.accounts.host(hosted).await.context("creating the accounts of the configured agents")?;
        unfinished::finish(&rooms, &tasks, &stop).await?;

        let metrics = metrics(&telemetry);
        let AppendMetrics { duration, waiting } = rooms.log.metrics().clone();
        let help = "Time from an append to the log to its outcome, after the commit";
        metrics.register("log_append_duration_seconds", help, duration);
        metrics.register("log_appends_waiting", "Appends to the log that wait for their outcome", waiting);
        rooms.served.iter().for_each(|room| room.register(&metrics));
        let certificate = certificate::open(&settings)?;
        let listener = listener(&settings, certificate.as_ref())?;
        if let Some(files) = &certificate {
            tasks.spawn(certificate::watch(files.clone(), stop.clone()));
        }
        let (url, near) = (settings.url(listener.address()), settings.near(listener.address()));
        if rooms.log.shared() {
            let (signals, address) = (rooms.log.signals().clone(), listener.address().to_string());
            tasks.spawn(settings.attaching.answering(signals, address));
        }
        let docs = descriptions();
        let origin = settings.origin(listener.address()).opened_to_pages(&docs).refusing_as(&docs);
        let around = surface::SurfaceInputs {
            origin: origin.clone(),
            metrics_open: settings.metrics_open,
            metrics: &metrics,
            stop: &stop,
            mcp: surface::McpSettings {
                fixture: settings.mcp_fixture,
                authorization_server: settings.issuers.authorization_url().map(str::to_owned),
                sessions_per_owner_max: settings.quota.mcp_sessions_per_owner_max(),
            },
            ports: settings.ports(listener.address()),
            toolbox: &settings.toolbox,
        };
        let (router, mcp) = surface::router(&rooms, around)?;
        tasks.spawn(mcp.running());
        background::start_periodic_work(&tasks, &rooms, &stop);
        let serve_stop = stop.clone();
        let serving =
            tokio::spawn(async move { listener.known_as(origin).serve(router, &metrics, serve_stop).await });
        let toolbox = settings.toolbox;
        Ok(Self { url, near, certificate, stop, serving, tasks, rooms, closing, toolbox, telemetry })
    }

    /// The URL for clients.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The URL for clients on this machine.
    pub(crate) fn near(&self) -> &str {
        &self.near
    }

    /// Reads the files of the certificate again, if there are any.
    pub(crate) async fn read_certificate(&self) {
        match &self.certificate {
            Some(files) => certificate::read_again(files.clone()).await,
            None => tracing::info!("SIGHUP: there is no certificate to read again"),
        }
    }

    /// Waits until the store fails for good; the process must then end.
    pub(crate) async fn failed(&self) -> Fault {
        self.rooms.log.failed().await
    }

    /// Stops: accepts no more work, lets commits in progress finish, closes connections with 1001, and closes the
    /// store. Takes at most ten seconds.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.rooms.presence.close_all(CloseReason::Shutdown);
        self.rooms.served.iter().for_each(|room| room.close());
        self.stop.cancel();
        // A follower of a run receives its end before the connection closes.
        let rooms = async {
            for room in &self.rooms.served {
                room.stop().await;
            }
            self.toolbox.end();
        };
        let (stopped, ()) = tokio::join!(self.serving, rooms);
        let stopped = stopped.context("the listener")?;
        if stopped.cut > 0 {
            tracing::warn!(connections = stopped.cut, "connections did not end in time and were closed");
        }
        self.tasks.close();
        let store = async {
            background::last_writes(&self.rooms).await;
            self.rooms.log.close().await;
            self.closing.wait().await;
        };
        // No more requests are served, so no span is missing; both have their limits.
        tokio::join!(store, self.telemetry.finish(LAST_SPANS));
        Ok(())
    }
}

/// Creates what the seed file names, unless it exists.
async fn apply_seed(rooms: &Rooms, seed_file: &Path) -> anyhow::Result<()> {
    let bytes =
        std::fs::read(seed_file).with_context(|| format!("reading the seed file {}", seed_file.display()))?;
    let seed = Seed::parse(&bytes)?;
    if privacy::is_readable_by_others(seed_file) {
        tracing::warn!(file = %seed_file.display(), "other users can read the tokens in the seed file; run: chmod 600");
    }
    for agent in seed.guessable() {
        tracing::warn!(%agent, "its token in the seed file is short enough to be guessed");
    }
    let SeedReport { created, known } = rooms.accounts.apply_seed(&seed).await?;
    tracing::info!(made = created, known, "the seed file was applied");
    Ok(())
}

/// Listens at the address of the settings. If it is the default and another process has it, at a free port: clients on
/// this machine find the port in the data directory.
fn listener(settings: &Settings, tls: Option<&Arc<TlsFiles>>) -> anyhow::Result<Listener> {
    let address = settings.listen;
    let mut edge = settings.edge(tls)?;
    if let Some(limit) = open_files::raise()
        && let (wanted, allowed) = (edge.connections_max, open_files::connections(limit))
        && allowed < wanted
    {
        edge.allow_connections(allowed);
        if settings.connections_max.is_some() {
            tracing::warn!(
                limit,
                connections = allowed,
                wanted,
                "the limit of open files allows fewer connections than `connections_max`: raise it (`ulimit -n`, `LimitNOFILE`)"
            );
        } else {
            tracing::info!(limit, connections = allowed, "the limit of open files limits the connections");
        }
    }
    match Listener::bind(address, edge.clone()) {
        Err(fault)
            if fault.source.kind() == ErrorKind::AddrInUse
                && settings.listen_source == ListenSource::Default
                && settings.data.is_some() =>
        {
            tracing::warn!(%address, "another process listens at the default address; a free port is taken");
            Ok(Listener::bind(SocketAddr::new(address.ip(), 0), edge)?)
        }
        bound => Ok(bound?),
    }
}

/// Sends spans where the settings say. If that fails, logs it, and the server runs without.
fn telemetry(settings: &Settings) -> Telemetry {
    let Some(settings) = &settings.telemetry else { return Telemetry::off() };
    match Telemetry::start(settings) {
        Ok(telemetry) => {
            tracing::info!(to = settings.destination(), "spans are exported");
            telemetry
        }
        Err(fault) => {
            tracing::warn!(%fault, "spans cannot be exported");
            Telemetry::off()
        }
    }
}

fn metrics(telemetry: &Telemetry) -> Metrics {
    let metrics = Metrics::with_spans(telemetry.spans());
    let counts = telemetry.counts();
    metrics.register("spans_exported", "Spans that a collector has accepted", counts.exported);
    metrics.register(
        "spans_dropped",
        "Spans that were dropped: the queue was full, or no collector accepted them",
        counts.dropped,
    );
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_free_port_is_taken_where_nobody_chose_the_one_that_is_in_use() {
        let occupied = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = occupied.local_addr().unwrap();
        let settings = Settings { listen: address, data: Some("/d".into()), ..Settings::ephemeral() };
        let found = listener(&settings, None).unwrap();
        assert!(found.address().ip().is_loopback() && found.address().port() != address.port());
        let chosen = Settings { listen_source: ListenSource::Flag, ..settings.clone() };
        assert!(listener(&chosen, None).is_err(), "a chosen port is no other");
        assert!(listener(&Settings { data: None, ..settings }, None).is_err(), "nobody would find it");
    }
}
