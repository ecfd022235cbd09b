//! What one who watches is told of things that pass and are in no log: an owner, while they are kept.
//! Must not know: how the connection is kept.

use plenary_accounts::Watch;
use plenary_hub::Mailbox;
use plenary_kernel::OwnerName;
use plenary_room::{PassingEvent, texts};
use serde_json::Value;

use crate::{
    Console,
    watching::{WatchFilter, limited},
};

/// What an owner waits for.
pub(crate) struct PassingReader {
    pub(crate) owner: OwnerName,
    pub(crate) watch: Watch<String>,
    /// Of each teller the last number that was looked at.
    pub(crate) after: Vec<u64>,
}

impl PassingReader {
    pub(crate) fn mailbox(&self) -> &Mailbox {
        self.watch.mailbox()
    }

    /// What came since the last look and is wanted, each as it is reported.
    pub(crate) fn read(&mut self, console: &Console, wanted: &WatchFilter) -> Vec<Value> {
        let _ = self.watch.mailbox().take();
        let tellers = console.passing();
        self.after.resize(tellers.len(), 0);
        let mut reported = Vec::new();
        for (teller, after) in tellers.iter().zip(&mut self.after) {
            let events = teller.retained(&self.owner, *after);
            *after = events.last().map_or(*after, |last| last.number);
            let told = events.into_iter().filter(|event| is_wanted(wanted, event));
            reported.extend(told.map(|event| shown(teller.room(), event)));
        }
        reported
    }
}

fn is_wanted(wanted: &WatchFilter, event: &PassingEvent) -> bool {
    let has_words = |query: &plenary_retrieval::Query| query.coverage(&texts(&event.told.data)) >= 1.0;
    wanted.has(&event.told) && wanted.query.as_ref().is_none_or(has_words)
}

/// As an event of the log, but without a place in it.
fn shown(room: &str, PassingEvent { at, told, .. }: PassingEvent) -> Value {
    serde_json::json!({
        "at": at.0,
        "room": room,
        "kind": told.kind,
        "stream": told.stream,
        "agents": told.agents,
        "data": limited(told.data),
    })
}
