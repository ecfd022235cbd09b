//! Reads of indexes, rows and keys.

use bytes::Bytes;
use plenary_log::{Digest, FoundRow, KeyRecord, Order, Row, Usage};
use rusqlite::{Connection, Error, Transaction, params, types::Value};

use crate::{error::ReadError, events::limit, gathered::over, unindexed::SharedTail};

/// `[first, end)` of the keys that start with `prefix`, strictly after `after` in that order. Keys are
/// compared as bytes, which for UTF-8 is the order of code points.
struct Range {
    first: String,
    end: Option<String>,
}

impl Range {
    fn of(prefix: &str, after: Option<&str>, order: Order) -> Self {
        let mut first = prefix.to_owned();
        let mut end = past(prefix);
        match (order, after) {
            (Order::Ascending, Some(after)) if after >= prefix => first = format!("{after}\0"),
            (Order::Descending, Some(after)) if end.as_ref().is_none_or(|end| after < end.as_str()) => {
                end = Some(after.to_owned());
            }
            (Order::Ascending | Order::Descending, _) => {}
        }
        Self { first, end }
    }

    /// The end as SQLite compares it: a blob sorts after all text.
    fn until(&self) -> Value {
        self.end.clone().map_or(Value::Blob(Vec::new()), Value::Text)
    }
}

/// The least text that is greater than everything with this prefix; `None` if there is none.
fn past(prefix: &str) -> Option<String> {
    let (at, last) = prefix.char_indices().rev().find(|(_, last)| *last != char::MAX)?;
    let next = char::from_u32(u32::from(last) + 1).unwrap_or('\u{e000}');
    Some(format!("{}{next}", &prefix[..at]))
}

/// A part of an index: the rows of the file, overlaid by the memtable. If the memtable has entries of
/// the range, the file is read in a snapshot of the same moment, so that no commit is seen in half.
pub(crate) fn index(
    connection: &Connection,
    shared: &SharedTail,
    name: &str,
    prefix: &str,
    after: Option<&str>,
    max: usize,
    order: Order,
) -> Result<Vec<FoundRow>, ReadError> {
    let sql = match order {
        Order::Ascending => {
            "SELECT key, value, sum FROM idx WHERE name = ?1 AND key >= ?2 AND key < ?3 ORDER BY key LIMIT ?4"
        }
        Order::Descending => {
            "SELECT key, value, sum FROM idx WHERE name = ?1 AND key >= ?2 AND key < ?3 ORDER BY key DESC LIMIT ?4"
        }
    };
    let range = Range::of(prefix, after, order);
    let (overlay, seen) = {
        let unindexed = shared.unindexed.read();
        let overlay = unindexed.gathered.overlay(name, &range.first, range.end.as_deref(), max, order);
        let seen = if overlay.is_empty() { None } else { Some(snapshot(connection)?) };
        (overlay, seen)
    };
    let rows = rows_of(connection, sql, name, &range, max + overlay.len())?;
    if let Some(seen) = seen {
        seen.finish()?;
    }
    Ok(over(overlay, rows, max, order))
}

/// Those of these keys that an index has.
pub(crate) fn keys(
    connection: &Connection,
    shared: &SharedTail,
    name: &str,
    mut keys: Vec<String>,
) -> Result<Vec<String>, ReadError> {
    let mut fault = None;
    keys.retain(|key| match index(connection, shared, name, key, None, 1, Order::Ascending) {
        Ok(rows) => rows.first().is_some_and(|row| row.key == *key),
        Err(error) => {
            fault = Some(error);
            false
        }
    });
    fault.map_or(Ok(keys), Err)
}

/// A read transaction with a snapshot of the file as of now.
fn snapshot(connection: &Connection) -> Result<Transaction<'_>, Error> {
    let transaction = connection.unchecked_transaction()?;
    transaction.prepare_cached("SELECT value FROM meta WHERE name = 'salt'")?.query_row([], |_| Ok(()))?;
    Ok(transaction)
}

fn rows_of(
    connection: &Connection,
    sql: &str,
    name: &str,
    range: &Range,
    max: usize,
) -> Result<Vec<FoundRow>, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params![name, range.first, range.until(), limit(max)])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let (key, value) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_blob()?);
        let is_sound = Digest::index(name, key, value).agrees(row.get(2)?);
        let value = is_sound.then(|| Bytes::copy_from_slice(value));
        rows.push(FoundRow { key: key.to_owned(), value });
    }
    Ok(rows)
}

