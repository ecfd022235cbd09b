//! Ephemeral events in `/watch`, such as frames. They are not in the log; an owner gets them while their room keeps them.
//! Must not know: how the connection is kept.

use plenary_accounts::Watch;
use plenary_hub::Mailbox;
use plenary_kernel::OwnerName;
use plenary_room::{EphemeralEvent, texts};
use serde_json::Value;

use crate::{
    Console,
    event_stream::{WatchFilter, limited},
};

/// The cursors of one owner's stream in the ephemeral events of each room.
pub(crate) struct EphemeralReader {
    pub(crate) owner: OwnerName,
    pub(crate) watch: Watch<String>,
    /// The last number that was read from each source; empty before the first read.
    pub(crate) after: Vec<u64>,
}

impl EphemeralReader {
    pub(crate) fn mailbox(&self) -> &Mailbox {
        self.watch.mailbox()
    }

    /// The new events that match the filter, as they are written to the stream.
    pub(crate) fn read(&mut self, console: &Console, filter: &WatchFilter) -> Vec<Value> {
        let marks = self.watch.mailbox().take();
        let is_first = self.after.is_empty();
        if !is_first && marks.streams.is_empty() && !marks.recheck {
            return Vec::new();
        }
        let sources = console.ephemeral();
        self.after.resize(sources.len(), 0);
        let mut reported = Vec::new();
        for (source, after) in sources.iter().zip(&mut self.after) {
            let events = source.retained(&self.owner, *after);
            *after = events.last().map_or(*after, |last| last.number);
            let matching = events.into_iter().filter(|event| matches(filter, event));
            reported.extend(matching.map(|event| shown(source.room(), event)));
        }
        reported
    }
}

fn matches(filter: &WatchFilter, event: &EphemeralEvent) -> bool {
    let matches_query = |query: &plenary_retrieval::Query| query.coverage(&texts(&event.content.data)) >= 1.0;
    filter.has(&event.content) && filter.query.as_ref().is_none_or(matches_query)
}

/// The event in the form of `/watch`, without a cursor.
fn shown(room: &str, EphemeralEvent { at, content, .. }: EphemeralEvent) -> Value {
    serde_json::json!({
        "at": at.0,
        "room": room,
        "kind": content.kind,
        "stream": content.stream,
        "agents": content.agents,
        "data": limited(content.data),
    })
}
