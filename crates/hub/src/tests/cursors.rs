//! Cursors on a store of one process: kept in memory, written in batches, the same after a restart.

use std::sync::Arc;

use plenary_kernel::{Position, limits::READ_ROWS_MAX};
use plenary_log::{
    Fault,
    rigged::{InjectedFault, Store},
};

use super::{ByHand, agent, server};

#[tokio::test]
async fn asp_43_an_agent_without_a_cursor_starts_at_the_beginning() {
    let own = server(&Store::new(), &Arc::default(), false);
    assert_eq!(own.cursors.take_up(&agent("ann")).await.unwrap(), Position::ZERO);
    assert!(own.log.read_rows("", None, 10).await.unwrap().is_empty(), "and nothing is written for it");
}

#[tokio::test]
async fn asp_43_a_moved_cursor_is_loaded_before_and_after_it_is_written() {
    let (store, clock) = (Store::new(), Arc::<ByHand>::default());
    let own = server(&store, &clock, false);
    let ann = agent("ann");
    own.cursors.moved(&ann, Position(7), true);
    assert_eq!(own.cursors.take_up(&ann).await.unwrap(), Position(7));
    own.cursors.flush().await.unwrap();
    assert_eq!(own.cursors.take_up(&ann).await.unwrap(), Position(7));
    own.cursors.moved(&ann, Position(9), true);
    assert_eq!(own.cursors.take_up(&ann).await.unwrap(), Position(9), "the newer one is not written yet");
    let restarted = server(&store, &clock, false);
    assert_eq!(restarted.cursors.take_up(&ann).await.unwrap(), Position(7), "what was not written is lost");
    own.cursors.flush().await.unwrap();
    assert_eq!(restarted.cursors.take_up(&ann).await.unwrap(), Position(9));
}

#[tokio::test]
async fn asp_43_a_cursor_goes_back_when_a_closed_connection_left_something() {
    let own = server(&Store::new(), &Arc::default(), false);
    let ann = agent("ann");
    own.cursors.moved(&ann, Position(20), true);
    own.cursors.flush().await.unwrap();
    assert!(
        own.cursors.release_cursor(&ann, Position(5)).await.unwrap(),
        "on a store of our own it is offline then"
    );
    assert_eq!(own.cursors.take_up(&ann).await.unwrap(), Position(5));
}

#[tokio::test]
async fn nobody_is_online_elsewhere_on_a_store_of_our_own() {
    let (store, clock) = (Store::new(), Arc::<ByHand>::default());
    let (own, other) = (server(&store, &clock, false), server(&store, &clock, true));
    other.cursors.beat().await.unwrap();
    other.cursors.take_up(&agent("ann")).await.unwrap();
    assert!(!own.cursors.is_online_elsewhere(&agent("ann")).await.unwrap());
}

#[tokio::test]
async fn many_cursors_are_written_in_batches_and_once() {
    let own = server(&Store::new(), &Arc::default(), false);
    let many = 2 * READ_ROWS_MAX + 5;
    for nth in 0..many {
        own.cursors.moved(&agent(&format!("a{nth}")), Position(1), true);
        own.cursors.moved(&agent(&format!("a{nth}")), Position(2), true);
    }
    own.cursors.flush().await.unwrap();
    own.cursors.flush().await.unwrap();
    let (mut rows, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = own.log.read_rows("cursor/", after.as_deref(), READ_ROWS_MAX).await.unwrap();
        after = page.last().map(|(name, _)| name.clone());
        let full = page.len() == READ_ROWS_MAX;
        rows.extend(page);
        if !full {
            break;
        }
    }
    assert_eq!(rows.len(), many);
    assert!(rows.iter().all(|(_, row)| row.revision == 1 && row.value == r#"{"position":2,"live":true}"#));
}

#[tokio::test]
async fn cursors_that_could_not_be_written_are_written_next_time_unless_they_moved_on() {
    let (store, clock) = (Store::new(), Arc::<ByHand>::default());
    let own = server(&store, &clock, false);
    let (ann, bob) = (agent("ann"), agent("bob"));
    own.cursors.moved(&ann, Position(7), true);
    own.cursors.moved(&bob, Position(7), true);
    own.rigging.fail_writes([InjectedFault::Before(Fault::Unavailable("gone".into()))]);
    own.cursors.flush().await.unwrap_err();
    own.cursors.moved(&bob, Position(8), true);
    own.cursors.flush().await.unwrap();
    let restarted = server(&store, &clock, false);
    assert_eq!(restarted.cursors.take_up(&ann).await.unwrap(), Position(7));
    assert_eq!(restarted.cursors.take_up(&bob).await.unwrap(), Position(8));
}

#[tokio::test]
async fn of_many_cursors_that_could_not_be_written_none_is_forgotten() {
    let own = server(&Store::new(), &Arc::default(), false);
    let many = 2 * READ_ROWS_MAX + 5;
    for nth in 0..many {
        own.cursors.moved(&agent(&format!("a{nth}")), Position(1), true);
    }
    own.rigging.fail_writes([InjectedFault::Before(Fault::Unavailable("gone".into()))]);
    own.cursors.flush().await.unwrap_err();
    own.cursors.flush().await.unwrap();
    for nth in 0..many {
        assert_eq!(own.cursors.take_up(&agent(&format!("a{nth}"))).await.unwrap(), Position(1), "a{nth}");
    }
}

#[tokio::test]
async fn a_row_that_can_not_be_read_is_a_fault() {
    let own = server(&Store::new(), &Arc::default(), false);
    let rows = vec![plenary_log::RowOp {
        name: "cursor/@o.ann/0".into(),
        expected: None,
        value: Some("not JSON".into()),
    }];
    own.log.append(plenary_log::Batch { rows, ..Default::default() }).await.unwrap();
    assert!(matches!(own.cursors.take_up(&agent("ann")).await, Err(Fault::Corrupt(_))));
}
