//! Reads packages: one stream each, and lists from index rows in reverse order.
//! Must not know: HTTP.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use futures_util::future::try_join_all;
use plenary_accounts::{Actor, KnownAgent, admits_owner, person_of};
use plenary_engine::Room;
use plenary_kernel::{OwnerName, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, FoundRow, Order, StoredEvent};

use crate::{
    Context, Failure,
    attribution::is_own,
    document::Document,
    hash::ContentHash,
    index::{CHILDREN, PACKAGE_IDS, PACKAGES, PENDING, PROJECTS, PROJECTS_OF, SHARED},
    key,
    lifecycle::Status,
    limits::{LIST_BYTES_MAX, READS_AT_ONCE, SCAN_ROWS_MAX},
    moment::Moment,
    package::{
        event::PackageEvent,
        room::PackageRoom,
        state::{PackageState, Present},
    },
    project::state::ProjectState,
    project_names::{ResolvedProject, member_entries, owner},
    rejection::Rejection,
    rounds::Rounds,
};

/// The owners whose projects a bearer admits: any owner may make any agent a member, without its consent. The policy and the
/// allowlist of the agent decide, for an owner those of its person; `None` admits all.
pub(crate) struct Admission(Option<KnownAgent>);

impl Admission {
    pub(crate) fn admits(&self, owner: &OwnerName) -> bool {
        self.0.as_ref().is_none_or(|me| admits_owner(me, owner))
    }
}

/// A package in its current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredPackage {
    /// Its document, without the hash.
    pub(crate) text: String,
    /// Its state.
    pub(crate) present: Present,
    /// The bearer that deposited it.
    pub(crate) by: Actor,
    /// Whether it matches its hash (AP-38, AP-99).
    pub(crate) is_sound: bool,
}

/// A package of a list, and the cursor after it.
type ListedPackage = (StoredPackage, String);

/// The filters of a list of packages.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackageQuery<'a> {
    pub(crate) status: Option<Status>,
    pub(crate) package_type: Option<&'a str>,
    pub(crate) parent: Option<&'a str>,
    /// Only packages created at or after this time.
    pub(crate) since: Option<Moment>,
    /// The drafts to include.
    pub(crate) drafts: Drafts<'a>,
    /// The cursor of the previous page.
    pub(crate) cursor: Option<&'a str>,
}

/// The drafts to include (wire.md 0.4 row 13, D.7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Drafts<'a> {
    /// All drafts.
    #[default]
    All,
    /// Drafts by the bearer itself.
    Own(&'a Actor),
    /// No drafts.
    None,
}

impl Drafts<'_> {
    /// Whether drafts by this actor are included.
    pub(crate) fn include(self, created_by: &str) -> bool {
        match self {
            Self::All => true,
            Self::Own(by) => is_own(by, created_by),
            Self::None => false,
        }
    }
}

/// A page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) packages: Vec<StoredPackage>,
    pub(crate) next_cursor: Option<String>,
}

impl Page {
    fn of(listed: Vec<ListedPackage>, has_more: bool) -> Self {
        let next_cursor = listed.last().filter(|_| has_more).map(|(_, cursor)| cursor.clone());
        Self { packages: listed.into_iter().map(|(package, _)| package).collect(), next_cursor }
    }
}

impl Context {
    /// A project that the bearer may read; up to date with commits of all processes.
    pub(crate) async fn readable(
        &self,
        project_id: &str,
        by: &Actor,
    ) -> Result<(String, Arc<ProjectState>), Failure> {
        let ResolvedProject { key, state, .. } = self.place(by, project_id, None).await?;
        if state.access(by).read { Ok((key, state)) } else { Err(Rejection::ProjectNotFound.into()) }
    }

    /// A project by its key.
    pub(crate) async fn project(&self, id: &str) -> Result<Arc<ProjectState>, Fault> {
        Ok(self.projects().fresh(id).await?.0)
    }

    /// The same for a list; `None` if it is damaged.
    async fn listed_project(&self, id: &str) -> Result<Option<Arc<ProjectState>>, Fault> {
        Fault::skip_corrupt(self.project(id).await, "a damaged project is left out of a list")
    }

