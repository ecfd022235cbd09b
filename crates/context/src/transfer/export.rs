//! An export, produced piece by piece on demand, so that it never needs more memory than one piece.
//! Must not know: HTTP, or the caller.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::try_join_all;
use plenary_accounts::Actor;
use plenary_kernel::Position;
use plenary_log::{Fault, IndexRow, Order};

use super::{
    cursor::{ExportCursor, Since},
    record::{Counts, DAMAGED, END, Kind, OutgoingRecord},
};
use crate::{
    Context,
    document::Document,
    fact::document::shown,
    hash::ContentHash,
    history::valid_from,
    index::{FACT_TIMES, FACTS, PACKAGES, SESSIONS, ended, is_outranked},
    key,
    limits::{EXPORT_PIECE_BYTES, EXPORT_WINDOW, READS_AT_ONCE, REVIEWS_BYTES_MAX},
    members::quoted,
    package::{event::PackageEvent, state::PackageState},
    package_reader::ReadableProjects,
    project::state::ProjectState,
    project_names::reference,
    reviews::step_of,
    rounds::Rounds,
    wire::Project,
};

/// The kinds in the order of export: a record comes after those that it refers to.
pub(super) const ORDER: [Kind; 4] = [Kind::Project, Kind::Package, Kind::Fact, Kind::Session];

/// A running export.
pub(crate) struct Exporter {
    pub(super) context: Context,
    /// The exported projects with their keys, sorted by key.
    pub(super) projects: Vec<(String, Arc<ProjectState>)>,
    pub(super) cursor: ExportCursor,
    /// The index of the current kind in [`ORDER`]; after the last, the end record follows.
    pub(super) stage: usize,
    pub(super) piece: String,
    pub(super) rounds: Rounds,
    /// The keys of the projects of the records in the current piece.
    told: BTreeSet<String>,
    counts: Counts,
    is_over: bool,
}

impl Exporter {
    /// Starts an export of these projects, from the beginning or after a record.
    pub(crate) async fn new(
        context: Context,
        ReadableProjects { projects, damaged }: ReadableProjects,
        since: Option<Since>,
        after: Option<ExportCursor>,
    ) -> Result<Self, Fault> {
        let is_fresh = after.is_none();
        let cursor = match after {
            Some(cursor) => cursor,
            None => {
                let since = since.map(|since| since.position);
                let key = since.map_or_else(String::new, |since| since.0.to_string());
                ExportCursor { head: context.log().head().await?, since, kind: Kind::Project, key }
            }
        };
        let stage = ORDER.iter().position(|kind| *kind == cursor.kind).unwrap_or_default();
        let piece = String::with_capacity(2 * EXPORT_PIECE_BYTES);
        let mut exporter = Self {
            context,
            projects,
            cursor,
            stage,
            piece,
            rounds: Rounds::default(),
            told: BTreeSet::new(),
            counts: Counts::default(),
            is_over: false,
        };
        // They come first, before the cursor moves.
        damaged.iter().filter(|_| is_fresh).for_each(|project| exporter.damaged_project(project));
        Ok(exporter)
    }

    /// Names a damaged project, whose records are left out, by its key.
    fn damaged_project(&mut self, project: &str) {
        let (id, owner) = match project.split_once(key::OF_OWNER) {
            Some((id, owner)) => (key::text(id), Some(owner)),
            None => (key::text(project), None),
        };
        self.counts.damaged += 1;
        OutgoingRecord {
            kind: DAMAGED,
            project: owner.map(|owner| format!("{owner}:{id}")).as_deref(),
            data: &format!("{{\"project_id\":{}}}", quoted(&id)),
            hash: None,
            reviews: None,
            renamed_from: None,
            origin_hash: None,
            cursor: Some(&self.cursor.write()),
        }
        .write(&mut self.piece);
    }

