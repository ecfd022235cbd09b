//! The side with the pen: a node takes it with a record, decides groups on its own file, from its own
//! appends and the requests of other nodes, and publishes each as the next record.
//! Must not know: the transport of requests.

use plenary_journal::{PublicationOutcome, peers::Address, settle};
use plenary_log::{Batch, Fault, Outcome, PlanResult, Writes};
use plenary_log_sqlite::Link;
use tokio::time::{Instant, timeout, timeout_at};

use super::{BACK_MAX, GROUP_BYTES_MAX, Node, NodeFault, Owner, SETTLE_MAX, Trouble, Unit};
use crate::{
    forms::StoredOutcomes,
    keepers::NODES_MAX,
    messages::{self, Request},
    others::PendingAcks,
    pens::{Pen, PenHolder},
    record::{self, Notes, RecordedAnswer},
};

impl Node {
    /// Queues a request of another node. A repeated request is queued once.
    pub(super) fn requested(&mut self, request: Request) {
        let Request { from, serial, epoch, batches } = request;
        if self.pens.own_epoch() != Some(epoch) {
            return;
        }
        if !self.waiting.last_requests.contains_key(&from) && self.waiting.last_requests.len() >= NODES_MAX {
            // The numbers of accepted requests must not be dropped within one epoch.
            self.give_up();
            return;
        }
        let last = self.waiting.last_requests.entry(from).or_default();
        if serial <= *last {
            return;
        }
        *last = serial;
        let bytes = batches.iter().map(Batch::bytes).sum();
        let until = Instant::now() + SETTLE_MAX;
        self.waiting.units.push_back(Unit { batches, bytes, until, owner: Owner::Node(from, serial) });
    }

    /// Takes the pen, unless another node has it by then.
    pub(super) async fn take_pen(&mut self) -> Result<(), Trouble> {
        let result = self.try_to_take_pen().await;
        if let Err(Trouble::Passing(fault)) = &result {
            self.refuse_own(fault);
        }
        result
    }

    async fn try_to_take_pen(&mut self) -> Result<(), Trouble> {
        let before = self.pens.holder(Instant::now());
        if self.is_cut_off {
            self.is_back().await?;
        } else {
            self.catch_up().await?;
        }
        // Appends that waited behind an earlier record do not wait as long again.
        let until = self.own_deadline().unwrap_or_else(|| Instant::now() + SETTLE_MAX);
        loop {
            let holder = self.pens.holder(Instant::now());
            if matches!(holder, PenHolder::Theirs(_)) && holder != before {
                return Ok(());
            }
            let epoch = self.last.sequence + 1;
            let notes = Notes { pen: Some(Pen { node: self.me, epoch: 0 }), ..Notes::default() };
            let body = record::encode(&Writes::default(), &self.last, nonce()?, &notes);
            match settle(&*self.journal, self.last.sequence, &body, until).await {
                PublicationOutcome::Ours => {
                    let link = Link { sequence: epoch, hash: record::hash(&body), ..self.last };
                    self.pens.note_taken(epoch, Instant::now());
                    self.waiting.last_requests.clear();
                    // Other nodes repeat their requests of an earlier epoch.
                    self.waiting.units.retain(Unit::is_own);
                    let pen = Some(Pen { node: self.me, epoch });
                    tracing::info!(epoch, "this node has the pen");
                    return self.apply(Writes::default(), vec![(link, Notes { pen, ..notes })]).await;
                }
                PublicationOutcome::Others(first) => {
                    self.follow(&[first]).await?;
                    self.take_hints().await?;
                }
                PublicationOutcome::Unknown(why) => {
                    self.is_cut_off = true;
                    return Err(Trouble::Passing(Fault::Unavailable(why)));
                }
                PublicationOutcome::TooLarge(size) => {
                    let why = format!("the journal takes no record of {size} bytes");
                    return Err(Trouble::Passing(Fault::Unavailable(why)));
                }
            }
        }
    }

