//! The task for a process's signals: it numbers queued signals, publishes each group as the next record,
//! and dispatches the records of all processes in order.
//! Must not know: the publishers, or the listeners.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use plenary_journal::{
    Extent, Hint, Hints, Journal, PublicationOutcome, READ_RECORDS_MAX, ReadError, settle,
};
use plenary_log::{
    Fault,
    signals::{Exchange, IncomingSignal, ProcessId, PublicationReceipt, Responder, Signal},
};
use prost::Message as _;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use super::{
    Item,
    counters::Counters,
    form::{Answer, Group, GroupSignal},
};

/// The time limit for publishing a group.
const PUBLISH_MAX: Duration = Duration::from_secs(4);
/// How often a process sends a heartbeat, and looks for records without a hint.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// How long a process counts as alive after its last message.
const ALIVE: Duration = Duration::from_secs(4);
/// Most signals and answers of one record, and about most bytes.
const GROUP_MAX: usize = 256;
const GROUP_BYTES_MAX: usize = 1 << 20;
/// The number of past records that are read at the start, for their numbers.
const LOOK_BACK: u64 = 2_048;
/// The time limit for the farewell message.
const LEAVE_MAX: Duration = Duration::from_millis(500);
/// Microseconds in a millisecond.
const US_PER_MS: u64 = 1_000;

pub(super) struct Station {
    journal: Arc<dyn Journal>,
    exchange: Arc<Exchange>,
    queue: mpsc::WeakSender<Item>,
    process: ProcessId,
    serial: u64,
    /// The last dispatched record.
    last: u64,
    counters: Counters,
    /// The time of the last message of each other process.
    last_seen: HashMap<ProcessId, Instant>,
    hints: Option<Hints>,
}

/// The messages of the next record.
#[derive(Default)]
struct Draft {
    signals: Vec<GroupSignal>,
    /// The first number of an unknown counter, for each of `signals`.
    starts: Vec<u64>,
    /// The receivers of the numbers, for each of `signals`.
    replies: Vec<oneshot::Sender<Result<PublicationReceipt, Fault>>>,
    answers: Vec<Answer>,
}

impl Draft {
    fn of(items: Vec<Item>) -> Self {
        let mut draft = Self::default();
        for item in items {
            match item {
                Item::Answer { to, question, answer } => {
                    draft.answers.push(Answer { to: to.0, question, answer });
                }
                Item::Publish { outgoing, reply } => {
                    let publication = outgoing.publication;
                    draft.replies.push(reply);
                    draft.starts.push(publication.at.0.saturating_mul(US_PER_MS));
                    draft.signals.push(GroupSignal {
                        topic: publication.topic.to_owned(),
                        counters: publication.counters.iter().map(ToString::to_string).collect(),
                        numbers: Vec::new(),
                        body: publication.body,
                        question: outgoing.question,
                    });
                }
            }
        }
        draft
    }
}

impl Station {
    pub(super) fn new(
        journal: Arc<dyn Journal>,
        exchange: Arc<Exchange>,
        queue: mpsc::WeakSender<Item>,
    ) -> Self {
        let mut id = [0; 8];
        // Without randomness no store opens either.
        let _ = getrandom::fill(&mut id);
        Self {
            journal,
            exchange,
            queue,
            process: ProcessId(u64::from_le_bytes(id)),
            serial: 0,
            last: 0,
            counters: Counters::default(),
            last_seen: HashMap::new(),
            hints: None,
        }
    }

    /// Runs until the last handle is gone, or the signals are closed.
    pub(super) async fn run(
        mut self,
        mut items: mpsc::Receiver<Item>,
        mut closed: watch::Receiver<bool>,
        ready: oneshot::Sender<()>,
    ) {
        self.start().await;
        let mut ready = Some(ready);
        let mut beat = interval(BEAT_EVERY);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_well = true;
        loop {
            let step = tokio::select! {
                biased;
                () = is_closed(&mut closed) => break,
                hint = next(&mut self.hints) => match hint {
                    Some(hint) => self.hinted(hint).await,
                    None => {
                        self.hints = None;
                        Ok(())
                    }
                },
                item = items.recv() => match item {
                    Some(item) => {
                        let group = gathered(item, &mut items);
                        self.publish_group(group).await
                    }
                    None => break,
                },
                _ = beat.tick() => {
                    if self.hints.is_none() {
                        self.hints = self.journal.hints().await.ok();
                    }
                    let beaten = self.publish_group(Vec::new()).await;
                    if beaten.is_ok() && let Some(ready) = ready.take() {
                        let _ = ready.send(());
                    }
                    beat.reset();
                    beaten
                }
            };
            match step {
                Ok(()) => is_well = true,
                Err(fault) if is_well => {
                    tracing::warn!(%fault, "signals wait for the journal");
                    is_well = false;
                }
                Err(_) => {}
            }
        }
        self.exchange.close();
        let group =
            Group { process: self.process.0, serial: self.serial + 1, leaves: true, ..Group::default() };
        let _ = timeout(LEAVE_MAX, self.publish(group)).await;
    }

