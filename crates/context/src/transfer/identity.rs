//! The identity of a package across servers: its id and its first hash where it was first deposited. An import that gives
//! it another id or another parent changes its content, and keeps its identity beside it.
//! Must not know: how a record is decided.

use plenary_log::Fault;

use super::arrivals::ArrivingPackage;
use crate::{
    Context,
    hash::ContentHash,
    lifecycle::{ReviewType, Status},
    members::{Object, quoted},
    package::event::PackageEvent,
};

/// What two copies of one package have in common, on every server and after any number of imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// Its id where it was first deposited.
    pub(super) id: String,
    /// The hash of that deposit.
    pub(super) hash: ContentHash,
}

impl Identity {
    /// The identity of a package with this first deposit. Without `hash` only its id can differ from the original's.
    fn new(
        (raw, first): (&str, ContentHash),
        renamed_from: Option<&str>,
        hash: Option<ContentHash>,
        package_id: &str,
    ) -> Self {
        let id = renamed_from.unwrap_or(package_id).to_owned();
        let original = || {
            let origin = quoted(renamed_from?);
            ContentHash::of_text(&Object::parse(raw)?.with(&[("package_id", &origin)]))
        };
        let hash = hash.or_else(original).unwrap_or(first);
        Self { id, hash }
    }

    pub(super) fn of(package: &ArrivingPackage) -> Self {
        let first = package.history.first_hash();
        let raw = package.history.first_text(&package.package);
        let (renamed_from, id) = (package.renamed_from.as_deref(), &package.package.head.package_id);
        Self::new((&raw, first), renamed_from, package.origin_hash, id)
    }
}

/// An existing package, as far as its identity and its states go.
#[derive(Debug, Clone)]
pub(super) struct LocalPackage {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) identity: Identity,
    /// The state in which it was deposited.
    first_state: (Status, ReviewType),
    /// The hashes of its states, the first deposit's first.
    pub(super) hashes: Vec<ContentHash>,
}

impl LocalPackage {
    /// The package that an import creates from this record.
    pub(super) fn from_arrival(package: &ArrivingPackage) -> Self {
        let head = &package.package.head;
        Self {
            id: head.package_id.clone(),
            parent: head.parent_package_id.clone(),
            identity: Identity::of(package),
            first_state: package.history.first_state(),
            hashes: package.history.hashes().collect(),
        }
    }

    /// Whether a record without a log may be this package in a later state.
    pub(super) fn may_become(&self, package: &ArrivingPackage) -> bool {
        let hash = package.history.hash_without_log(&package.package, self.first_state);
        hash.is_some() && hash.as_ref() == self.hashes.first()
    }

    /// The record in the words of this package, if it is of the same package: with its id and its parent.
    pub(super) fn restated(&self, package: &ArrivingPackage, identity: &Identity) -> Option<ArrivingPackage> {
        if self.identity != *identity {
            return None;
        }
        // The identity in a record is a claim; the content must be equal too.
        let restated = package.with_ids(&self.id, self.parent.as_deref()).ok()?;
        (self.hashes.first() == Some(&restated.history.first_hash())).then_some(restated)
    }
}

impl Context {
    /// The package of a stream; `None` if it does not exist.
    pub(super) async fn local_package(&self, stream: &str) -> Result<Option<LocalPackage>, Fault> {
        let (mut deposited, mut hashes) = (None, Vec::new());
        for stored in &self.history(stream).await? {
            hashes.push(match PackageEvent::decode(stored)? {
                PackageEvent::PackageDeposited(event) => deposited.insert(event).hash,
                PackageEvent::PackageFlagged(event) | PackageEvent::PackageReviewed(event) => event.hash,
            });
        }
        Ok(deposited.map(|event| {
            let raw = String::from_utf8_lossy(&event.raw);
            let renamed_from = event.renamed_from.as_deref();
            let identity =
                Identity::new((&raw, event.hash), renamed_from, event.origin_hash, &event.package_id);
            let first_state = (event.status, event.review_type);
            LocalPackage { id: event.package_id, parent: event.parent, identity, first_state, hashes }
        }))
    }
}