/// A row of `name, revision, value, sum`.
fn row_of(found: &rusqlite::Row<'_>) -> Result<(String, Row), ReadError> {
    let name = found.get_ref(0)?.as_str()?.to_owned();
    let value = Bytes::copy_from_slice(found.get_ref(2)?.as_blob()?);
    let row = Row { revision: found.get_ref(1)?.as_i64()?.cast_unsigned(), value };
    if Digest::row(&name, &row).agrees(found.get(3)?) {
        return Ok((name, row));
    }
    Err(ReadError::Corrupt(format!("the row {name} is damaged")))
}

pub(crate) fn row(connection: &Connection, name: &str) -> Result<Option<Row>, ReadError> {
    let mut statement =
        connection.prepare_cached("SELECT name, revision, value, sum FROM rows WHERE name = ?1")?;
    let mut found = statement.query([name])?;
    found.next()?.map(row_of).transpose().map(|row| row.map(|(_, row)| row))
}

pub(crate) fn rows(
    connection: &Connection,
    prefix: &str,
    after: Option<&str>,
    max: usize,
) -> Result<Vec<(String, Row)>, ReadError> {
    let range = Range::of(prefix, after, Order::Ascending);
    let mut statement = connection.prepare_cached(
        "SELECT name, revision, value, sum FROM rows WHERE name >= ?1 AND name < ?2 ORDER BY name LIMIT ?3",
    )?;
    let mut found = statement.query(params![range.first, range.until(), limit(max)])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(row_of(row)?);
    }
    Ok(rows)
}

/// The use of an account. The unindexed end is read first: whatever is removed from it is in the file by
/// then.
pub(crate) fn usage(connection: &Connection, shared: &SharedTail, account: &str) -> Result<Usage, ReadError> {
    let here = shared.unindexed.read().usage(account);
    here.map_or_else(|| Ok(usage_in_file(connection, account)?), Ok)
}

/// The use of an account in the file.
pub(crate) fn usage_in_file(connection: &Connection, account: &str) -> Result<Usage, Error> {
    let mut statement =
        connection.prepare_cached("SELECT max(0, bytes), max(0, events) FROM usage WHERE account = ?1")?;
    let mut found = statement.query([account])?;
    let Some(row) = found.next()? else { return Ok(Usage::default()) };
    let count = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(Usage { bytes: count(0)?, events: count(1)? })
}

/// A key by its hash: from the unindexed end, or the index. The end is read first: whatever is removed
/// from it is in the index by then.
pub(crate) fn key(
    connection: &Connection,
    shared: &SharedTail,
    scope: &str,
    key: &str,
) -> Result<Option<KeyRecord>, ReadError> {
    let hash = shared.salt.hash(scope, key);
    let mut claims = shared.unindexed.read().claims(hash).to_vec();
    let mut indexed = connection.prepare_cached("SELECT claim FROM key_index WHERE hash = ?1")?;
    let mut indexed = indexed.query([hash])?;
    while let Some(row) = indexed.next()? {
        claims.push(row.get(0)?);
    }
    for claim in claims {
        let mut statement = connection
            .prepare_cached("SELECT scope, key, digest, outcome, sum FROM keys WHERE claim = ?1")?;
        let mut found = statement.query([claim])?;
        let Some(row) = found.next()? else {
            return Err(ReadError::Corrupt(format!("the index names claim {claim}, which is not there")));
        };
        let (of_scope, of_key) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        let outcome = Bytes::copy_from_slice(row.get_ref(3)?.as_blob()?);
        let record = KeyRecord { digest: row.get(2)?, outcome };
        if !Digest::key(of_scope, of_key, &record).agrees(row.get(4)?) {
            return Err(ReadError::Corrupt(format!("claim {claim} of a key is damaged")));
        }
        if of_scope == scope && of_key == key {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_the_next_text_in_byte_order() {
        for (prefix, end) in [
            ("", None),
            ("a", Some("b")),
            ("a/", Some("a0")),
            ("a\u{7f}", Some("a\u{80}")),
            ("a\u{d7ff}", Some("a\u{e000}")),
            ("a\u{10ffff}", Some("b")),
            ("\u{10ffff}\u{10ffff}", None),
        ] {
            assert_eq!(past(prefix).as_deref(), end, "{prefix:?}");
        }
    }
}