    /// The id of the stream of a package (wire.md D.7).
    pub(crate) async fn locate(
        &self,
        package_id: &str,
        project_id: Option<&str>,
        by: &Actor,
    ) -> Result<String, Failure> {
        let package = key::part(package_id);
        if let Some(project_id) = project_id {
            let (project, _) = self.readable(project_id, by).await?;
            return Ok(key::join(&[&project, &package]));
        }
        let (prefix, mut found) = (format!("{package}/"), None);
        let mut rows = self.log().index_rows(PACKAGE_IDS, &prefix, Order::Ascending);
        while let Some(row) = rows.next().await? {
            let project = &row.key[prefix.len()..];
            if self.project(project).await?.access(by).read
                && found.replace(key::join(&[project, &package])).is_some()
            {
                return Err(Rejection::AmbiguousPackageId.into());
            }
        }
        found.ok_or_else(|| Rejection::PackageNotFound.into())
    }

    /// A package by the id of its stream; an error if it is damaged.
    pub(crate) async fn package(&self, id: &str) -> Result<StoredPackage, Failure> {
        match self.stored_package(id).await {
            Ok(Some(package)) if package.is_sound => Ok(package),
            Ok(None) => Err(Rejection::PackageNotFound.into()),
            Ok(Some(_)) | Err(Fault::Corrupt(_)) => Err(Rejection::Damaged.into()),
            Err(fault) => Err(fault.into()),
        }
    }

    /// The failure of a command on a package: that of a read if the package is damaged.
    pub(crate) async fn failure_on(&self, id: &str, failure: Failure) -> Failure {
        match failure {
            Failure::Fault(Fault::Corrupt(_)) => match self.package(id).await {
                Err(Failure::Rejected(Rejection::Damaged)) => Rejection::Damaged.into(),
                Ok(_) | Err(_) => failure,
            },
            Failure::Rejected(_) | Failure::OverQuota(_) | Failure::Fault(_) => failure,
        }
    }

    /// A package for a list or a search, which leaves out a damaged one.
    pub(crate) async fn sound_package(&self, id: &str) -> Result<Option<StoredPackage>, Fault> {
        let package = Fault::skip_corrupt(self.stored_package(id).await, "a damaged package is left out")?;
        Ok(package.flatten().filter(|package| package.is_sound))
    }

    /// All events of a package.
    pub(crate) async fn history(&self, id: &str) -> Result<Vec<StoredEvent>, Fault> {
        let (stream, mut events) = (PackageRoom::stream(id), Vec::<StoredEvent>::new());
        loop {
            let after = events.last().map_or(Version::ZERO, |event| event.version);
            let page = self.log().read_stream(&stream, after, READ_ROWS_MAX).await?;
            let is_last = page.len() < READ_ROWS_MAX;
            events.extend(page);
            if is_last {
                return Ok(events);
            }
        }
    }

    /// The current package, damaged or not.
    pub(crate) async fn stored_package(&self, id: &str) -> Result<Option<StoredPackage>, Fault> {
        let (mut state, mut deposited) = (PackageState::default(), None);
        for stored in self.history(id).await? {
            let event = PackageEvent::decode(&stored)?;
            state.evolve(&event);
            if let PackageEvent::PackageDeposited(event) = event {
                deposited = Some((event.by, event.raw));
            }
        }
        let (Some(present), Some((by, deposited))) = (state.0, deposited) else { return Ok(None) };
        let deposited = std::str::from_utf8(&deposited)
            .map_err(|_| Fault::Corrupt(format!("the package {id} is no text")))?;
        let text = Document { deposited, status: present.status, review_type: present.review_type }.text();
        let is_sound = ContentHash::of_text(&text) == Some(present.hash);
        if !is_sound {
            tracing::error!(package = id, "a stored package does not match its hash; it is quarantined");
        }
        Ok(Some(StoredPackage { text, present, by, is_sound }))
    }

