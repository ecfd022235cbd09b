//! Stores with several open handles, as of several processes.

use plenary_kernel::Position;

use super::{
    Store,
    build::{
        INDEX, Say, Tail, accepted, answered, assert_gapless, batch, fresh, handle, is_appended, sound,
        stream, texts, whole,
    },
    conditions::{assert_interleaved, optimistic},
    feeds::tailed,
};
use crate::{Log, Order, Outcome, Usage};

/// Two handles on one fresh store.
async fn two<S: Store>() -> (S, [Log; 2], [Tail; 2]) {
    let (store, first, first_tail) = fresh::<S>().await;
    let (second, second_tail) = handle(&store).await;
    assert!(first.shared() && second.shared(), "a shared store says so");
    (store, [first, second], [first_tail, second_tail])
}

/// Every read that begins after an acknowledged append sees it, on any handle.
pub async fn a_second_handle_sees_what_the_first_wrote<S: Store>() {
    let (_store, [first, second], _tails) = two::<S>().await;
    let a = stream("a");
    for n in 0..20 {
        let (writer, reader) = if n % 2 == 0 { (&first, &second) } else { (&second, &first) };
        let text = n.to_string();
        let request =
            batch().when(&a, n).add(&a, &text).put(&format!("{n:02}"), &text).row("r", None, Some(&text));
        accepted(writer, request).await;
        assert_eq!(sound(reader.head().await), Position(n + 1));
        assert_eq!(texts(reader, &a).await.last(), Some(&text));
        assert_eq!(sound(reader.read_row("r").await).map(|row| row.revision), Some(n + 1));
        let last = sound(reader.read_index(INDEX, "", None, 1, Order::Descending).await);
        assert_eq!(last[0].value, text);
    }
}

/// Both handles see the charges of either.
pub async fn charges_add_up_across_handles<S: Store>() {
    const EACH: u64 = 40;
    let (_store, [first, second], _tails) = two::<S>().await;
    let charged = async |log: &Log, name: &str| {
        for _ in 0..EACH {
            accepted(log, batch().add(&stream(name), "x").charge("nick", 3, 1)).await;
        }
    };
    tokio::join!(charged(&first, "a"), charged(&second, "b"));
    for log in [&first, &second] {
        let used = sound(log.read_usage("nick").await);
        assert_eq!(used, Usage { bytes: 3 * 2 * EACH, events: 2 * EACH });
    }
}

/// Both handles write the same streams on the version that they last saw.
pub async fn two_handles_lose_no_update<S: Store>() {
    const EACH: usize = 60;
    let (_store, logs, _tails) = two::<S>().await;
    let at = [stream("a"), stream("b"), stream("c")];
    let mut tasks = Vec::new();
    for (log, writer) in logs.iter().zip(["one", "two"]) {
        for at in at.clone() {
            let log = log.clone();
            tasks.push(tokio::spawn(async move { optimistic(&log, &at, writer, EACH).await }));
        }
    }
    for task in tasks {
        task.await.expect("the writer ends well");
    }
    for log in &logs {
        for at in &at {
            assert_interleaved(&texts(log, at).await, &["one", "two"], EACH);
        }
        assert_gapless(&whole(log).await, 1);
    }
}

/// One key is claimed once and one revision is written once, whichever writer comes first.
pub async fn keys_and_rows_hold_across_handles<S: Store>() {
    const ROUNDS: u64 = 20;
    let (_store, [first, second], _tails) = two::<S>().await;
    let a = stream("a");
    for n in 0..ROUNDS {
        let key = n.to_string();
        let request = batch().add(&a, &key).key(&key, 1, &key);
        let (one, two) = tokio::join!(answered(&first, request.clone()), answered(&second, request.clone()));
        let done = Outcome::AlreadyDone { outcome: key.clone().into() };
        assert!(is_appended(&one) && two == done || one == done && is_appended(&two), "{one:?} {two:?}");
        assert_eq!(answered(&second, batch().key(&key, 2, "")).await, Outcome::KeyReused);

        let request = batch().row("r", Some(n), Some(&key));
        let (one, two) = tokio::join!(answered(&first, request.clone()), answered(&second, request));
        let late = Outcome::RowConflict { name: "r".to_owned(), actual: n + 1 };
        assert!(is_appended(&one) && two == late || one == late && is_appended(&two), "{one:?} {two:?}");
    }
    assert_eq!(sound(first.head().await), Position(ROUNDS));
}

/// Each feed has all events of both handles, once, in order.
pub async fn both_feeds_have_everything_in_order<S: Store>() {
    const EACH: usize = 100;
    let (_store, logs, tails) = two::<S>().await;
    let writers: Vec<_> = logs
        .iter()
        .cloned()
        .zip(["one", "two"])
        .map(|(log, name)| {
            tokio::spawn(async move {
                for _ in 0..EACH {
                    accepted(&log, batch().add(&stream(name), name).add(&stream("shared"), name)).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("the writer ends well");
    }
    let everything = whole(&logs[0]).await;
    assert_eq!(everything.len(), EACH * 4);
    for mut tail in tails {
        let fed = tail.take(EACH * 4).await;
        assert_gapless(&fed, 1);
        assert_eq!(fed, everything);
    }
}

/// A reader that trusts positions, while two handles write.
pub async fn a_reader_tails_the_writes_of_another_handle<S: Store>() {
    const EACH: usize = 100;
    let (_store, [first, second], _tails) = two::<S>().await;
    let reader = {
        let log = second.clone();
        tokio::spawn(async move { tailed(&log, EACH * 2).await })
    };
    let writers = [(first, "one"), (second.clone(), "two")].map(|(log, name)| {
        tokio::spawn(async move {
            for _ in 0..EACH {
                accepted(&log, batch().add(&stream(name), name)).await;
            }
        })
    });
    for writer in writers {
        writer.await.expect("the writer ends well");
    }
    let seen = reader.await.expect("the reader ends well");
    assert_gapless(&seen, 1);
    assert_eq!(seen, whole(&second).await);
}

/// The feed of a handle that is opened later begins after the existing events.
pub async fn a_late_feed_begins_at_the_head<S: Store>() {
    let (store, first, mut tail) = fresh::<S>().await;
    let a = stream("a");
    for _ in 0..10 {
        accepted(&first, batch().add(&a, "before")).await;
    }
    let (second, mut late) = handle(&store).await;
    for n in 0..10 {
        accepted(if n % 2 == 0 { &first } else { &second }, batch().add(&a, "after")).await;
    }
    assert_gapless(&late.take(10).await, 11);
    assert_gapless(&tail.take(20).await, 1);
}
