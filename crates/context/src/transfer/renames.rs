//! Renamed packages: packages that get a new id in an import because theirs is taken, and packages that were renamed
//! elsewhere and come back. The latter, and references to them, are resolved to their originals.
//! Must not know: how a record is decided.

use plenary_kernel::json::digest;
use plenary_log::{Batch, Charge, Fault, Order, RowOp, Usage};

use super::{
    arrivals::{ArrivingPackage, ArrivingRecord},
    decide::Outcome,
    import::{Importer, PendingRecord, place},
    report::RenamedPackage,
};
use crate::{
    Context, Failure,
    hash::ContentHash,
    index::RENAMED,
    key,
    limits::{RENAMED_LOOKED_AT_MAX, RENAMES_MAX},
    package::event::PackageEvent,
    rejection::Rejection,
};

/// The row that maps a package id of another server to the id here.
fn renamed_row(project: &str, id: &str) -> String {
    format!("context.package_known_as/{}", key::join(&[project, &key::part(id)]))
}

impl Context {
    /// The past and current hashes of a package; empty if it does not exist.
    pub(super) async fn hashes(&self, id: &str) -> Result<Vec<ContentHash>, Fault> {
        let history = self.history(id).await?;
        let hash = |stored| {
            Ok(match PackageEvent::decode(stored)? {
                PackageEvent::PackageDeposited(event) => event.hash,
                PackageEvent::PackageFlagged(event) | PackageEvent::PackageReviewed(event) => event.hash,
            })
        };
        history.iter().map(hash).collect()
    }
}

