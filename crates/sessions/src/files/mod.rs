//! Files of session messages: uploaded once, named by messages, readable by every agent that may read such a message.
//! An upload that no message names is removed after a while.
//! Must not know: the content of a file.

mod access;
pub mod command;
pub mod decide;
pub mod event;
mod multipart;
mod refusals;
mod removal;
mod room;
pub(crate) mod routes;
pub mod state;
mod upload;

pub use refusals::file_not_sent;
pub(crate) use refusals::{named_too_often, store_refusal, unknown_file};
pub(crate) use room::{
    FileRoom, NAMED, NAMED_ELSEWHERE, UNNAMED, UNNAMED_OF, naming_key, unnamed_key, unnamed_of_key,
};

pub(crate) use upload::{ContentDeclaration, name_of};

use std::sync::OnceLock;

use plenary_blobs::Blobs;
use plenary_engine::{Room as _, Streams};
use plenary_kernel::Shares;
use plenary_log::{Fault, StoredEvent};

use event::FileEvent;

/// Largest file, in bytes, unless it is set; beyond it 413 `body_too_large`.
pub const FILE_BYTES_MAX: u64 = 64 << 20;
/// How long a file stays that no message names, in milliseconds, unless it is set.
pub const FILE_UNNAMED_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Uploads of one owner at once, unless it is set; beyond it 429 `too_many_uploads`.
pub const UPLOADS_PER_OWNER_MAX: usize = 4;
/// Uploads of all owners at once; beyond it 503.
pub const UPLOADS_AT_ONCE_MAX: usize = 256;
/// Longest name of a file, in characters; beyond it 400 `invalid_filename`.
pub const FILENAME_CHARS_MAX: usize = 255;
/// Most bytes around the content of an upload: boundaries and the heads of its parts; beyond it 400 `invalid_multipart`.
pub const UPLOAD_FRAME_BYTES_MAX: u64 = 16 << 10;
/// How long an upload may take, in milliseconds; beyond it 408.
pub const UPLOAD_MS_MAX: u64 = 60 * 60 * 1_000;
/// Most sessions whose messages name one file; beyond it 409 `file_named_too_often`.
pub const SESSIONS_PER_FILE_MAX: u32 = 1_000;
/// Most files that one message names; beyond it 400 `invalid_content`.
pub const FILES_PER_MESSAGE_MAX: usize = 32;

/// A change of a file, for readers of the whole log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileNews {
    /// It is stored; the SHA-256 of its content, in hex.
    Stored(String),
    /// A message names it: it stays.
    Named,
    /// It is removed.
    Removed,
}

impl FileNews {
    /// The id of the file and its change; `None` for every other event.
    ///
    /// # Errors
    /// The event can't be read.
    pub fn of(stored_event: &StoredEvent) -> Result<Option<(String, Self)>, Fault> {
        if stored_event.stream.category() != FileRoom::CATEGORY {
            return Ok(None);
        }
        let news = match FileRoom::decode(stored_event)? {
            FileEvent::FileUploaded(event) => Self::Stored(event.sha256),
            FileEvent::FileNamed(_) => Self::Named,
            FileEvent::FileRemoved(_) => Self::Removed,
            FileEvent::UploadBegun(_) | FileEvent::ContentRemoved(_) => return Ok(None),
        };
        Ok(Some((stored_event.stream.id().to_owned(), news)))
    }
}

/// The files of a server.
pub(crate) struct Files {
    pub(crate) streams: Streams<FileRoom>,
    /// The blob store, once it is set.
    pub(crate) blobs: OnceLock<Blobs>,
    /// The uploads that are under way, by the account that they count towards.
    pub(crate) uploads: Shares<String>,
}
