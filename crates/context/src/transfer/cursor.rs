//! The cursors of exports: the position to resume from, and the start of an incremental export; clients return them
//! unchanged.
//! Must not know: the exported data.

use plenary_kernel::{Position, json::digest};
use plenary_log::{Fault, Log, StoredEvent};

use super::record::Kind;
use crate::malformed::{Code, ContextFault};

/// The log position up to which an export is complete, with a mark of the event at that position, which
/// distinguishes this store from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Since {
    pub(crate) position: Position,
    text: String,
}

impl Since {
    /// The cursor for a position of a log.
    pub(crate) async fn at(log: &Log, position: Position) -> Result<Self, Fault> {
        let mark = match position.0.checked_sub(1) {
            None => String::new(),
            Some(before) => {
                // A damaged event at the end of the log gives no mark.
                let read = log.read_log(Position(before), 1).await;
                let events = Fault::skip_corrupt(read, "a cursor goes without a mark")?.unwrap_or_default();
                events.first().filter(|event| event.position == position).map(mark).unwrap_or_default()
            }
        };
        Ok(Self { position, text: format!("{}-{mark}", position.0) })
    }

    /// Reads the cursor of an earlier export; a fault in the request if it is not of this store.
    pub(crate) async fn read(log: &Log, text: &str) -> Result<Result<Self, ContextFault>, Fault> {
        let position = text.split_once('-').and_then(|(position, _)| position.parse().ok()).map(Position);
        if let Some(position) = position
            && position <= log.head().await?
        {
            let since = Self::at(log, position).await?;
            if since.text == text {
                return Ok(Ok(since));
            }
        }
        Ok(Err(unknown("since", "is not of this store; export everything")))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

fn mark(event: &StoredEvent) -> String {
    let text = format!("{} {} {} {}", event.stream, event.version.0, event.kind, event.at.0);
    hex::encode(&digest(text.as_bytes())[..8])
}

fn unknown(name: &str, why: &str) -> ContextFault {
    ContextFault {
        code: Code::InvalidCursor,
        field: Some(name.to_owned()),
        message: format!("`{name}` {why}."),
    }
}

/// The record after which an export continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExportCursor {
    /// The log position up to which the export is complete.
    pub(crate) head: Position,
    /// The start of an incremental export.
    pub(crate) since: Option<Position>,
    pub(crate) kind: Kind,
    /// The key of the record; in an incremental export the log position of the step that found it.
    pub(crate) key: String,
}

impl ExportCursor {
    pub(crate) fn write(&self) -> String {
        let since = self.since.map_or("all".to_owned(), |since| since.0.to_string());
        format!("{}.{since}.{}.{}", self.head.0, self.kind.as_str(), self.key)
    }

    /// # Errors
    /// `invalid_cursor`
    pub(crate) fn read(text: &str) -> Result<Self, ContextFault> {
        let parts: Vec<&str> = text.splitn(4, '.').collect();
        let read = || {
            let [head, since, kind, key] = parts[..] else { return None };
            let since = if since == "all" { None } else { Some(Position(since.parse().ok()?)) };
            let (head, kind) = (Position(head.parse().ok()?), Kind::parse(kind)?);
            Some(Self { head, since, kind, key: key.to_owned() })
        };
        read().ok_or_else(|| unknown("after", "is no cursor of an export"))
    }
}
