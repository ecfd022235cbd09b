//! Rows that are written once and never change, such as a key of the server: all processes of a store have the same.
//! Must not know: the content of a row.

use bytes::Bytes;

use crate::{Batch, Fault, Log, RowOp};

impl Log {
    /// The value of a row; if there is none, `make` gives it.
    ///
    /// # Errors
    /// The log cannot be read or written, or the error of `make`.
    pub async fn row_created_once(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Bytes, Fault>,
    ) -> Result<Bytes, Fault> {
        if let Some(row) = self.read_row(name).await? {
            return Ok(row.value);
        }
        // Another process may be faster: then its value counts.
        let row = RowOp { name: name.to_owned(), expected: Some(0), value: Some(make()?) };
        self.append(Batch { rows: vec![row], ..Batch::default() }).await?;
        let row = self.read_row(name).await?;
        row.map(|row| row.value).ok_or_else(|| Fault::Corrupt(format!("the row {name} is missing")))
    }
}