    /// Listens first and reads past records second.
    async fn start(&mut self) {
        self.hints = self.journal.hints().await.ok();
        if let Ok(Extent { first, last }) = self.journal.extent().await {
            self.last = first.saturating_sub(1).max(last.saturating_sub(LOOK_BACK)).min(last);
            while let Ok(records) = self.journal.read(self.last, READ_RECORDS_MAX).await
                && !records.is_empty()
            {
                for record in records {
                    self.last = record.sequence;
                    if let Ok(group) = Group::decode(record.body) {
                        self.numbers_of(&group);
                    }
                }
            }
        }
    }

    fn numbers_of(&mut self, group: &Group) {
        for signal in &group.signals {
            for (name, number) in signal.counters.iter().zip(&signal.numbers) {
                self.counters.take(name, *number);
            }
        }
    }

    async fn hinted(&mut self, Hint { sequence, body }: Hint) -> Result<(), Fault> {
        match body {
            Some(body) if sequence == self.last + 1 => {
                self.hand_out(sequence, body);
                Ok(())
            }
            _ if sequence > self.last => self.catch_up().await,
            _ => Ok(()),
        }
    }

    /// Dispatches the waiting hints, as long as they are consecutive.
    fn take_hints(&mut self) {
        while let Some(Hint { sequence, body }) = self.hints.as_mut().and_then(Hints::try_next) {
            if let Some(body) = body
                && sequence == self.last + 1
            {
                self.hand_out(sequence, body);
            }
        }
    }

    /// Dispatches the records of the journal; records that it has dropped are lost here.
    async fn catch_up(&mut self) -> Result<(), Fault> {
        let unavailable = |error: ReadError| Fault::Unavailable(error.to_string());
        let Extent { first, last } = self.journal.extent().await.map_err(unavailable)?;
        if last < self.last {
            tracing::warn!("the journal of signals has begun again");
            self.last = last;
        }
        if self.last + 1 < first {
            tracing::warn!(from = self.last + 1, until = first, "signals were lost on the way to this node");
            self.last = first - 1;
        }
        loop {
            let records = self.journal.read(self.last, READ_RECORDS_MAX).await.map_err(unavailable)?;
            if records.is_empty() {
                return Ok(());
            }
            for record in records {
                self.hand_out(record.sequence, record.body);
            }
        }
    }

    fn hand_out(&mut self, sequence: u64, body: Bytes) {
        self.last = sequence;
        match Group::decode(body) {
            Ok(group) => self.deliver(group),
            Err(error) => tracing::warn!(%error, "a signal can't be read"),
        }
    }

    fn deliver(&mut self, group: Group) {
        let from = ProcessId(group.process);
        let own = from == self.process;
        self.numbers_of(&group);
        if group.leaves {
            self.last_seen.remove(&from);
        } else if !own {
            self.last_seen.insert(from, Instant::now());
        }
        for GroupSignal { topic, counters, numbers, body, question } in group.signals {
            let numbers = counters.into_iter().map(Into::into).zip(numbers).collect();
            let responder = question.map(|question| self.responder(from, question));
            let signal = Signal { numbers, body, own, responder };
            self.exchange.hand(IncomingSignal { from, topic: &topic, signal });
        }
        for Answer { to, question, answer } in group.answers {
            if to == self.process.0 {
                self.exchange.answered(question, from, answer);
            }
        }
    }

    /// An answer to this process itself is not sent.
    fn responder(&self, to: ProcessId, question: u64) -> Responder {
        if to == self.process {
            let (exchange, here) = (self.exchange.clone(), self.process);
            return Responder::new(move |answer| exchange.answered(question, here, answer));
        }
        let queue = self.queue.clone();
        Responder::new(move |answer| {
            let Some(queue) = queue.upgrade() else { return };
            if queue.try_send(Item::Answer { to, question, answer }).is_err() {
                tracing::warn!("too much waits for the journal: an answer to another process is not given");
            }
        })
    }

