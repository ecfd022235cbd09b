//! The storage quota of an owner: counted with the append, refused before it.

use plenary_kernel::Version;
use plenary_log::{
    AccountsMax, ExceededQuota, Fault, QuotaRule, Usage, UsageMax,
    rigged::{InjectedFault, Store},
};

use super::hall::{Do, Hall, HallEvent, Halls, ID, closing, hall, opened, rigged, take, written};
use crate::{ExecuteError, Executed, KeyUse, Room as _, recount};

/// The use of a seat: its event, and its side event.
const EVENTS: u64 = 2;

fn key(key: &str) -> KeyUse {
    KeyUse { scope: "take".into(), key: key.into(), digest: [1; 32] }
}

async fn used(halls: &Halls, owner: &str) -> Usage {
    halls.log().read_usage(owner).await.unwrap()
}

fn limit(halls: &Halls, bytes: u64, events: u64) {
    let max = UsageMax { bytes, events };
    halls.log().ledger().limit(AccountsMax { owner: max, peer: max });
}

fn over<T: std::fmt::Debug, J: std::fmt::Debug>(
    answer: Result<Executed<T>, ExecuteError<J>>,
) -> ExceededQuota {
    match answer {
        Err(ExecuteError::OverQuota(exceeded)) => exceeded,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn only_the_events_of_an_owner_count_towards_it() {
    let halls = hall(9).await;
    for guest in ["ann", "bob"] {
        halls.execute(ID, &take(halls.log(), guest), None).await.unwrap();
    }
    halls.execute(ID, &closing(), None).await.unwrap();
    // "ann" and the version in the side event.
    assert_eq!(used(&halls, "ann").await, Usage { bytes: 3 + 1, events: EVENTS });
    assert_eq!(used(&halls, "bob").await, Usage { bytes: 3 + 1, events: EVENTS });
}

#[tokio::test]
async fn past_its_bound_an_owner_is_refused_and_others_are_not() {
    let halls = hall(9).await;
    limit(&halls, 1_000, 2 * EVENTS);
    for guest in ["ann", "ann"] {
        halls.execute(ID, &take(halls.log(), guest), None).await.unwrap();
    }
    let refused = over(halls.execute(ID, &take(halls.log(), "ann"), None).await);
    assert_eq!(refused, ExceededQuota { rule: QuotaRule::OwnerEvents, used: 4, max: 4 });
    halls.execute(ID, &take(halls.log(), "bob"), None).await.unwrap();
    // Commands without a payer still work.
    halls.execute(ID, &closing(), None).await.unwrap();
    assert_eq!(
        written(halls.log()).await,
        ["Opened 9", "Taken ann", "Taken ann", "Taken bob", "Closed "],
        "a refusal leaves no trace in memory"
    );
}

#[tokio::test]
async fn a_request_that_was_carried_out_is_answered_again_past_the_bound() {
    let halls = hall(9).await;
    // "ann" and the version in the side event; the scope, the key, the digest and the answer.
    const BYTES: u64 = 3 + 1 + 4 + 1 + 32 + 1;
    limit(&halls, BYTES, 100);
    let first = halls.execute(ID, &take(halls.log(), "ann"), Some(&key("k"))).await.unwrap();
    let again = halls.execute(ID, &take(halls.log(), "ann"), Some(&key("k"))).await.unwrap();
    assert_eq!((again.reply, again.replayed), (first.reply, true));
    let refused = over(halls.execute(ID, &take(halls.log(), "ann"), Some(&key("l"))).await);
    assert_eq!(refused, ExceededQuota { rule: QuotaRule::OwnerBytes, used: BYTES, max: BYTES });
    assert_eq!(used(&halls, "ann").await, Usage { bytes: BYTES, events: EVENTS }, "a repeat costs nothing");
}

#[tokio::test]
async fn a_stream_that_begins_is_held_to_the_bound_too() {
    let halls = hall(9).await;
    limit(&halls, 100, EVENTS + 1);
    halls.execute(ID, &take(halls.log(), "ann"), None).await.unwrap();
    let begins = || Do(vec![HallEvent::Taken("ann".into())]);
    halls.begin("second", &begins(), Some(&key("k"))).await.unwrap();
    over(halls.begin("third", &begins(), None).await);
    let again = halls.begin("second", &begins(), Some(&key("k"))).await.unwrap();
    assert!(again.replayed);
    assert_eq!(used(&halls, "ann").await.events, EVENTS + 1);
}

#[tokio::test]
async fn many_at_once_never_pass_the_bound() {
    let halls = hall(99).await;
    limit(&halls, 1_000, 10 * EVENTS);
    let tasks = (0..40).map(|_| {
        let halls = halls.clone();
        tokio::spawn(async move { halls.execute(ID, &take(halls.log(), "ann"), None).await.is_ok() })
    });
    let mut done = 0;
    for task in tasks.collect::<Vec<_>>() {
        done += usize::from(task.await.unwrap());
    }
    assert_eq!((done, used(&halls, "ann").await.events), (10, 10 * EVENTS));
}

#[tokio::test]
async fn an_append_that_failed_is_not_counted() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    halls.execute(ID, &opened(9), None).await.unwrap();
    limit(&halls, 1_000, EVENTS);
    rigging.fail_writes([InjectedFault::Before(Fault::Overloaded)]);
    let failed = halls.execute(ID, &take(halls.log(), "ann"), None).await;
    assert!(matches!(failed, Err(ExecuteError::Fault(Fault::Overloaded))));
    assert_eq!(used(&halls, "ann").await, Usage::default());
}

#[tokio::test]
async fn a_recount_counts_the_events_of_the_room() {
    let halls = hall(9).await;
    halls.execute(ID, &take(halls.log(), "ann"), None).await.unwrap();
    let events = halls.log().read_stream(&Hall::stream(ID), Version::ZERO, 10).await.unwrap();
    let counted: Vec<_> =
        events.iter().filter_map(|event| recount::<Hall>(&Default::default(), event).unwrap()).collect();
    let own = &counted[0];
    assert_eq!((counted.len(), own.account.as_str()), (1, "ann"));
    assert_eq!(own.usage, Usage { bytes: 3, events: 1 });
}
