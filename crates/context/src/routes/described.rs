//! The wire form of packages, only for the description: they are stored and passed on as bytes.
//! Must not know: how a request is answered.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::{
    lifecycle::{ReviewType, Status},
    limits::{ID_BYTES_MAX, LIST_MAX, NOTE_BYTES_MAX, TITLE_CHARACTERS_MAX},
    schema::{PACKAGE_TYPES, RELAY_VERSION},
};

/// The pattern of the type of a package.
fn type_pattern() -> String {
    format!("^({}|x-.+)$", PACKAGE_TYPES.join("|"))
}

/// A package with its hash.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what is kept as bytes")]
pub(super) struct ContextPackage {
    /// Unique within the project.
    #[schemars(length(min = 1, max = ID_BYTES_MAX))]
    package_id: String,
    /// The project.
    project_id: String,
    /// `0.1`.
    #[schemars(extend("const" = RELAY_VERSION))]
    relay_version: String,
    /// 1 to 200 characters.
    #[schemars(length(min = 1, max = TITLE_CHARACTERS_MAX))]
    title: String,
    /// Its state.
    status: Status,
    /// One of the named types, or `x-…`.
    #[schemars(regex(pattern = type_pattern()))]
    package_type: String,
    /// Who is to review it.
    review_type: ReviewType,
    /// RFC 3339 UTC.
    created_at: String,
    /// `{id, type, session_id?}`.
    created_by: Map<String, Value>,
    /// In responses: `sha256:<hex>`. In a deposit: a claim that the server verifies.
    #[schemars(skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
    /// Every other member is kept as it is.
    #[serde(flatten)]
    further: Map<String, Value>,
}

/// Packages of a project.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what is kept as bytes")]
pub(super) struct Packages {
    /// Newest first, without their hashes.
    packages: Vec<ListedItem>,
    /// The cursor of the next page; absent at the end.
    #[schemars(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// With `mode=relevant`: `packages`, if the limit of bytes left some out.
    #[schemars(rename = "x-truncated", skip_serializing_if = "Vec::is_empty")]
    truncated: Vec<String>,
}

/// A package of a list.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ListedPackage")]
#[expect(dead_code, reason = "describes what is kept as bytes")]
enum ListedItem {
    /// With `mode=relevant`.
    Found {
        /// The package.
        package: ContextPackage,
        /// The score; higher is a better match.
        score: f64,
    },
    /// Otherwise.
    Package(ContextPackage),
}

/// How packages are listed.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
enum ListMode {
    Latest,
    Relevant,
}

/// The query of a list of what awaits review.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
pub(super) struct AwaitingQuery {
    /// 1 to 1000; 5 when absent.
    #[schemars(range(min = 1, max = LIST_MAX))]
    limit: Option<u64>,
    /// Only packages of this type.
    #[schemars(regex(pattern = type_pattern()))]
    package_type: Option<String>,
    /// Only packages with this parent.
    parent: Option<String>,
    /// The `next_cursor` of an earlier page.
    cursor: Option<String>,
}

/// The query of a list.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
pub(super) struct ListQuery {
    /// `latest`, or `relevant`: the best matches for `query`, each as `{package, score}`.
    mode: Option<ListMode>,
    /// The text that `mode=relevant` searches for: any of its words, and its meaning if there is a model.
    query: Option<String>,
    /// `lexical`, `semantic`, `hybrid` or `reranked`; when absent the best that the server has at that moment.
    #[schemars(extend("enum" = ["lexical", "semantic", "hybrid", "reranked"]))]
    ranking: Option<String>,
    /// 1 to 1000; 5 when absent.
    #[schemars(range(min = 1, max = LIST_MAX))]
    limit: Option<u64>,
    /// Only packages with this status.
    status: Option<Status>,
    /// Only packages of this type.
    #[schemars(regex(pattern = type_pattern()))]
    package_type: Option<String>,
    /// Only packages with this parent.
    parent: Option<String>,
    /// The `next_cursor` of an earlier page.
    cursor: Option<String>,
}

/// Which project's package is meant.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
pub(super) struct OfProject {
    /// The project, if several have a package with this id.
    project: Option<String>,
}

/// A flag.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Shape` reads")]
pub(super) struct Flag {
    /// `human` or `agent`.
    review_type: ReviewType,
    /// The reason, stored in the review log.
    #[schemars(length(max = NOTE_BYTES_MAX))]
    note: Option<String>,
}

/// A review.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Shape` reads")]
pub(super) struct Review {
    /// `complete`, `revision_requested` or `awaiting_review`.
    status: Status,
    /// The reason, stored in the review log.
    #[schemars(length(max = NOTE_BYTES_MAX))]
    note: Option<String>,
}