    /// Decides the next group, publishes it and applies it; decides it again if another record came
    /// first.
    pub(super) async fn group(&mut self, epoch: u64) -> Result<(), Trouble> {
        let units = self.next_group();
        let until = Instant::now() + SETTLE_MAX;
        loop {
            let batches: Vec<Batch> = units.iter().flat_map(|unit| unit.batches.iter().cloned()).collect();
            let (writes, outcomes) = match self.replica.decide(batches).await {
                Ok(decided) => decided,
                Err(fault) if self.mark.mark_if_damaged(&fault) => return self.end_as_damaged(units, fault),
                Err(fault) => {
                    self.refuse(units, &fault).await;
                    return Ok(());
                }
            };
            let damaged = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
            if let Some(fault) = damaged.into_iter().find(|fault| self.mark.mark_if_damaged(fault)) {
                return self.end_as_damaged(units, fault.clone());
            }
            if writes.is_empty() {
                match self.holds(&outcomes, until).await {
                    Ok(true) => {
                        self.answer(units, outcomes).await;
                        return Ok(());
                    }
                    Ok(false) => {}
                    Err(Trouble::Passing(fault)) => {
                        self.refuse(units, &fault).await;
                        return Err(Trouble::Passing(fault));
                    }
                    Err(ending) => return end_units(units, ending),
                }
            } else {
                let notes = self.notes(epoch, &units, &outcomes);
                let body = record::encode(&writes, &self.last, nonce()?, &notes);
                match settle(&*self.journal, self.last.sequence, &body, until).await {
                    PublicationOutcome::Ours => {
                        return self.finish_written(units, outcomes, writes, &body, notes).await;
                    }
                    PublicationOutcome::Others(first) => {
                        if let Err(trouble) = self.apply_foreign(first).await {
                            return end_units(units, trouble);
                        }
                    }
                    PublicationOutcome::Unknown(why) => {
                        self.is_cut_off = true;
                        self.give_up();
                        units.into_iter().for_each(|unit| unit.end(Err(Fault::OutcomeUnknown(why.clone()))));
                        return Err(Trouble::Passing(Fault::Unavailable(why)));
                    }
                    PublicationOutcome::TooLarge(size) => {
                        let why = format!("an append of {size} bytes is too large for the journal");
                        self.refuse(units, &Fault::Full(why)).await;
                        return Ok(());
                    }
                }
            }
            if self.pens.own_epoch() != Some(epoch) {
                // Another node has taken the pen; it decides the unwritten units.
                units.into_iter().rev().for_each(|unit| self.waiting.units.push_front(unit));
                return Ok(());
            }
        }
    }

    /// Ends this node, which would refuse for all nodes what only its own file lacks. The other nodes ask the next holder
    /// of the pen.
    fn end_as_damaged(&mut self, units: Vec<Unit>, fault: Fault) -> Result<(), Trouble> {
        self.give_up();
        let refused = Fault::Unavailable("this node's file is damaged; nothing was written".into());
        units.into_iter().for_each(|unit| unit.end(Err(refused.clone())));
        Err(Trouble::Ending(NodeFault(fault)))
    }

    /// The waiting units up to a group's size; at least one.
    fn next_group(&mut self) -> Vec<Unit> {
        let (mut units, mut remaining) = (Vec::new(), GROUP_BYTES_MAX);
        while let Some(unit) =
            self.waiting.units.pop_front_if(|unit| units.is_empty() || unit.bytes <= remaining)
        {
            remaining = remaining.saturating_sub(unit.bytes);
            units.push(unit);
        }
        units
    }

    /// The notes of a record: its writer, and its answers to requests.
    fn notes(&self, epoch: u64, units: &[Unit], outcomes: &[PlanResult]) -> Notes {
        let mut answers = Vec::new();
        let mut rest = outcomes;
        for unit in units {
            let (of_it, after) = rest.split_at(unit.batches.len().min(rest.len()));
            rest = after;
            if let Owner::Node(node, serial) = unit.owner {
                answers.push(RecordedAnswer { node, serial, outcomes: StoredOutcomes::of(of_it) });
            }
        }
        Notes { pen: Some(Pen { node: self.me, epoch }), answers, continues: false }
    }

