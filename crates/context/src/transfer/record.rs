//! One line of an export: `{record, data, content_hash?, reviews?, renamed_from?, origin_hash?, cursor?}`, or a bare object, as other
//! implementations store them in one file per kind (wire.md D.7, 0.5).
//! Must not know: the decision on a record.

use plenary_kernel::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    hash::ContentHash,
    lifecycle::words,
    limits::ID_BYTES_MAX,
    malformed::{Code, ContextFault},
    members::{Object, quoted},
    project_names::{Home, split},
    schema::CONTENT_HASH,
};

words! {
    /// What a record is of.
    Kind {
        /// A project.
        Project = "project",
        /// A package.
        Package = "package",
        /// A fact, current or ended.
        Fact = "fact",
        /// A session.
        Session = "session",
    }
}

/// The member with the identity of a package whose id or parent an import changed.
const ORIGIN_HASH: &str = "origin_hash";
/// The record that ends an export; without it the export is incomplete.
pub(crate) const END: &str = "end";
/// The kind of a record that names a damaged project, package or session instead of including it.
pub(crate) const DAMAGED: &str = "damaged";

/// How many records of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Counts {
    pub(crate) projects: u64,
    pub(crate) packages: u64,
    pub(crate) facts: u64,
    pub(crate) sessions: u64,
    /// Projects, packages and sessions that are damaged and left out.
    pub(crate) damaged: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, kind: Kind) {
        match kind {
            Kind::Project => self.projects += 1,
            Kind::Package => self.packages += 1,
            Kind::Fact => self.facts += 1,
            Kind::Session => self.sessions += 1,
        }
    }
}

/// An exported record.
#[derive(Debug, Clone)]
pub(crate) struct OutgoingRecord<'a> {
    pub(crate) kind: &'static str,
    /// Its project, as `OWNER:ID`; `None` for the end record.
    pub(crate) project: Option<&'a str>,
    /// The stored JSON.
    pub(crate) data: &'a str,
    pub(crate) hash: Option<ContentHash>,
    /// The review log, as JSON.
    pub(crate) reviews: Option<&'a str>,
    /// The original id of a renamed package.
    pub(crate) renamed_from: Option<&'a str>,
    /// The hash of its first deposit there, if an import changed its id or its parent.
    pub(crate) origin_hash: Option<ContentHash>,
    pub(crate) cursor: Option<&'a str>,
}

impl OutgoingRecord<'_> {
    /// Appends the record as a line. A line feed within the data can only be white space between members, and becomes a
    /// blank: content and hash do not change (AP-77).
    pub(crate) fn write(&self, out: &mut String) {
        out.push_str("{\"record\":\"");
        out.push_str(self.kind);
        out.push_str("\",\"data\":");
        out.extend(self.data.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        if let Some(project) = self.project {
            out.push_str(",\"project\":");
            out.push_str(&quoted(project));
        }
        if let Some(hash) = self.hash {
            out.push_str(&format!(",\"{CONTENT_HASH}\":\"{hash}\""));
        }
        if let Some(reviews) = self.reviews {
            out.push_str(",\"reviews\":");
            out.push_str(reviews);
        }
        if let Some(origin) = self.renamed_from {
            out.push_str(",\"renamed_from\":");
            out.push_str(&quoted(origin));
        }
        if let Some(hash) = self.origin_hash {
            out.push_str(&format!(",\"{ORIGIN_HASH}\":\"{hash}\""));
        }
        if let Some(cursor) = self.cursor {
            out.push_str(",\"cursor\":");
            out.push_str(&quoted(cursor));
        }
        out.push_str("}\n");
    }
}

/// A record of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IncomingRecord {
    pub(crate) kind: Kind,
    /// Its project, if the record names it with its owner.
    pub(crate) project: Option<Home>,
    /// The data as it was sent, a JSON object.
    pub(crate) data: String,
    pub(crate) claim: Option<ContentHash>,
    /// The review log as it was sent.
    pub(crate) reviews: Option<String>,
    /// The original id of a package that an import renamed.
    pub(crate) renamed_from: Option<String>,
    /// The hash of its first deposit there, if an import changed its id or its parent.
    pub(crate) origin_hash: Option<ContentHash>,
    /// Whether it has the envelope of an export.
    pub(crate) has_envelope: bool,
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ImportLine {
    Record(Box<IncomingRecord>),
    /// The end record, with the counts of the export.
    End(Counts),
    /// A record of an unknown kind.
    Other,
}

