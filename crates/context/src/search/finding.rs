//! Queries: the index returns the packages, and each is read from the log before it is returned.
//! Must not know: HTTP.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use plenary_indexing::unavailable;
use plenary_log::Fault;
use plenary_retrieval::{HITS_MAX, PartHit, Query, Scope, parts};
use serde_json::Value;

use super::{Ranking, documents::sections};
use crate::{
    Context, Failure,
    focus::{self, Snippet},
    lifecycle::Status,
    limits::{FOCUS_PACKAGES_MAX, FOCUS_WAITING_MAX, LIST_BYTES_MAX, READS_AT_ONCE},
    moment::Moment,
    reading::{PackageQuery, StoredPackage},
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
        let most = if listing.is_narrow() { HITS_MAX } else { limit + SPARE };
        let scope = Scope::project(project);
        let hits = self.hits((query, ranking), &scope, most).await?;
        let (mut found, mut bytes, mut rounds) = (Vec::new(), 0, Rounds::default());
        let mut is_cut = false;
        let mut rest = &hits[..];
        while !rest.is_empty() && found.len() < limit && bytes < LIST_BYTES_MAX {
            let (chunk, behind) = rest.split_at(rest.len().min(rounds.reads()).min(limit - found.len()));
            rest = behind;
            let reads = chunk.iter().filter(|hit| is_of(&hit.id, project)).map(|hit| async move {
                Ok::<_, Fault>(self.listed(&hit.id).await?.map(|held| (held, hit.score)))
            });
            let read = try_join_all(reads).await?;
            rounds.learn(read.iter().flatten().map(|(held, _)| held.text.len()).sum());
            for (held, score) in read.into_iter().flatten().filter(|(held, _)| listing.takes(held)) {
                if bytes >= LIST_BYTES_MAX {
                    is_cut = true;
                    break;
                }
                bytes += held.text.len();
                found.push((held, score));
            }
        }
        is_cut |= !rest.is_empty() && found.len() < limit;
        Ok(Relevant { packages: found, is_cut })
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
        let scope = Scope { projects, since_ms: Some(since.ms()), until_ms: None, without_drafts: true };
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
            let reads = chunk.iter().map(|id| self.listed(id));
            for held in try_join_all(reads).await?.into_iter().flatten() {
                let present = &held.present;
                if present.status != Status::Draft && present.created_at >= since {
                    snippets.extend(found(query, &held.text));
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
            let reads =
                chunk.iter().map(|hit| async move { Ok::<_, Fault>((hit, self.listed(&hit.id).await?)) });
            for (hit, held) in try_join_all(reads).await? {
                let Some(held) = held.filter(|held| {
                    let present = &held.present;
                    present.status != Status::Draft && present.created_at >= since
                }) else {
                    continue;
                };
                let package: Value = serde_json::from_str(&held.text).unwrap_or_default();
                let sections = sections(&package);
                let Some(part) = parts(&sections).get(hit.part).copied() else { continue };
                let text = |name: &str| package[name].as_str().unwrap_or_default();
                let found =
                    focus::snippet((text("package_id"), text("project_id")), part.kind, part.text, hit.score);
                match snippets.iter_mut().find(|known| known.is_of(&found)) {
                    Some(known) => known.score = known.score.max(found.score),
                    None => snippets.push(found),
                }
            }
        }
        Ok(())
    }
}

fn is_of(id: &str, project: &str) -> bool {
    id.split_once('/').is_some_and(|(found, _)| found == project)
}

fn found(query: &Query, package: &str) -> Vec<Snippet> {
    let package: Value = serde_json::from_str(package).unwrap_or_default();
    let text = |name: &str| package[name].as_str().unwrap_or_default();
    focus::find(query, (text("package_id"), text("project_id")), &sections(&package))
}
