//! Blocks and deletions, and what follows from them in other rooms (ASP-12 to ASP-15).

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use plenary_accounts::Consequences;
use plenary_kernel::AgentHandle;
use plenary_log::{Fault, Log};
use plenary_room::async_trait;
use serde_json::json;

use crate::house::{House, OPERATOR};

/// Another room that records evicted agents, and fails on request.
#[derive(Default)]
struct Room {
    evicted: Mutex<Vec<String>>,
    fails: AtomicBool,
}

impl Room {
    fn note(&self, eviction: String) -> Result<(), Fault> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Fault::Unavailable("told to".into()));
        }
        self.evicted.lock().unwrap().push(eviction);
        Ok(())
    }
    fn evicted(&self) -> Vec<String> {
        std::mem::take(&mut self.evicted.lock().unwrap())
    }
}

#[async_trait]
impl Consequences for Room {
    async fn on_block(&self, blocker: &AgentHandle, blocked: &AgentHandle) -> Result<(), Fault> {
        self.note(format!("{blocked} leaves {blocker}"))
    }
    async fn on_removal(&self, agent: &AgentHandle) -> Result<(), Fault> {
        self.note(format!("{agent} leaves"))
    }
}

async fn house() -> (House, Arc<Room>) {
    let (house, room) = (House::new(), Arc::new(Room::default()));
    house.accounts.set_consequences(room.clone());
    house.agent("@alice.bot", "").await;
    house.agent("@bob.bot", "").await;
    (house, room)
}

async fn waiting(log: &Log) -> usize {
    log.read_rows("evict/", None, 100).await.unwrap().len()
}

const BLOCKS: &str = "/_admin/agents/@alice.bot/blocks";
const BOB: &str = r#"{"handle":"@bob.bot"}"#;

fn handle(text: &str) -> AgentHandle {
    text.parse().unwrap()
}

#[tokio::test]
async fn asp_14_a_block_is_acknowledged_when_the_blocked_has_left() {
    let (house, room) = house().await;
    let block = house.post(OPERATOR, BLOCKS, BOB).await.ok(201);
    assert_eq!(
        (&block["blocked_handle"], &block["blocked_agent_id"]),
        (&json!("@bob.bot"), &json!("@bob.bot"))
    );
    assert_eq!(room.evicted(), ["@bob.bot leaves @alice.bot"]);
    assert_eq!(waiting(&house.log).await, 0);
    let again = house.post(OPERATOR, BLOCKS, BOB).await.ok(201);
    assert_eq!(again, block, "repeated, it is the same block");
    assert_eq!(room.evicted(), ["@bob.bot leaves @alice.bot"], "and its acknowledgement means the same");
}

#[tokio::test]
async fn asp_14_what_a_fault_left_undone_the_sweep_finishes() {
    let (house, room) = house().await;
    room.fails.store(true, Ordering::SeqCst);
    house.post(OPERATOR, BLOCKS, BOB).await.refused(503, "unavailable");
    house.call(OPERATOR, "DELETE", "/_admin/agents/@bob.bot", "").await.refused(503, "unavailable");
    assert!(house.accounts.sweep().await.is_err());
    assert_eq!(waiting(&house.log).await, 2);
    let alice = house.accounts.agent(&handle("@alice.bot")).await.unwrap();
    assert!(alice.state.blocks(&handle("@bob.bot")), "the block is in force");
    room.fails.store(false, Ordering::SeqCst);
    assert_eq!(house.accounts.sweep().await, Ok(2));
    let mut evictions = room.evicted();
    evictions.sort();
    assert_eq!(evictions, ["@bob.bot leaves", "@bob.bot leaves @alice.bot"]);
    assert_eq!((waiting(&house.log).await, house.accounts.sweep().await), (0, Ok(0)));
}

#[tokio::test]
async fn before_anybody_takes_care_evictions_wait() {
    let house = House::new();
    house.agent("@alice.bot", "").await;
    house.post(OPERATOR, BLOCKS, BOB).await.ok(201);
    assert_eq!((house.accounts.sweep().await, waiting(&house.log).await), (Ok(0), 1));
    let room = Arc::new(Room::default());
    house.accounts.set_consequences(room.clone());
    assert_eq!(house.accounts.sweep().await, Ok(1));
    assert_eq!(room.evicted(), ["@bob.bot leaves @alice.bot"]);
}

#[tokio::test]
async fn a_deleted_agent_leaves_everything_before_the_answer() {
    let (house, room) = house().await;
    house.call(OPERATOR, "DELETE", "/_admin/agents/@bob.bot", "").await.ok(204);
    assert_eq!((room.evicted(), waiting(&house.log).await), (vec!["@bob.bot leaves".to_owned()], 0));
}

#[tokio::test]
async fn asp_12_a_handle_that_nobody_has_can_be_blocked_and_tells_nothing() {
    let (house, _) = house().await;
    let body_of = |name: &str| format!("{{\"handle\":\"{name}\"}}");
    let there = house.post(OPERATOR, BLOCKS, &body_of("@bob.bot")).await;
    let absent = house.post(OPERATOR, BLOCKS, &body_of("@dave.bot")).await;
    assert_eq!((there.status, there.headers.keys().count()), (absent.status, absent.headers.keys().count()));
    let members =
        |body: &str| serde_json::from_str::<serde_json::Value>(body).unwrap().as_object().unwrap().len();
    assert_eq!(members(&there.body), members(&absent.body));
    house.agent("@dave.bot", "").await;
    let alice = house.accounts.agent(&handle("@alice.bot")).await.unwrap();
    assert!(alice.state.blocks(&handle("@dave.bot")), "it waits for its bearer");
}

#[tokio::test]
async fn lifting_a_block_can_be_repeated() {
    let (house, _) = house().await;
    house.post(OPERATOR, BLOCKS, BOB).await.ok(201);
    let path = format!("{BLOCKS}/@bob.bot");
    for _ in 0..2 {
        let lifted = house.call(OPERATOR, "DELETE", &path, "").await.ok(200);
        assert_eq!(lifted, json!({"unblocked": true}));
    }
    let listed = house.get(OPERATOR, BLOCKS).await.ok(200);
    assert_eq!(listed, json!({"blocks": [], "next_cursor": null}));
}

#[tokio::test]
async fn who_blocks_an_agent_is_known_until_it_is_lifted_or_the_blocker_is_gone() {
    let (house, _) = house().await;
    for name in ["alice", "carol", "dave"] {
        if name != "alice" {
            house.agent(&format!("@{name}.bot"), "").await;
        }
        house.post(OPERATOR, &format!("/_admin/agents/@{name}.bot/blocks"), BOB).await.ok(201);
    }
    house.agent("@bob.bot2", "").await;
    let blockers = async |target: &str| {
        let found = house.accounts.blockers(&handle(target)).await.unwrap();
        found.into_iter().map(|(blocker, time)| (blocker.to_string(), time.0)).collect::<Vec<_>>()
    };
    let named = |names: &[&str]| names.iter().map(|name| (format!("@{name}.bot"), 2)).collect::<Vec<_>>();
    assert_eq!(blockers("@bob.bot").await, named(&["alice", "carol", "dave"]));
    assert_eq!(blockers("@bob.bot2").await, []);
    house.call(OPERATOR, "DELETE", &format!("{BLOCKS}/@bob.bot"), "").await.ok(200);
    house.call(OPERATOR, "DELETE", "/_admin/agents/@dave.bot", "").await.ok(204);
    assert_eq!(blockers("@bob.bot").await, named(&["carol"]));
}
