//! Cursors and presence if several processes share a store: one row for each agent and node.

use std::sync::Arc;

use plenary_kernel::{AgentHandle, Position};
use plenary_log::{
    Batch, Fault, RowOp,
    rigged::{InjectedFault, Store},
};

use super::{ByHand, Server, agent, server};
use crate::SILENT_BEATS;

async fn two() -> (Store, Arc<ByHand>, Server, Server) {
    let (store, clock) = (Store::new(), Arc::<ByHand>::default());
    clock.pass(1_000_000);
    let (one, two) = (server(&store, &clock, true), server(&store, &clock, true));
    one.cursors.beat().await.unwrap();
    two.cursors.beat().await.unwrap();
    (store, clock, one, two)
}

/// The reader knows the other processes, and then hears itself so often that those that are silent are dead.
async fn silence(reader: &Server) {
    reader.cursors.alive().await.unwrap();
    for _ in 0..SILENT_BEATS {
        reader.cursors.beat().await.unwrap();
    }
}

async fn orphans(server: &Server) -> Vec<AgentHandle> {
    server.cursors.orphans().await.unwrap().into_iter().map(|orphan| orphan.handle).collect()
}

async fn rows(server: &Server) -> Vec<String> {
    let rows = server.log.read_rows("cursor/", None, 100).await.unwrap();
    rows.into_iter().map(|(_, row)| String::from_utf8_lossy(&row.value).into_owned()).collect()
}

#[tokio::test]
async fn asp_41_an_agent_is_online_elsewhere_as_soon_as_its_cursor_is_loaded_there() {
    let (_store, _clock, one, two) = two().await;
    let ann = agent("ann");
    assert!(!two.cursors.is_online_elsewhere(&ann).await.unwrap());
    one.cursors.take_up(&ann).await.unwrap();
    assert!(two.cursors.is_online_elsewhere(&ann).await.unwrap());
    assert!(!one.cursors.is_online_elsewhere(&ann).await.unwrap(), "here is not elsewhere");
    assert!(!two.cursors.is_online_elsewhere(&agent("an")).await.unwrap(), "nor is it another agent");
}

#[tokio::test]
async fn asp_49_the_last_of_all_processes_tells_that_an_agent_is_offline() {
    let (_store, _clock, one, two) = two().await;
    let ann = agent("ann");
    one.cursors.take_up(&ann).await.unwrap();
    two.cursors.take_up(&ann).await.unwrap();
    assert!(!one.cursors.release_cursor(&ann, Position(5)).await.unwrap());
    assert!(two.cursors.release_cursor(&ann, Position(6)).await.unwrap());
}

#[tokio::test]
async fn asp_43_the_lowest_cursor_of_all_processes_counts() {
    let (_store, _clock, one, two) = two().await;
    let ann = agent("ann");
    one.cursors.take_up(&ann).await.unwrap();
    one.cursors.moved(&ann, Position(30), true);
    one.cursors.flush().await.unwrap();
    assert_eq!(two.cursors.take_up(&ann).await.unwrap(), Position(30));
    two.cursors.moved(&ann, Position(40), true);
    two.cursors.flush().await.unwrap();
    assert_eq!(one.cursors.take_up(&ann).await.unwrap(), Position(30), "one has confirmed no more than that");
}

