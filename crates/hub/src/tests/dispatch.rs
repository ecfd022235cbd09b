//! The one reader of the feed.

use async_trait::async_trait;
use std::sync::{Arc, Mutex};

use plenary_kernel::{Position, TimestampMs, Version};
use plenary_log::{NewEvent, StoredEvent, StreamName, rigged::Store};
use tokio::sync::Semaphore;

use crate::{Observer, Presence, dispatch};

/// Longer than the longest delay of a round.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

struct NoteTaker {
    name: &'static str,
    noted: Arc<Mutex<Vec<String>>>,
    may_go_on: Arc<Semaphore>,
}

#[async_trait]
impl Observer for NoteTaker {
    async fn committed(&self, events: &[StoredEvent]) {
        self.may_go_on.acquire().await.unwrap().forget();
        let mut noted = self.noted.lock().unwrap();
        noted.extend(events.iter().map(|event| format!("{}{}", self.name, event.position)));
    }
}

fn song(nth: u64) -> plenary_log::Batch {
    let event = NewEvent { kind: "Sung", form: 1, envelope: nth.to_string().into(), payload: "".into() };
    let events = vec![(StreamName::new("toy.songs", "s"), event)];
    plenary_log::Batch { events, at: TimestampMs(nth), ..plenary_log::Batch::default() }
}

async fn idle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn observers_are_called_in_order_before_a_position_counts_as_dispatched() {
    let store = Store::new();
    let process = store.process(false);
    let (presence, noted) = (Arc::new(Presence::default()), Arc::new(Mutex::new(Vec::new())));
    let gates = [Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0))];
    let observers: Vec<Arc<dyn Observer>> = gates
        .iter()
        .zip(["a", "b"])
        .map(|(gate, name)| NoteTaker { name, noted: noted.clone(), may_go_on: gate.clone() })
        .map(|noting| Arc::new(noting) as Arc<dyn Observer>)
        .collect();
    let dispatching = tokio::spawn(dispatch(process.feed, presence.clone(), observers));
    for nth in 0..2 {
        process.log.append(song(nth)).await.unwrap();
    }
    idle().await;
    assert_eq!(presence.dispatched(), Position::ZERO);
    gates[0].add_permits(1);
    idle().await;
    assert_eq!(
        (presence.dispatched(), noted.lock().unwrap().clone()),
        (Position::ZERO, vec!["a1".to_owned()])
    );
    gates[1].add_permits(1);
    idle().await;
    assert_eq!(presence.dispatched(), Position(1));
    gates[0].add_permits(9);
    gates[1].add_permits(9);
    tokio::time::sleep(PAUSE).await;
    assert_eq!(presence.dispatched(), Position(2));
    assert_eq!(*noted.lock().unwrap(), ["a1", "b1", "a2", "b2"]);
    assert_eq!(Version(2).next(), Version(3));
    drop((process.log, store));
    dispatching.abort();
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_an_event_goes_out_at_once_and_what_follows_goes_out_together() {
    let store = Store::new();
    let process = store.process(false);
    let (presence, noted) = (Arc::new(Presence::default()), Arc::new(Mutex::new(Vec::new())));
    let rounds = Arc::new(Semaphore::new(100));
    let noting = NoteTaker { name: "", noted: noted.clone(), may_go_on: rounds.clone() };
    let dispatching = tokio::spawn(dispatch(process.feed, presence, vec![Arc::new(noting)]));
    tokio::time::sleep(PAUSE).await;
    process.log.append(song(0)).await.unwrap();
    idle().await;
    assert_eq!(*noted.lock().unwrap(), ["1"], "nobody waits after a pause");
    for nth in 1..50 {
        process.log.append(song(nth)).await.unwrap();
    }
    idle().await;
    assert_eq!(noted.lock().unwrap().len(), 1, "the next round is put off");
    tokio::time::sleep(PAUSE).await;
    assert_eq!(noted.lock().unwrap().len(), 50);
    assert_eq!(rounds.available_permits(), 98, "49 events, one round");
    dispatching.abort();
}
