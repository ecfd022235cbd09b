//! Wakes the live readers of a channel when it has new events.
//! Must not know: HTTP, what a reader does with the events.

use std::collections::HashMap;

use plenary_accounts::{AccountEvent, recheck};
use plenary_engine::Room;
use plenary_hub::Observer;
use plenary_log::{StoredEvent, StreamName};
use plenary_room::async_trait;

use crate::{Channels, event::KEY_CHANGED, room::ChannelRoom};

#[async_trait]
impl Observer for Channels {
    async fn committed(&self, events: &[StoredEvent]) {
        let mut grown: HashMap<&StreamName, Vec<&StoredEvent>> = HashMap::new();
        for event in events {
            match event.stream.category() {
                ChannelRoom::CATEGORY => grown.entry(&event.stream).or_default().push(event),
                _ => AccountEvent::of(event).iter().for_each(|change| recheck(&self.0.watchers, change)),
            }
        }
        for (stream, run) in grown {
            run.iter().for_each(|event| self.0.streams.observe(event));
            if run.iter().any(|event| &*event.kind == KEY_CHANGED) {
                // A follower without a token depends on the key alone.
                self.0.watchers.recheck(stream);
            }
            if self.0.watchers.has(stream) {
                // Fill the tail before the wake-up, so that readers find the events in memory.
                self.0.tail.push(run.iter().copied());
                self.0.watchers.wake(stream, run[0].version);
            }
        }
    }
}
