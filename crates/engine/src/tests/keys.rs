//! Idempotency: one request under one key is carried out once, and always gets the same answer.

use plenary_kernel::Version;

use plenary_log::{Fault, rigged::Store};

use super::hall::{
    Hall, HallState, Halls, ID, SeatRefusal, closing, hall, opened, refused, rigged, start, take, written,
};
use crate::{
    Command, Conditions, Decided, Decision, ExecuteError, Executed, IdempotentRequest, KeyUse, Point,
};

fn key(key: &str, digest: u8) -> KeyUse {
    KeyUse { scope: "take/main".into(), key: key.into(), digest: [digest; 32] }
}

async fn seat(
    halls: &Halls,
    guest: &str,
    key: &KeyUse,
) -> Result<Executed<Version>, ExecuteError<SeatRefusal>> {
    halls.execute(ID, &take(halls.log(), guest), Some(key)).await
}

#[tokio::test]
async fn asp_35_an_equal_request_gets_the_first_answer_and_writes_nothing() {
    let halls = hall(9).await;
    let first = seat(&halls, "ann", &key("k", 1)).await.unwrap();
    let again = seat(&halls, "ann", &key("k", 1)).await.unwrap();
    assert!(!first.replayed && first.position.is_some());
    assert_eq!(again, Executed { reply: first.reply, replayed: true, position: None });
    assert_eq!(written(halls.log()).await, ["Opened 9", "Taken ann"]);
    let third = seat(&halls, "bob", &key("other", 1)).await.unwrap();
    assert_eq!(third.reply, Version(3), "a repeated request leaves no trace in memory");
}

#[tokio::test]
async fn asp_35_the_first_answer_stays_whatever_has_become_of_things() {
    let halls = hall(1).await;
    let first = seat(&halls, "ann", &key("k", 1)).await.unwrap();
    assert_eq!(refused(seat(&halls, "bob", &key("b", 1)).await), SeatRefusal::Full);
    assert_eq!(seat(&halls, "ann", &key("k", 1)).await.unwrap().reply, first.reply, "though it is full");
    halls.execute(ID, &closing(), None).await.unwrap();
    assert_eq!(seat(&halls, "ann", &key("k", 1)).await.unwrap().reply, first.reply, "though it is closed");
    let afresh = super::hall::halls(halls.log());
    let again = seat(&afresh, "ann", &key("k", 1)).await.unwrap();
    assert_eq!((again.reply, again.replayed), (first.reply, true), "though it is another process");
}

#[tokio::test]
async fn asp_35_another_request_under_the_same_key_is_a_reuse_in_every_state() {
    let halls = hall(9).await;
    seat(&halls, "ann", &key("k", 1)).await.unwrap();
    assert!(matches!(seat(&halls, "bob", &key("k", 2)).await, Err(ExecuteError::KeyReused)));
    halls.execute(ID, &closing(), None).await.unwrap();
    assert!(matches!(seat(&halls, "bob", &key("k", 2)).await, Err(ExecuteError::KeyReused)));
    assert_eq!(written(halls.log()).await, ["Opened 9", "Taken ann", "Closed "]);
}

#[tokio::test]
async fn asp_35_a_refused_request_leaves_the_key_free() {
    let halls = hall(0).await;
    assert_eq!(refused(seat(&halls, "ann", &key("k", 1)).await), SeatRefusal::Full);
    halls.execute(ID, &opened(1), None).await.unwrap();
    let done = seat(&halls, "bob", &key("k", 2)).await.unwrap();
    assert!(!done.replayed);
}

