//! The schema of a context package (sections 6.1 to 6.5): the checks, and the members that the server uses. Unknown
//! members at every depth are accepted (AP-18, AP-89).
//! Must not know: whether the package may be deposited.

use bytes::Bytes;
use plenary_kernel::{json::Tree, limits::JSON_INTEGER_MAX};
use serde::{Deserialize, Serialize};

use crate::{
    hash::ContentHash,
    lifecycle::{ActorType, ReviewType, Status},
    limits::TITLE_CHARACTERS_MAX,
    malformed::{Code, ContextFault},
    members::{Object, json_trimmed},
    moment::Moment,
    shape::Shape,
};

/// The named package types (AP-29).
pub const PACKAGE_TYPES: [&str; 8] = [
    "standard",
    "milestone",
    "decision",
    "handoff",
    "auto_deposit",
    "analysis",
    "question",
    "orchestrator_report",
];
/// The version of the protocol (AP-21, AP-92).
pub const RELAY_VERSION: &str = "0.1";
/// The member beside a package's own that has its hash; it is never part of the hashed package (AP-37).
pub const CONTENT_HASH: &str = "content_hash";

/// The author that a package or a fact states (section 6.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creator {
    /// The id of the actor.
    pub id: String,
    /// The type of the actor.
    #[serde(rename = "type")]
    pub kind: ActorType,
    /// The actor's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// The members of a package that the server uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Unique within the project.
    pub package_id: String,
    /// The project.
    pub project_id: String,
    /// The initial state.
    pub status: Status,
    /// One of [`PACKAGE_TYPES`], or `x-…`.
    pub package_type: String,
    /// The kind of reviewer.
    pub review_type: ReviewType,
    /// The stated creation time.
    pub created_at: Moment,
    /// The stated author.
    pub created_by: Creator,
    /// The package that it corrects or continues.
    pub parent_package_id: Option<String>,
    /// Whether it has open questions.
    pub asks: bool,
}

/// A package that matches the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// The members that the server uses.
    pub head: Head,
    /// The package as it was sent, without a claimed hash.
    pub raw: Bytes,
    /// Its content hash.
    pub hash: ContentHash,
}

impl Package {
    /// Reads a package. `text` is checked strict JSON.
    ///
    /// # Errors
    /// `invalid_schema` with the first invalid field; `hash_mismatch` if a claimed hash differs.
    pub fn read(text: &str) -> Result<Self, ContextFault> {
        let no_object = || ContextFault::whole("The body must be a JSON object.");
        let text = json_trimmed(text);
        let mut value = Tree::read(text).map_err(|_| no_object())?;
        let head = head(&Shape::root(&value)?)?;
        let claim = value.remove(CONTENT_HASH);
        let hash = ContentHash::of(&value);
        let raw = match claim {
            None => Bytes::copy_from_slice(text.as_bytes()),
            Some(claim) => {
                holds(&claim, hash)?;
                Object::parse(text).ok_or_else(no_object)?.without(CONTENT_HASH).into()
            }
        };
        Ok(Self { head, raw, hash })
    }
}

/// Verifies a claimed hash; null is no claim.
fn holds(claim: &Tree<'_>, hash: ContentHash) -> Result<(), ContextFault> {
    if *claim == Tree::Null {
        return Ok(());
    }
    let Some(claimed) = claim.text() else {
        return Err(ContextFault::field(CONTENT_HASH, "sha256:<64 hex digits>"));
    };
    if ContentHash::parse(claimed) == Some(hash) {
        return Ok(());
    }
    Err(ContextFault {
        code: Code::HashMismatch,
        field: Some(CONTENT_HASH.to_owned()),
        message: format!("The hash of the package is {hash}; the request claims another."),
    })
}

/// Whether a word is a package type (AP-29, AP-30, AP-90).
pub(crate) fn is_package_type(word: &str) -> bool {
    PACKAGE_TYPES.contains(&word) || word.strip_prefix("x-").is_some_and(|rest| !rest.is_empty())
}

