//! Failures of the store: a failed write is never treated as done, and the next command starts from the actual state.

use plenary_kernel::Version;
use plenary_log::{Fault, rigged::InjectedFault, rigged::Store};

use super::hall::{ID, add, hall, opened, rigged, start, take, written};
use crate::{ExecuteError, Room, tests::hall::Hall};

#[tokio::test]
async fn a_write_that_failed_leaves_the_state_as_it_was() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    halls.execute(ID, &opened(9), None).await.unwrap();
    let full = Fault::Full("no room".into());
    rigging.fail_writes([InjectedFault::Before(full.clone())]);
    let answer = halls.execute(ID, &take(halls.log(), "ann"), None).await;
    assert!(matches!(answer, Err(ExecuteError::Fault(fault)) if fault == full));
    assert_eq!(halls.state(ID).await.unwrap().1, Version(1));
    halls.execute(ID, &take(halls.log(), "bob"), None).await.unwrap();
    assert_eq!(written(halls.log()).await, ["Opened 9", "Taken bob"]);
}

#[tokio::test]
async fn what_was_decided_on_a_write_that_failed_is_decided_again() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    halls.execute(ID, &opened(1), None).await.unwrap();
    rigging.hold();
    rigging.fail_writes([InjectedFault::Before(Fault::Unavailable("gone".into()))]);
    let ann = start(&halls, take(halls.log(), "ann"), None).await;
    let bob = start(&halls, take(halls.log(), "bob"), None).await;
    rigging.release();
    assert!(matches!(ann.await.unwrap(), Err(ExecuteError::Fault(Fault::Unavailable(_)))));
    assert_eq!(bob.await.unwrap().unwrap().reply, Version(2), "the seat was free");
}

#[tokio::test]
async fn a_write_with_an_unknown_outcome_is_looked_up_before_the_next_decision() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    halls.execute(ID, &opened(9), None).await.unwrap();
    rigging.fail_writes([InjectedFault::After(Fault::OutcomeUnknown("the answer was lost".into()))]);
    let answer = halls.execute(ID, &take(halls.log(), "ann"), None).await;
    assert!(matches!(answer, Err(ExecuteError::Fault(Fault::OutcomeUnknown(_)))));
    let next = halls.execute(ID, &take(halls.log(), "bob"), None).await.unwrap();
    assert_eq!(next.reply, Version(3));
    assert_eq!(written(halls.log()).await, ["Opened 9", "Taken ann", "Taken bob"]);
}

#[tokio::test]
async fn a_stored_event_of_an_unknown_kind_is_a_fault_of_every_answer_and_no_panic() {
    let halls = hall(9).await;
    add(halls.log(), &Hall::stream(ID), "Burnt", "").await;
    let afresh = super::hall::halls(halls.log());
    assert!(matches!(afresh.state(ID).await, Err(Fault::Corrupt(_))));
    assert!(matches!(afresh.fresh(ID).await, Err(Fault::Corrupt(_))));
    for _ in 0..2 {
        let answer = afresh.execute(ID, &take(halls.log(), "ann"), None).await;
        assert!(matches!(answer, Err(ExecuteError::Fault(Fault::Corrupt(_)))), "{answer:?}");
    }
    afresh.execute("another", &opened(1), None).await.unwrap();
}

#[tokio::test]
async fn an_unreadable_store_is_a_fault_and_later_reads_succeed() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    rigging.fail_reads(Some(Fault::Unavailable("gone".into())));
    let answer = halls.execute(ID, &opened(9), None).await;
    assert!(matches!(answer, Err(ExecuteError::Fault(Fault::Unavailable(_)))));
    rigging.fail_reads(None);
    halls.execute(ID, &opened(9), None).await.unwrap();
    assert_eq!(written(halls.log()).await, ["Opened 9"]);
}