#[tokio::test]
async fn asp_35_of_many_equal_requests_at_once_one_is_carried_out() {
    let halls = hall(9).await;
    let mut tasks = Vec::new();
    for nth in 0..60 {
        // Other commands come between, and are decided on top of the ones that will not be written.
        let (halls, guest) = (halls.clone(), if nth % 3 == 0 { "ann" } else { "others" });
        let key = if nth % 3 == 0 { key("k", 1) } else { key(&format!("k{}", nth / 9), 1) };
        tasks.push(tokio::spawn(async move { (guest, seat(&halls, guest, &key).await.unwrap()) }));
    }
    let mut first = Vec::new();
    for task in tasks {
        let (guest, done) = task.await.unwrap();
        if guest == "ann" {
            first.push(done);
        }
    }
    assert_eq!(first.iter().filter(|done| !done.replayed).count(), 1);
    assert!(first.iter().all(|done| done.reply == first[0].reply));
    let written = written(halls.log()).await;
    assert_eq!(written.iter().filter(|event| *event == "Taken ann").count(), 1);
    assert_eq!(written.len(), 1 + 1 + 7, "{written:?}");
}

#[tokio::test]
async fn asp_35_a_retry_waits_for_its_first_use_though_it_is_refused_by_now() {
    let (halls, rigging) = rigged(&Store::new(), false);
    halls.execute(ID, &opened(9), None).await.unwrap();
    rigging.hold();
    let first = start(&halls, take(halls.log(), "ann"), Some(key("k", 1))).await;
    let closed = start(&halls, closing(), None).await;
    let again = start(&halls, take(halls.log(), "ann"), Some(key("k", 1))).await;
    let reused = start(&halls, take(halls.log(), "bob"), Some(key("k", 2))).await;
    rigging.release();
    let first = first.await.unwrap().unwrap();
    closed.await.unwrap().unwrap();
    let again = again.await.unwrap().expect("the answer of the first use, not that it is closed");
    assert_eq!((again.reply, again.replayed), (first.reply, true));
    assert!(matches!(reused.await.unwrap(), Err(ExecuteError::KeyReused)));
}

#[tokio::test]
async fn an_unreadable_stored_answer_is_a_fault() {
    let halls = hall(9).await;
    halls.execute(ID, &opened(5), Some(&key("k", 1))).await.unwrap();
    // The same scope and key under a command with another answer.
    struct OtherCommand;
    impl Command<Hall> for OtherCommand {
        const NAME: &'static str = "other";
        type Reply = String;
        type Rejection = SeatRefusal;
        type Facts = ();
        async fn facts(&self, _: &HallState, _: &mut Conditions) -> Result<(), Fault> {
            Ok(())
        }
        fn decide(&self, _: &HallState, (): &(), _: &Point) -> Decided<Hall, Self> {
            Ok(Decision::unchanged(String::new()))
        }
    }
    let answer = halls.execute(ID, &OtherCommand, Some(&key("k", 1))).await;
    assert!(matches!(answer, Err(ExecuteError::Fault(Fault::Corrupt(_)))), "{answer:?}");
}

/// A request that asks for two commands and comes again after only the first was carried out: what was done is answered as
/// it was, the rest is done, and another request under the key is refused.
#[tokio::test]
async fn a_cut_request_continues_at_the_cut() {
    let halls = hall(9).await;
    let seats = async |halls: &Halls, digest: u8, names: &[&str]| {
        let commands = async {
            let mut replies = Vec::new();
            for name in names {
                replies.push(halls.execute(ID, &take(halls.log(), name), None).await);
            }
            replies
        };
        IdempotentRequest::new(key("k", digest), None).carry_out(commands).await
    };
    let first = seats(&halls, 1, &["ann"]).await.remove(0).unwrap();
    let afresh = super::hall::halls(halls.log());
    let again = seats(&afresh, 1, &["ann", "bob"]).await;
    let again: Vec<_> = again.into_iter().map(Result::unwrap).collect();
    assert_eq!((again[0].reply, again[0].replayed), (first.reply, true));
    assert!(!again[1].replayed);
    assert_eq!(written(halls.log()).await, ["Opened 9", "Taken ann", "Taken bob"]);
    assert!(matches!(seats(&afresh, 2, &["eve"]).await.remove(0), Err(ExecuteError::KeyReused)));
}
