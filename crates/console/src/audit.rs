//! The audit. A person's write gets an entry if it is in the name of an agent, decides on a request, or changes agents or
//! tokens from the console. Each owner has one stream of entries, which the owner and the operator can list.
//! Must not know: HTTP.

pub(crate) mod event;

use plenary_engine::{Command, Conditions, Decided, Decision, ExecuteError, Point, Room};
use plenary_kernel::{AgentHandle, OwnerName, TimestampMs, Version};
use plenary_log::{Fault, IndexOp, Order};
use serde::{Deserialize, Serialize};

use self::event::WriteMade;
use crate::{
    Console,
    wire::{AuditEntry, AuditPage},
};

/// The entries by `<owner>/<ULID>` and by `*/<ULID>`.
const AUDIT: &str = "console.audit";
/// The prefix under which the operator lists the entries of all owners.
const EVERYBODY: &str = "*";

/// The status of a write whose outcome is not known.
const UNKNOWN: u16 = 0;

/// The streams `console.audit/<owner>`.
#[derive(Debug)]
pub(crate) struct AuditRoom;

/// The operations by which a person decides on requests.
const DECISIONS: &[&str] = &[
    "request.answer",
    "request.answer_many",
    "request.interrupt_response",
    "request.undo",
    "request.delegate",
];
/// The paths below which agents and tokens are changed.
const CHANGES: &[&str] = &["/_admin/agents", "/_admin/owners", "/agents/me/tokens"];
/// The operation by which a person gives an application a token, or denies it.
pub(crate) const CONSENT: &str = "oauth.decide";

/// Whether an operation is a decision of a person.
pub(crate) fn is_decision(operation: &str) -> bool {
    DECISIONS.contains(&operation)
}

/// Whether a person's write from the console in its own name gets an entry: a decision, a change of agents or tokens, or a
/// consent. A write in the name of another agent always gets one.
pub(crate) fn counts(operation: &str, route: &str) -> bool {
    let is_below =
        |path: &str| route.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_decision(operation) || operation == CONSENT || CHANGES.iter().any(|path| is_below(path))
}

/// The state, which is empty: no decision depends on entries.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Entries;

impl Room for AuditRoom {
    type State = Entries;
    type Event = WriteMade;
    const CATEGORY: &'static str = "console.audit";
    const SNAPSHOT_FORM: u16 = 1;

    fn folds(_: &WriteMade) -> bool {
        false
    }
    fn evolve(_: &mut Entries, _: Version, _: TimestampMs, _: &WriteMade) {}
    fn payer(id: &str, _: &Entries, _: &WriteMade) -> Option<OwnerName> {
        id.parse().ok()
    }
    fn index(id: &str, event: &WriteMade) -> Vec<IndexOp> {
        let row =
            |under: &str| IndexOp::put_value(AUDIT, format!("{under}/{}", event.id), event.encode().envelope);
        let mut ops = vec![row(EVERYBODY)];
        ops.extend((id != EVERYBODY).then(|| row(id)));
        ops
    }
}

/// A write that is about to begin, or has ended.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    /// The owner that can list it; `None` if only the operator can.
    pub(crate) owner: Option<OwnerName>,
    /// See [`WriteMade`].
    pub(crate) person: String,
    pub(crate) session: Option<String>,
    pub(crate) agent: Option<AgentHandle>,
    pub(crate) operation: &'static str,
    pub(crate) path: String,
    /// The entry of its beginning and the status of its response; `None` before it begins.
    pub(crate) outcome: Option<(StartedEntry, u16)>,
}

/// The entry that was stored before the write. The entry of the outcome replaces it in the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StartedEntry {
    id: String,
    at: TimestampMs,
}

impl Command<AuditRoom> for Write {
    const NAME: &'static str = "note";
    type Reply = StartedEntry;
    type Rejection = ();
    type Facts = ();

    async fn facts(&self, _: &Entries, _: &mut Conditions) -> Result<(), Fault> {
        Ok(())
    }

    fn decide(&self, _: &Entries, (): &(), Point { stamp, .. }: &Point) -> Decided<AuditRoom, Self> {
        let (entry, status) = match &self.outcome {
            Some((entry, status)) => (entry.clone(), *status),
            None => (StartedEntry { id: stamp.ulid(0).to_string(), at: stamp.now }, UNKNOWN),
        };
        let event = WriteMade {
            id: entry.id.clone(),
            at: entry.at,
            person: self.person.clone(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            operation: self.operation.to_owned(),
            path: self.path.clone(),
            status,
        };
        Ok(Decision::new(vec![event], entry))
    }

    /// An entry is recorded even beyond the owner's quota.
    fn exceeds_quota(&self) -> bool {
        true
    }
}

impl Console {
    /// Records a write. The entry is on disk when this returns.
    pub(crate) async fn note(&self, write: &Write) -> Result<StartedEntry, Fault> {
        match self
            .0
            .audits
            .execute(write.owner.as_ref().map_or(EVERYBODY, OwnerName::as_str), write, None)
            .await
        {
            Ok(noted) => Ok(noted.reply),
            // There is no idempotency key, and the decider rejects nothing.
            Err(ExecuteError::Rejected(()) | ExecuteError::KeyReused) => {
                Err(Fault::Unavailable("an entry of the audit was rejected".into()))
            }
            Err(ExecuteError::OverQuota(exceeded)) => Err(exceeded.without_payer()),
            Err(ExecuteError::Fault(fault)) => Err(fault),
        }
    }

    /// A page of entries, newest first: of one owner, or of all.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_and_changes_of_agents_and_tokens_count() {
        for (operation, route, expected) in [
            ("request.answer", "/requests/{id}/answer", true),
            ("request.answer_many", "/requests/answers", true),
            ("request.undo", "/requests/{id}/undo", true),
            ("request.delegate", "/requests/{id}/delegate", true),
            ("request.snooze", "/requests/{id}/snooze", false),
            ("request.link", "/requests/{id}/link", false),
            ("agent.create", "/_admin/agents", true),
            ("agent.allow", "/_admin/agents/{handle}/allowlist", true),
            ("", "/_admin/agentsandmore", false),
            ("owner.rotate_token", "/_admin/owners/{owner}/rotate-token", true),
            ("me.create_token", "/agents/me/tokens", true),
            ("oauth.decide", "/oauth/authorize", true),
            ("oauth.sign_in", "/oauth/sign-in", false),
            ("me.allow", "/agents/me/allowlist", false),
            ("console.sign_out", "/console/sessions/{id}", false),
        ] {
            assert_eq!(counts(operation, route), expected, "{operation} {route}");
        }
    }
}
