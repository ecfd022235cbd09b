//! Marks the watchers whose reader may see a committed event. The room describes each event once for all watchers, and an
//! event costs nothing for watchers that it does not concern.
//! Must not know: a watcher's filter, or what it reports.

use plenary_kernel::{Position, Version};
use plenary_log::{Fault, HighWater, PageSize, StoredEvent, StreamName};
use plenary_room::{Onlooker, OnlookerEvent};
use tokio_util::sync::CancellationToken;

use crate::Console;

/// The category of the names under which watchers wait: one name for each reader.
const WATCH: &str = "console.watch";
/// The operator's, who sees everything.
const OPERATOR: &str = "operator";

/// The name under which the watchers of a reader wait; `None` is the operator.
pub(crate) fn watch_stream(onlooker: Option<&Onlooker>) -> StreamName {
    match onlooker {
        None => StreamName::new(WATCH, OPERATOR),
        Some(Onlooker::Owner(owner)) => StreamName::new(WATCH, &format!("~{owner}")),
        Some(Onlooker::Agent(agent)) => StreamName::new(WATCH, agent.as_str()),
    }
}

/// The reader that waits under a name.
fn onlooker_of(name: &StreamName) -> Option<Onlooker> {
    match name.id().strip_prefix('~') {
        Some(owner) => owner.parse().ok().map(Onlooker::Owner),
        None => name.id().parse().ok().map(Onlooker::Agent),
    }
}

/// How far the watchers were marked.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    /// Raised before it is looked who watches: who begins afterwards is marked for every later event.
    begun: HighWater,
    /// Everybody is marked for the events up to here.
    marked: HighWater,
}

impl Wakes {
    /// A watcher that was registered before this call is marked for all later events that concern it.
    pub(crate) fn begun(&self) -> Position {
        self.begun.position()
    }

    /// The marks for all events up to here are made.
    pub(crate) fn marked(&self) -> Position {
        self.marked.position()
    }

    /// Counts the watchers as marked for everything up to here.
    pub(crate) fn start_at(&self, position: Position) {
        self.begun.raise(position);
        self.marked.raise(position);
    }
}

impl Console {
    /// Marks watchers as events are committed, until `stop`.
    pub(crate) async fn mark_watchers(self, stop: CancellationToken) {
        let mut handed = self.0.handed.subscribe();
        let mut size = PageSize::default();
        loop {
            let marked = self.wakes().marked();
            let growth = async { handed.wait_for(|handed| *handed > marked).await.is_ok() };
            if stop.run_until_cancelled(growth).await != Some(true) {
                return;
            }
            // A panic of a room must not end this task.
            let marking = self.clone().mark_next(size);
            match tokio::spawn(marking).await {
                Ok(Ok(learned)) => size = learned,
                Ok(Err(fault)) => {
                    tracing::warn!(%fault, "a room cannot describe an event; all watchers read the log themselves");
                    self.mark_all();
                }
                Err(error) => {
                    tracing::error!(%error, "a room cannot describe an event; all watchers read the log themselves");
                    self.mark_all();
                }
            }
        }
    }

    /// Marks the watchers that the next events concern. Returns the size of the next page.
    async fn mark_next(self, mut size: PageSize) -> Result<PageSize, Fault> {
        let (wakes, handed) = (self.wakes(), self.handed());
        let marked = wakes.marked();
        wakes.begun.raise(handed);
        let names = self.watchers().streams();
        if names.is_empty() {
            wakes.marked.raise(handed);
            return Ok(size);
        }
        let (events, until) = self.log().read_past_damage(marked, size.events()).await?;
        size.learn(&events);
        if until <= marked {
            self.mark_all();
            return Ok(size);
        }
        let (of_operator, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| name.id() == OPERATOR);
        let others: Vec<_> =
            others.into_iter().filter_map(|name| Some((onlooker_of(&name)?, name))).collect();
        let mark = |name: &StreamName, event: &StoredEvent| {
            self.watchers().wake(name, Version(event.position.0));
        };
        for event in events.iter().filter(|event| event.position <= handed) {
            of_operator.iter().for_each(|name| mark(name, event));
            if others.is_empty() {
                continue;
            }
            let Some(described) = self.describe(event).await? else { continue };
            let concerned = others.iter().filter(|(onlooker, _)| (described.audience)(onlooker));
            concerned.for_each(|(_, name)| mark(name, event));
        }
        wakes.marked.raise(until.min(handed));
        Ok(size)
    }

