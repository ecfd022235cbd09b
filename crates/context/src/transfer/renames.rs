//! Renamed packages: packages that get a new id in an import because theirs is taken by another. A record of a package
//! that exists here, under whatever id, is found by its identity, and references to it mean the id here.
//! Must not know: how a record is decided.

use plenary_kernel::json::digest;
use plenary_log::{Batch, Charge, Fault, IndexRow, Order, RowOp, Usage};

use super::{
    arrivals::{ArrivingPackage, ArrivingRecord},
    decide::Outcome,
    identity::{Identity, LocalPackage},
    import::{Importer, PendingRecord, place},
    report::{Mode, RenamedPackage},
};
use crate::{
    Context, Failure,
    hash::ContentHash,
    index::RENAMED,
    key,
    limits::{EXPORT_PROJECTS_MAX, NEW_IDS_MAX, RENAMED_LOOKED_AT_MAX, RENAMES_MAX},
    package::event::PackageEvent,
    rejection::Rejection,
};

/// The row that maps a package id of another server to the id here.
fn renamed_row(project: &str, id: &str) -> String {
    format!("context.package_known_as/{}", key::join(&[project, &key::part(id)]))
}

/// The new ids that a package may get, in the order in which they are tried. Only if somebody has deposited a package under
/// the first one, another is needed.
fn new_ids(project_id: &str, identity: &Identity) -> impl Iterator<Item = String> {
    let next = move |id: &str| {
        let text = format!("{project_id}\0{id}\0{}", identity.hash);
        format!("pkg_{}", &hex::encode(digest(text.as_bytes()))[..32])
    };
    std::iter::successors(Some(next(&identity.id)), move |id| Some(next(id))).take(NEW_IDS_MAX)
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
                let parent = head.parent_package_id.as_deref().filter(|parent| **parent != *head.package_id);
                match self.local_id(project, parent).await? {
                    Some(parent) => {
                        let mut relinked =
                            package.with_ids(&head.package_id, Some(&parent)).map_err(Rejection::from)?;
                        relinked.origin_hash = Some(Identity::of(&package).hash);
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

    /// Whether the package may exist here under another id or with another parent. In a project without renamed packages
    /// that is never so, and its packages need not be looked up.
    async fn may_be_elsewhere(&mut self, project: &str, package: &ArrivingPackage) -> Result<bool, Fault> {
        if package.renamed_from.is_some() || package.origin_hash.is_some() {
            self.with_renamed.insert(project.to_owned(), true);
            return Ok(true);
        }
        if self.import.mode == Mode::Rename {
            return Ok(true);
        }
        if let Some(known) = self.with_renamed.get(project) {
            return Ok(*known);
        }
        let prefix = format!("{project}/");
        let rows = self.context.log().read_index(RENAMED, &prefix, None, 1, Order::Ascending).await?;
        if self.with_renamed.len() < EXPORT_PROJECTS_MAX {
            self.with_renamed.insert(project.to_owned(), !rows.is_empty());
        }
        Ok(!rows.is_empty())
    }

    /// A record of a package that exists here, with the id and the parent that the package has here; other records
    /// unchanged. Also whether it is one. Later references to the package mean the id here.
    pub(super) async fn looked_up(
        &mut self,
        project: &str,
        arrival: ArrivingRecord,
    ) -> Result<(ArrivingRecord, bool), Failure> {
        let ArrivingRecord::Package(package) = arrival else { return Ok((arrival, false)) };
        let name = package.package.head.package_id.clone();
        self.renamed.remove(&(project.to_owned(), name.clone()));
        if !self.may_be_elsewhere(project, &package).await? {
            return Ok((ArrivingRecord::Package(package), false));
        }
        if self.import.mode == Mode::Overwrite
            && package.renamed_from.is_none()
            && self.local(project, &name).await?.is_some_and(|local| local.may_become(&package))
        {
            return Ok((ArrivingRecord::Package(package), false));
        }
        let Some(restated) = self.find(project, &package).await? else {
            return Ok((ArrivingRecord::Package(package), false));
        };
        let local_id = &restated.package.head.package_id;
        if *local_id != name {
            self.remember(project, &name, local_id)?;
            // Only a new id means the same package on every server. A later import may refer to it.
            let is_new_id = package.renamed_from.as_deref().is_some_and(|origin| origin != name);
            if is_new_id && self.dry_run.is_none() && self.local(project, &name).await?.is_none() {
                self.store_local_id(project, &name, local_id).await?;
            }
        }
        Ok((ArrivingRecord::Package(Box::new(restated)), true))
    }

    /// The record in the words of the package here, if it exists: under the id of the record, its original id, or a new
    /// id.
    async fn find(&self, project: &str, package: &ArrivingPackage) -> Result<Option<ArrivingPackage>, Fault> {
        let (head, identity) = (&package.package.head, Identity::of(package));
        let mut ids = vec![head.package_id.clone()];
        if identity.id != head.package_id {
            ids.push(identity.id.clone());
        }
        for row in self.renamed_from(project, &identity.id).await? {
            ids.push(String::from_utf8_lossy(&row.value).into_owned());
        }
        for id in &ids {
            let local = self.local(project, id).await?;
            if let Some(restated) = local.and_then(|local| local.restated(package, &identity)) {
                return Ok(Some(restated));
            }
        }
        for id in new_ids(&head.project_id, &identity) {
            let Some(local) = self.local(project, &id).await? else { break };
            if let Some(restated) = local.restated(package, &identity) {
                return Ok(Some(restated));
            }
        }
        Ok(None)
    }

    /// The rows of the packages that were renamed from an id.
    async fn renamed_from(&self, project: &str, id: &str) -> Result<Vec<IndexRow>, Fault> {
        let prefix = format!("{}/", key::join(&[project, &key::part(id)]));
        let (max, order) = (RENAMED_LOOKED_AT_MAX, Order::Ascending);
        self.context.log().read_index(RENAMED, &prefix, None, max, order).await
    }

    /// The package here with this id; in a dry run, as it would be.
    async fn local(&self, project: &str, id: &str) -> Result<Option<LocalPackage>, Fault> {
        let stream = key::join(&[project, &key::part(id)]);
        match self.dry_run.as_ref().and_then(|prediction| prediction.known_package(&stream)) {
            Some(local) => Ok(Some(local.clone())),
            None => self.context.local_package(&stream).await,
        }
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

    /// Gives a package a new id: always the same for the same package, on every server, so that every import finds it.
    pub(super) async fn rename(
        &mut self,
        pending: &PendingRecord,
        package: &ArrivingPackage,
    ) -> Result<Outcome, Failure> {
        if self.exists_below_renamed_parent(pending, package).await? {
            return Ok(Outcome::Same);
        }
        let (head, identity) = (&package.package.head, Identity::of(package));
        let renamed_to = self.free_id(pending, (&head.project_id, &identity)).await?;
        self.remember(&pending.project, &pending.name, &renamed_to)?;
        let names_itself = head.parent_package_id.as_deref() == Some(head.package_id.as_str());
        let parent = names_itself.then_some(renamed_to.as_str());
        let mut renamed = package.with_ids(&renamed_to, parent).map_err(Rejection::from)?;
        renamed.renamed_from = Some(identity.id);
        renamed.origin_hash = Some(identity.hash);
        let arrival = ArrivingRecord::Package(Box::new(renamed));
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

    /// The first new id of the package that no package has.
    async fn free_id(
        &self,
        pending: &PendingRecord,
        (project_id, identity): (&str, &Identity),
    ) -> Result<String, Failure> {
        for id in new_ids(project_id, identity) {
            if self.local(&pending.project, &id).await?.is_none() {
                return Ok(id);
            }
        }
        Err(Rejection::DuplicatePackageId.into())
    }

    /// Whether the package exists here under another parent: one that was renamed from the parent that it
    /// names. Needed for packages from before identities were stored.
    async fn exists_below_renamed_parent(
        &self,
        pending: &PendingRecord,
        package: &ArrivingPackage,
    ) -> Result<bool, Failure> {
        let head = &package.package.head;
        let Some(parent) = &head.parent_package_id else { return Ok(false) };
        let parents = self.renamed_from(&pending.project, parent).await?;
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
