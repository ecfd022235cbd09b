//! The live readers of a project: they get the events after a cursor, then new ones. Also their wake-ups.
//! Must not know: how the connection is kept.

use plenary_accounts::{AccountEvent, Actor, Principal, recheck};
use plenary_engine::Room;
use plenary_hub::Observer;
use plenary_kernel::Version;
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{Catchup, LiveSource, async_trait};

use super::{
    event::{Activity, ActivityNoted},
    room::ActivityRoom,
};
use crate::{Context, package_reader::Drafts, project::room::ProjectRoom};

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
    pub(crate) selected_types: Vec<Activity>,
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
        let mut catchup = Catchup::default();
        let (notes, notes_max) = self.notes().await?;
        catchup.more = notes.len() == notes_max;
        for stored in &notes {
            if catchup.is_full() {
                catchup.more = true;
                break;
            }
            let entry = ActivityNoted::decode(stored)?;
            if self.is_selected(&entry) {
                let json = self.context.live_json(&self.project_id, &entry).await;
                let json = Fault::skip_corrupt(json, "what is damaged causes no live event")?.flatten();
                if let Some(json) = json {
                    catchup.push_event(stored.version.0, Some(entry.activity.as_str()), &json);
                }
            }
            self.at = stored.version;
        }
        Ok(catchup)
    }
}

impl ActivityStream {
    /// The next entries, and the number that was asked for. Skips damaged ones.
    async fn notes(&mut self) -> Result<(Vec<StoredEvent>, usize), Fault> {
        let mut notes_max = NOTES;
        loop {
            let notes = self.context.log().read_stream(&self.stream, self.at, notes_max).await;
            if let Some(notes) = Fault::skip_corrupt(notes, "a damaged entry causes no live event")? {
                return Ok((notes, notes_max));
            }
            // The entries before the damaged one can be read; if there are none, it is the next one.
            match notes_max {
                1 => (self.at, notes_max) = (self.at.next(), NOTES),
                _ => notes_max /= 2,
            }
        }
    }

    fn is_selected(&self, entry: &ActivityNoted) -> bool {
        let is_shown = entry.draft_of.as_ref().is_none_or(|actor| Drafts::Own(&self.by).include(actor));
        is_shown && (self.selected_types.is_empty() || self.selected_types.contains(&entry.activity))
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
        let is_stored = !self.log().read_stream(&stream, before, 1).await?.is_empty();
        Ok(if is_stored { after } else { head })
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

#[async_trait]
impl Observer for Context {
    async fn committed(&self, events: &[StoredEvent]) {
        events.iter().for_each(|event| self.observe(event));
        events.iter().for_each(|event| self.wake(event));
        self.search().committed(events);
        if let Some(meaning) = self.meaning() {
            meaning.search.committed(events);
        }
    }
}
