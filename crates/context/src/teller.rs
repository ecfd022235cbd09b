//! The project events that `/watch` reports: to every reader of the project who admits its owner, and drafts only to their author.
//! Must not know: how they are sent.

use plenary_accounts::Actor;
use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, json::Tree};
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_retrieval::Section;
use plenary_room::{Onlooker, OnlookerEvent, Teller, async_trait, excerpt, text_of};
use plenary_telemetry::TraceParent;
use serde_json::{Map, Value};

use crate::{
    Context,
    activity::{event::ActivityNoted, room::ActivityRoom},
    search::{fact_sections, sections},
};

/// The members of an event that a list shows, by the object that has them.
const SHOWN: &[(&str, &[&str])] = &[
    ("package", &["package_id", "title", "status", "package_type", "review_type"]),
    ("fact", &["subject", "predicate"]),
    ("session", &["session_id", "callsign"]),
    ("blob", &["hash", "size_bytes"]),
];

#[async_trait]
impl Teller for Context {
    fn room(&self) -> &'static str {
        "context"
    }

    fn tells_of(&self, stream: &StreamName) -> bool {
        stream.category() == ActivityRoom::CATEGORY
    }

    async fn tell(&self, event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault> {
        let entry = ActivityNoted::decode(event)?;
        let project = self.project(event.stream.id()).await?;
        let Some(full) = self.full(&project.project_id, &entry).await? else { return Ok(None) };
        let agents: Vec<AgentHandle> =
            full["by"].as_str().and_then(|by| by.parse().ok()).into_iter().collect();
        let trace = entry.trace.as_deref().and_then(TraceParent::trace_of);
        let data = Value::Object(visible_members(&full));
        let draft_of = entry.draft_of;
        let stream = project.project_id.clone();
        let audience = move |onlooker: &Onlooker| {
            let by = actor(onlooker);
            let is_shown = draft_of.as_ref().is_none_or(|author| {
                *author == by.to_string() || author.parse().is_ok_and(|author| onlooker.has(&author))
            });
            is_shown && project.access(&by).read
        };
        let kind = entry.activity.as_str();
        Ok(Some(OnlookerEvent::new(kind, stream, agents, data, audience).traced(trace)))
    }

    async fn is_shown(&self, event: &StoredEvent, to: &Onlooker) -> Result<bool, Fault> {
        let project = self.project(event.stream.id()).await?;
        self.is_admitted(&actor(to), &project).await
    }

    async fn text(&self, event: &StoredEvent) -> Result<Option<String>, Fault> {
        let full = self.full("", &ActivityNoted::decode(event)?).await?;
        Ok(full.as_ref().map(searchable_text))
    }
}

fn actor(onlooker: &Onlooker) -> Actor {
    match onlooker {
        Onlooker::Owner(owner) => Actor::Owner(owner.clone()),
        Onlooker::Agent(agent) => Actor::Agent(agent.clone()),
    }
}

impl Context {
    /// An event as the project's stream shows it; `None` for a damaged package.
    async fn full(&self, project_id: &str, entry: &ActivityNoted) -> Result<Option<Value>, Fault> {
        let json = Context::live_json(self, project_id, entry).await?;
        Ok(json.map(|json| serde_json::from_str(&json).unwrap_or_default()))
    }
}

/// The searchable text of the package or the fact of an event.
fn searchable_text(full: &Value) -> String {
    let of =
        |name: &str, sections: fn(&Value) -> Vec<Section>| full.get(name).map(sections).unwrap_or_default();
    text_of(&[of("package", |package| sections(&Tree::from(package))), of("fact", fact_sections)].concat())
}

/// The members of an event that a list shows.
fn visible_members(full: &Value) -> Map<String, Value> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.clone(), |text| excerpt(text).into());
    let mut visible_members = Map::new();
    for name in ["project_id", "by", "action", "note", "member", "roles"] {
        full.get(name).map(|value| visible_members.insert(name.into(), text(value)));
    }
    for (object, members) in SHOWN {
        let Some(value) = full.get(object) else { continue };
        for name in *members {
            value.get(name).map(|value| visible_members.insert((*name).into(), text(value)));
        }
    }
    visible_members
}
