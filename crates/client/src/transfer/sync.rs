//! Synchronizes one server with another, project by project: copies only new records since the last time, never
//! changes complete ones, and verifies the hash of every package in transit and at the destination.
//! Must not know: where the state is stored.

use std::collections::BTreeMap;

use bytes::Bytes;
use plenary_kernel::OwnerName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Conflict, Counts, ExportSummary, ImportOptions, OnProgress, Progress, RefusedLine,
    export::Export,
    import::{Pieces, send},
    record::{Record, end_line},
};
use crate::{
    Client, Error, Result,
    client::{page, segment},
};

/// The state of one direction between two servers. The caller stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncState {
    /// By project: the `since` of the next export.
    #[serde(default)]
    pub since: BTreeMap<String, String>,
}

/// The result of a synchronization.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncReport {
    /// Projects that are complete.
    pub projects: u64,
    /// The records that were sent.
    pub sent: Counts,
    /// New records.
    pub imported: u64,
    /// Records that existed already.
    pub skipped: u64,
    /// Records that continued an existing one.
    pub overwritten: u64,
    /// The number of rejected records: the existing record differs, and stays.
    pub refused_count: u64,
    /// The rejected records that the servers list. Their projects are tried again the next time.
    pub refused: Vec<RefusedLine>,
}

/// An export that is piped into an import.
struct Pipe {
    export: Export,
    /// The target's project, if it exists: it keeps its own description.
    project: Option<Value>,
    differs: bool,
    sent: Counts,
    is_over: bool,
}

impl Pieces for Pipe {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        while let Some(line) = self.export.next().await? {
            let record = Record::read(&line)?;
            if let (Some(there), "project") = (&self.project, record.record.as_str()) {
                let here: Value = serde_json::from_str(record.data.get()).unwrap_or_default();
                let named = ["name", "description", "settings"];
                self.differs = named.iter().any(|name| here[*name] != there[*name]);
                continue;
            }
            record.count(&mut self.sent);
            return Ok(Some(line));
        }
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(None);
        }
        end_line(&ExportSummary { counts: self.sent, since: String::new() }).map(Some)
    }
}

#[derive(Deserialize)]
struct Projects {
    projects: Vec<ListedPackage>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct ListedPackage {
    project_id: String,
    owner_id: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
}

impl ListedPackage {
    /// The project's name that is unambiguous on both servers: an id alone may mean another project there.
    fn name(&self) -> String {
        let named = self.owner_id.as_ref().map(|owner| format!("{owner}:{}", self.project_id));
        self.reference.clone().or(named).unwrap_or_else(|| self.project_id.clone())
    }
}

/// All projects that the token may read.
async fn all_of(from: &Client) -> Result<Vec<ListedPackage>> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let listed = from.get::<Projects>(&page("/v1/projects", cursor.as_deref())).await?.value;
        all.extend(listed.projects);
        cursor = listed.next_cursor;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

/// Copies everything new of these projects, or of all that the token of `from` may read, to `to`, there under the given
/// owner if there is one. One direction; two calls, with a state for each, synchronize both. If interrupted, the next call
/// continues with the interrupted project.
///
/// # Errors
/// As every call, of either server. `state` then contains the completed projects.
pub async fn sync(
    from: &Client,
    to: (&Client, Option<&OwnerName>),
    projects: &[String],
    state: &mut SyncState,
    progress: OnProgress<'_>,
) -> Result<SyncReport> {
    let mut report = SyncReport::default();
    let (mut records, mut bytes) = (0, 0);
    let all = match projects {
        [] => all_of(from).await?,
        some => {
            let listed =
                |id: &String| ListedPackage { project_id: id.clone(), owner_id: None, reference: None };
            some.iter().map(listed).collect()
        }
    };
    for listed in all {
        let name = listed.name();
        let project_id = listed.reference.unwrap_or(listed.project_id);
        let mut on_piece = |piece: &Bytes| {
            records += 1;
            bytes += piece.len() as u64;
            progress(&Progress { step: "import", project: Some(&project_id), records, bytes });
        };
        let since = state.since.get(&project_id).cloned();
        let outcome = match one(from, to, &name, since.as_deref(), &mut on_piece).await {
            // The source has another store than before: everything is new.
            Err(Error::Refused(refused)) if refused.code == "invalid_cursor" => {
                one(from, to, &name, None, &mut on_piece).await?
            }
            outcome => outcome?,
        };
        report.projects += 1;
        report.sent.add(&outcome.report.sent);
        report.imported += outcome.report.imported;
        report.skipped += outcome.report.skipped;
        report.overwritten += outcome.report.overwritten;
        report.refused_count += outcome.report.refused_count;
        report.refused.extend(outcome.report.refused);
        if let Some(since) = outcome.since {
            state.since.insert(project_id, since);
        }
    }
    Ok(report)
}

struct SyncResult {
    report: SyncReport,
    /// Absent if a record was rejected.
    since: Option<String>,
}

async fn one(
    from: &Client,
    (to, into): (&Client, Option<&OwnerName>),
    project_id: &str,
    since: Option<&str>,
    on_piece: &mut (impl FnMut(&Bytes) + Send),
) -> Result<SyncResult> {
    let there = match (into, project_id.split_once(':')) {
        (Some(owner), Some((_, id))) => format!("{owner}:{id}"),
        (Some(owner), None) => format!("{owner}:{project_id}"),
        (None, _) => project_id.to_owned(),
    };
    let project = match to.get::<Value>(&format!("/v1/projects/{}", segment(&there))).await {
        Ok(project) => Some(project.value),
        Err(Error::Refused(refused)) if refused.status == 404 => None,
        Err(error) => return Err(error),
    };
    let export = Export::new(from, Some(project_id), since);
    let mut pipe = Pipe { export, project, differs: false, sent: Counts::default(), is_over: false };
    let options = ImportOptions {
        conflict: Conflict::Overwrite,
        dry_run: false,
        into: into.is_some().then_some(there),
    };
    let import = send(to, &options, &mut pipe, on_piece).await?.value;
    if import.complete != Some(true) {
        return Err(Error::Unreadable(format!("the import of `{project_id}` is incomplete")));
    }
    let mut report = SyncReport {
        projects: 1,
        sent: pipe.sent,
        imported: import.imported,
        skipped: import.skipped,
        overwritten: import.overwritten,
        refused_count: import.refused_count,
        refused: import.refused,
    };
    let since = (report.refused_count == 0).then_some(pipe.export.into_end()?.since);
    if pipe.differs {
        report.refused_count += 1;
        report.refused.push(RefusedLine {
            line: 0,
            record: "project".to_owned(),
            id: project_id.to_owned(),
            code: "project_differs".to_owned(),
            message:
                "The project has another description there; its name, description and settings there stay."
                    .to_owned(),
        });
    }
    Ok(SyncResult { report, since })
}
