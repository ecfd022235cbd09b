//! Counts each owner's storage from the whole log, and compares it with the store's counters, and the stored files
//! with the log.
//! Must not know: how an event is counted; its room does this. How a log is scanned.

use std::collections::{BTreeMap, BTreeSet};

use plenary_blobs::{BlobCheck, Blobs, Fault as BlobFault};
use plenary_log::{AuditVisitor, Change, Charge, Fault, StoredEvent, Usage};
use plenary_sessions::files::FileNews;

use super::usage::{COUNTED, Tallies};

/// A counter that differs from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Miscount {
    pub(crate) account: String,
    /// The value of the counter.
    pub(crate) counted: Usage,
    /// The usage computed from the log.
    pub(crate) stored: Usage,
}

impl Miscount {
    /// The change that corrects the counter; concurrent counting stays correct.
    pub(crate) fn change(&self) -> Change {
        let none = Change::default();
        none.plus(&Charge { account: String::new(), usage: self.stored, freed: self.counted })
    }
}

/// A count in progress.
#[derive(Default)]
pub(crate) struct Recount {
    tallies: Tallies,
    stored: BTreeMap<String, Change>,
    counted: BTreeMap<String, Usage>,
    /// Usage that is not events: keys and rows.
    unowned_usage: Usage,
    /// The stored files: the SHA-256 of each, and whether a message names it.
    files: BTreeMap<String, (String, bool)>,
    /// Whether this store counts usage.
    is_counted: bool,
    /// Whether an event could not be read, so that no total can be trusted.
    is_damaged: bool,
}

impl Recount {
    /// The counters below the sum of the events, or above it by more than the keys and rows. Empty for a store that is damaged
    /// or older than counting.
    pub(crate) fn miscounts(&self) -> Vec<Miscount> {
        if !self.is_counted || self.is_damaged {
            return Vec::new();
        }
        let accounts: BTreeSet<&String> = self.stored.keys().chain(self.counted.keys()).collect();
        let miscount = |account: &String| {
            let stored = self.stored.get(account).copied().unwrap_or_default().applied(Usage::default());
            let counted = self.counted.get(account).copied().unwrap_or_default();
            let most = stored.plus(self.unowned_usage);
            let is_right = (stored.bytes..=most.bytes).contains(&counted.bytes)
                && (stored.events..=most.events).contains(&counted.events);
            (!is_right).then(|| Miscount { account: account.clone(), counted, stored })
        };
        accounts.into_iter().filter_map(miscount).collect()
    }

    /// The number of stored files.
    pub(crate) fn files(&self) -> usize {
        self.files.len()
    }

    /// Reads the contents of the files of messages.
    pub(crate) async fn check_files(&self, blobs: &Blobs, checked: &mut BlobCheck) -> Result<(), BlobFault> {
        for (file, (sha256, is_named)) in &self.files {
            if let (Ok(name), Ok(id)) = (file.parse(), sha256.parse()) {
                blobs.check_own(&name, &id, *is_named, checked).await?;
            }
        }
        Ok(())
    }

    fn note_file(&mut self, event: &StoredEvent) -> Result<(), Fault> {
        match FileNews::of(event)? {
            Some((file, FileNews::Stored(sha256))) => drop(self.files.insert(file, (sha256, false))),
            Some((file, FileNews::Named)) => {
                if let Some((_, is_named)) = self.files.get_mut(&file) {
                    *is_named = true;
                }
            }
            Some((file, FileNews::Removed)) => drop(self.files.remove(&file)),
            None => {}
        }
        Ok(())
    }
}

impl AuditVisitor for Recount {
    fn event(&mut self, event: &StoredEvent) {
        self.is_damaged |= self.note_file(event).is_err();
        match self.tallies.charge_of(event) {
            Ok(None) => {}
            Ok(Some(charge)) => {
                let sum = self.stored.entry(charge.account.clone()).or_default();
                *sum = sum.plus(&charge);
            }
            Err(_) => self.is_damaged = true,
        }
    }
    fn row(&mut self, name: &str) {
        self.is_counted |= name == COUNTED;
    }
    fn unowned_usage(&mut self, usage: Usage) {
        self.unowned_usage = self.unowned_usage.plus(usage);
    }
    fn usage(&mut self, account: &str, usage: Usage) {
        self.counted.insert(account.to_owned(), usage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_wrong_by_what_makes_it_right() {
        let mut recount = Recount::default();
        let usage = |bytes, events| Usage { bytes, events };
        recount.usage("nick", usage(10, 1));
        recount.usage("ann", usage(0, 0));
        assert!(recount.miscounts().is_empty(), "nothing is counted in this store");
        recount.row(COUNTED);
        let miscounts = recount.miscounts();
        assert_eq!(
            miscounts,
            [Miscount { account: "nick".into(), counted: usage(10, 1), stored: usage(0, 0) }]
        );
        assert_eq!(miscounts[0].change().applied(usage(12, 3)), usage(2, 2));
        recount.is_damaged = true;
        assert!(recount.miscounts().is_empty(), "nothing can be said of a damaged log");
    }
}
