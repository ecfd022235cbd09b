//! The events of a file's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use plenary_engine::stored::{read, unknown, written};
use plenary_kernel::{AgentHandle, SessionId};
use plenary_log::{Fault, NewEvent, StoredEvent};
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

impl FileEvent {
    /// The stored form.
    pub(crate) fn encode(&self) -> NewEvent {
        match self {
            Self::UploadBegun(event) => written("UploadBegun", event),
            Self::FileUploaded(event) => written("FileUploaded", event),
            Self::FileNamed(event) => written("FileNamed", event),
            Self::FileRemoved(event) => written("FileRemoved", event),
            Self::ContentRemoved(event) => written("ContentRemoved", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub(crate) fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored.kind {
            "UploadBegun" => Self::UploadBegun(read(stored)?),
            "FileUploaded" => Self::FileUploaded(read(stored)?),
            "FileNamed" => Self::FileNamed(read(stored)?),
            "FileRemoved" => Self::FileRemoved(read(stored)?),
            "ContentRemoved" => Self::ContentRemoved(read(stored)?),
            _ => return unknown(stored),
        })
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Position, TimestampMs, Version};
    use plenary_log::StreamName;

    use super::*;

    fn stored(event: NewEvent) -> StoredEvent {
        StoredEvent {
            position: Position(1),
            stream: StreamName::new("sessions.file", "file_1"),
            version: Version(1),
            kind: event.kind.into(),
            form: event.form,
            at: TimestampMs(1),
            envelope: event.envelope,
            payload: event.payload,
        }
    }

    #[test]
    fn the_stored_forms_are_frozen() {
        let by = || "@ann.a".parse().unwrap();
        let uploaded = FileUploaded {
            by: by(),
            name: "q3.pdf".into(),
            media_type: "application/pdf".into(),
            bytes: 7,
            sha256: "00".into(),
            at: 1,
            until: 2,
            begun_until: 3,
        };
        let removed = |bytes| FileEvent::FileRemoved(FileRemoved { by: by(), until: 2, bytes });
        for (event, kind, envelope) in [
            (
                FileEvent::UploadBegun(UploadBegun { by: by(), until: 3 }),
                "UploadBegun",
                r#"{"by":"@ann.a","until":3}"#,
            ),
            (
                FileEvent::FileUploaded(uploaded),
                "FileUploaded",
                r#"{"by":"@ann.a","name":"q3.pdf","media_type":"application/pdf","bytes":7,"sha256":"00","at":1,"until":2,"begun_until":3}"#,
            ),
            (
                FileEvent::FileNamed(FileNamed { session: "sess_1".parse().unwrap() }),
                "FileNamed",
                r#"{"session":"sess_1"}"#,
            ),
            (removed(None), "FileRemoved", r#"{"by":"@ann.a","until":2}"#),
            (removed(Some(7)), "FileRemoved", r#"{"by":"@ann.a","until":2,"bytes":7}"#),
            (FileEvent::ContentRemoved(ContentRemoved {}), "ContentRemoved", "{}"),
        ] {
            let written = event.encode();
            assert_eq!((written.kind, written.form, &*written.payload), (kind, 1, &b""[..]));
            assert_eq!(written.envelope, envelope.as_bytes());
            assert_eq!(FileEvent::decode(&stored(written)).unwrap(), event);
        }
    }
}
