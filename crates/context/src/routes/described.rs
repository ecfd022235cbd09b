//! What packages look like on the wire, for the description alone: they are kept and handed on as bytes.
//! Must not know: how a request is answered.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::lifecycle::{ReviewType, Status};

/// A package, and its hash beside its members.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what is kept as octets")]
pub(super) struct ContextPackage {
    /// Unique within the project.
    package_id: String,
    /// The project.
    project_id: String,
    /// `0.1`.
    relay_version: String,
    /// 1 to 200 characters.
    title: String,
    /// Its state.
    status: Status,
    /// One of the named types, or `x-…`.
    package_type: String,
    /// Who is to review it.
    review_type: ReviewType,
    /// RFC 3339 UTC.
    created_at: String,
    /// `{id, type, session_id?}`.
    created_by: Map<String, Value>,
    /// In answers: `sha256:<hex>`. In a deposit: a claim that is verified.
    #[schemars(skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
    /// Every other member is kept as it is.
    #[serde(flatten)]
    further: Map<String, Value>,
}

/// Packages of a project.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what is kept as octets")]
pub(super) struct Packages {
    /// Newest first, without their hashes.
    packages: Vec<Listed>,
    /// Where the list goes on; absent at its end.
    #[schemars(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A package of a list.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ListedPackage")]
#[expect(dead_code, reason = "describes what is kept as octets")]
enum Listed {
    /// With `mode=relevant`.
    Found {
        /// The package.
        package: ContextPackage,
        /// How near it is; the nearest is the highest.
        score: f64,
    },
    /// Otherwise.
    Package(ContextPackage),
}