impl Importer<'_> {
    /// A record with its references to renamed packages replaced by their ids here.
    pub(super) async fn with_local_ids(
        &self,
        project: &str,
        arrival: ArrivingRecord,
    ) -> Result<ArrivingRecord, Failure> {
        Ok(match arrival {
            ArrivingRecord::Package(package) => {
                let head = &package.package.head;
                match self.local_id(project, head.parent_package_id.as_deref()).await? {
                    Some(parent) => {
                        let relinked =
                            package.with_ids(&head.package_id, Some(&parent)).map_err(Rejection::from)?;
                        ArrivingRecord::Package(Box::new(relinked))
                    }
                    None => ArrivingRecord::Package(package),
                }
            }
            ArrivingRecord::Fact(fact) => {
                match self.local_id(project, fact.source_package_id.as_deref()).await? {
                    Some(source) => ArrivingRecord::Fact(Box::new(fact.with_source(&source))),
                    None => ArrivingRecord::Fact(fact),
                }
            }
            ArrivingRecord::Project(_) | ArrivingRecord::Session(_) => arrival,
        })
    }

    /// The id here of a package of the import, if it differs.
    async fn local_id(&self, project: &str, id: Option<&str>) -> Result<Option<String>, Fault> {
        let Some(id) = id else { return Ok(None) };
        if let Some(local_id) = self.renamed.get(&(project.to_owned(), id.to_owned())) {
            return Ok(Some(local_id.clone()));
        }
        let row = self.context.log().read_row(&renamed_row(project, id)).await?;
        Ok(row.map(|row| String::from_utf8_lossy(&row.value).into_owned()))
    }

    /// The outcome for a package that was renamed elsewhere and whose original exists here: the outcome for the
    /// original. `None` if it does not apply.
    pub(super) async fn outcome_of_original(
        &mut self,
        project: &str,
        package: &ArrivingPackage,
    ) -> Result<Option<Outcome>, Failure> {
        let Some(origin) = package.renamed_from.as_deref() else { return Ok(None) };
        let id = &package.package.head.package_id;
        let existing_hashes = self.context.hashes(&key::join(&[project, &key::part(id)])).await?;
        let is_another = !existing_hashes.is_empty() && !existing_hashes.contains(&package.package.hash);
        let Ok(original) = package.with_ids(origin, None) else { return Ok(None) };
        let arrival = ArrivingRecord::Package(Box::new(original));
        let stream = arrival.stream(project);
        if is_another || self.context.hashes(&stream).await?.is_empty() {
            return Ok(None);
        }
        let outcome = place(self.context, &self.import, &stream, &arrival, self.dry_run.as_mut()).await;
        let outcome = match outcome {
            Ok(Outcome::Differs) | Err(Failure::Rejected(Rejection::DuplicatePackageId)) => return Ok(None),
            outcome => outcome?,
        };
        self.remember(project, id, origin)?;
        if self.dry_run.is_none() {
            // A later import may refer to it.
            self.store_local_id(project, id, origin).await?;
        }
        Ok(Some(outcome))
    }

    /// Maps a package id of another server to the id here. An importer can create any number of such rows, so each is
    /// charged to the importer's owner.
    async fn store_local_id(&self, project: &str, id: &str, origin: &str) -> Result<(), Failure> {
        let (log, name) = (self.context.log(), renamed_row(project, id));
        if log.read_row(&name).await?.is_some_and(|row| *row.value == *origin.as_bytes()) {
            return Ok(());
        }
        let usage = Usage { bytes: (name.len() + origin.len()) as u64, events: 1 };
        let owner = self.import.authority.by.owner();
        let charge = owner.map(|owner| Charge::of_owner(&owner, usage));
        let pledge = match &charge {
            Some(charge) => Some(log.pledge(charge, false).await?.map_err(Failure::OverQuota)?),
            None => None,
        };
        let row = RowOp { name, expected: None, value: Some(origin.to_owned().into()) };
        let (at, charges) = (self.context.clock().stamp().now, charge.into_iter().collect());
        let outcome = log.append(Batch { rows: vec![row], charges, at, ..Batch::default() }).await;
        if let Some(pledge) = pledge {
            pledge.settle(&outcome);
        }
        outcome?;
        Ok(())
    }

    fn remember(&mut self, project: &str, id: &str, local_id: &str) -> Result<(), Failure> {
        if self.renamed.len() >= RENAMES_MAX {
            return Err(Rejection::TooManyRenames.into());
        }
        self.renamed.insert((project.to_owned(), id.to_owned()), local_id.to_owned());
        Ok(())
    }

    /// Gives a package a new id: always the same for the same package, so that a repeated import finds it.
    pub(super) async fn rename(
        &mut self,
        pending: &PendingRecord,
        package: &ArrivingPackage,
    ) -> Result<Outcome, Failure> {
        if self.exists_below_renamed_parent(pending, package).await? {
            return Ok(Outcome::Same);
        }
        let head = &package.package.head;
        let renamed_to = self.new_id(pending, package).await?;
        self.remember(&pending.project, &pending.name, &renamed_to)?;
        let mut relinked = package.with_ids(&renamed_to, None).map_err(Rejection::from)?;
        relinked.renamed_from.get_or_insert_with(|| pending.name.clone());
        let arrival = ArrivingRecord::Package(Box::new(relinked));
        let stream = arrival.stream(&pending.project);
        let outcome = place(self.context, &self.import, &stream, &arrival, self.dry_run.as_mut()).await?;
        if outcome == Outcome::Differs {
            return Err(Rejection::DuplicatePackageId.into());
        }
        if outcome == Outcome::New {
            let project_id = head.project_id.clone();
            self.report.list_renamed(RenamedPackage {
                project_id,
                package_id: pending.name.clone(),
                renamed_to,
            });
            return Ok(Outcome::Renamed);
        }
        Ok(outcome)
    }

    /// The new id of a package, existing or to be given. It is derived from the first hash of the package, which
    /// reviews do not change; imports by older versions may have used a later hash.
    async fn new_id(&self, pending: &PendingRecord, package: &ArrivingPackage) -> Result<String, Fault> {
        let head = &package.package.head;
        let mut first_id = None;
        for hash in package.history.hashes() {
            let identity = format!("{}\0{}\0{hash}", head.project_id, head.package_id);
            let id = format!("pkg_{}", &hex::encode(digest(identity.as_bytes()))[..32]);
            if !self.context.hashes(&key::join(&[&pending.project, &id])).await?.is_empty() {
                return Ok(id);
            }
            first_id.get_or_insert(id);
        }
        first_id.ok_or_else(|| Fault::Corrupt("a package without a first step".to_owned()))
    }

    /// Whether the package exists here under another parent: one that was renamed from the parent that it
    /// names.
    async fn exists_below_renamed_parent(
        &self,
        pending: &PendingRecord,
        package: &ArrivingPackage,
    ) -> Result<bool, Failure> {
        let head = &package.package.head;
        let Some(parent) = &head.parent_package_id else { return Ok(false) };
        let prefix = format!("{}/", key::join(&[&pending.project, &key::part(parent)]));
        let (max, order) = (RENAMED_LOOKED_AT_MAX, Order::Ascending);
        let parents = self.context.log().read_index(RENAMED, &prefix, None, max, order).await?;
        if parents.is_empty() {
            return Ok(false);
        }
        let existing_hashes = self.context.hashes(&pending.stream).await?;
        for row in parents {
            let parent = String::from_utf8_lossy(&row.value);
            let candidate = package.with_ids(&head.package_id, Some(&parent)).map_err(Rejection::from)?;
            if existing_hashes.contains(&candidate.package.hash) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
