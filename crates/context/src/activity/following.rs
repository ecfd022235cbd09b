//! The live readers of a project: they get the events after a cursor, then new ones. Also their wake-ups.
//! Must not know: how the connection is kept.

use std::{future::Future, pin::Pin};

use plenary_accounts::{AccountEvent, Actor, Principal, recheck};
use plenary_engine::Room;
use plenary_hub::Observer;
use plenary_kernel::Version;
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{Catchup, LiveSource};

use super::{
    event::{Activity, ActivityNoted},
    room::ActivityRoom,
};
use crate::{Context, project::room::ProjectRoom, reading::Drafts};

/// Entries per read; each is small.
const NOTES: usize = 128;

/// One live stream.
pub(crate) struct ActivityStream {
    pub(crate) context: Context,
    pub(crate) principal: Principal,
    pub(crate) by: Actor,
    /// The project's key, and its id.
    pub(crate) project: String,
    pub(crate) project_id: String,
    /// The selected types; empty for all.
    pub(crate) wanted: Vec<Activity>,
    pub(crate) stream: StreamName,
    /// The version up to which everything was processed.
    pub(crate) at: Version,
}

impl LiveSource for ActivityStream {
    async fn is_allowed(&self) -> Result<bool, Fault> {
        if !self.context.accounts().is_valid(&self.principal).await? {
            return Ok(false);
        }
        Ok(self.context.project(&self.project).await?.access(&self.by).read)
    }

    fn passed(&self) -> u64 {
        self.at.0
    }

    async fn look(&mut self) -> Result<Catchup, Fault> {
        let mut looked = Catchup::default();
        let (notes, most) = self.notes().await?;
        looked.more = notes.len() == most;
        for stored in &notes {
            if looked.is_full() {
                looked.more = true;
                break;
            }
            let noted = ActivityNoted::decode(stored)?;
            if self.is_wanted(&noted) {
                let json = self.context.tell(&self.project_id, &noted).await;
                let json = Fault::skip_corrupt(json, "what is damaged causes no live event")?.flatten();
                if let Some(json) = json {
                    looked.push_event(stored.version.0, Some(noted.activity.as_str()), &json);
                }
            }
            self.at = stored.version;
        }
        Ok(looked)
    }
}

impl ActivityStream {
    /// The next entries, and the number that was asked for. Skips damaged ones.
    async fn notes(&mut self) -> Result<(Vec<StoredEvent>, usize), Fault> {
        let mut most = NOTES;
        loop {
            let read = self.context.log().read_stream(&self.stream, self.at, most).await;
            if let Some(notes) = Fault::skip_corrupt(read, "a damaged entry causes no live event")? {
                return Ok((notes, most));
            }
            // The entries before the damaged one can be read; if there are none, it is the next one.
            match most {
                1 => (self.at, most) = (self.at.next(), NOTES),
                _ => most /= 2,
            }
        }
    }

    fn is_wanted(&self, noted: &ActivityNoted) -> bool {
        let is_shown = noted.draft_of.as_ref().is_none_or(|actor| Drafts::Own(&self.by).show(actor));
        is_shown && (self.wanted.is_empty() || self.wanted.contains(&noted.activity))
    }
}

impl Context {
    /// The version at which a reader starts that has everything up to `after`; at most the head of the stream.
    pub(crate) async fn follow_from(&self, project: &str, after: Option<u64>) -> Result<Version, Fault> {
        let head = self.activity().fresh(project).await?.1;
        let Some(after) = after.map(Version) else { return Ok(head) };
        if after <= head {
            return Ok(after);
        }
        // The cached state may be behind: another process can append an entry that a reader has already got
        // from the log.
        let stream = ActivityRoom::stream(project);
        let before = Version(after.0.saturating_sub(1));
        let has_it = !self.log().read_stream(&stream, before, 1).await?.is_empty();
        Ok(if has_it { after } else { head })
    }

    /// Wakes the readers that an event concerns, after the room has recorded it.
    fn wake(&self, event: &StoredEvent) {
        match event.stream.category() {
            ActivityRoom::CATEGORY => self.watchers().wake(&event.stream, event.version),
            // A reader may have lost its role.
            ProjectRoom::CATEGORY => self.watchers().recheck(&ActivityRoom::stream(event.stream.id())),
            _ => AccountEvent::of(event).iter().for_each(|change| recheck(self.watchers(), change)),
        }
    }
}

impl Observer for Context {
    fn committed<'a>(&'a self, events: &'a [StoredEvent]) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        events.iter().for_each(|event| self.observe(event));
        events.iter().for_each(|event| self.wake(event));
        self.search().committed(events);
        if let Some(meaning) = self.meaning() {
            meaning.search.committed(events);
        }
        Box::pin(std::future::ready(()))
    }
}
