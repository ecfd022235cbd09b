//! What goes on beside requests: events are handed to the rooms, cursors are written, leases are kept, and what a
//! crash left is finished.

use std::{future::Future, sync::Arc, time::Duration};

use plenary_hub::{Observer, dispatch as hand_out};
use plenary_log::{Fault, Feed};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::Parts;

/// How often cursors that moved are written.
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// How often this process says that it is alive, on a shared store: a fraction of the lease.
const BEAT_EVERY: Duration = Duration::from_secs(2);
/// How often evictions are finished that a crash left, and agents are taken over whose process died.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// How often a model that does not work is asked whether it does now.
const PROBE_EVERY: Duration = Duration::from_secs(2);
/// How long the last writes may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Hands committed events out. Accounts come first: who looks again must see what has changed.
pub(super) fn dispatch(tasks: &TaskTracker, feed: Feed, parts: &Parts) {
    let observers: Vec<Arc<dyn Observer>> = vec![
        Arc::new(parts.accounts.clone()),
        Arc::new(parts.sessions.clone()),
        Arc::new(parts.channels.clone()),
        Arc::new(parts.frames.clone()),
        Arc::new(parts.context.clone()),
        Arc::new(parts.runs.clone()),
        Arc::new(parts.attaching.clone()),
        Arc::new(parts.participation.clone()),
        // Last: what it says was handed out, every room has.
        Arc::new(parts.inbox.clone()),
    ];
    tasks.spawn(hand_out(feed, parts.presence.clone(), observers));
}

/// Starts what goes on until the server stops.
pub(super) fn keep_going(tasks: &TaskTracker, parts: &Parts, stop: &CancellationToken) {
    let context = parts.context.clone();
    tasks.spawn(async move { context.index().await });
    let (participation, stopping) = (parts.participation.clone(), stop.clone());
    tasks.spawn(async move { participation.react(stopping).await });
    every(tasks, stop, FLUSH_EVERY, "cursors were not written", parts, |parts| async move {
        parts.cursors.flush().await
    });
    every(tasks, stop, FLUSH_EVERY, "what was read was not written", parts, |parts| async move {
        parts.sessions.flush_reads().await
    });
    every(tasks, stop, SWEEP_EVERY, "evictions were not finished", parts, |parts| async move {
        parts.accounts.sweep().await.map(drop)
    });
    every(tasks, stop, PROBE_EVERY, "the model was not asked", parts, |parts| async move {
        parts.context.probe_model().await
    });
    if parts.log.shared() {
        every(tasks, stop, BEAT_EVERY, "the lease was not renewed", parts, |parts| async move {
            parts.cursors.beat().await
        });
        every(
            tasks,
            stop,
            SWEEP_EVERY,
            "agents of a dead process were not taken over",
            parts,
            |parts| async move { parts.sessions.adopt_orphans().await },
        );
        every(tasks, stop, SWEEP_EVERY, "runs of a dead process were not ended", parts, |parts| async move {
            parts.runs.take_over().await
        });
    }
}

/// Does something again and again; a fault is logged, and the next turn tries again.
fn every<F: Future<Output = Result<(), Fault>> + Send>(
    tasks: &TaskTracker,
    stop: &CancellationToken,
    period: Duration,
    fault_text: &'static str,
    parts: &Parts,
    mut turn: impl FnMut(Parts) -> F + Send + 'static,
) {
    let (stop, parts) = (stop.clone(), parts.clone());
    tasks.spawn(async move {
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Err(fault) = turn(parts.clone()).await {
                tracing::warn!(%fault, "{fault_text}");
            }
        }
    });
}

/// The last writes of a server that stops; what fails is made good by the next start.
pub(super) async fn last_words(parts: &Parts) {
    tokio::join!(last_cursors(parts), last_index(parts));
}

async fn last_index(parts: &Parts) {
    match timeout(LAST_WORDS, parts.context.close_search()).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => tracing::warn!(%fault, "the search index was not closed"),
        Err(_) => tracing::warn!("the search index was not closed in time"),
    }
}

async fn last_cursors(parts: &Parts) {
    let words = async {
        parts.cursors.flush().await?;
        parts.sessions.flush_reads().await?;
        if parts.log.shared() { parts.cursors.sign_off().await } else { Ok(()) }
    };
    match timeout(LAST_WORDS, words).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => {
            tracing::warn!(%fault, "the last cursors were not written; clients may see repeats")
        }
        Err(_) => tracing::warn!("the last cursors were not written in time; clients may see repeats"),
    }
}