#[tokio::test]
async fn rows_of_a_process_without_a_connection_are_taken_over_and_those_of_a_live_one_are_not() {
    let (store, clock, one, two) = two().await;
    let ann = agent("ann");
    one.cursors.take_up(&ann).await.unwrap();
    one.cursors.release_cursor(&ann, Position(12)).await.unwrap();
    assert_eq!(two.cursors.take_up(&ann).await.unwrap(), Position(12));
    assert_eq!(
        rows(&one).await,
        [r#"{"position":12,"live":true}"#],
        "one row is left, of the process that has it"
    );
    let three = server(&store, &clock, true);
    three.cursors.beat().await.unwrap();
    assert_eq!(three.cursors.take_up(&ann).await.unwrap(), Position(12));
    assert_eq!(rows(&one).await.len(), 2, "the live one keeps its own");
}

#[tokio::test]
async fn asp_43_a_single_process_takes_over_what_those_of_a_shared_store_left() {
    let (store, clock, one, _two) = two().await;
    let ann = agent("ann");
    one.cursors.take_up(&ann).await.unwrap();
    one.cursors.moved(&ann, Position(12), true);
    one.cursors.flush().await.unwrap();
    let alone = server(&store, &clock, false);
    assert_eq!(alone.cursors.take_up(&ann).await.unwrap(), Position(12));
    alone.cursors.moved(&ann, Position(30), true);
    assert_eq!(alone.cursors.take_up(&ann).await.unwrap(), Position(30), "its cursor is the only one");
    alone.cursors.flush().await.unwrap();
    assert_eq!(rows(&alone).await, [r#"{"position":30,"live":true}"#]);
    let again = server(&store, &clock, false);
    assert_eq!(again.cursors.take_up(&ann).await.unwrap(), Position(30));
}

#[tokio::test]
async fn a_process_without_a_sign_of_life_is_dead_and_its_agents_are_orphans_until_adopted() {
    let (_store, _clock, one, two) = two().await;
    let (ann, bob) = (agent("ann"), agent("bob"));
    one.cursors.take_up(&ann).await.unwrap();
    two.cursors.take_up(&bob).await.unwrap();
    assert!(two.cursors.is_online_elsewhere(&ann).await.unwrap());
    for _ in 1..SILENT_BEATS {
        two.cursors.beat().await.unwrap();
    }
    assert!(two.cursors.orphans().await.unwrap().is_empty(), "a lease lasts");
    assert!(two.cursors.is_online_elsewhere(&ann).await.unwrap());
    two.cursors.beat().await.unwrap();
    assert!(!two.cursors.is_online_elsewhere(&ann).await.unwrap());
    for _ in 0..2 {
        assert_eq!(orphans(&two).await, std::slice::from_ref(&ann), "until it is adopted");
    }
    for orphan in two.cursors.orphans().await.unwrap() {
        two.cursors.adopt(&orphan).await.unwrap();
        two.cursors.adopt(&orphan).await.unwrap();
    }
    assert!(two.cursors.orphans().await.unwrap().is_empty());
    assert_eq!(two.cursors.take_up(&ann).await.unwrap(), Position::ZERO);
    assert_eq!(rows(&two).await.len(), 2, "the dead one's row is taken over");
    one.cursors.beat().await.unwrap();
    assert!(two.cursors.alive().await.unwrap().contains(one.cursors.node()), "it was only cut off");
}

#[tokio::test]
async fn clocks_that_differ_do_not_decide_who_is_alive() {
    let store = Store::new();
    let (behind, ahead) = (Arc::<ByHand>::default(), Arc::<ByHand>::default());
    ahead.pass(3_600_000);
    let (one, two) = (server(&store, &behind, true), server(&store, &ahead, true));
    for clock in [&behind, &ahead] {
        for server in [&one, &two] {
            server.cursors.beat().await.unwrap();
        }
        for server in [&one, &two] {
            assert_eq!(server.cursors.alive().await.unwrap().len(), 2);
        }
        clock.pass(86_400_000);
    }
    silence(&two).await;
    let alive = two.cursors.alive().await.unwrap();
    assert!(!alive.contains(one.cursors.node()), "the clock of the dead one does not keep it alive");
    silence(&one).await;
    one.cursors.beat().await.unwrap();
    assert_eq!(one.cursors.alive().await.unwrap().len(), 1, "whichever clock is ahead");
}

#[tokio::test]
async fn a_process_that_does_not_hear_itself_takes_nobody_for_dead() {
    let (_store, clock, one, two) = two().await;
    two.cursors.alive().await.unwrap();
    // Its own signals do not arrive, or it was paused; the others may have been silent or not.
    clock.pass(3_600_000);
    assert!(two.cursors.alive().await.unwrap().contains(one.cursors.node()));
}

#[tokio::test]
async fn a_process_that_just_started_waits_before_it_takes_others_for_dead() {
    let (store, clock, one, two) = two().await;
    silence(&two).await;
    assert!(!two.cursors.alive().await.unwrap().contains(one.cursors.node()));
    let three = server(&store, &clock, true);
    assert!(three.cursors.alive().await.unwrap().contains(one.cursors.node()), "it has heard nobody yet");
    silence(&three).await;
    assert!(!three.cursors.alive().await.unwrap().contains(one.cursors.node()));
}

#[tokio::test]
async fn signs_of_life_write_nothing() {
    let (_store, _clock, one, two) = two().await;
    for _ in 0..10 * SILENT_BEATS {
        one.cursors.beat().await.unwrap();
    }
    let row = format!("node/{}", one.cursors.node().as_str());
    assert_eq!(two.log.read_row(&row).await.unwrap().map(|row| row.revision), Some(1));
}

/// Processes of earlier releases renew their rows, and send no signals.
#[tokio::test]
async fn a_process_that_renews_its_row_is_alive() {
    let (_store, _clock, one, two) = two().await;
    let renew = async || {
        let rows = vec![RowOp { name: "node/earlier".into(), expected: None, value: Some("0".into()) }];
        one.log.append(Batch { rows, ..Batch::default() }).await.unwrap();
    };
    let is_alive = async || two.cursors.alive().await.unwrap().iter().any(|node| node.as_str() == "earlier");
    renew().await;
    for _ in 0..2 * SILENT_BEATS {
        assert!(is_alive().await);
        two.cursors.beat().await.unwrap();
        renew().await;
    }
    silence(&two).await;
    assert!(!is_alive().await);
}

#[tokio::test]
async fn a_process_that_signs_off_is_not_waited_for() {
    let (_store, _clock, one, two) = two().await;
    let ann = agent("ann");
    one.cursors.take_up(&ann).await.unwrap();
    one.cursors.end_lease().await.unwrap();
    assert!(!two.cursors.is_online_elsewhere(&ann).await.unwrap());
    assert_eq!(orphans(&two).await, [ann]);
}

#[tokio::test]
async fn the_living_are_found_among_thousands_of_dead() {
    let (_store, _clock, one, two) = two().await;
    let ann = agent("ann");
    one.cursors.take_up(&ann).await.unwrap();
    // Killed processes left their rows; the names of later processes sort after theirs.
    for from in (0..3_000).step_by(500) {
        let rows = (from..from + 500).map(|nth| RowOp {
            name: format!("node/0{nth:025}"),
            expected: None,
            value: Some("0".into()),
        });
        one.log.append(Batch { rows: rows.collect(), ..Batch::default() }).await.unwrap();
    }
    silence(&two).await;
    one.cursors.beat().await.unwrap();
    assert!(two.cursors.is_online_elsewhere(&ann).await.unwrap());
    assert_eq!(two.cursors.alive().await.unwrap().len(), 2);
    assert!(two.cursors.orphans().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_connection_that_opens_while_the_last_one_is_put_down_is_online() {
    let (_store, _clock, one, two) = two().await;
    let ann = agent("ann");
    one.cursors.take_up(&ann).await.unwrap();
    // The old connection's cursor could not be written; then the agent is back.
    one.rigging.fail_writes([InjectedFault::Before(Fault::Unavailable("gone".into()))]);
    one.cursors.release_cursor(&ann, Position(5)).await.unwrap_err();
    assert_eq!(one.cursors.take_up(&ann).await.unwrap(), Position(5));
    one.cursors.flush().await.unwrap();
    assert!(two.cursors.is_online_elsewhere(&ann).await.unwrap(), "the late write says nothing of now");
}
