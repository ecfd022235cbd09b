//! The connection for signals: its start, its loop, and its reconnect.
//! Must not know: the form of a signal.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use plenary_kernel::Position;
use plenary_log::{Fault, signals::ProcessId};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::MissedTickBehavior,
};
use tokio_postgres::{Client, Statement};

use super::{Item, SignalState, receive, send};
use crate::{
    backoff::Backoff,
    target::{OpenError, Purpose, stored, unsigned, within},
    trouble::Trouble,
};

/// How often a process renews its lease.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// How long a process counts as alive after its last renewal, in milliseconds.
const ALIVE_MS: u64 = 4_000;
/// Longest wait for one step of a start, and for a renewal.
const STEP_MS_MAX: u64 = 3_000;
/// Most signals and answers of one transaction.
const GROUP_MAX: usize = 64;
/// About how many bytes one transaction sends: it ends with the signal that reaches them.
const GROUP_BYTES_MAX: usize = 1 << 20;

/// Sends and receives until no handle is left or the signals are closed. `ready` is notified when this
/// process listens for the first time.
pub(super) async fn run(
    shared: Arc<SignalState>,
    mut items: mpsc::Receiver<Item>,
    mut closed: watch::Receiver<bool>,
    ready: oneshot::Sender<()>,
) {
    let (mut backoff, mut ready) = (Backoff::default(), Some(ready));
    loop {
        let mut on_ready = || report_ready(&mut backoff, &mut ready);
        let ended = tokio::select! {
            _ = closed.wait_for(|closed| *closed) => Ok(()),
            ended = carry(&shared, &mut items, &mut on_ready) => ended,
        };
        let Err(trouble) = ended else { break };
        let former = shared.process.swap(0, Ordering::AcqRel);
        if former != 0 {
            shared.former.store(former, Ordering::Release);
        }
        tracing::warn!(
            text = %trouble,
            "not exchanging signals with other processes: signals are lost until it is back, and commits are polled"
        );
        let pause = tokio::time::sleep(backoff.pause());
        tokio::select! {
            _ = closed.wait_for(|closed| *closed) => break,
            ended = refuse(&mut items, &trouble) => match ended {},
            () = pause => {}
        }
    }
    leave(&shared).await;
}

fn report_ready(backoff: &mut Backoff, ready: &mut Option<oneshot::Sender<()>>) {
    *backoff = Backoff::default();
    if let Some(ready) = ready.take() {
        let _ = ready.send(());
    }
}

/// Refuses everything that is queued while the connection is lost.
async fn refuse(items: &mut mpsc::Receiver<Item>, trouble: &Trouble) -> std::convert::Infallible {
    while let Some(item) = items.recv().await {
        match item {
            Item::Publish { reply, .. } => drop(reply.send(Err(Fault::Unavailable(trouble.to_string())))),
            Item::Answer { .. } => {}
        }
    }
    std::future::pending().await
}

/// Uses one connection, until it is lost or no handle is left.
async fn carry(
    shared: &Arc<SignalState>,
    items: &mut mpsc::Receiver<Item>,
    on_ready: &mut (impl FnMut() + Send),
) -> Result<(), Trouble> {
    let (client, wire) = shared.store.target.dial(Purpose::Signalling).await.map_err(OpenError::trouble)?;
    tokio::select! {
        trouble = receive::receive(shared, wire) => Err(trouble),
        ended = work(shared, &client, items, on_ready) => ended,
    }
}

async fn work(
    shared: &Arc<SignalState>,
    client: &Client,
    items: &mut mpsc::Receiver<Item>,
    on_ready: &mut (impl FnMut() + Send),
) -> Result<(), Trouble> {
    let session = begin(shared, client).await?;
    on_ready();
    let mut beat = tokio::time::interval(BEAT_EVERY);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut serial = send::Serial::default();
    loop {
        tokio::select! {
            biased;
            _ = beat.tick() => session.beat(client).await?,
            item = items.recv() => {
                let Some(item) = item else { return Ok(()) };
                let group = group(item, items);
                let from = (session.process, &mut serial);
                match send::send(client, &session.send, &shared.store.target, from, group).await {
                    Ok(()) => {}
                    Err(trouble @ (Trouble::Lost(_) | Trouble::Broken(_))) => return Err(trouble),
                    Err(trouble @ (Trouble::Busy(_) | Trouble::Full(_) | Trouble::Refused(_))) => {
                        tracing::warn!(%trouble, "signals were not sent");
                    }
                }
            }
        }
    }
}