/// Reads a line that is not blank.
///
/// # Errors
/// `invalid_json`, `invalid_schema`.
pub(crate) fn read(bytes: &[u8]) -> Result<ImportLine, ContextFault> {
    let no_json = |why: String| ContextFault {
        code: Code::InvalidJson,
        field: None,
        message: format!("The line is not acceptable JSON: {why}."),
    };
    json::check(bytes).map_err(|fault| no_json(fault.to_string()))?;
    let text = std::str::from_utf8(bytes).map_err(|fault| no_json(fault.to_string()))?;
    let object = Object::parse(text).ok_or_else(|| ContextFault::whole("A line must be a JSON object."))?;
    let Some(word) = object.get("record") else { return bare(&object) };
    let word: String = serde_json::from_str(word).map_err(|_| ContextFault::field("record", "a string"))?;
    let data = object.get("data").filter(|data| data.starts_with('{'));
    if word == END {
        let counts =
            data.and_then(Object::parse).and_then(|data| serde_json::from_str(data.get("counts")?).ok());
        return counts
            .map(ImportLine::End)
            .ok_or_else(|| ContextFault::field("data.counts", "the counts of the export"));
    }
    let Some(kind) = Kind::parse(&word) else { return Ok(ImportLine::Other) };
    let data = data.ok_or_else(|| ContextFault::field("data", "an object"))?.to_owned();
    let (claim, origin_hash) = (hash(&object, CONTENT_HASH)?, hash(&object, ORIGIN_HASH)?);
    let project = match object.get("project") {
        None | Some("null") => None,
        Some(text) => Some(home(text).ok_or_else(|| ContextFault::field("project", "OWNER:ID"))?),
    };
    let reviews = object.get("reviews").filter(|reviews| *reviews != "null").map(str::to_owned);
    let renamed_from = match object.get("renamed_from") {
        None | Some("null") => None,
        Some(id) => Some(origin(id).ok_or_else(|| ContextFault::field("renamed_from", "a package's id"))?),
    };
    let has_envelope = true;
    Ok(ImportLine::Record(Box::new(IncomingRecord {
        kind,
        project,
        data,
        claim,
        reviews,
        renamed_from,
        origin_hash,
        has_envelope,
    })))
}

/// Reads a record without an envelope; its members tell its kind.
fn bare(object: &Object<'_>) -> Result<ImportLine, ContextFault> {
    let has = |name| object.get(name).is_some();
    let kind = if has("fact_id") {
        Kind::Fact
    } else if has("package_id") {
        Kind::Package
    } else if has("session_id") {
        Kind::Session
    } else if has("project_id") || has("id") {
        Kind::Project
    } else {
        return Err(ContextFault::missing("record"));
    };
    let data = object.text().to_owned();
    let (project, claim, reviews, has_envelope) = (None, None, None, false);
    let (renamed_from, origin_hash) = (None, None);
    Ok(ImportLine::Record(Box::new(IncomingRecord {
        kind,
        project,
        data,
        claim,
        reviews,
        renamed_from,
        origin_hash,
        has_envelope,
    })))
}

/// Reads the hash in a member of the line.
fn hash(object: &Object<'_>, name: &str) -> Result<Option<ContentHash>, ContextFault> {
    match object.get(name) {
        None | Some("null") => Ok(None),
        Some(hash) => serde_json::from_str(hash)
            .map(Some)
            .map_err(|_| ContextFault::field(name, "sha256:<64 hex digits>")),
    }
}

/// Reads the id of a package from a JSON string.
fn origin(text: &str) -> Option<String> {
    let id: String = serde_json::from_str(text).ok()?;
    (!id.is_empty() && id.len() <= ID_BYTES_MAX).then_some(id)
}

/// Reads a project `OWNER:ID` from a JSON string.
fn home(text: &str) -> Option<Home> {
    let text: String = serde_json::from_str(text).ok()?;
    let (owner, id) = split(&text)?;
    Some(Home { owner, project_id: id.to_owned() })
}
