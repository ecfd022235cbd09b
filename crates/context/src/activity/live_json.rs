//! Turns an entry of the activity stream into a live event: the package, the fact, the session or the change of the
//! project, as JSON.
//! Must not know: the recipients.

use plenary_engine::Room;
use plenary_kernel::{Version, rfc3339::Utc};
use plenary_log::{Fault, Order, PageSize, StoredEvent};
use serde_json::{Map, Value, json};

use super::event::{Activity, ActivityNoted};
use crate::{
    Context,
    blob::{event::BlobKept, room::BlobRoom},
    document::{Document, with_hash},
    extensions::Extensions,
    fact::{
        document::shown,
        event::{FactEvent, FactMerged},
        room::FactRoom,
    },
    hash::ContentHash,
    index::{FACTS, is_outranked},
    key,
    members::quoted,
    moment::Moment,
    package::{
        event::{PackageEvent, PackageMoved},
        room::{PackageRoom, deposit_of},
    },
    project::{
        event::{ProjectDescription, ProjectEvent},
        room::ProjectRoom,
        state::ProjectState,
    },
    session::{event::SessionEvent, room::SessionRoom},
    wire::{Blob, Project, Session},
};

/// The holder of the token, and JSON members for the live event; `None` if the package is damaged.
type HolderAndMembers = (String, Option<String>);

impl Context {
    /// The JSON of an entry, `{type, project_id, at, by, …}`; `None` for a damaged package.
    pub(crate) async fn live_json(
        &self,
        project_id: &str,
        entry: &ActivityNoted,
    ) -> Result<Option<String>, Fault> {
        let activity = entry.activity;
        let (stored, (by, members)) = match activity {
            Activity::PackageDeposited | Activity::PackageStatusChanged => {
                let stored = self.event_of::<PackageRoom>(entry).await?;
                let parts = self.package_members(&entry.on, PackageEvent::decode(&stored)?).await?;
                (stored, parts)
            }
            Activity::FactAsserted | Activity::FactSuperseded | Activity::FactInvalidated => {
                let stored = self.event_of::<FactRoom>(entry).await?;
                let parts = self.fact_members(entry, FactEvent::decode(&stored)?).await?;
                (stored, parts)
            }
            Activity::SessionStarted | Activity::SessionEnded => {
                let stored = self.event_of::<SessionRoom>(entry).await?;
                let parts =
                    self.session_members(project_id, &entry.on, SessionEvent::decode(&stored)?).await?;
                (stored, parts)
            }
            Activity::BlobKept => {
                let stored = self.event_of::<BlobRoom>(entry).await?;
                let blob_event = BlobKept::decode(&stored)?;
                let sha256 = entry.on.split_once('/').map_or("", |(_, sha256)| sha256);
                let blob = Blob { hash: format!("sha256:{sha256}"), size_bytes: blob_event.bytes };
                (stored, (blob_event.by.to_string(), Some(format!("\"blob\":{}", json!(blob)))))
            }
            Activity::ProjectCreated
            | Activity::ProjectUpdated
            | Activity::ProjectArchived
            | Activity::ProjectUnarchived
            | Activity::MemberSet
            | Activity::MemberRemoved => {
                let stored = self.event_of::<ProjectRoom>(entry).await?;
                let parts = project_members(&stored, ProjectEvent::decode(&stored)?);
                (stored, parts)
            }
        };
        let Some(members) = members else { return Ok(None) };
        let (kind, project, at) = (activity.as_str(), quoted(project_id), Utc(stored.at));
        let by = quoted(&by);
        Ok(Some(format!(
            "{{\"type\":\"{kind}\",\"project_id\":{project},\"at\":\"{at}\",\"by\":{by},{members}}}"
        )))
    }

    /// The event that an entry is about.
    async fn event_of<R: Room>(&self, entry: &ActivityNoted) -> Result<StoredEvent, Fault> {
        let stream = R::stream(&entry.on);
        let before = Version(entry.version.saturating_sub(1));
        let events = self.log().read_stream(&stream, before, 1).await?;
        events.into_iter().next().ok_or_else(|| Fault::Corrupt(format!("{stream} lacks what is noted of it")))
    }

