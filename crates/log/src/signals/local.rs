//! Signals within one program: for a store without other processes, and for tests with several.
//! Must not know: any other process.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use super::{
    Carrier, Exchange, IncomingSignal, OutgoingSignal, ProcessId, Publication, PublicationReceipt, Responder,
    Signal, Signals,
};
use crate::{Fault, reads::Read};

/// Most counters that are remembered; beyond it all are dropped and begin again above the highest of
/// them.
const COUNTERS_REMEMBERED_MAX: usize = 65_536;
/// Microseconds in a millisecond.
const US_PER_MS: u64 = 1_000;

/// Processes within one program. Cheap to clone.
#[derive(Clone, Default)]
pub struct Network(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    counters: Counters,
    members: Vec<(ProcessId, Weak<Exchange>)>,
    joined: u64,
}

#[derive(Default)]
struct Counters {
    last: HashMap<Arc<str>, u64>,
    /// The highest number of any dropped counter.
    forgotten: u64,
}

impl Counters {
    fn next(&mut self, name: &Arc<str>, start: u64) -> u64 {
        if let Some(last) = self.last.get_mut(name) {
            *last += 1;
            return *last;
        }
        if self.last.len() >= COUNTERS_REMEMBERED_MAX {
            self.forgotten = self.last.values().copied().max().unwrap_or_default().max(self.forgotten);
            self.last.clear();
        }
        let first = start.max(self.forgotten + 1);
        self.last.insert(name.clone(), first);
        first
    }
}

impl Network {
    /// A network without processes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a process. It leaves when the last clone is dropped.
    pub fn join(&self) -> Signals {
        let exchange = Arc::new(Exchange::default());
        let mut state = self.0.lock();
        state.joined += 1;
        let process = ProcessId(state.joined);
        state.members.push((process, Arc::downgrade(&exchange)));
        drop(state);
        let member = Member { network: self.clone(), process, exchange: exchange.clone() };
        Signals::new(Arc::new(member), exchange)
    }
}

/// One process.
struct Member {
    network: Network,
    process: ProcessId,
    exchange: Arc<Exchange>,
}

impl Member {
    /// Numbers and distributes a publication under one lock, so that all processes get signals in the
    /// order of their numbers.
    fn carry_now(&self, outgoing: OutgoingSignal) -> Result<PublicationReceipt, Fault> {
        let OutgoingSignal { publication: Publication { topic, counters, at, body }, question } = outgoing;
        let mut state = self.network.0.lock();
        let State { counters: known, members, .. } = &mut *state;
        if !members.iter().any(|(process, _)| *process == self.process) {
            return Err(Fault::Unavailable("signals are closed".into()));
        }
        let start = at.0.saturating_mul(US_PER_MS);
        let numbers: Vec<_> = counters.iter().map(|name| known.next(name, start)).collect();
        members.retain(|(_, exchange)| exchange.strong_count() > 0);
        let mut alive = Vec::with_capacity(members.len());
        for (process, exchange) in members.iter() {
            let Some(exchange) = exchange.upgrade() else { continue };
            alive.push(*process);
            let (asker, answering) = (self.exchange.clone(), *process);
            let responder = question
                .map(|question| Responder::new(move |answer| asker.answered(question, answering, answer)));
            let numbers = counters.iter().cloned().zip(numbers.iter().copied()).collect();
            let own = *process == self.process;
            exchange.hand(IncomingSignal {
                from: self.process,
                topic,
                signal: Signal { numbers, body: body.clone(), own, responder },
            });
        }
        Ok(PublicationReceipt { numbers, alive })
    }
}

impl Carrier for Member {
    fn carry(&self, outgoing: OutgoingSignal) -> Read<'_, PublicationReceipt> {
        Box::pin(std::future::ready(self.carry_now(outgoing)))
    }
    fn close(&self) {
        self.network.0.lock().members.retain(|(process, _)| *process != self.process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_their_limit_counters_are_dropped_and_still_rise() {
        let mut counters = Counters::default();
        let names: Vec<Arc<str>> = (0..COUNTERS_REMEMBERED_MAX).map(|n| n.to_string().into()).collect();
        for name in &names {
            assert_eq!(counters.next(name, 5), 5);
        }
        assert_eq!(counters.next(&names[0], 5), 6);
        assert_eq!(counters.next(&"one more".into(), 5), 7, "above the highest that was forgotten");
        assert_eq!(counters.next(&names[0], 5), 7);
        assert_eq!(counters.next(&names[1], 9), 9);
        assert!(counters.last.len() <= COUNTERS_REMEMBERED_MAX);
    }
}
