//! Compares a journal with a replica of it, record by record.
//! Must not know: the content of the records.

use std::path::Path;

use plenary_journal::{Journal, READ_RECORDS_MAX, ReadError};
use plenary_log_sqlite::{Link, replica_links};

use crate::{
    OpenError,
    record::{self, BEGINNING},
};

/// The result of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The number of records in the journal.
    pub records: u64,
    /// The number of them that the replica has unchanged.
    pub replicated: u64,
    /// The differences, in words.
    pub findings: Vec<String>,
}

/// Reads the whole journal: each record must exist, follow the previous one, and have the hash that the
/// replica in `directory` stores. A server may have the replica open. `plenary fsck` checks the
/// contents.
///
/// # Errors
/// The journal or the file can't be read at all.
pub async fn verify(journal: &dyn Journal, directory: &Path) -> Result<Comparison, OpenError> {
    let mut verified = Comparison::default();
    let mut last = BEGINNING;
    loop {
        let records = match journal.read(last.sequence, READ_RECORDS_MAX).await {
            Ok(records) => records,
            Err(ReadError::Hole(hole)) => {
                verified.findings.push(format!("the journal lacks record {hole}"));
                break;
            }
            Err(error) => return Err(error.into()),
        };
        let links = replica_links(directory, last.sequence, records.len().max(1))?;
        if records.is_empty() {
            if let Some(more) = links.first() {
                // A running server may have applied more records meanwhile.
                if journal.extent().await?.last >= more.sequence {
                    continue;
                }
                let ends = last.sequence;
                verified.findings.push(format!(
                    "the replica has record {}, and the journal ends at {ends}",
                    more.sequence
                ));
            }
            break;
        }
        let mut known = links.into_iter().peekable();
        for found in records {
            let link = match record::read(&found.body, &last) {
                Ok((_, link, _)) => link,
                Err(damage) => {
                    verified.findings.push(damage.to_string());
                    return Ok(verified);
                }
            };
            verified.records = link.sequence;
            match known.next_if(|known: &Link| known.sequence == link.sequence) {
                Some(same) if same == link => verified.replicated += 1,
                Some(_) => {
                    verified.findings.push(format!("record {} of the replica is another", link.sequence));
                }
                None if known.peek().is_some() => {
                    verified.findings.push(format!("the replica lacks record {}", link.sequence));
                }
                None => {}
            }
            last = link;
        }
    }
    Ok(verified)
}