    /// Packages of a project, newest first.
    pub(crate) async fn list(
        &self,
        project: &str,
        listing: &PackageQuery<'_>,
        limit: usize,
    ) -> Result<Page, Fault> {
        let (index, prefix) = match (listing.parent, listing.status) {
            (Some(parent), _) => (CHILDREN, format!("{project}/{}/", key::part(parent))),
            (None, Some(status)) if status != Status::Complete => {
                (PENDING, format!("{project}/{}/", status.as_str()))
            }
            (None, _) => (PACKAGES, format!("{project}/")),
        };
        let mut after = listing.cursor.map(|cursor| format!("{prefix}{cursor}"));
        let (mut listed, mut bytes, mut scanned) = (Vec::<ListedPackage>::new(), 0, 0);
        let mut rounds = Rounds::default();
        loop {
            let max = (limit + 1 - listed.len()).clamp(READS_AT_ONCE, READ_ROWS_MAX);
            let log = self.log();
            let rows =
                log.read_index_past_damage(index, &prefix, after.as_deref(), max, Order::Descending).await?;
            scanned += rows.len();
            let in_window =
                |key: &str| listing.since.is_none_or(|since| &key[prefix.len()..] >= since.as_str());
            let mut rest = &rows[..];
            while !rest.is_empty() {
                let (chunk, remainder) = rest.split_at(rounds.reads().min(rest.len()));
                rest = remainder;
                // The package itself says what a damaged row does not.
                let may_have =
                    |row: &FoundRow, status| row.value.as_ref().is_none_or(|value| is_listed(value, status));
                let candidates = chunk.iter().filter(|row| {
                    index != PACKAGES || listing.status.is_none_or(|status| may_have(row, status))
                });
                let reads = candidates.filter(|row| in_window(&row.key)).map(|row| async move {
                    let package = row.key.rsplit('/').next().unwrap_or_default();
                    Ok::<_, Fault>((row, self.sound_package(&key::join(&[project, package])).await?))
                });
                let packages = try_join_all(reads).await?;
                rounds.learn(
                    packages.iter().flat_map(|(_, package)| package).map(|package| package.text.len()).sum(),
                );
                for (row, package) in packages {
                    let Some(package) = package.filter(|package| listing.matches(package)) else { continue };
                    bytes += package.text.len();
                    if listed.len() == limit || bytes > LIST_BYTES_MAX && !listed.is_empty() {
                        return Ok(Page::of(listed, true));
                    }
                    listed.push((package, row.key[prefix.len()..].to_owned()));
                }
            }
            match rows.last() {
                Some(last) if rows.len() == max && in_window(&last.key) => {
                    if scanned >= SCAN_ROWS_MAX {
                        let next_cursor = Some(last.key[prefix.len()..].to_owned());
                        return Ok(Page { next_cursor, ..Page::of(listed, false) });
                    }
                    after = Some(last.key.clone());
                }
                _ => return Ok(Page::of(listed, false)),
            }
        }
    }
}

fn is_listed(value: &[u8], status: Status) -> bool {
    value.split(|byte| *byte == b' ').next() == Some(status.as_str().as_bytes())
}

impl PackageQuery<'_> {
    /// Whether a filter may exclude packages that are not drafts.
    pub(crate) fn is_narrow(&self) -> bool {
        self.status.is_some() || self.package_type.is_some()
    }

    pub(crate) fn matches(&self, package: &StoredPackage) -> bool {
        let Present { status, package_type, created_by, .. } = &package.present;
        self.status.is_none_or(|selected| selected == *status)
            && self.package_type.is_none_or(|selected| selected == package_type)
            && (*status != Status::Draft || self.drafts.include(&created_by.id))
    }
}

/// The projects that a bearer may read.
#[derive(Debug, Default)]
pub(crate) struct ReadableProjects {
    /// With their keys, those first that matter most if there are too many.
    pub(crate) projects: Vec<(String, Arc<ProjectState>)>,
    /// The keys of damaged ones.
    pub(crate) damaged: Vec<String>,
}

impl Context {
    /// The projects that the bearer may read, with their keys.
    pub(crate) async fn visible(
        &self,
        by: &Actor,
        max: usize,
    ) -> Result<Vec<(String, Arc<ProjectState>)>, Fault> {
        Ok(self.readable_projects(by, max).await?.projects)
    }

    /// The same, with the damaged ones.
    pub(crate) async fn readable_projects(&self, by: &Actor, max: usize) -> Result<ReadableProjects, Fault> {
        self.readable_where(by, max, |_| true).await
    }

    /// The projects whose texts the bearer is shown without naming them: those that it may read, of its own owner and of
    /// owners that it admits.
    pub(crate) async fn admitted(
        &self,
        by: &Actor,
        max: usize,
    ) -> Result<Vec<(String, Arc<ProjectState>)>, Fault> {
        let admission = self.admission(by).await?;
        Ok(self.readable_where(by, max, |owner| admission.admits(owner)).await?.projects)
    }