    async fn package_members(&self, id: &str, event: PackageEvent) -> Result<HolderAndMembers, Fault> {
        let (action, moved) = match event {
            PackageEvent::PackageDeposited(event) => {
                let text = std::str::from_utf8(&event.raw).unwrap_or_default();
                let package = package(id, text, event.hash);
                return Ok((event.by.to_string(), package.map(|package| format!("\"package\":{package}"))));
            }
            PackageEvent::PackageFlagged(moved) => ("flag", moved),
            PackageEvent::PackageReviewed(moved) => ("review", moved),
        };
        let PackageMoved { by, from, status, review_type, hash, note, .. } = moved;
        let deposited = deposit_of(self, id).await?;
        let text = Document { deposited: &deposited, status, review_type }.text();
        let members = package(id, &text, hash).map(|package| {
            let note = note.as_deref().map_or_else(|| "null".to_owned(), quoted);
            let from = from.as_str();
            format!("\"action\":\"{action}\",\"from\":\"{from}\",\"note\":{note},\"package\":{package}")
        });
        Ok((by.to_string(), members))
    }

    async fn fact_members(&self, entry: &ActivityNoted, event: FactEvent) -> Result<HolderAndMembers, Fault> {
        let activity = entry.activity;
        let (by, since, end) = match event {
            FactEvent::FactAsserted(event) => {
                let by = event.by.to_string();
                let Some(since) = event.supersedes.filter(|_| activity == Activity::FactSuperseded) else {
                    let document = std::str::from_utf8(&event.document).unwrap_or_default();
                    return Ok((by, Some(format!("\"fact\":{}", shown(document, None)))));
                };
                (by, since, event.text.unwrap_or_else(|| event.valid_from.micros()))
            }
            FactEvent::FactInvalidated(event) => {
                let end = event.text.unwrap_or_else(|| event.valid_to.micros());
                (event.by.to_string(), event.valid_from, end)
            }
            FactEvent::FactShortened(event) => (event.by.to_string(), event.valid_from, event.ended.text),
            FactEvent::FactMerged(event) => {
                return Ok((event.by.to_string(), merged_members(activity, &event)));
            }
        };
        let document = self.ended_fact(entry, since).await?;
        Ok((by, Some(format!("\"fact\":{}", shown(&document, Some(&end))))))
    }

    /// The fact of a subject and predicate that was valid from `since` before the noted event.
    async fn ended_fact(&self, entry: &ActivityNoted, since: Moment) -> Result<String, Fault> {
        let key = key::join(&[&entry.on, since.as_str()]);
        // Three rows: the fact, its end, and a fact with the same beginning that it outranks.
        let rows = self.log().read_index(FACTS, &key, None, 3, Order::Ascending).await?;
        if rows.iter().any(|row| is_outranked(&row.key)) {
            return self.earlier_fact(entry, since).await;
        }
        let row = rows.into_iter().find(|row| row.key == key);
        let document = row.and_then(|row| String::from_utf8(row.value.to_vec()).ok());
        document.ok_or_else(|| Fault::Corrupt(format!("{key} is not in {FACTS}")))
    }

    /// The same, from the events before the noted one: by now another fact may have taken its place.
    async fn earlier_fact(&self, entry: &ActivityNoted, since: Moment) -> Result<String, Fault> {
        let stream = FactRoom::stream(&entry.on);
        let (mut after, mut page, mut document) = (Version::ZERO, PageSize::default(), None);
        loop {
            let events = self.log().read_stream(&stream, after, page.events()).await?;
            page.learn(&events);
            for stored in &events {
                if stored.version.0 >= entry.version {
                    break;
                }
                match FactEvent::decode(stored)? {
                    FactEvent::FactAsserted(event) if event.valid_from == since => {
                        document = Some(event.document)
                    }
                    FactEvent::FactMerged(event)
                        if event.valid_from == since && event.outranked.is_none() =>
                    {
                        document = Some(event.document);
                    }
                    FactEvent::FactAsserted(_)
                    | FactEvent::FactMerged(_)
                    | FactEvent::FactInvalidated(_)
                    | FactEvent::FactShortened(_) => {}
                }
            }
            match events.last() {
                Some(last) if last.version.0 < entry.version => after = last.version,
                _ => break,
            }
        }
        let document = document.and_then(|document| String::from_utf8(document.to_vec()).ok());
        document.ok_or_else(|| Fault::Corrupt(format!("{stream} lacks the fact that held since {since}")))
    }

