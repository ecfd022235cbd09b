//! Imported records, fully parsed: a package with its history, a fact with its end, a session, a project.
//! Must not know: what the store contains.

use plenary_accounts::Actor;
use plenary_kernel::{OwnerName, TimestampMs, json::Tree, rfc3339};
use serde_json::{Map, Value};

use super::{
    fact::ArrivingFact,
    history::{self, History},
    record::{IncomingRecord, Kind},
    reference,
};
use crate::{
    extensions::Extensions,
    hash::ContentHash,
    lifecycle::ActorType,
    limits::ABOUT_BYTES_MAX,
    malformed::{Code, ContextFault},
    members::{Object, quoted},
    moment::Moment,
    project::event::ProjectDescription,
    schema::{CONTENT_HASH, Package},
    session::event::SessionStarted,
    shape::Shape,
};

/// A valid record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArrivingRecord {
    Project(Box<ArrivingProject>),
    Package(Box<ArrivingPackage>),
    Fact(Box<ArrivingFact>),
    Session(Box<ArrivingSession>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArrivingProject {
    pub(crate) project_id: String,
    pub(crate) owner: Option<OwnerName>,
    pub(crate) about: ProjectDescription,
    pub(crate) created_at: Option<TimestampMs>,
    pub(crate) archived_at: Option<TimestampMs>,
}

/// A package in its current state, with its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArrivingPackage {
    pub(crate) package: Package,
    pub(crate) history: History,
    /// Its original id, if an import renamed it.
    pub(crate) renamed_from: Option<String>,
    /// The hash of its first deposit there, if an import changed its id or its parent.
    pub(crate) origin_hash: Option<ContentHash>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArrivingSession {
    pub(crate) project_id: String,
    pub(crate) started: SessionStarted,
    pub(crate) ended_at: Option<Moment>,
}

impl ArrivingRecord {
    /// Reads a record. `by` is the importer.
    ///
    /// # Errors
    /// The first invalid member.
    pub(crate) fn read(record: &IncomingRecord, by: &Actor) -> Result<Self, ContextFault> {
        match record.kind {
            Kind::Project => project(&record.data).map(|project| Self::Project(Box::new(project))),
            Kind::Package => {
                ArrivingPackage::read(record, by).map(|package| Self::Package(Box::new(package)))
            }
            Kind::Fact => {
                let parse = |data: &str| ArrivingFact::read(data);
                let fact = read_or_map(&record.data, parse, reference::fact)?;
                Ok(Self::Fact(Box::new(fact)))
            }
            Kind::Session => session(&record.data, by).map(|session| Self::Session(Box::new(session))),
        }
    }

    /// The id of a record for a report, even if the record is invalid.
    pub(crate) fn id(record: &IncomingRecord) -> String {
        let name = match record.kind {
            Kind::Project => "project_id",
            Kind::Package => "package_id",
            Kind::Fact => "fact_id",
            Kind::Session => "session_id",
        };
        let object = Object::parse(&record.data);
        let id = object.as_ref().and_then(|object| object.get(name).or_else(|| object.get("id")));
        id.and_then(|id| serde_json::from_str(id).ok()).unwrap_or_default()
    }
}

/// Reads data; if that fails, maps the names of the published implementation and tries again.
fn read_or_map<T>(
    data: &str,
    read: impl Fn(&str) -> Result<T, ContextFault>,
    map: impl Fn(&str) -> Option<String>,
) -> Result<T, ContextFault> {
    read(data).or_else(|fault| match map(data) {
        Some(mapped) => read(&mapped),
        None => Err(fault),
    })
}

impl ArrivingPackage {
    fn read(record: &IncomingRecord, by: &Actor) -> Result<Self, ContextFault> {
        // Check the claimed hash against the data as it was sent, before names are mapped.
        if let Some(claim) = record.claim {
            check_hash(&record.data, claim)?;
        }
        let package = read_or_map(&record.data, Package::read, |data| {
            reference::package(&Object::parse(data)?.without(CONTENT_HASH))
        })?;
        let history = match &record.reviews {
            Some(reviews) => History::read(&package, reviews, by)?,
            None => History::without_log(&package),
        };
        let renamed_from = record.renamed_from.clone();
        Ok(Self { package, history, renamed_from, origin_hash: record.origin_hash })
    }

    /// The id that it had where it was first deposited.
    pub(super) fn origin_id(&self) -> &str {
        self.renamed_from.as_deref().unwrap_or(&self.package.head.package_id)
    }

    /// The same package with another id, and optionally another parent.
    pub(crate) fn with_ids(&self, package_id: &str, parent: Option<&str>) -> Result<Self, ContextFault> {
        let raw = history::text(&self.package)?;
        let object =
            Object::parse(raw).ok_or_else(|| ContextFault::whole("A package must be a JSON object."))?;
        let (id, parent) = (quoted(package_id), parent.map(quoted));
        let values = [("package_id", Some(id.as_str())), ("parent_package_id", parent.as_deref())];
        let values: Vec<_> = values.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
        let package = Package::read(&object.with(&values))?;
        let history = self.history.for_package(&package)?;
        Ok(Self { package, history, renamed_from: self.renamed_from.clone(), origin_hash: self.origin_hash })
    }
}

fn check_hash(data: &str, claim: ContentHash) -> Result<(), ContextFault> {
    let unhashed = Object::parse(data).map(|object| object.without(CONTENT_HASH));
    let hash = unhashed.as_deref().and_then(ContentHash::of_text);
    if hash == Some(claim) {
        return Ok(());
    }
    let hash = hash.map_or_else(String::new, |hash| hash.to_string());
    Err(ContextFault {
        code: Code::HashMismatch,
        field: Some(CONTENT_HASH.to_owned()),
        message: format!("The hash of the package is {hash}; the request claims another."),
    })
}

fn project(data: &str) -> Result<ArrivingProject, ContextFault> {
    let data = reference::project(data).unwrap_or_else(|| data.to_owned());
    let value: Value =
        serde_json::from_str(&data).map_err(|_| ContextFault::whole("A project must be an object."))?;
    let tree = Tree::from(&value);
    let shape = Shape::root(&tree)?;
    let project_id = shape.id("project_id")?.to_owned();
    let settings = match value.get("settings") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(settings)) => settings.clone(),
        Some(_) => return shape.wrong("settings", "an object"),
    };
    let description = shape.text_or_null("description")?.unwrap_or_default().to_owned();
    let size = serde_json::to_vec(&settings).map_or(usize::MAX, |json| json.len());
    if description.len() > ABOUT_BYTES_MAX || size > ABOUT_BYTES_MAX {
        return shape.wrong("settings", "at most 16384 bytes, like the description");
    }
    let name = shape.text_or_null("name")?.filter(|name| *name != project_id && !name.is_empty());
    if name.is_some_and(|name| name.chars().count() > crate::limits::NAME_CHARACTERS_MAX) {
        return shape.wrong("name", "1 to 200 characters");
    }
    let owner = match shape.text_or_null("owner_id")? {
        // Owners of other implementations may have any form; one that is invalid here is ignored.
        Some(owner) => owner.parse().ok(),
        None => None,
    };
    Ok(ArrivingProject {
        owner,
        about: ProjectDescription {
            name: name.map(str::to_owned),
            description: Some(description),
            settings: Some(settings),
            extensions: Extensions::read(&data)?,
        },
        created_at: at(&shape, "created_at")?,
        archived_at: at(&shape, "archived_at")?,
        project_id,
    })
}

