//! The Agentic Protocol (wire.md 0, D.7): packages, facts, projects, sessions, bundles, blobs, and live events.
//! Must not know: the texts for people, or the source of a package's content.

mod blobs;
mod bundles;
mod creator;
mod events;
mod facts;
mod hash;
mod package;
mod packages;
mod path;
mod projects;
mod sessions;

pub use blobs::BlobId;
pub use bundles::{Conformance, Digest, DigestProject, OpenQuestion, Orientation, Snippet, Summary};
pub use creator::Creator;
pub use events::{ContextEvent, ContextStream};
pub use facts::{Fact, FactPage, FactQuery, InvalidationCount, NewFact};
pub use hash::content_hash;
pub use package::{Deliverable, NewPackage, Package, RELAY_VERSION, new_package_id};
pub use packages::{PackagePage, PackageQuery, RelevantPackage, RelevantPage, ReviewLog, ReviewStep};
pub use projects::{AboutProject, Member, Members, NewProject, Project, Projects};
pub use sessions::{NewSession, Session, SessionPage, SessionQuery};
