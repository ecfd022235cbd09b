//! Counts each owner's storage once, for a store from before it was counted.
//! Must not know: how an event is counted; its room does this.

use std::collections::HashMap;

use anyhow::Context as _;
use plenary_kernel::Position;
use plenary_log::{Batch, Change, Charge, Fault, Log, PageSize, RowOp, StoredEvent, Usage};
use plenary_room::Tally;

use super::rooms::{Rooms, tallies};

/// The row that marks a store as counted.
pub(super) const COUNTED: &str = "usage/counted";

/// The counts of all rooms. They must see the events of a log in its order.
pub(super) struct Tallies(Vec<Tally>);

impl Default for Tallies {
    fn default() -> Self {
        Self(tallies())
    }
}

impl Tallies {
    /// The owner whose quota the next event counts towards, and its size. Every room sees the event until one counts it.
    pub(super) fn charge_of(&mut self, event: &StoredEvent) -> Result<Option<Charge>, Fault> {
        self.0.iter_mut().find_map(|tally| tally(event).transpose()).transpose()
    }
}

/// Counts the stored bytes and events, once per store. Several starting processes may count; one of them writes the result.
pub(super) async fn count(rooms: &Rooms) -> anyhow::Result<()> {
    let log = &rooms.log;
    if log.read_row(COUNTED).await?.is_some() {
        return Ok(());
    }
    let counted = counted(log).await.context("counting what owners store")?;
    let accounts = counted.len();
    // The condition on the row rejects all but one of the processes, so nothing is counted twice.
    let row = RowOp { name: COUNTED.to_owned(), expected: Some(0), value: Some("1".into()) };
    let charges = counted.into_iter().map(|(account, change)| {
        let (usage, freed) = (change.applied(Usage::default()), Usage::default());
        Charge { account, usage, freed }
    });
    let batch = Batch { rows: vec![row], charges: charges.collect(), ..Batch::default() };
    log.append(batch).await?;
    if accounts > 0 {
        tracing::info!(accounts, "counted the stored bytes of each owner of an older store");
    }
    Ok(())
}

async fn counted(log: &Log) -> Result<HashMap<String, Change>, Fault> {
    let (mut tallies, mut sums) = (Tallies::default(), HashMap::<String, Change>::new());
    let (mut after, mut page) = (Position::ZERO, PageSize::default());
    loop {
        let (events, until) = log.read_past_damage(after, page.events()).await?;
        page.learn(&events);
        if until == after {
            return Ok(sums);
        }
        after = until;
        for event in &events {
            let counted = Fault::skip_corrupt(tallies.charge_of(event), "a damaged event is not counted")?;
            if let Some(charge) = counted.flatten() {
                let sum = sums.entry(charge.account.clone()).or_default();
                *sum = sum.plus(&charge);
            }
        }
    }
}
