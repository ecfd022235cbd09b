//! Files as the engine sees them: their streams, their indexes, and their commands with their facts.
//! Must not know: HTTP.

use std::convert::Infallible;

use plenary_accounts::{Accounts, Authority};
use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{AgentHandle, FileId, OwnerName, SessionId, TimestampMs, Version};
use plenary_log::{Fault, IndexOp};
use serde::{Deserialize, Serialize};

use super::{
    command::{BeginUpload, KeepFile, NoteContentRemoved, RemoveFile, UploadedFile},
    decide::{self, FileRejection},
    event::FileEvent,
    state::FileState,
};

/// The files that are kept: `<file>`, with a [`Row`].
pub(crate) const FILES: &str = "sessions.files";
/// Where a file is named: `<file>/<session>/<version>`, the first message of each session.
pub(crate) const NAMED: &str = "sessions.files_named";
/// Where a file of another network is named, in the copies of its sessions: `<file>/<session>/<version>`. Apart from
/// [`NAMED`], because a peer can write any id into a message, also one of a file of this network.
pub(crate) const NAMED_ELSEWHERE: &str = "sessions.files_named_elsewhere";
/// The files that no message names: `<until>/<file>`.
pub(crate) const UNNAMED: &str = "sessions.files_unnamed";
/// The files that no message names, by the uploading agent: `<handle>/<file>`.
pub(crate) const UNNAMED_OF: &str = "sessions.files_unnamed_of";
/// The uploads that have not ended: `<until>/<file>`.
pub(super) const UPLOADING: &str = "sessions.files_uploading";
/// The removed files whose content is still there: `<file>`.
pub(super) const REMAINS: &str = "sessions.files_remains";

pub(crate) fn naming_key(file: &FileId, session: &str, version: Version) -> String {
    format!("{file}/{session}/{:020}", version.0)
}

/// The key of a file in [`UNNAMED`] and [`UPLOADING`].
pub(crate) fn unnamed_key(until: u64, file: &str) -> String {
    format!("{until:020}/{file}")
}

pub(crate) fn unnamed_of_key(by: &AgentHandle, file: &str) -> String {
    format!("{by}/{file}")
}

/// What the index has of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) by: AgentHandle,
    pub(crate) name: String,
    pub(crate) media_type: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) until: u64,
}

/// The streams `sessions.file/<file>`.
#[derive(Debug)]
pub(crate) struct FileRoom;

impl Room for FileRoom {
    type State = FileState;
    type Event = FileEvent;
    const CATEGORY: &'static str = "sessions.file";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut FileState, _: Version, _: TimestampMs, event: &FileEvent) {
        state.evolve(event);
    }
    /// That it is named counts with the message.
    fn payer(_: &str, _: &FileState, event: &FileEvent) -> Option<OwnerName> {
        match event {
            FileEvent::UploadBegun(event) => Some(event.by.owner_name()),
            FileEvent::FileUploaded(event) => Some(event.by.owner_name()),
            FileEvent::FileNamed(_) | FileEvent::FileRemoved(_) | FileEvent::ContentRemoved(_) => None,
        }
    }
    fn content_bytes(event: &FileEvent) -> u64 {
        match event {
            FileEvent::FileUploaded(event) => event.bytes,
            FileEvent::UploadBegun(_)
            | FileEvent::FileNamed(_)
            | FileEvent::FileRemoved(_)
            | FileEvent::ContentRemoved(_) => 0,
        }
    }
    fn frees(event: &FileEvent) -> Option<(OwnerName, u64)> {
        match event {
            FileEvent::FileRemoved(event) => event.bytes.map(|bytes| (event.by.owner_name(), bytes)),
            FileEvent::UploadBegun(_)
            | FileEvent::FileUploaded(_)
            | FileEvent::FileNamed(_)
            | FileEvent::ContentRemoved(_) => None,
        }
    }
    fn index(id: &str, event: &FileEvent) -> Vec<IndexOp> {
        match event {
            FileEvent::UploadBegun(event) => vec![IndexOp::put(UPLOADING, unnamed_key(event.until, id))],
            FileEvent::FileUploaded(event) => {
                let row = Row {
                    by: event.by.clone(),
                    name: event.name.clone(),
                    media_type: event.media_type.clone(),
                    bytes: event.bytes,
                    sha256: event.sha256.clone(),
                    until: event.until,
                };
                let value = serde_json::to_vec(&row).expect("texts and numbers can be written");
                vec![
                    IndexOp::delete(UPLOADING, unnamed_key(event.begun_until, id)),
                    IndexOp::put_value(FILES, id.to_owned(), value),
                    IndexOp::put(UNNAMED, unnamed_key(event.until, id)),
                    IndexOp::put(UNNAMED_OF, unnamed_of_key(&event.by, id)),
                ]
            }
            // The message writes these rows, because it knows its version.
            FileEvent::FileNamed(_) => vec![],
            FileEvent::FileRemoved(event) if event.bytes.is_none() => {
                vec![
                    IndexOp::delete(UPLOADING, unnamed_key(event.until, id)),
                    IndexOp::put(REMAINS, id.to_owned()),
                ]
            }
            FileEvent::FileRemoved(event) => vec![
                IndexOp::delete(FILES, id.to_owned()),
                IndexOp::delete(UNNAMED, unnamed_key(event.until, id)),
                IndexOp::delete(UNNAMED_OF, unnamed_of_key(&event.by, id)),
                IndexOp::put(REMAINS, id.to_owned()),
            ],
            FileEvent::ContentRemoved(_) => vec![IndexOp::delete(REMAINS, id.to_owned())],
        }
    }
}