    async fn session_members(
        &self,
        project_id: &str,
        id: &str,
        event: SessionEvent,
    ) -> Result<HolderAndMembers, Fault> {
        let (by, session) = match event {
            SessionEvent::SessionStarted(started) => {
                let by = started.by.to_string();
                let session = Session {
                    session_id: started.session_id,
                    project_id: project_id.to_owned(),
                    actor_id: started.actor_id,
                    actor_type: started.actor_type,
                    callsign: Some(started.callsign),
                    started_at: started.started_at.to_string(),
                    ended_at: None,
                    packages_deposited: Vec::new(),
                    packages_truncated: false,
                    extensions: started.extensions,
                };
                (by, Some(session))
            }
            SessionEvent::SessionEnded(ended) => {
                let (project, session) = id.split_once('/').unwrap_or((id, ""));
                (ended.by.to_string(), self.session(project, session).await?)
            }
        };
        let json = |session: &Session| serde_json::to_string(session).expect("a session can be written");
        Ok((by, session.map(|session| format!("\"session\":{}", json(&session)))))
    }
}

/// The merged fact, or the fact that it outranks, with its end.
fn merged_members(activity: Activity, event: &FactMerged) -> Option<String> {
    let (document, end) = match event.outranks.as_ref().filter(|_| activity == Activity::FactSuperseded) {
        Some(outranked) => (outranked.document.as_str(), Some(event.text.as_str())),
        None => {
            let document = std::str::from_utf8(&event.document).unwrap_or_default();
            (document, event.ended.as_ref().map(|ended| ended.text.as_str()))
        }
    };
    Some(format!("\"fact\":{}", shown(document, end)))
}

/// A package with its hash, in the form of a single read; `None` if it does not match its hash (AP-39).
fn package(id: &str, text: &str, hash: ContentHash) -> Option<String> {
    if ContentHash::of_text(text) == Some(hash) {
        return Some(with_hash(text, hash));
    }
    tracing::error!(package = id, "a stored package does not match its hash; it is quarantined");
    None
}

/// The members of a project that a change sets.
#[derive(serde::Serialize)]
struct ChangedProject {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Map<String, Value>>,
    #[serde(flatten, serialize_with = "Extensions::as_sent")]
    extensions: Extensions,
}

fn project_members(stored: &StoredEvent, event: ProjectEvent) -> HolderAndMembers {
    let at = Utc(stored.at).to_string();
    let (by, members) = match event {
        ProjectEvent::ProjectCreated(created) => {
            let by = created.by.to_string();
            let mut state = ProjectState::default();
            state.evolve(stored.at, &ProjectEvent::ProjectCreated(created));
            let project = serde_json::to_string(&Project::from(&state)).expect("a project can be written");
            return (by, Some(format!("\"project\":{project}")));
        }
        ProjectEvent::ProjectDescribed(event) => {
            let ProjectDescription { name, description, settings, extensions } = event.about;
            let changed = ChangedProject { name, description, settings, extensions };
            let changed = serde_json::to_string(&changed).expect("a description can be written");
            return (event.by.to_string(), Some(format!("\"changed\":{changed}")));
        }
        ProjectEvent::MemberSet(event) => {
            (event.by.to_string(), json!({"member": event.member.to_string(), "role": event.role}))
        }
        ProjectEvent::MemberRemoved(event) => {
            (event.by.to_string(), json!({"member": event.member.to_string()}))
        }
        ProjectEvent::ProjectArchived(event) => (event.by.to_string(), json!({"archived_at": at})),
        ProjectEvent::ProjectUnarchived(event) => (event.by.to_string(), json!({"archived_at": null})),
    };
    let members = members.to_string();
    (by, Some(members[1..members.len() - 1].to_owned()))
}
