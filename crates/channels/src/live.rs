//! Follows a channel live: first the events in the log after a cursor, then new ones.
//! Must not know: the connection.

use plenary_kernel::Version;
use plenary_log::{Fault, PageSize, StoredEvent, StreamName};
use plenary_room::{Catchup, LiveSource};

use crate::{Channels, command::Caller, id::ChannelId, wire::Event};

/// Maximum number of events per read from the shared tail.
const TAIL_PAGE: usize = 128;

/// The cursor of a live stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The last version that has been read.
    pub(crate) version: Version,
    /// The event id up to which everything has been read.
    pub(crate) id: u64,
}

/// One live stream.
pub(crate) struct Live {
    pub(crate) channels: Channels,
    pub(crate) id: ChannelId,
    pub(crate) stream: StreamName,
    pub(crate) caller: Caller,
    pub(crate) kind: Option<String>,
    /// Everything up to here has been read.
    pub(crate) cursor: Start,
    pub(crate) size: PageSize,
}

impl LiveSource for Live {
    async fn is_allowed(&self) -> Result<bool, Fault> {
        self.channels.admits(&self.id, &self.caller).await
    }

    fn passed(&self) -> u64 {
        self.cursor.id
    }

    async fn look(&mut self) -> Result<Catchup, Fault> {
        let looked = self.read_on().await?;
        // The caller may have lost its permission before these events, and the wake-up for that may still be under way.
        Ok(if looked.is_empty() || self.is_allowed().await? { looked } else { Catchup::default() })
    }
}

impl Live {
    async fn read_on(&mut self) -> Result<Catchup, Fault> {
        let mut looked = Catchup::default();
        if let Some(rows) = self.channels.0.tail.read(&self.stream, self.cursor.version, TAIL_PAGE) {
            looked.more = rows.len() == TAIL_PAGE;
            for row in rows {
                self.pass(&row.event, &mut looked)?;
                if looked.is_full() {
                    looked.more = true;
                    break;
                }
            }
            return Ok(looked);
        }
        let limit = self.size.events();
        let stored = self.channels.log().read_stream(&self.stream, self.cursor.version, limit).await?;
        self.size.learn(&stored);
        looked.more = stored.len() == limit;
        for stored in &stored {
            self.pass(stored, &mut looked)?;
        }
        Ok(looked)
    }

    /// Advances the cursor over one event, and writes it if its kind matches.
    fn pass(&mut self, stored: &StoredEvent, looked: &mut Catchup) -> Result<(), Fault> {
        self.cursor = Start { version: stored.version, id: stored.position.0 };
        let Some(event) = Event::of(&self.id, stored)? else { return Ok(()) };
        if self.kind.as_ref().is_none_or(|kind| *kind == event.kind) {
            let json = serde_json::to_string(&event).expect("strings, numbers and JSON can be written");
            looked.push_event(event.id, None, &json);
        }
        Ok(())
    }
}
