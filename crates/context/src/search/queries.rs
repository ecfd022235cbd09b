//! Queries: the index returns the packages, and each is read from the log before it is returned.
//! Must not know: HTTP.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use plenary_indexing::unavailable;
use plenary_kernel::json::Tree;
use plenary_log::Fault;
use plenary_retrieval::{HITS_MAX, PartHit, Query, Scope, parts};

use super::{Ranking, documents::sections};
use crate::{
    Context, Failure,
    focus::{self, Snippet},
    lifecycle::Status,
    limits::{FOCUS_PACKAGES_MAX, FOCUS_WAITING_MAX, LIST_BYTES_MAX, READS_AT_ONCE},
    moment::Moment,
    package_reader::{PackageQuery, StoredPackage},
    rounds::Rounds,
};

/// Extra hits that replace those that may not be shown.
const SPARE: usize = 8;

/// The packages that match a query.
#[derive(Debug, Default)]
pub(crate) struct Relevant {
    /// Each with its score.
    pub(crate) packages: Vec<(StoredPackage, f64)>,
    /// Whether the limit of bytes left some out.
    pub(crate) is_cut: bool,
}

impl Context {
    /// The packages of a project that match a query, best first (AP-60). Drafts and damaged packages as in
    /// lists.
    pub(crate) async fn relevant(
        &self,
        project: &str,
        (query, ranking): (&Query, Option<Ranking>),
        listing: &PackageQuery<'_>,
        limit: usize,
    ) -> Result<Relevant, Failure> {
        let hits_max = if listing.is_narrow() { HITS_MAX } else { limit + SPARE };
        let scope = Scope::project(project);
        let hits = self.hits((query, ranking), &scope, hits_max).await?;
        let (mut relevant, mut bytes, mut rounds) = (Vec::new(), 0, Rounds::default());
        let mut is_cut = false;
        let mut rest = &hits[..];
        while !rest.is_empty() && relevant.len() < limit && bytes < LIST_BYTES_MAX {
            let (chunk, remainder) =
                rest.split_at(rest.len().min(rounds.reads()).min(limit - relevant.len()));
            rest = remainder;
            let reads = chunk.iter().filter(|hit| is_of(&hit.id, project)).map(|hit| async move {
                Ok::<_, Fault>(
                    self.sound_package(&hit.id).await?.map(|stored_package| (stored_package, hit.score)),
                )
            });
            let packages = try_join_all(reads).await?;
            rounds
                .learn(packages.iter().flatten().map(|(stored_package, _)| stored_package.text.len()).sum());
            for (stored_package, score) in
                packages.into_iter().flatten().filter(|(stored_package, _)| listing.matches(stored_package))
            {
                if bytes >= LIST_BYTES_MAX {
                    is_cut = true;
                    break;
                }
                bytes += stored_package.text.len();
                relevant.push((stored_package, score));
            }
        }
        is_cut |= !rest.is_empty() && relevant.len() < limit;
        Ok(Relevant { packages: relevant, is_cut })
    }

    /// The passages of packages that match a focus, best first. Recent packages that are not indexed yet are searched
    /// too; drafts are never shown (wire.md D.7).
    pub(crate) async fn snippets(
        &self,
        query: &Query,
        projects: BTreeSet<String>,
        since: Moment,
        max: usize,
    ) -> Result<Vec<Snippet>, Fault> {
        let search = self.search();
        let mut ids = search.waiting(self.log().head().await?, FOCUS_WAITING_MAX).await;
        ids.retain(|id| id.split_once('/').is_some_and(|(project, _)| projects.contains(project)));
        let scope = Scope { projects, since_ms: Some(since.ms()), without_drafts: true, ..Scope::default() };
        let (hits, near) = tokio::join!(
            search.index().search(query, &scope, FOCUS_PACKAGES_MAX),
            self.parts_near(query, &scope, FOCUS_PACKAGES_MAX)
        );
        let hits = hits.map_err(unavailable)?;
        let waiting: BTreeSet<String> = ids.iter().cloned().collect();
        let indexed = hits.into_iter().map(|hit| hit.id).filter(|id| {
            let is_in_scope = id.split_once('/').is_some_and(|(project, _)| scope.projects.contains(project));
            is_in_scope && !waiting.contains(id)
        });
        ids.extend(indexed);
        let mut snippets = Vec::new();
        for chunk in ids.chunks(READS_AT_ONCE) {
            let reads = chunk.iter().map(|id| self.sound_package(id));
            for stored_package in try_join_all(reads).await?.into_iter().flatten() {
                let present = &stored_package.present;
                if present.status != Status::Draft && present.created_at >= since {
                    snippets.extend(matching_snippets(query, &stored_package.text));
                }
            }
        }
        self.add_near(&near, since, &mut snippets).await?;
        focus::rank(&mut snippets, max);
        Ok(snippets)
    }
}

impl Context {
    /// Adds the passages that are similar in meaning; a passage that was also found by its words keeps the
    /// better score.
    async fn add_near(
        &self,
        near: &[PartHit],
        since: Moment,
        snippets: &mut Vec<Snippet>,
    ) -> Result<(), Fault> {
        for chunk in near.chunks(READS_AT_ONCE) {
            let reads = chunk
                .iter()
                .map(|hit| async move { Ok::<_, Fault>((hit, self.sound_package(&hit.id).await?)) });
            for (hit, stored_package) in try_join_all(reads).await? {
                let Some(stored_package) = stored_package.filter(|stored_package| {
                    let present = &stored_package.present;
                    present.status != Status::Draft && present.created_at >= since
                }) else {
                    continue;
                };
                let package = Tree::read(&stored_package.text).unwrap_or(Tree::Null);
                let sections = sections(&package);
                let Some(part) = parts(&sections).get(hit.part).copied() else { continue };
                let text = |name: &str| package.get(name).and_then(Tree::text).unwrap_or_default();
                let snippet =
                    focus::snippet((text("package_id"), text("project_id")), part.kind, part.text, hit.score);
                match snippets.iter_mut().find(|existing| existing.is_of(&snippet)) {
                    Some(existing) => existing.score = existing.score.max(snippet.score),
                    None => snippets.push(snippet),
                }
            }
        }
        Ok(())
    }
}

fn is_of(id: &str, project: &str) -> bool {
    id.split_once('/').is_some_and(|(prefix, _)| prefix == project)
}

fn matching_snippets(query: &Query, package: &str) -> Vec<Snippet> {
    let package = Tree::read(package).unwrap_or(Tree::Null);
    let text = |name: &str| package.get(name).and_then(Tree::text).unwrap_or_default();
    focus::find(query, (text("package_id"), text("project_id")), &sections(&package))
}
