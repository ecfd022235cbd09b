//! Reads an export across disconnects: received records are not requested again, and an export without its end record
//! is incomplete.
//! Must not know: the destination of the lines.

use std::{io::Write, path::Path, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::{
    Counts, ExportSummary, FetchedContents, OnProgress, Progress,
    contents::{NamedContents, fetch},
    record::{END, Record, end_line},
};
use crate::{Backoff, Client, Error, FaultKind, NetworkFault, Result, client::segment, query::Query};

/// Silence after which the export counts as interrupted.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How often in a row an export may be interrupted without a new record.
const CUTS_MAX: u32 = 5;
/// Largest line of an export, in bytes: a package, its review log and their envelope.
const LINE_BYTES_MAX: usize = 8 << 20;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A stream of lines.
struct Lines {
    body: Incoming,
    buffer: BytesMut,
    looked: usize,
}

impl Lines {
    /// The next line with its line feed; `None` at the end of the stream.
    async fn next(&mut self) -> std::result::Result<Option<Bytes>, String> {
        loop {
            if let Some(end) = self.buffer[self.looked..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.looked + end + 1).freeze();
                self.looked = 0;
                return Ok(Some(line));
            }
            self.looked = self.buffer.len();
            if self.looked > LINE_BYTES_MAX {
                return Err(format!("a line of the export is larger than {LINE_BYTES_MAX} bytes"));
            }
            match timeout(SILENCE_MAX, self.body.frame()).await {
                Err(_) => return Err("the server stopped sending".to_owned()),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(error.to_string()),
                Ok(Some(Ok(frame))) => {
                    if let Some(bytes) = frame.data_ref() {
                        self.buffer.extend_from_slice(bytes);
                    }
                }
            }
        }
    }
}

/// An export in progress.
pub(super) struct Export {
    client: Client,
    path: String,
    since: Option<String>,
    after: Option<String>,
    lines: Option<Lines>,
    cuts: u32,
    backoff: Backoff,
    counts: Counts,
    end: Option<ExportSummary>,
}

impl Export {
    /// The export of one project, or of all.
    pub(super) fn new(client: &Client, project: Option<&str>, since: Option<&str>) -> Self {
        let path = match project {
            Some(project) => format!("/v1/projects/{}/export", segment(project)),
            None => "/v1/export".to_owned(),
        };
        Self {
            client: client.clone(),
            path,
            since: since.map(str::to_owned),
            after: None,
            lines: None,
            cuts: 0,
            backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT),
            counts: Counts::default(),
            end: None,
        }
    }

    /// The next record's line with its line feed, its hash verified; `None` after the end record.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>> {
        while self.end.is_none() {
            if self.lines.is_none() {
                match self.open().await {
                    Ok(body) => self.lines = Some(Lines { body, buffer: BytesMut::new(), looked: 0 }),
                    Err(error) if error.is_transient() && self.after.is_some() => {
                        self.pause(error).await?;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            let Some(lines) = &mut self.lines else { continue };
            let line = match lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => {
                    self.pause(self.interrupted("the last line is missing")).await?;
                    continue;
                }
                Err(reason) => {
                    self.pause(self.interrupted(&reason)).await?;
                    continue;
                }
            };
            let record = Record::read(&line)?;
            if record.record == END {
                let end = record.end()?;
                self.end = Some(ExportSummary { counts: self.counts, since: end.since });
                break;
            }
            record.verify()?;
            record.count(&mut self.counts);
            self.after = record.cursor.or(self.after.take());
            self.cuts = 0;
            return Ok(Some(line));
        }
        Ok(None)
    }

    /// The summary, once the end record has arrived.
    pub(super) fn into_end(self) -> Result<ExportSummary> {
        self.end.ok_or_else(|| Error::Unreadable("the export has no last line".to_owned()))
    }

    fn interrupted(&self, reason: &str) -> Error {
        let server = self.client.base().to_string();
        let detail = format!("the export was interrupted: {reason}");
        NetworkFault { kind: FaultKind::Lost, server, detail, is_safe: true }.into()
    }

    /// Waits before the next attempt; fails with the error after too many without a new record.
    async fn pause(&mut self, error: Error) -> Result<()> {
        self.lines = None;
        self.cuts += 1;
        if self.cuts > CUTS_MAX {
            return Err(error);
        }
        tokio::time::sleep(self.backoff.next_wait()).await;
        Ok(())
    }

    async fn open(&self) -> Result<Incoming> {
        let (since, after) = (self.since.as_ref(), self.after.as_ref());
        let path = Query::of(&self.path).with("since", since).with("after", after).path();
        Ok(self.client.open(&path, "application/x-ndjson", &[]).await?.into_body())
    }
}

/// Reads the exports of projects, one after another, or one export of all.
pub(super) async fn each_line(
    client: &Client,
    projects: &[String],
    since: Option<&str>,
    progress: OnProgress<'_>,
    mut take: impl FnMut(&Bytes) -> Result<()>,
) -> Result<ExportSummary> {
    let mut whole = ExportSummary::default();
    let (mut records, mut bytes) = (0, 0);
    let one: Vec<Option<&str>> =
        if projects.is_empty() { vec![None] } else { projects.iter().map(|id| Some(id.as_str())).collect() };
    for project in one {
        let mut export = Export::new(client, project, since);
        while let Some(line) = export.next().await? {
            take(&line)?;
            records += 1;
            bytes += line.len() as u64;
            progress(&Progress { step: "export", project, records, bytes });
        }
        let end = export.into_end()?;
        whole.counts.add(&end.counts);
        // The first export started first: a later change is in none, or in a later export too.
        if whole.since.is_empty() {
            whole.since = end.since;
        }
    }
    Ok(whole)
}

impl Client {
    /// Writes an export of these projects, or of all that the token may read: one JSON object per line. Resumes after
    /// a lost connection, and verifies the hash of every package.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it cannot be written, [`Error::Unreadable`] for a package that does not
    /// match its hash.
    pub async fn export(
        &self,
        projects: &[String],
        since: Option<&str>,
        to: &mut (dyn Write + Send),
        progress: OnProgress<'_>,
    ) -> Result<ExportSummary> {
        Ok(self.export_with_contents(projects, since, to, None, progress).await?.0)
    }

    /// Writes an export, and the contents that its deliverables name into a separate directory, if there is one.
    ///
    /// # Errors
    /// As [`Client::export`]; [`Error::Invalid`] with the path of a file that cannot be written.
    pub async fn export_with_contents(
        &self,
        projects: &[String],
        since: Option<&str>,
        to: &mut (dyn Write + Send),
        contents: Option<&Path>,
        progress: OnProgress<'_>,
    ) -> Result<(ExportSummary, Option<FetchedContents>)> {
        let written =
            |error: std::io::Error| Error::Invalid(format!("the export cannot be written: {error}"));
        let mut named = contents.map(|_| NamedContents::of(projects));
        let take = |line: &Bytes| {
            if let Some(named) = &mut named {
                named.take(&Record::read(line)?)?;
            }
            to.write_all(line).map_err(written)
        };
        let whole = each_line(self, projects, since, progress, take).await?;
        to.write_all(&end_line(&whole)?).and_then(|()| to.flush()).map_err(written)?;
        let fetched = match named.zip(contents) {
            Some((named, contents)) => Some(fetch(self, &named, contents, progress).await?),
            None => None,
        };
        Ok((whole, fetched))
    }
}
