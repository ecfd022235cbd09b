//! The records of all nodes: those from hints or from the journal are applied to this node's file in
//! order, and the other nodes learn the last applied one.
//! Must not know: the node that decided them.

use bytes::Bytes;
use plenary_journal::{Hint, READ_RECORDS_MAX, ReadError, Record, peers::Address};
use plenary_log::{Fault, Writes};
use plenary_log_sqlite::Link;
use tokio::time::{Instant, sleep};

use super::{APPLIED_AT_ONCE_MAX, MISTRUST_PAUSE, MISTRUSTED_MAX, Node, NodeFault, Trouble};
use crate::{
    messages::Beat,
    pens::PenHolder,
    record::{self, Damage, Notes},
};

impl Node {
    /// Applies the records of hints, or reads them from the journal.
    pub(super) async fn hinted(&mut self, first: Hint) -> Result<(), Trouble> {
        let mut hints = vec![first];
        while hints.len() < APPLIED_AT_ONCE_MAX
            && let Some(hint) = self.hints.try_next()
        {
            hints.push(hint);
        }
        let mut bodies = Vec::with_capacity(hints.len());
        let mut must_look = false;
        for Hint { sequence, body } in hints {
            let next = self.last.sequence + bodies.len() as u64 + 1;
            match body {
                Some(body) if sequence == next => bodies.push(body),
                _ if sequence >= next => must_look = true,
                _ => {}
            }
        }
        match self.take_in(&bodies).await? {
            Ok(()) => {}
            // A hint may be wrong: the journal decides.
            Err(damage) => {
                tracing::warn!(%damage, "a hint was wrong");
                must_look = true;
            }
        }
        if must_look { self.catch_up().await } else { Ok(()) }
    }

    /// Reads and applies the new records of the journal.
    pub(super) async fn catch_up(&mut self) -> Result<(), Trouble> {
        loop {
            let records = match self.journal.read(self.last.sequence, READ_RECORDS_MAX).await {
                Ok(records) => records,
                Err(error) => {
                    if matches!(error, ReadError::Hole(_)) {
                        self.mistrusts().await;
                    }
                    return Err(Trouble::Passing(Fault::Unavailable(error.to_string())));
                }
            };
            if records.is_empty() {
                return Ok(());
            }
            for records in records.chunks(APPLIED_AT_ONCE_MAX) {
                self.follow(records).await?;
            }
        }
    }

    /// Applies the next records of the journal.
    pub(super) async fn follow(&mut self, records: &[Record]) -> Result<(), Trouble> {
        let bodies: Vec<_> = records.iter().map(|record| record.body.clone()).collect();
        match self.take_in(&bodies).await? {
            Ok(()) => {
                self.mistrusted = 0;
                Ok(())
            }
            Err(damage) if self.mistrusted < MISTRUSTED_MAX => {
                self.mistrusts().await;
                Err(Trouble::Passing(Fault::Unavailable(format!("the journal: {damage}"))))
            }
            Err(damage) => Err(Trouble::Ending(NodeFault(Fault::Corrupt(format!("the journal: {damage}"))))),
        }
    }

    /// Asks another replica of the journal to lead, because this one is damaged.
    async fn mistrusts(&mut self) {
        self.mistrusted += 1;
        if self.mistrusted <= MISTRUSTED_MAX {
            self.journal.request_new_leader().await;
            sleep(MISTRUST_PAUSE).await;
        }
    }

    /// Applies the waiting hints, after a record of another node.
    pub(super) async fn take_hints(&mut self) -> Result<(), Trouble> {
        while let Some(hint) = self.hints.try_next() {
            self.hinted(hint).await?;
        }
        Ok(())
    }

    /// Applies consecutive records, up to the first damaged one.
    async fn take_in(&mut self, bodies: &[Bytes]) -> Result<Result<(), Damage>, Trouble> {
        let (mut writes, mut links) = (Writes::default(), Vec::new());
        let mut last = self.last;
        let mut damaged = Ok(());
        for body in bodies {
            let (next, link, notes) = match record::read(body, &last) {
                Ok(read) => read,
                Err(damage) => {
                    damaged = Err(damage);
                    break;
                }
            };
            if let Some(apart) = record::join(&mut writes, next) {
                self.apply(std::mem::replace(&mut writes, apart), std::mem::take(&mut links)).await?;
            }
            links.push((link, notes));
            last = link;
        }
        self.apply(writes, links).await?;
        Ok(damaged)
    }

    /// Writes records to the file, and processes their notes.
    pub(super) async fn apply(&mut self, writes: Writes, records: Vec<(Link, Notes)>) -> Result<(), Trouble> {
        let links: Vec<Link> = records.iter().map(|(link, _)| *link).collect();
        let Some(last) = links.last().copied() else { return Ok(()) };
        match self.replica.apply(writes, links).await {
            Ok(events) => {
                self.last = last;
                self.applied.send_replace(last.sequence);
                self.feeder.publish(events).await;
                for (_, notes) in records {
                    self.process_notes(notes);
                }
                self.announce_applied().await;
                Ok(())
            }
            // A node with a damaged file can't follow: its next start builds the file again.
            Err(fault) if self.mark.mark_if_damaged(&fault) => Err(Trouble::Ending(NodeFault(fault))),
            Err(fault @ Fault::OutcomeUnknown(_)) => Err(Trouble::Ending(NodeFault(fault))),
            Err(fault) => {
                // A node that can't write its own file must not decide.
                self.give_up();
                let is_full = matches!(fault, Fault::Full(_));
                self.standing.send_modify(|standing| standing.is_full = is_full);
                Err(Trouble::Passing(fault))
            }
        }
    }

    /// Announces the last applied record, to the node with the pen at once: it may wait for that.
    async fn announce_applied(&self) {
        let epoch = self.pens.own_epoch();
        let applied = self.last.sequence;
        self.standing.send_modify(|standing| {
            standing.applied = applied;
            standing.is_full = false;
            standing.has_pen = epoch.is_some();
            standing.epoch = epoch.unwrap_or(standing.epoch);
        });
        if let PenHolder::Theirs(pen) = self.pens.holder(Instant::now()) {
            let beat = Beat { node: self.me.0, applied, ..Beat::default() };
            self.peers.send(Address::One(pen.node), beat.bytes()).await;
        }
    }

    /// Gives up the pen: this node writes no more until it has taken it again.
    pub(super) fn give_up(&mut self) {
        if self.pens.own_epoch().is_some() {
            self.pens.note_given_up();
            self.standing.send_modify(|standing| standing.has_pen = false);
        }
    }
}
