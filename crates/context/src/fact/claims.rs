//! Claims the ids of old facts, which were asserted before facts claimed their ids in the same append. This happens
//! when an import first needs it, so that no import gives the id to another fact (AP-41).
//! Must not know: the imported records.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::future::try_join_all;
use plenary_kernel::limits::READ_ROWS_MAX;
use plenary_log::{Batch, Fault, IndexRow, Order, Outcome, RowOp};

use super::{document::id_of, room::id_row};
use crate::{
    Context,
    index::{FACTS, is_outranked},
    limits::{CLAIM_ATTEMPTS_MAX, READS_AT_ONCE},
};

/// The row that records that all facts of a project have claimed their ids.
fn claimed_row(project: &str) -> String {
    format!("context.fact_ids_claimed/{project}")
}

impl Context {
    /// Claims the ids of a project's old facts; one read if that was done before. If an old store has two facts with
    /// one id, the first by subject, predicate and time gets it.
    pub(crate) async fn claim_fact_ids(&self, project: &str) -> Result<(), Fault> {
        let done = claimed_row(project);
        if self.log().read_row(&done).await?.is_some() {
            return Ok(());
        }
        let (prefix, mut after) = (format!("{project}/"), None::<String>);
        loop {
            let order = Order::Ascending;
            let rows = self.log().read_index(FACTS, &prefix, after.as_deref(), READ_ROWS_MAX, order).await?;
            self.claim(project, &rows).await?;
            match rows.last() {
                Some(last) if rows.len() == READ_ROWS_MAX => after = Some(last.key.clone()),
                _ => break,
            }
        }
        let row = RowOp { name: done, expected: None, value: Some(Bytes::new()) };
        self.write_rows(vec![row]).await.map(drop)
    }

    /// Claims the ids of some facts. Facts that are asserted meanwhile claim their own.
    async fn claim(&self, project: &str, rows: &[IndexRow]) -> Result<(), Fault> {
        let mut facts = BTreeMap::<String, &str>::new();
        // An outranked fact was imported, so it has claimed its id.
        for row in rows.iter().filter(|row| !row.key.ends_with("/end") && !is_outranked(&row.key)) {
            if let Some(id) = std::str::from_utf8(&row.value).ok().and_then(id_of) {
                facts.entry(id_row(project, &id)).or_insert(&row.key);
            }
        }
        for _ in 0..CLAIM_ATTEMPTS_MAX {
            let mut claims = Vec::new();
            let names: Vec<_> = facts.iter().collect();
            for chunk in names.chunks(READS_AT_ONCE) {
                let known = try_join_all(chunk.iter().map(|(name, _)| self.log().read_row(name))).await?;
                let missing = chunk.iter().zip(known).filter(|(_, known)| known.is_none());
                claims.extend(missing.map(|((name, key), _)| RowOp {
                    name: (*name).clone(),
                    expected: Some(0),
                    value: Some((**key).to_owned().into()),
                }));
            }
            if claims.is_empty() || self.write_rows(claims).await? {
                return Ok(());
            }
        }
        Err(Fault::Overloaded)
    }

    /// Writes rows; `false` if another writer was faster.
    async fn write_rows(&self, rows: Vec<RowOp>) -> Result<bool, Fault> {
        let batch = Batch { rows, at: self.clock().stamp().now, ..Batch::default() };
        Ok(matches!(self.log().append(batch).await?, Outcome::Appended(_)))
    }
}