/// Collects the waiting items into one group.
fn group(first: Item, items: &mut mpsc::Receiver<Item>) -> Vec<Item> {
    let bytes = |item: &Item| match item {
        Item::Publish { outgoing, .. } => outgoing.publication.body.len(),
        Item::Answer { answer, .. } => answer.as_ref().map_or(0, bytes::Bytes::len),
    };
    let mut sum = bytes(&first);
    let mut group = vec![first];
    while group.len() < GROUP_MAX
        && sum < GROUP_BYTES_MAX
        && let Ok(item) = items.try_recv()
    {
        sum += bytes(&item);
        group.push(item);
    }
    group
}

/// A listening connection.
struct Listener {
    process: ProcessId,
    send: Statement,
    beat: Statement,
}

/// Listens first and registers as alive second: every process that is waited for then receives the
/// question.
async fn begin(shared: &SignalState, client: &Client) -> Result<Listener, Trouble> {
    let target = &shared.store.target;
    target.settle(client).await.map_err(OpenError::trouble)?;
    within(STEP_MS_MAX, async {
        // No data sent here needs to be on disk.
        client.batch_execute("SET synchronous_commit = off").await?;
        let drawn = client.query_one("SELECT nextval('signal_process_ids')", &[]).await?;
        let process = ProcessId(unsigned(drawn.try_get(0)?)?);
        let listen = format!(
            "LISTEN \"{}\"; LISTEN \"{}\"; LISTEN \"{}\"",
            target.channel(),
            target.signal_channel(),
            target.private_channel(process.0)
        );
        client.batch_execute(&listen).await?;
        // After LISTEN, so that no commit is missed between the two.
        let head = client.query_one("SELECT last FROM head", &[]).await?;
        shared.store.committed_until(Position(unsigned(head.try_get(0)?)?));
        let send = client.prepare(send::SEND).await?;
        let until = format!("clock_timestamp() + interval '{ALIVE_MS} milliseconds'");
        let beat = format!(
            "INSERT INTO signal_processes (id, alive_until) VALUES ($1, {until}) \
             ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until"
        );
        let beat = client.prepare(&beat).await?;
        let listener = Listener { process, send, beat };
        shared.process.store(process.0, Ordering::Release);
        listener.beat(client).await?;
        // Removes this process's former id, and processes that ended long ago, so that nobody waits for
        // them.
        let sql = "DELETE FROM signal_processes \
            WHERE id = $1 OR alive_until < clock_timestamp() - interval '1 hour'";
        client.execute(sql, &[&stored(shared.former.load(Ordering::Acquire))]).await?;
        Ok::<_, Trouble>(listener)
    })
    .await
}

impl Listener {
    async fn beat(&self, client: &Client) -> Result<(), Trouble> {
        let id = stored(self.process.0);
        within(STEP_MS_MAX, client.execute(&self.beat, &[&id])).await?;
        Ok(())
    }
}

/// Ends this process's lease early, so that nobody waits for it to expire.
async fn leave(shared: &SignalState) {
    let process = shared.process();
    shared.exchange.close();
    if process == 0 {
        return;
    }
    let leaving = async {
        let client = shared.store.target.connect(Purpose::Signalling).await.map_err(OpenError::trouble)?;
        let id = stored(process);
        client.execute("DELETE FROM signal_processes WHERE id = $1", &[&id]).await?;
        Ok::<_, Trouble>(())
    };
    if let Err(trouble) = within(STEP_MS_MAX, leaving).await {
        tracing::debug!(%trouble, "the other processes will find out that this one is gone");
    }
}