    /// Whether the bearer may still read all projects of the last piece.
    pub(crate) async fn may_read_piece(&mut self, by: &Actor) -> Result<bool, Fault> {
        for project in std::mem::take(&mut self.told) {
            if !self.context.projects().state(&project).await?.0.access(by).read {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next lines; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Fault> {
        while !self.is_over && self.piece.len() < EXPORT_PIECE_BYTES {
            match ORDER.get(self.stage) {
                None => self.end().await?,
                Some(kind) => {
                    self.cursor.kind = *kind;
                    let has_more = match self.cursor.since {
                        None => self.step(*kind).await?,
                        Some(_) => self.news(*kind).await?,
                    };
                    if !has_more {
                        self.stage += 1;
                        self.cursor.key =
                            self.cursor.since.map_or_else(String::new, |since| since.0.to_string());
                    }
                }
            }
        }
        Ok(Some(std::mem::take(&mut self.piece)).filter(|piece| !piece.is_empty()))
    }

    async fn end(&mut self) -> Result<(), Fault> {
        let since = Since::at(self.context.log(), self.cursor.head).await?;
        // It says that everything of all projects was sent.
        self.told.extend(self.projects.iter().map(|(project, _)| project.clone()));
        let counts = serde_json::to_string(&self.counts).expect("numbers can be written");
        let data = format!("{{\"counts\":{counts},\"since\":{}}}", quoted(since.as_str()));
        OutgoingRecord {
            kind: END,
            project: None,
            data: &data,
            hash: None,
            reviews: None,
            renamed_from: None,
            origin_hash: None,
            cursor: None,
        }
        .write(&mut self.piece);
        self.is_over = true;
        Ok(())
    }

    /// Exports some records of a kind in key order; `false` after the last.
    async fn step(&mut self, kind: Kind) -> Result<bool, Fault> {
        // The key is `<project>` or `<project>/<rest>`; earlier projects are done.
        let at = self.cursor.key.clone();
        let part = at.split_once('/').map_or(at.as_str(), |(part, _)| part);
        let first = self.projects.partition_point(|(project, _)| {
            let is_done = kind == Kind::Project || !at.contains('/');
            if is_done { project.as_str() <= part } else { project.as_str() < part }
        });
        let Some((project, state)) = self.projects.get(first) else { return Ok(false) };
        let (project, state) = (project.clone(), state.clone());
        if kind == Kind::Project {
            self.cursor.key.clone_from(&project);
            self.line(Kind::Project, &project, &json(&Project::from(&*state)));
            return Ok(true);
        }
        let index = match kind {
            Kind::Project | Kind::Package => PACKAGES,
            Kind::Fact => FACT_TIMES,
            Kind::Session => SESSIONS,
        };
        let prefix = format!("{project}/");
        let after = at.starts_with(&prefix).then_some(at.as_str());
        let (rows_max, bytes_before) = (self.rounds.reads(), self.piece.len());
        let rows = self.context.log().read_index(index, &prefix, after, rows_max, Order::Ascending).await?;
        self.records(kind, &project, &rows).await?;
        self.rounds.learn(self.piece.len() - bytes_before);
        if rows.len() < rows_max {
            self.cursor.key = project;
        }
        Ok(true)
    }

    async fn records(&mut self, kind: Kind, project: &str, rows: &[IndexRow]) -> Result<(), Fault> {
        let last_part = |row: &IndexRow| row.key.rsplit('/').next().unwrap_or_default().to_owned();
        match kind {
            Kind::Project => {}
            Kind::Package => {
                let ids: Vec<String> =
                    rows.iter().map(|row| key::join(&[project, &last_part(row)])).collect();
                let packages = try_join_all(ids.iter().map(|id| whole(&self.context, id))).await?;
                for (row, package) in rows.iter().zip(packages) {
                    self.cursor.key.clone_from(&row.key);
                    self.package(package);
                }
            }
            Kind::Fact => {
                let facts = try_join_all(rows.iter().map(|row| timed(&self.context, &row.key))).await?;
                for (row, fact) in rows.iter().zip(facts) {
                    self.cursor.key.clone_from(&row.key);
                    self.fact(project, fact);
                }
            }
            Kind::Session => {
                for row in rows {
                    self.cursor.key.clone_from(&row.key);
                    self.session(project, &last_part(row)).await?;
                }
            }
        }
        Ok(())
    }

    /// Exports a session, by the keys of its project and itself.
    pub(super) async fn session(&mut self, project: &str, session: &str) -> Result<(), Fault> {
        let result = self.context.session(project, session).await;
        match Fault::skip_corrupt(result, "the export leaves out a damaged session")? {
            Some(Some(session)) => self.line(Kind::Session, project, &json(&session)),
            Some(None) => {}
            None => {
                let id = quoted(&key::text(session));
                self.report_damaged(project, &format!("{{\"session_id\":{id}}}"));
            }
        }
        Ok(())
    }

    pub(super) fn package(&mut self, package: Option<WholePackage>) {
        let Some(package) = package else { return };
        if let Some(hash) = package.hash {
            self.counts.add(Kind::Package);
            let (cursor, project) = (self.cursor.write(), self.reference(&package.project));
            OutgoingRecord {
                kind: Kind::Package.as_str(),
                project: project.as_deref(),
                data: &package.text,
                hash: Some(hash),
                reviews: package.reviews.as_deref(),
                renamed_from: package.renamed_from.as_deref(),
                origin_hash: package.origin_hash,
                cursor: Some(&cursor),
            }
            .write(&mut self.piece);
            return;
        }
        self.report_damaged(&package.project, &package.text);
    }

    /// Names what is damaged by its ids.
    fn report_damaged(&mut self, project: &str, ids: &str) {
        self.counts.damaged += 1;
        self.write(DAMAGED, project, ids);
    }

    pub(super) fn fact(&mut self, project: &str, fact: Option<String>) {
        if let Some(fact) = fact {
            self.line(Kind::Fact, project, &fact);
        }
    }

    /// Adds a record of a project, given by its key.
    pub(super) fn line(&mut self, kind: Kind, project: &str, data: &str) {
        self.counts.add(kind);
        self.write(kind.as_str(), project, data);
    }

    fn write(&mut self, kind: &'static str, project: &str, data: &str) {
        let (cursor, project) = (self.cursor.write(), self.reference(project));
        let (project, cursor) = (project.as_deref(), Some(cursor.as_str()));
        let (hash, reviews, renamed_from, origin_hash) = (None, None, None, None);
        OutgoingRecord { kind, project, data, hash, reviews, renamed_from, origin_hash, cursor }
            .write(&mut self.piece);
    }

    /// The full reference of a project, by its key, for a record of it.
    fn reference(&mut self, project: &str) -> Option<String> {
        if !self.told.contains(project) {
            self.told.insert(project.to_owned());
        }
        let index = self.projects.binary_search_by(|(key, _)| key.as_str().cmp(project)).ok()?;
        Some(reference(&self.projects[index].1))
    }
}

pub(super) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("names, texts and times can be written")
}

/// A package with its history, for an export.
pub(super) struct WholePackage {
    /// The key of its project.
    project: String,
    /// The package; only its ids if it is damaged.
    text: String,
    /// `None` if it is damaged.
    hash: Option<ContentHash>,
    /// The review log, if there was any step.
    reviews: Option<String>,
    /// Its original id, if it was renamed.
    renamed_from: Option<String>,
    /// The hash of its first deposit there.
    origin_hash: Option<ContentHash>,
    pub(super) created_at: String,
}

/// Reads a package and its history. Of a damaged one only its ids are left.
pub(super) async fn whole(context: &Context, id: &str) -> Result<Option<WholePackage>, Fault> {
    match Fault::skip_corrupt(read_whole(context, id).await, "the export leaves out a damaged package")? {
        Some(package) => Ok(package),
        None => {
            let (project, package) = id.split_once('/').unwrap_or((id, ""));
            Ok(Some(WholePackage::damaged(context, project, &key::text(package)).await?))
        }
    }
}

impl WholePackage {
    async fn damaged(context: &Context, project: &str, package_id: &str) -> Result<Self, Fault> {
        let state = context.project(project).await?;
        let ids = (quoted(package_id), quoted(&state.project_id));
        let text = format!("{{\"package_id\":{},\"project_id\":{}}}", ids.0, ids.1);
        let (project, created_at) = (project.to_owned(), String::new());
        Ok(Self {
            project,
            text,
            hash: None,
            reviews: None,
            renamed_from: None,
            origin_hash: None,
            created_at,
        })
    }
}

async fn read_whole(context: &Context, id: &str) -> Result<Option<WholePackage>, Fault> {
    let (mut state, mut deposited, mut steps) = (PackageState::default(), None, Vec::new());
    for stored in context.history(id).await? {
        let event = PackageEvent::decode(&stored)?;
        state.evolve(&event);
        steps.push(step_of(&stored, &event));
        if let PackageEvent::PackageDeposited(event) = event {
            deposited = Some(event);
        }
    }
    let (Some(present), Some(deposited)) = (state.0, deposited) else { return Ok(None) };
    let raw = String::from_utf8_lossy(&deposited.raw);
    let text = Document { deposited: &raw, status: present.status, review_type: present.review_type }.text();
    let created_at = present.created_at.as_str().to_owned();
    let project = id.split_once('/').map_or(id, |(project, _)| project).to_owned();
    if ContentHash::of_text(&text) != Some(present.hash) {
        tracing::error!(package = id, "a stored package does not match its hash; the export leaves it out");
        return Ok(Some(WholePackage::damaged(context, &project, &deposited.package_id).await?));
    }
    let mut reviews = (steps.len() > 1).then(|| json(&steps));
    if reviews.as_ref().is_some_and(|reviews| reviews.len() > REVIEWS_BYTES_MAX) {
        steps.iter_mut().for_each(|step| step.note = None);
        reviews = Some(json(&steps));
    }
    let hash = Some(present.hash);
    let (renamed_from, origin_hash) = (deposited.renamed_from, deposited.origin_hash);
    Ok(Some(WholePackage { project, text, hash, reviews, renamed_from, origin_hash, created_at }))
}

/// The fact that a row of [`FACT_TIMES`](crate::index::FACT_TIMES) refers to.
async fn timed(context: &Context, row: &str) -> Result<Option<String>, Fault> {
    let mut parts = row.splitn(3, '/');
    let (project, moment, of) = (parts.next(), parts.next(), parts.next());
    let key = key::join(&[project.unwrap_or_default(), of.unwrap_or_default(), moment.unwrap_or_default()]);
    fact(context, &key).await
}

/// A fact by its key, in the form for readers.
pub(super) async fn fact(context: &Context, key: &str) -> Result<Option<String>, Fault> {
    let rows = context.log().read_index(FACTS, key, None, 2, Order::Ascending).await?;
    let text = |bytes: &[u8]| {
        let corrupt = |_| Fault::Corrupt(format!("the fact {key} in an index is no text"));
        std::str::from_utf8(bytes).map(str::to_owned).map_err(corrupt)
    };
    let Some(row) = rows.iter().find(|row| row.key == key) else { return Ok(None) };
    let document = text(&row.value)?;
    let end = match is_outranked(key) {
        true => valid_from(&document),
        false => rows.iter().find(|row| row.key == ended(key)).map(|row| text(&row.value)).transpose()?,
    };
    Ok(Some(shown(&document, end.as_deref())))
}

/// The end of the next range of positions in an incremental export: short if records are large.
pub(super) fn window(at: Position, head: Position, rounds: Rounds) -> Position {
    // From one position for a round of one read, up to the whole window for a full round.
    let most = (EXPORT_WINDOW * rounds.reads().pow(3) as u64 / READS_AT_ONCE.pow(3) as u64).max(1);
    Position(head.0.min(at.0.saturating_add(most)))
}
