//! The audit: an entry for each write of a person in the name of an agent. The entries about the agents of an owner
//! are on one stream, and the owner and the operator can list them.
//! Must not know: HTTP.

pub(crate) mod event;

use plenary_accounts::OpenSession;
use plenary_engine::{Command, Decision, ExecuteError, Facts, Room};
use plenary_kernel::{AgentHandle, OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, IndexOp, NewEvent, Order, StoredEvent};
use serde::{Deserialize, Serialize};

use self::event::WriteMade;
use crate::{
    Console,
    wire::{AuditEntry, AuditPage},
};

/// `~owner/ULID` and `*/ULID` of every entry -> the entry.
const AUDIT: &str = "console.audit";
/// What entries are listed under for the operator.
const EVERYBODY: &str = "*";

/// The status of a write of which no outcome is known.
const UNKNOWN: u16 = 0;

/// The streams `console.audit/<owner>`.
#[derive(Debug)]
pub(crate) struct AuditRoom;

/// Nothing is decided on entries.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Entries;

impl Room for AuditRoom {
    type State = Entries;
    type Event = WriteMade;
    const CATEGORY: &'static str = "console.audit";
    const SNAPSHOT_FORM: u16 = 1;

    fn encode(event: &WriteMade) -> NewEvent {
        event.encode()
    }
    fn decode(event: &StoredEvent) -> Result<WriteMade, Fault> {
        WriteMade::decode(event)
    }
    fn folds(_: &WriteMade) -> bool {
        false
    }
    fn evolve(_: &mut Entries, _: Version, _: TimestampMs, _: &WriteMade) {}
    fn payer(id: &str, _: &Entries, _: &WriteMade) -> Option<OwnerName> {
        id.parse().ok()
    }
    fn index(id: &str, event: &WriteMade) -> Vec<IndexOp> {
        let put = |under: &str| IndexOp::Put {
            name: AUDIT,
            key: format!("{under}/{}", event.id),
            value: event.encode().envelope,
        };
        vec![put(id), put(EVERYBODY)]
    }
}

/// A write that is to be made, or was.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    pub(crate) open: OpenSession,
    pub(crate) agent: AgentHandle,
    pub(crate) operation: &'static str,
    pub(crate) path: String,
    /// The entry of its beginning, and the status of its answer; before it begins neither.
    pub(crate) done: Option<(EntryBegun, u16)>,
}

/// An entry that stands before the write: what comes of it takes its place in the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EntryBegun {
    id: String,
    at: TimestampMs,
}

impl Command<AuditRoom> for Write {
    const NAME: &'static str = "note";
    type Reply = EntryBegun;
    type Rejection = ();
    type Facts = ();

    async fn facts(&self, _: &Entries) -> Result<Facts<()>, Fault> {
        Ok(Facts::none())
    }

    fn decide(
        &self,
        _: &Entries,
        _: Version,
        (): &(),
        stamp: &Stamp,
    ) -> Result<Decision<WriteMade, EntryBegun>, ()> {
        let person = self.open.session.person.as_ref();
        let (begun, status) = match &self.done {
            Some((begun, status)) => (begun.clone(), *status),
            None => (EntryBegun { id: stamp.ulid(0).to_string(), at: stamp.now }, UNKNOWN),
        };
        let event = WriteMade {
            id: begun.id.clone(),
            at: begun.at,
            person: person.map_or_else(|| self.open.keyring.to_string(), ToString::to_string),
            session: self.open.id.clone(),
            agent: self.agent.clone(),
            operation: self.operation.to_owned(),
            path: self.path.clone(),
            status,
        };
        Ok(Decision::new(vec![event], begun))
    }

    /// The write is recorded in any case.
    fn exceeds_quota(&self) -> bool {
        true
    }
}

impl Console {
    /// Notes a write; it is on disk when this comes back.
    pub(crate) async fn note(&self, write: &Write) -> Result<EntryBegun, Fault> {
        match self.0.audits.execute(write.agent.owner(), write, None).await {
            Ok(noted) => Ok(noted.reply),
            // It comes with no key, and nothing rejects it.
            Err(ExecuteError::Rejected(()) | ExecuteError::KeyReused) => {
                Err(Fault::Unavailable("an entry of the audit was rejected".into()))
            }
            Err(ExecuteError::OverQuota(exceeded)) => Err(exceeded.without_payer()),
            Err(ExecuteError::Fault(fault)) => Err(fault),
        }
    }

    /// A page of entries, the newest first: about the agents of an owner, or of everybody.
    pub(crate) async fn entries(
        &self,
        owner: Option<&OwnerName>,
        before: Option<&str>,
        limit: usize,
    ) -> Result<AuditPage, Fault> {
        let under = owner.map_or(EVERYBODY, OwnerName::as_str);
        let (prefix, before) = (format!("{under}/"), before.map(|before| format!("{under}/{before}")));
        let log = self.log();
        let mut rows =
            log.read_index(AUDIT, &prefix, before.as_deref(), limit + 1, Order::Descending).await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = rows.last().filter(|_| more).map(|row| row.key[prefix.len()..].to_owned());
        let read = |row: &plenary_log::IndexRow| {
            let entry = serde_json::from_slice::<WriteMade>(&row.value);
            entry.map(AuditEntry::from).map_err(|_| Fault::Corrupt(format!("{} in {AUDIT}", row.key)))
        };
        Ok(AuditPage { entries: rows.iter().map(read).collect::<Result<_, _>>()?, next_cursor })
    }
}
