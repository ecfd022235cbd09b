//! All rows of an index below a prefix, read page by page.
//! Must not know: the meaning of a row.

use std::vec;

use plenary_kernel::limits::READ_ROWS_MAX;

use crate::{Fault, IndexRow, Log, Order};

/// The rows of an index below a prefix, in order. A page is read when the one before is used up, so rows that are
/// written meanwhile may be missing.
pub struct IndexRows<'a> {
    log: &'a Log,
    name: &'a str,
    prefix: &'a str,
    order: Order,
    page: vec::IntoIter<IndexRow>,
    /// The last key that was read.
    last: Option<String>,
    has_more: bool,
    past_damage: bool,
}

impl Log {
    /// All rows of an index below a prefix.
    pub fn index_rows<'a>(&'a self, name: &'a str, prefix: &'a str, order: Order) -> IndexRows<'a> {
        self.index_rows_after(name, prefix, None, order)
    }

    /// The rows of an index below a prefix and after a key.
    pub fn index_rows_after<'a>(
        &'a self,
        name: &'a str,
        prefix: &'a str,
        after: Option<String>,
        order: Order,
    ) -> IndexRows<'a> {
        let page = Vec::new().into_iter();
        IndexRows { log: self, name, prefix, order, page, last: after, has_more: true, past_damage: false }
    }
}

impl IndexRows<'_> {
    /// The same rows for a list, which leaves damaged ones out and logs them.
    pub fn past_damage(self) -> Self {
        Self { past_damage: true, ..self }
    }

    /// The next rows, as far as they are read.
    pub fn waiting(&self) -> &[IndexRow] {
        self.page.as_slice()
    }

    /// The next row; `None` after the last one.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn next(&mut self) -> Result<Option<IndexRow>, Fault> {
        loop {
            let next = self.page.next();
            if next.is_some() || !self.has_more {
                return Ok(next);
            }
            let (last, max) = (self.last.as_deref(), READ_ROWS_MAX);
            let Self { log, name, prefix, order, .. } = *self;
            let (rows, found, last) = if self.past_damage {
                let found = log.read_index_past_damage(name, prefix, last, max, order).await?;
                let (many, last) = (found.len(), found.last().map(|row| row.key.clone()));
                (found.into_iter().filter_map(|row| row.sound(name).ok()).collect(), many, last)
            } else {
                let rows = log.read_index(name, prefix, last, max, order).await?;
                let (many, last) = (rows.len(), rows.last().map(|row| row.key.clone()));
                (rows, many, last)
            };
            self.has_more = found == READ_ROWS_MAX;
            self.last = last;
            self.page = rows.into_iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{Batch, IndexOp, OpenedLog, open_memory};

    #[tokio::test]
    async fn rows_of_several_pages_come_in_order() {
        let OpenedLog { log, feed: _feed } = open_memory();
        let keys: Vec<_> = (0..2 * READ_ROWS_MAX + 5).map(|number| format!("a/{number:06}")).collect();
        for some in keys.chunks(READ_ROWS_MAX) {
            let put = |key: &String| IndexOp::Put { name: "x", key: key.clone(), value: Bytes::new() };
            let index = some.iter().map(put).collect();
            log.append(Batch { index, ..Batch::default() }).await.unwrap();
        }
        for (order, after, prefix, expected) in [
            (Order::Ascending, None, "a/", keys.clone()),
            (Order::Descending, None, "a/", keys.iter().rev().cloned().collect()),
            (Order::Ascending, Some(keys[READ_ROWS_MAX].clone()), "a/", keys[READ_ROWS_MAX + 1..].to_vec()),
            (Order::Ascending, None, "b/", Vec::new()),
        ] {
            let (mut rows, mut found) = (log.index_rows_after("x", prefix, after, order), Vec::new());
            while let Some(row) = rows.next().await.unwrap() {
                found.push(row.key);
            }
            assert_eq!(found, expected);
        }
    }
}
