//! Polling readers: each gets the events since its last call, once (SC-36; wire.md 4.4, 14). A reader's position is a
//! row, moved by compare-and-set: of two concurrent polls only one gets an event.
//! Must not know: HTTP.

use bytes::Bytes;
use plenary_log::{Batch, Fault, Outcome, RowOp};

use crate::{
    Runs,
    id::RunId,
    limits::READERS_PER_RUN_MAX,
    lookup::VisibleThread,
    refusals::{self, RunRefusal},
    run_reader::{Page, Since},
};

/// Most attempts of a poll that conflicts with other polls of the same reader.
const ATTEMPTS_MAX: usize = 8;

fn readers(run: RunId) -> String {
    format!("runs.reader/{run}/")
}

impl Runs {
    /// The events since the reader's last poll.
    pub(crate) async fn drain(
        &self,
        visible_thread: &VisibleThread,
        run: RunId,
        reader: &str,
    ) -> Result<Page, RunRefusal> {
        let prefix = readers(run);
        let name = format!("{prefix}{reader}");
        for _ in 0..ATTEMPTS_MAX {
            let row = self.log().read_row(&name).await?;
            let (revision, since) = match &row {
                Some(row) => (row.revision, parse_position(&row.value)?),
                None => (0, 0),
            };
            let page = self.page(visible_thread, Since::Id(since)).await?;
            let Some(last) = page.events.last() else { return Ok(page) };
            if row.is_none() {
                let readers = self.log().read_rows(&prefix, None, READERS_PER_RUN_MAX).await?;
                if readers.len() >= READERS_PER_RUN_MAX {
                    return Err(refusals::too_many_readers());
                }
            }
            let value = Some(Bytes::from(last.id.to_string()));
            let op = RowOp { name: name.clone(), expected: Some(revision), value };
            match self.log().append(Batch { rows: vec![op], ..Batch::default() }).await? {
                Outcome::Appended(_) => return Ok(page),
                Outcome::RowConflict { .. } => {}
                Outcome::Conflict { .. } | Outcome::AlreadyDone { .. } | Outcome::KeyReused => break,
            }
        }
        Err(Fault::Overloaded.into())
    }
}

fn parse_position(value: &[u8]) -> Result<u64, Fault> {
    let text = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    text.ok_or_else(|| Fault::Corrupt("how far a reader has got can't be read".into()))
}
