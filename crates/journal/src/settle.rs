//! The outcome of a publication: if it got no answer, its position in the journal is read.
//! Must not know: the transport of the journal.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::{Journal, PublishError, Record};

/// The first and the longest pause before a record is looked up again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(200));

/// The result of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicationOutcome {
    /// Our record follows `after`.
    Ours,
    /// This other record follows `after`: ours will never be in the journal.
    Others(Record),
    /// Unknown: our record may still come to follow `after`, but can't get any other number.
    Unknown(String),
    /// The record is too large and was not published.
    TooLarge(usize),
}

/// Publishes a record until its fate is known, or until `until`. The bytes of each record must be
/// unique. It is safe to publish again without an answer: of two attempts at most one can follow
/// `after`.
pub async fn settle(journal: &dyn Journal, after: u64, body: &Bytes, until: Instant) -> PublicationOutcome {
    let mut pause = PAUSES.0;
    loop {
        let why = match timeout_at(until, journal.publish(after, body.clone())).await {
            Ok(Ok(())) => return PublicationOutcome::Ours,
            Ok(Err(PublishError::TooLarge(size))) => return PublicationOutcome::TooLarge(size),
            Ok(Err(error @ (PublishError::Conflict | PublishError::Unknown(_)))) => error.to_string(),
            Err(_) => return PublicationOutcome::Unknown("no answer in time".into()),
        };
        let found = timeout_at(until, journal.read(after, 1)).await;
        let why = match found {
            Ok(Ok(records)) => match records.into_iter().next() {
                Some(record) if record.body == *body => return PublicationOutcome::Ours,
                Some(record) => return PublicationOutcome::Others(record),
                None => why,
            },
            Ok(Err(error)) => format!("{why}; {error}"),
            Err(_) => return PublicationOutcome::Unknown(why),
        };
        let next = Instant::now() + pause;
        if next >= until {
            return PublicationOutcome::Unknown(why);
        }
        sleep_until(next).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, Rig};

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    async fn bodies(journal: &Memory) -> Vec<Bytes> {
        let records = journal.read(0, 100).await.expect("the journal is well");
        records.into_iter().map(|record| record.body).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_acknowledgement_is_looked_up_and_the_record_is_there_once() {
        let journal = Memory::new();
        journal.rig(Rig::LoseAnswers(1));
        assert_eq!(settle(&journal, 0, &"a".into(), soon()).await, PublicationOutcome::Ours);
        assert_eq!(bodies(&journal).await, ["a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_did_not_arrive_is_sent_again() {
        let journal = Memory::new();
        journal.rig(Rig::LosePublications(3));
        assert_eq!(settle(&journal, 0, &"a".into(), soon()).await, PublicationOutcome::Ours);
        assert_eq!(bodies(&journal).await, ["a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_second_request_gets_the_outcome_even_if_the_first_had_no_answer() {
        let journal = Memory::new();
        assert_eq!(settle(&journal, 0, &"a".into(), soon()).await, PublicationOutcome::Ours);
        journal.rig(Rig::LoseAnswers(1));
        let first = Record { sequence: 1, body: "a".into() };
        assert_eq!(settle(&journal, 0, &"b".into(), soon()).await, PublicationOutcome::Others(first));
        assert_eq!(bodies(&journal).await, ["a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_conflict_without_another_writer_is_tried_again() {
        let journal = Memory::new();
        journal.rig(Rig::Conflict(4));
        assert_eq!(settle(&journal, 0, &"a".into(), soon()).await, PublicationOutcome::Ours);
    }

    #[tokio::test(start_paused = true)]
    async fn a_journal_that_stalls_leaves_it_open() {
        let journal = Memory::new();
        journal.rig(Rig::Stall(true));
        assert!(matches!(settle(&journal, 0, &"a".into(), soon()).await, PublicationOutcome::Unknown(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_past_the_limit_is_refused() {
        let journal = Memory::new();
        let body = Bytes::from(vec![0; crate::RECORD_BYTES_MAX + 1]);
        assert_eq!(
            settle(&journal, 0, &body, soon()).await,
            PublicationOutcome::TooLarge(crate::RECORD_BYTES_MAX + 1)
        );
    }
}
