//! The background work: dispatches events to the rooms, writes cursors, renews leases, and runs the periodic work of
//! each room.
//! Must not know: any one room.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use plenary_hub::{BEAT_EVERY, Cursors, dispatch as hand_out};
use plenary_log::{Fault, Feed};
use plenary_room::{PeriodicTask, ServedRoom};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::rooms::Rooms;

/// How often changed cursors are written.
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// How long the last writes may take.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// Dispatches committed events to the rooms, one after the other.
pub(super) fn dispatch(tasks: &TaskTracker, feed: Feed, rooms: &Rooms) {
    let observers = rooms.served.iter().filter_map(|room| room.observer()).collect();
    tasks.spawn(hand_out(feed, rooms.presence.clone(), observers));
    for task in rooms.served.iter().filter_map(|room| room.running()) {
        tasks.spawn(task);
    }
}

/// Starts the periodic work, which runs until the server stops.
pub(super) fn start_periodic_work(tasks: &TaskTracker, rooms: &Rooms, stop: &CancellationToken) {
    for task in rooms.served.iter().filter_map(|room| room.serving(stop.clone())) {
        tasks.spawn(task);
    }
    let flush = async |cursors: Arc<Cursors>| cursors.flush().await;
    let beat = async |cursors: Arc<Cursors>| cursors.beat().await;
    let own = [
        PeriodicTask::new(&rooms.cursors, FLUSH_EVERY, "cursors were not written", flush),
        PeriodicTask::new(&rooms.cursors, BEAT_EVERY, "the lease was not renewed", beat).where_shared(),
    ];
    let is_shared = rooms.log.shared();
    for task in own.into_iter().chain(rooms.served.iter().flat_map(|room| room.periodic_tasks())) {
        if is_shared || !task.shared_only {
            tasks.spawn(run_periodically(task, stop.clone()));
        }
    }
}

/// Repeats a piece of work; a fault is logged, and the next run tries again.
async fn run_periodically(task: PeriodicTask, stop: CancellationToken) {
    let mut ticks = interval(task.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(fault) = (task.run)().await {
            tracing::warn!(%fault, "{}", task.fault_text);
        }
    }
}

/// Does the last writes of a stopping server; the next start repairs what fails.
pub(super) async fn last_writes(rooms: &Rooms) {
    tokio::join!(last_cursors(rooms), join_all(rooms.served.iter().map(last_of_room)));
}

async fn last_of_room(room: &Arc<dyn ServedRoom>) {
    match timeout(LAST_WRITES, room.last_writes()).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => {
            tracing::warn!(%fault, "the last writes of a room failed; the next start repeats them")
        }
        Err(_) => tracing::warn!("the last writes of a room took too long; the next start repeats them"),
    }
}

async fn last_cursors(rooms: &Rooms) {
    let writes = async {
        rooms.cursors.flush().await?;
        if rooms.log.shared() { rooms.cursors.end_lease().await } else { Ok::<_, Fault>(()) }
    };
    match timeout(LAST_WRITES, writes).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => {
            tracing::warn!(%fault, "the last cursors were not written; clients may see repeats")
        }
        Err(_) => tracing::warn!("the last cursors were not written in time; clients may see repeats"),
    }
}
