//! The events of a file's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use plenary_kernel::{AgentHandle, SessionId};
use serde::{Deserialize, Serialize};

/// An event of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEvent {
    /// An upload began. After a crash this event identifies the remains.
    UploadBegun(UploadBegun),
    /// It is stored.
    FileUploaded(FileUploaded),
    /// A message of a session names it, the first one of that session.
    FileNamed(FileNamed),
    /// The file was removed; its content is removed later.
    FileRemoved(FileRemoved),
    /// Its content was removed.
    ContentRemoved(ContentRemoved),
}

/// See [`FileEvent::UploadBegun`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadBegun {
    /// Who uploads it.
    pub by: AgentHandle,
    /// When it is given up, in epoch milliseconds.
    pub until: u64,
}

/// See [`FileEvent::FileUploaded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUploaded {
    /// Who uploaded it.
    pub by: AgentHandle,
    /// Its name.
    pub name: String,
    /// Its media type, as its uploader says.
    pub media_type: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
    /// When it was uploaded, in epoch milliseconds.
    pub at: u64,
    /// When it is removed if no message names it by then, in epoch milliseconds.
    pub until: u64,
    /// When its upload would have been given up, in epoch milliseconds.
    pub begun_until: u64,
}

/// See [`FileEvent::FileNamed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileNamed {
    /// The session.
    pub session: SessionId,
}

/// See [`FileEvent::FileRemoved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRemoved {
    /// Who had uploaded it, or begun to.
    pub by: AgentHandle,
    /// Until when it would have stayed, in epoch milliseconds.
    pub until: u64,
    /// Its size; absent if its upload had not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// See [`FileEvent::ContentRemoved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentRemoved {}

plenary_engine::stored_forms!(FileEvent: UploadBegun, FileUploaded, FileNamed, FileRemoved, ContentRemoved);

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen;

    use super::*;

    #[test]
    fn the_stored_forms_are_frozen() {
        assert_frozen::<FileEvent>(&[
            ("UploadBegun", r#"{"by":"@ann.a","until":3}"#),
            (
                "FileUploaded",
                r#"{"by":"@ann.a","name":"q3.pdf","media_type":"application/pdf","bytes":7,"sha256":"00","at":1,"until":2,"begun_until":3}"#,
            ),
            ("FileNamed", r#"{"session":"sess_1"}"#),
            ("FileRemoved", r#"{"by":"@ann.a","until":2}"#),
            ("FileRemoved", r#"{"by":"@ann.a","until":2,"bytes":7}"#),
            ("ContentRemoved", "{}"),
        ]);
    }
}