    /// Whether the bearer is shown the texts of a project without naming it.
    pub(crate) async fn is_admitted(&self, by: &Actor, project: &ProjectState) -> Result<bool, Fault> {
        Ok(self.admission(by).await?.admits(&owner(project)))
    }

    /// Whose projects the bearer admits. An agent of another network names each project.
    pub(crate) async fn admission(&self, by: &Actor) -> Result<Admission, Fault> {
        let me = match by {
            Actor::Agent(me) if !me.is_elsewhere() => me.clone(),
            Actor::Owner(owner) => person_of(owner),
            Actor::Agent(_) | Actor::Operator | Actor::Seed => return Ok(Admission(None)),
        };
        self.accounts().agent(&me).await.map(|me| Admission(Some(me)))
    }

    /// At most `max` projects, the own ones first, then those of other owners in turn: an owner that shares many displaces
    /// nobody's.
    async fn readable_where(
        &self,
        by: &Actor,
        max: usize,
        is_wanted: impl Fn(&OwnerName) -> bool,
    ) -> Result<ReadableProjects, Fault> {
        let own_projects = match by {
            Actor::Operator | Actor::Seed => (PROJECTS, String::new()),
            Actor::Owner(owner) => (PROJECTS_OF, format!("{owner}/")),
            Actor::Agent(agent) => (PROJECTS_OF, format!("{}/", agent.owner())),
        };
        let own = BTreeSet::from_iter(self.project_keys(own_projects, max).await?);
        let mut shared = BTreeSet::new();
        for entry in member_entries(by) {
            let prefix = format!("{}/", key::part(&entry));
            shared.extend(self.project_keys((SHARED, prefix), SCAN_ROWS_MAX.max(max)).await?);
        }
        shared.retain(|part| !own.contains(part) && key::owner(part).is_none_or(|owner| is_wanted(&owner)));
        let mut readable = ReadableProjects::default();
        for part in own.into_iter().chain(in_turn(shared)) {
            match self.listed_project(&part).await? {
                Some(project) if project.access(by).read && is_wanted(&owner(&project)) => {
                    readable.projects.push((part, project));
                }
                Some(_) => {}
                None => readable.damaged.push(part),
            }
            if readable.projects.len() == max {
                break;
            }
        }
        Ok(readable)
    }

    /// The keys of projects in an index, at least the first `max` if there are so many.
    async fn project_keys(
        &self,
        (index, prefix): (&'static str, String),
        max: usize,
    ) -> Result<Vec<String>, Fault> {
        let (mut keys, mut after) = (Vec::new(), None::<String>);
        loop {
            let rows = self
                .log()
                .read_index(index, &prefix, after.as_deref(), READ_ROWS_MAX, Order::Ascending)
                .await?;
            keys.extend(rows.iter().map(|row| row.key[prefix.len()..].to_owned()));
            match rows.last() {
                Some(last) if rows.len() == READ_ROWS_MAX && keys.len() < max => {
                    after = Some(last.key.clone())
                }
                _ => return Ok(keys),
            }
        }
    }
}

/// The first `max` of chosen projects, by their keys, and whether there are more.
pub(crate) fn in_order<T>(mut chosen: Vec<(String, T)>, max: usize) -> (Vec<(String, T)>, bool) {
    let is_cut = chosen.len() > max;
    chosen.truncate(max);
    chosen.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    (chosen, is_cut)
}

/// The keys of projects, the first of each owner before the second of any.
fn in_turn(keys: BTreeSet<String>) -> Vec<String> {
    let mut counts = HashMap::<_, u32>::new();
    let with_turns = keys.into_iter().map(|key| {
        let turn = counts.entry(key::owner(&key)).or_default();
        *turn += 1;
        (*turn, key)
    });
    let ordered: BTreeSet<(u32, String)> = with_turns.collect();
    ordered.into_iter().map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_of_one_owner_displace_none_of_another() {
        let keys = ["a1:mal", "a2:mal", "a3:mal", "legacy", "x:bob", "y:bob"];
        let ordered = in_turn(keys.map(str::to_owned).into());
        assert_eq!(ordered, ["a1:mal", "legacy", "x:bob", "a2:mal", "y:bob", "a3:mal"]);
    }
}
