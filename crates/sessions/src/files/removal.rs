//! Removes unused files: interrupted uploads, files that no message named in time, files of deleted agents. First
//! they become invisible; then their contents are removed.
//! Must not know: HTTP.

use plenary_engine::{Command, ExecuteError};
use plenary_kernel::AgentHandle;
use plenary_log::{Fault, Order};

use super::{
    command::{NoteContentRemoved, RemoveFile},
    room::{FileRoom, REMAINS, UNNAMED, UNNAMED_OF, UPLOADING, unnamed_key},
};
use crate::Sessions;

impl Sessions {
    /// Removes expired uploads and unnamed files. Called periodically.
    pub(crate) async fn sweep_files(&self) -> Result<(), Fault> {
        let now = self.0.streams.clock().now().0;
        self.remove_indexed(UPLOADING, "", Some(now), RemoveFile::Expired).await?;
        self.remove_indexed(UNNAMED, "", Some(now), RemoveFile::Expired).await?;
        self.remove_contents().await
    }

    /// Discards the uploads that a crash interrupted. On a store of one process no upload can survive a restart.
    pub(crate) async fn discard_interrupted_uploads(&self) -> Result<(), Fault> {
        if self.log().shared() {
            return Ok(());
        }
        self.remove_indexed(UPLOADING, "", None, RemoveFile::Abandoned).await
    }

    /// Removes the files that a deleted agent uploaded and no message names.
    pub(crate) async fn remove_unnamed_of(&self, agent: &AgentHandle) -> Result<(), Fault> {
        self.remove_indexed(UNNAMED_OF, &format!("{agent}/"), None, RemoveFile::Abandoned).await
    }

    /// Removes the files that an index lists below a prefix, in those by time up to a time.
    async fn remove_indexed(
        &self,
        index: &str,
        prefix: &str,
        until: Option<u64>,
        command: RemoveFile,
    ) -> Result<(), Fault> {
        let end = until.map(|until| unnamed_key(until.saturating_add(1), ""));
        let mut rows = self.log().index_rows(index, prefix, Order::Ascending);
        while let Some(row) = rows.next().await? {
            if end.as_ref().is_some_and(|end| row.key >= *end) {
                break;
            }
            if let Some((_, id)) = row.key.rsplit_once('/') {
                self.remove_file(id, command).await?;
            }
        }
        Ok(())
    }

    /// Removes the contents of removed files.
    async fn remove_contents(&self) -> Result<(), Fault> {
        let mut rows = self.log().index_rows(REMAINS, "", Order::Ascending);
        while let Some(row) = rows.next().await? {
            if let Ok(id) = row.key.parse() {
                self.remove_content(&id).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn remove_file(&self, id: &str, command: RemoveFile) -> Result<(), Fault> {
        self.execute_on_file(id, &command).await
    }

    pub(super) async fn note_content_removed(&self, id: &str) -> Result<(), Fault> {
        self.execute_on_file(id, &NoteContentRemoved).await
    }

    async fn execute_on_file<C>(&self, id: &str, command: &C) -> Result<(), Fault>
    where
        C: Command<FileRoom, Rejection = std::convert::Infallible>,
    {
        ExecuteError::settled(self.0.files.streams.execute(id, command, None).await).map(drop)
    }
}
