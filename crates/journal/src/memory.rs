//! The journal in memory, for tests: it loses answers, conflicts and stalls on command.
//! Must not know: any server.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{sync::watch, time::timeout};

use crate::{
    ANSWER_MAX, Answer, Extent, Hint, HintSender, Hints, Journal, PublishError, READ_BYTES_MAX,
    READ_RECORDS_MAX, RECORD_BYTES_MAX, ReadError, Record, hint_channel,
    peers::{Address, MessageSender, Messages, NodeId, Peers, message_channel},
};

/// An injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rig {
    /// The next publications succeed without an answer.
    LoseAnswers(usize),
    /// The next publications are lost without an answer.
    LosePublications(usize),
    /// The next publications fail with a false conflict.
    Conflict(usize),
    /// No call is answered in time, until this is switched off.
    Stall(bool),
    /// No hint is sent, until this is switched off.
    Mute(bool),
    /// The next messages between nodes are lost.
    LoseMessages(usize),
    /// No message reaches a node, until this is switched off.
    Deaf(bool),
}

/// A journal in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    stalled: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    records: Vec<Bytes>,
    hints: Vec<HintSender>,
    answers_to_lose: usize,
    publications_to_lose: usize,
    conflicts: usize,
    is_mute: bool,
    nodes: Vec<(NodeId, MessageSender)>,
    messages_to_lose: usize,
    is_deaf: bool,
}

impl Memory {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// Injects a fault.
    pub fn rig(&self, rig: Rig) {
        let mut state = self.0.state.lock();
        match rig {
            Rig::LoseAnswers(count) => state.answers_to_lose = count,
            Rig::LosePublications(count) => state.publications_to_lose = count,
            Rig::Conflict(count) => state.conflicts = count,
            Rig::Stall(is_stalled) => {
                self.0.stalled.send_replace(is_stalled);
            }
            Rig::Mute(is_mute) => state.is_mute = is_mute,
            Rig::LoseMessages(count) => state.messages_to_lose = count,
            Rig::Deaf(is_deaf) => state.is_deaf = is_deaf,
        }
    }

    /// Changes a record, as a damaged disk would.
    pub fn tamper(&self, sequence: u64, body: Bytes) {
        let Some(at) = index_of(sequence) else { return };
        if let Some(record) = self.0.state.lock().records.get_mut(at) {
            *record = body;
        }
    }

    /// Drops the records after `last`, which no real journal does.
    pub fn cut(&self, last: u64) {
        self.0.state.lock().records.truncate(usize::try_from(last).unwrap_or(usize::MAX));
    }

    /// Whether the journal answers in time.
    async fn answers_in_time(&self) -> bool {
        let mut stalled = self.0.stalled.subscribe();
        // The sender lives as long as `self`.
        timeout(ANSWER_MAX, stalled.wait_for(|is_stalled| !is_stalled)).await.is_ok()
    }

    fn append(&self, after: u64, body: Bytes) -> Result<(), PublishError> {
        if body.len() > RECORD_BYTES_MAX {
            return Err(PublishError::TooLarge(body.len()));
        }
        let mut state = self.0.state.lock();
        if counted_down(&mut state.conflicts) {
            return Err(PublishError::Conflict);
        }
        if counted_down(&mut state.publications_to_lose) {
            return Err(PublishError::Unknown("the publication was lost".into()));
        }
        let is_next = state.records.len() as u64 == after;
        if is_next {
            state.records.push(body.clone());
            if !state.is_mute {
                let hint = Hint { sequence: after + 1, body: Some(body) };
                state.hints.retain(|to| to.send(hint.clone()));
            }
        }
        if counted_down(&mut state.answers_to_lose) {
            return Err(PublishError::Unknown("the answer was lost".into()));
        }
        if is_next { Ok(()) } else { Err(PublishError::Conflict) }
    }
}

fn counted_down(count: &mut usize) -> bool {
    let is_on = *count > 0;
    *count = count.saturating_sub(1);
    is_on
}

/// The index of a record; the first record has the number 1.
fn index_of(sequence: u64) -> Option<usize> {
    usize::try_from(sequence.checked_sub(1)?).ok()
}

impl Journal for Memory {
    fn publish(&self, after: u64, body: Bytes) -> Answer<'_, Result<(), PublishError>> {
        Box::pin(async move {
            if !self.answers_in_time().await {
                return Err(PublishError::Unknown("it stalls".into()));
            }
            self.append(after, body)
        })
    }
    fn read(&self, after: u64, max: usize) -> Answer<'_, Result<Vec<Record>, ReadError>> {
        Box::pin(async move {
            if !self.answers_in_time().await {
                return Err(ReadError::Unavailable("it stalls".into()));
            }
            let state = self.0.state.lock();
            let skip = usize::try_from(after).unwrap_or(usize::MAX);
            let records = state.records.iter().zip(1..).skip(skip).take(max.min(READ_RECORDS_MAX));
            let mut bytes = 0;
            let records = records.take_while(|(body, _)| {
                let goes_on = bytes < READ_BYTES_MAX;
                bytes += body.len();
                goes_on
            });
            Ok(records.map(|(body, sequence)| Record { sequence, body: body.clone() }).collect())
        })
    }
    fn extent(&self) -> Answer<'_, Result<Extent, ReadError>> {
        Box::pin(async move {
            if !self.answers_in_time().await {
                return Err(ReadError::Unavailable("it stalls".into()));
            }
            Ok(Extent { first: 1, last: self.0.state.lock().records.len() as u64 })
        })
    }
    fn hints(&self) -> Answer<'_, Result<Hints, ReadError>> {
        let (to, hints) = hint_channel();
        self.0.state.lock().hints.push(to);
        Box::pin(std::future::ready(Ok(hints)))
    }
}

impl Peers for Memory {
    fn send(&self, to: Address, body: Bytes) -> Answer<'_, ()> {
        let mut state = self.0.state.lock();
        if !state.is_deaf && !counted_down(&mut state.messages_to_lose) {
            state.nodes.retain(|(node, sender)| {
                let is_meant = matches!(to, Address::All) || to == Address::One(*node);
                !is_meant || sender.send(body.clone())
            });
        }
        Box::pin(std::future::ready(()))
    }
    fn listen(&self, node: NodeId) -> Answer<'_, Result<Messages, ReadError>> {
        let (to, messages) = message_channel();
        self.0.state.lock().nodes.push((node, to));
        Box::pin(std::future::ready(Ok(messages)))
    }
}