    /// Publishes a group and answers its publishers. An empty group is a heartbeat.
    async fn publish_group(&mut self, items: Vec<Item>) -> Result<(), Fault> {
        let mut draft = Draft::of(items);
        match self.publish_draft(&mut draft).await {
            Ok((sequence, group)) => {
                // The publishers are answered before their own signals are dispatched.
                let alive = self.alive();
                for (signal, reply) in draft.signals.into_iter().zip(draft.replies) {
                    let _ =
                        reply.send(Ok(PublicationReceipt { numbers: signal.numbers, alive: alive.clone() }));
                }
                self.last = sequence;
                self.deliver(group);
                Ok(())
            }
            Err(fault) => {
                for reply in draft.replies {
                    let _ = reply.send(Err(fault.clone()));
                }
                Err(fault)
            }
        }
    }

    /// Numbers a draft and publishes it; repeats both if another record came first.
    async fn publish_draft(&mut self, draft: &mut Draft) -> Result<(u64, Group), Fault> {
        let until = Instant::now() + PUBLISH_MAX;
        loop {
            self.number(&mut draft.signals, &draft.starts);
            self.serial += 1;
            let group = Group {
                process: self.process.0,
                serial: self.serial,
                leaves: false,
                signals: draft.signals.clone(),
                answers: draft.answers.clone(),
            };
            let body: Bytes = group.encode_to_vec().into();
            match settle(&*self.journal, self.last, &body, until).await {
                PublicationOutcome::Ours => return Ok((self.last + 1, group)),
                PublicationOutcome::Others(first) if Instant::now() < until => {
                    self.hand_out(first.sequence, first.body);
                    self.take_hints();
                }
                PublicationOutcome::Others(_) => {
                    return Err(Fault::Unavailable("others were first again and again".into()));
                }
                PublicationOutcome::Unknown(why) => {
                    // The journal may have started anew.
                    let _ = self.catch_up().await;
                    return Err(Fault::OutcomeUnknown(why));
                }
                PublicationOutcome::TooLarge(size) => {
                    return Err(Fault::Full(format!("{size} bytes are too many for one record of signals")));
                }
            }
        }
    }

    /// Gives each signal the next numbers of its counters.
    fn number(&self, signals: &mut [GroupSignal], starts: &[u64]) {
        let mut given: BTreeMap<String, u64> = BTreeMap::new();
        for (signal, start) in signals.iter_mut().zip(starts) {
            let number = |name: &String| {
                let number = match given.get(name) {
                    Some(last) => last + 1,
                    None => self.counters.next(name, *start),
                };
                given.insert(name.clone(), number);
                number
            };
            signal.numbers = signal.counters.iter().map(number).collect();
        }
    }

    /// The living processes, including this one.
    fn alive(&mut self) -> Vec<ProcessId> {
        let now = Instant::now();
        self.last_seen.retain(|_, last_seen| now.duration_since(*last_seen) < ALIVE);
        self.last_seen.keys().copied().chain([self.process]).collect()
    }

    async fn publish(&mut self, group: Group) {
        let body: Bytes = group.encode_to_vec().into();
        while let PublicationOutcome::Others(first) =
            settle(&*self.journal, self.last, &body, Instant::now() + LEAVE_MAX).await
        {
            self.last = first.sequence;
        }
    }
}

/// The next hint; waits for ever without a source.
async fn next(hints: &mut Option<Hints>) -> Option<Hint> {
    match hints {
        Some(hints) => hints.next().await,
        None => std::future::pending().await,
    }
}

/// Waits until the signals are closed, or their last handle is gone.
async fn is_closed(closed: &mut watch::Receiver<bool>) {
    let _ = closed.wait_for(|is_closed| *is_closed).await;
}

/// Collects the waiting items into one group.
fn gathered(first: Item, items: &mut mpsc::Receiver<Item>) -> Vec<Item> {
    let bytes = |item: &Item| match item {
        Item::Publish { outgoing, .. } => outgoing.publication.body.len(),
        Item::Answer { answer, .. } => answer.as_ref().map_or(0, Bytes::len),
    };
    let mut sum = bytes(&first);
    let mut group = vec![first];
    while group.len() < GROUP_MAX
        && sum < GROUP_BYTES_MAX
        && let Ok(item) = items.try_recv()
    {
        sum += bytes(&item);
        group.push(item);
    }
    group
}