fn at(shape: &Shape<'_>, name: &str) -> Result<Option<TimestampMs>, ContextFault> {
    if shape.text_or_null(name)?.is_none() {
        return Ok(None);
    }
    shape.moment(name)?;
    let ms = rfc3339::parse(shape.text(name)?).and_then(|ms| u64::try_from(ms).ok());
    ms.map(|ms| Some(TimestampMs(ms))).ok_or_else(|| ContextFault::field(name, "a time since 1970"))
}

fn session(data: &str, by: &Actor) -> Result<ArrivingSession, ContextFault> {
    let value = Tree::read(data).map_err(|_| ContextFault::whole("A session must be an object."))?;
    let shape = Shape::root(&value)?;
    let started_at = shape.moment("started_at")?;
    let ended_at = shape.text_or_null("ended_at")?.map(|_| shape.moment("ended_at")).transpose()?;
    if ended_at.is_some_and(|ended_at| ended_at < started_at) {
        return shape.wrong("ended_at", "not before the session's start");
    }
    let callsign = shape.text_or_null("callsign")?.unwrap_or_default();
    if callsign.len() > crate::limits::ID_BYTES_MAX {
        return shape.wrong("callsign", "a string of at most 1024 bytes");
    }
    Ok(ArrivingSession {
        project_id: shape.id("project_id")?.to_owned(),
        started: SessionStarted {
            by: by.clone(),
            session_id: shape.id("session_id")?.to_owned(),
            actor_id: shape.id("actor_id")?.to_owned(),
            actor_type: shape.word("actor_type", ActorType::parse, "one of human, agent, script")?,
            callsign: callsign.to_owned(),
            started_at,
            extensions: Extensions::read(data)?,
        },
        ended_at,
    })
}