    /// Applies the published record; its appends are acknowledged once another node has it.
    async fn finish_written(
        &mut self,
        units: Vec<Unit>,
        outcomes: Vec<PlanResult>,
        writes: Writes,
        body: &[u8],
        notes: Notes,
    ) -> Result<(), Trouble> {
        let sequence = self.last.sequence + 1;
        let position = writes.events.last().map_or(self.last.position, |event| event.position);
        let link = Link { sequence, hash: record::hash(body), position };
        if let Err(trouble) = self.apply(writes, vec![(link, notes)]).await {
            // If it could not be applied now, it is read from the journal later.
            return end_units(units, trouble);
        }
        let mut outcomes = outcomes.into_iter();
        for unit in units {
            let outcomes: Vec<_> = outcomes.by_ref().take(unit.batches.len()).collect();
            if let Owner::Own(replies) = unit.owner {
                let acks = PendingAcks { sequence, since: Instant::now(), replies, outcomes };
                // The task ends after this one.
                let _ = self.pending_acks.send(acks).await;
            }
        }
        Ok(())
    }

    /// Applies a record that another node published first.
    async fn apply_foreign(&mut self, first: plenary_journal::Record) -> Result<(), Trouble> {
        self.follow(&[first]).await?;
        self.take_hints().await
    }

    /// Whether refusals hold: they were decided at the journal's end, or no later record can change
    /// them. If false, the node has caught up with the journal.
    async fn holds(&mut self, outcomes: &[PlanResult], until: Instant) -> Result<bool, Trouble> {
        if outcomes.iter().all(is_final) {
            return Ok(true);
        }
        let extent = timeout_at(until, self.journal.extent()).await;
        let extent = match extent {
            Ok(Ok(extent)) => extent,
            Ok(Err(error)) => return Err(Trouble::Passing(Fault::Unavailable(error.to_string()))),
            Err(_) => return Err(Trouble::Passing(no_answer())),
        };
        if extent.last <= self.last.sequence {
            return Ok(true);
        }
        self.catch_up().await?;
        Ok(false)
    }

    /// Checks that a journal that did not answer is back, before the next publication.
    async fn is_back(&mut self) -> Result<(), Trouble> {
        match timeout(BACK_MAX, self.journal.extent()).await {
            Ok(Ok(_)) => {
                self.is_cut_off = false;
                self.catch_up().await
            }
            Ok(Err(error)) => Err(Trouble::Passing(Fault::Unavailable(error.to_string()))),
            Err(_) => Err(Trouble::Passing(no_answer())),
        }
    }

    /// Answers units of which nothing was written.
    async fn answer(&self, units: Vec<Unit>, outcomes: Vec<PlanResult>) {
        let mut outcomes = outcomes.into_iter();
        for unit in units {
            let of_it: Vec<_> = outcomes.by_ref().take(unit.batches.len()).collect();
            if let Owner::Node(node, serial) = unit.owner {
                let body = messages::answer(serial, self.last.sequence, Ok(&of_it));
                self.peers.send(Address::One(node), body).await;
            } else {
                unit.end(Ok(of_it));
            }
        }
    }

    /// Refuses units: none of them was or will be written.
    async fn refuse(&self, units: Vec<Unit>, fault: &Fault) {
        for unit in units {
            if let Owner::Node(node, serial) = unit.owner {
                let body = messages::answer(serial, self.last.sequence, Err(fault));
                self.peers.send(Address::One(node), body).await;
            } else {
                unit.end(Err(fault.clone()));
            }
        }
    }
}

/// Ends the units of a failed group.
fn end_units(units: Vec<Unit>, trouble: Trouble) -> Result<(), Trouble> {
    let (Trouble::Passing(fault) | Trouble::Ending(NodeFault(fault))) = &trouble;
    let why = fault.to_string();
    units.into_iter().for_each(|unit| unit.end(Err(Fault::OutcomeUnknown(why.clone()))));
    Err(trouble)
}

/// Whether no later record can change the outcome. A claimed key stays claimed.
fn is_final(decided: &PlanResult) -> bool {
    matches!(decided, Ok(Outcome::AlreadyDone { .. } | Outcome::KeyReused))
}

fn no_answer() -> Fault {
    Fault::Unavailable("the journal does not answer".into())
}

fn nonce() -> Result<[u8; 16], Trouble> {
    let mut nonce = [0; 16];
    match getrandom::fill(&mut nonce) {
        Ok(()) => Ok(nonce),
        Err(error) => Err(Trouble::Passing(Fault::Unavailable(error.to_string()))),
    }
}