    /// The event as its room describes it; `None` if watchers do not see it.
    async fn describe(&self, event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault> {
        let Some(teller) = self.teller(&event.stream) else { return Ok(None) };
        match teller.tell(event).await {
            Err(Fault::Corrupt(_)) => Ok(None),
            described => described,
        }
    }

    /// Marks every watcher for everything committed so far.
    fn mark_all(&self) {
        let (wakes, handed) = (self.wakes(), self.handed());
        let first = Version(wakes.marked().next().0);
        wakes.begun.raise(handed);
        self.watchers().streams().iter().for_each(|name| self.watchers().wake(name, first));
        wakes.marked.raise(handed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use plenary_accounts::{Accounts, Follower, TokenDigest, Watch};
    use plenary_engine::{SystemClock, stored::written};
    use plenary_hub::Observer as _;
    use plenary_issuers::Issuers;
    use plenary_kernel::{Clock, OwnerName};
    use plenary_log::{Batch, open_memory};
    use plenary_room::{Teller, async_trait};
    use serde_json::json;

    use super::*;
    use crate::console::RoomReaders;

    /// A room whose events concern the owner that its stream is named after.
    #[derive(Default)]
    struct CountingTeller(AtomicUsize);

    #[async_trait]
    impl Teller for CountingTeller {
        fn room(&self) -> &'static str {
            "told"
        }
        fn tells_of(&self, stream: &StreamName) -> bool {
            stream.category() == "told.of"
        }
        async fn tell(&self, event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault> {
            self.0.fetch_add(1, Ordering::SeqCst);
            let owner: OwnerName = event.stream.id().parse().unwrap();
            assert_ne!(owner.as_str(), "panic", "a room may have a bug");
            let audience = move |onlooker: &Onlooker| onlooker.is_of(&owner);
            Ok(Some(OnlookerEvent::new("told", "", Vec::new(), json!({}), audience)))
        }
    }

    struct Scene {
        console: Console,
        teller: Arc<CountingTeller>,
        stop: CancellationToken,
    }

    impl Scene {
        async fn new() -> Self {
            let log = open_memory().log;
            let clock: Arc<dyn Clock> = Arc::new(SystemClock);
            let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of("plo_x"));
            let console = Console::new(log, clock, accounts, Issuers::default());
            let (teller, stop) = (Arc::new(CountingTeller::default()), CancellationToken::new());
            let tellers: Vec<Arc<dyn Teller>> = vec![teller.clone()];
            console.begin(RoomReaders { tellers, ..RoomReaders::default() }).await.unwrap();
            tokio::spawn(console.clone().mark_watchers(stop.clone()));
            Self { console, teller, stop }
        }

        fn watch(&self, who: &str) -> Watch<String> {
            let onlooker = match who {
                "operator" => None,
                owner => Some(Onlooker::Owner(owner.parse().unwrap())),
            };
            let name = watch_stream(onlooker.as_ref());
            self.console.watchers().watch(&name, Follower::new(None), who.to_owned()).unwrap()
        }

        /// Commits an event of each owner, and waits until the watchers are marked.
        async fn commit(&self, owners: &[&str]) {
            let event = |owner: &&str| (StreamName::new("told.of", owner), written("Happened", &json!({})));
            let batch = Batch { events: owners.iter().map(event).collect(), ..Batch::default() };
            self.console.log().append(batch).await.unwrap();
            let events = self.console.log().read_log(self.console.handed(), 100).await.unwrap();
            self.console.committed(&events).await;
            let head = events.last().unwrap().position;
            let mut marked = self.console.wakes().marked.subscribe();
            marked.wait_for(|marked| *marked >= head).await.unwrap();
        }
    }

    /// The position of the first event that a watcher must read; taking it ends the mark.
    fn first(watch: &Watch<String>) -> Option<u64> {
        watch.mailbox().take().streams.values().min().map(|first| first.0)
    }

    #[tokio::test]
    async fn an_event_is_described_once_and_wakes_only_the_watchers_that_it_concerns() {
        let scene = Scene::new().await;
        let of_ann: Vec<_> = (0..9).map(|_| scene.watch("ann")).collect();
        let (of_bob, of_operator) = (scene.watch("bob"), scene.watch("operator"));
        scene.commit(&["carol", "ann", "ann"]).await;
        assert_eq!(scene.teller.0.load(Ordering::SeqCst), 3, "each event once, however many watch");
        assert!(of_ann.iter().all(|watch| first(watch) == Some(2)));
        assert_eq!((first(&of_bob), first(&of_operator)), (None, Some(1)));
        scene.commit(&["bob"]).await;
        assert_eq!((first(&of_bob), first(&of_ann[0])), (Some(4), None));
        drop((of_ann, of_bob));
        scene.commit(&["bob"]).await;
        assert_eq!(scene.teller.0.load(Ordering::SeqCst), 4, "the operator alone sees everything");
        drop(of_operator);
        scene.commit(&["bob"]).await;
        let of_late = scene.watch("bob");
        assert_eq!((first(&of_late), scene.console.wakes().begun()), (None, scene.console.handed()));
        scene.stop.cancel();
    }

    #[tokio::test]
    async fn every_watcher_reads_an_event_that_its_room_cannot_describe() {
        let scene = Scene::new().await;
        let (of_ann, of_bob) = (scene.watch("ann"), scene.watch("bob"));
        scene.commit(&["bob", "panic", "ann"]).await;
        assert_eq!((first(&of_ann), first(&of_bob)), (Some(1), Some(1)));
        scene.commit(&["ann"]).await;
        assert_eq!((first(&of_ann), first(&of_bob)), (Some(4), None), "and it goes on");
        scene.stop.cancel();
    }
}