/// What a package type must be, for a refusal.
pub(crate) fn package_types() -> String {
    format!("one of {}, or x-…", PACKAGE_TYPES.join(", "))
}

fn head(shape: &Shape<'_>) -> Result<Head, ContextFault> {
    for name in [
        "package_id",
        "project_id",
        "relay_version",
        "title",
        "status",
        "package_type",
        "review_type",
        "created_at",
        "created_by",
    ] {
        shape.required(name)?;
    }
    let (package_id, project_id) = (shape.id("package_id")?, shape.id("project_id")?);
    if shape.text("relay_version")? != RELAY_VERSION {
        return shape.wrong("relay_version", "\"0.1\"");
    }
    if !(1..=TITLE_CHARACTERS_MAX).contains(&shape.text("title")?.chars().count()) {
        return shape.wrong("title", "1 to 200 characters");
    }
    let status =
        shape.word("status", Status::parse, "one of draft, complete, awaiting_review, revision_requested")?;
    let package_type = shape.text("package_type")?;
    if !is_package_type(package_type) {
        return shape.wrong("package_type", &package_types());
    }
    let review_type = shape.word("review_type", ReviewType::parse, "one of none, human, agent")?;
    let created_at = shape.moment("created_at")?;
    let created_by = creator("created_by", shape.required("created_by")?)?;
    let (parent_package_id, asks) = optional(shape)?;
    Ok(Head {
        package_id: package_id.to_owned(),
        project_id: project_id.to_owned(),
        status,
        package_type: package_type.to_owned(),
        review_type,
        created_at,
        created_by,
        parent_package_id,
        asks,
    })
}

/// Reads an actor at a path (AP-26 to AP-28).
pub(crate) fn creator(path: &str, value: &Tree<'_>) -> Result<Creator, ContextFault> {
    let shape = Shape::at(path, value)?;
    Ok(Creator {
        id: shape.id("id")?.to_owned(),
        kind: shape.word("type", ActorType::parse, "one of human, agent, script")?,
        session_id: shape.id_or_null("session_id")?.map(str::to_owned),
    })
}

/// Checks the optional members (AP-31, AP-32). Returns the parent, and whether there are open questions.
fn optional(shape: &Shape<'_>) -> Result<(Option<String>, bool), ContextFault> {
    for name in ["description", "handoff_note", "content_md"] {
        shape.text_if(name)?;
    }
    for name in ["topic", "artifact_type", "storage_path"] {
        shape.text_or_null(name)?;
    }
    for name in ["tags", "decisions_made"] {
        shape.texts(name)?;
    }
    let asks = !shape.texts("open_questions")?.is_empty();
    if let Some(next) = shape.text_or_null("estimated_next_actor")?
        && !matches!(next, "human" | "agent")
    {
        return shape.wrong("estimated_next_actor", "human, agent or null");
    }
    shape.integer_if("significance", 1..=10, "an integer from 1 to 10")?;
    match shape.any("deliverables") {
        None => {}
        Some(Tree::Array(items)) => {
            for (nth, item) in items.iter().enumerate() {
                deliverable(&Shape::at(&format!("deliverables[{nth}]"), item)?)?;
            }
        }
        Some(_) => return shape.wrong("deliverables", "an array of objects"),
    }
    let parent = shape.id_or_null("parent_package_id")?;
    Ok((parent.map(str::to_owned), asks))
}

/// Checks a deliverable (AP-33, AP-34).
fn deliverable(shape: &Shape<'_>) -> Result<(), ContextFault> {
    shape.text("path")?;
    shape.text("type")?;
    if let Some(hash) = shape.text_if("hash")? {
        let fits = hash.split_once(':').is_some_and(|(algorithm, digits)| {
            !algorithm.is_empty()
                && algorithm.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
                && !digits.is_empty()
                && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        if !fits {
            return shape.wrong("hash", "<algorithm>:<hex digits>");
        }
    }
    shape.integer_if("size_bytes", 0..=JSON_INTEGER_MAX, "an integer from 0")
}