/// The session of a key in [`NAMED`] and [`NAMED_ELSEWHERE`], and the version there.
pub(super) fn parse_naming(key: &str) -> Option<(SessionId, Version)> {
    let mut parts = key.split('/').skip(1);
    let session = parts.next()?.parse().ok()?;
    Some((session, Version(parts.next()?.parse().ok()?)))
}

pub(super) struct UploaderCommand<'a, C> {
    pub(super) accounts: &'a Accounts,
    pub(super) authority: &'a Authority,
    pub(super) command: &'a C,
}

impl Command<FileRoom> for UploaderCommand<'_, BeginUpload> {
    const NAME: &'static str = "begin_upload";
    type Reply = ();
    type Rejection = FileRejection;
    type Facts = bool;
    async fn facts(&self, _: &FileState, conditions: &mut Conditions) -> Result<bool, Fault> {
        self.accounts.holds(self.authority, conditions).await
    }
    fn decide(&self, _: &FileState, is_valid: &bool, at: &Point) -> Decided<FileRoom, Self> {
        decide::begin(self.command, *is_valid, &at.stamp)
    }
}

impl Command<FileRoom> for UploaderCommand<'_, KeepFile> {
    const NAME: &'static str = "keep_file";
    type Reply = UploadedFile;
    type Rejection = FileRejection;
    type Facts = bool;
    async fn facts(&self, _: &FileState, conditions: &mut Conditions) -> Result<bool, Fault> {
        self.accounts.holds(self.authority, conditions).await
    }
    fn decide(&self, state: &FileState, is_valid: &bool, at: &Point) -> Decided<FileRoom, Self> {
        decide::keep(state, self.command, *is_valid, &at.stamp)
    }
}

/// A command of the server itself: it is never refused, and does nothing where it does not apply.
macro_rules! internal {
    ($name:literal, $command:ty, |$state:ident, $this:ident, $stamp:ident| $decide:expr) => {
        impl Command<FileRoom> for $command {
            const NAME: &'static str = $name;
            type Reply = ();
            type Rejection = Infallible;
            type Facts = ();
            async fn facts(&self, _: &FileState, _: &mut Conditions) -> Result<(), Fault> {
                Ok(())
            }
            fn decide(&self, $state: &FileState, (): &(), at: &Point) -> Decided<FileRoom, Self> {
                let $stamp = &at.stamp;
                let $this = self;
                Ok($decide)
            }
            /// The event ends the charge for the file.
            fn exceeds_quota(&self) -> bool {
                true
            }
        }
    };
}

internal!("remove_file", RemoveFile, |state, this, stamp| decide::remove(state, *this, stamp));
internal!("note_content_gone", NoteContentRemoved, |state, this, _stamp| decide::note_content_removed(
    state, *this
));
