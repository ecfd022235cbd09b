//! The deciders of files. No I/O, clock, randomness or async. Pure.
//! Must not know: permissions to name or read a file.

use plenary_engine::Decision;
use plenary_kernel::Stamp;

use super::{
    UPLOAD_MS_MAX,
    command::{BeginUpload, FileStatus, KeepFile, NoteContentRemoved, RemoveFile, UploadedFile},
    event::{ContentRemoved, FileEvent, FileRemoved, FileUploaded, UploadBegun},
    state::FileState,
};

/// A normal "no".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRejection {
    /// The token was revoked meanwhile.
    Unauthenticated,
    /// The upload was given up meanwhile.
    UploadDiscarded,
}

/// Begins an upload. It is given up well after its time is over.
pub fn begin(
    command: &BeginUpload,
    is_valid: bool,
    stamp: &Stamp,
) -> Result<Decision<FileEvent, ()>, FileRejection> {
    if !is_valid {
        return Err(FileRejection::Unauthenticated);
    }
    let until = stamp.now.0.saturating_add(2 * UPLOAD_MS_MAX);
    let event = UploadBegun { by: command.by.clone(), until };
    Ok(Decision::new(vec![FileEvent::UploadBegun(event)], ()))
}

/// Keeps what was uploaded.
pub fn keep(
    state: &FileState,
    command: &KeepFile,
    is_valid: bool,
    stamp: &Stamp,
) -> Result<Decision<FileEvent, UploadedFile>, FileRejection> {
    if !is_valid {
        return Err(FileRejection::Unauthenticated);
    }
    let FileState::Begun { by, until: begun_until } = state else {
        return Err(FileRejection::UploadDiscarded);
    };
    let KeepFile { id, declaration, bytes, sha256, unnamed_ms_max, .. } = command;
    let (at, until) = (stamp.now.0, stamp.now.0.saturating_add(*unnamed_ms_max));
    let reply = UploadedFile {
        id: id.clone(),
        status: FileStatus::Pending,
        filename: declaration.name.clone(),
        content_type: declaration.media_type.clone(),
        size_bytes: *bytes,
        created_at: at,
        expires_at: until,
    };
    let event = FileUploaded {
        by: by.clone(),
        name: declaration.name.clone(),
        media_type: declaration.media_type.clone(),
        bytes: *bytes,
        sha256: sha256.clone(),
        at,
        until,
        begun_until: *begun_until,
    };
    Ok(Decision::new(vec![FileEvent::FileUploaded(event)], reply))
}

/// Removes a file that no message names.
pub fn remove(state: &FileState, command: RemoveFile, stamp: &Stamp) -> Decision<FileEvent, ()> {
    let (by, until, bytes) = match state {
        FileState::Begun { by, until } => (by, *until, None),
        FileState::Kept { by, until, bytes, sessions: 0 } => (by, *until, Some(*bytes)),
        FileState::Kept { .. } | FileState::Absent | FileState::Removed | FileState::Gone => {
            return Decision::unchanged(());
        }
    };
    if command == RemoveFile::Expired && stamp.now.0 < until {
        return Decision::unchanged(());
    }
    Decision::new(vec![FileEvent::FileRemoved(FileRemoved { by: by.clone(), until, bytes })], ())
}

/// Notes that the content of a removed file is gone too.
pub fn note_content_removed(state: &FileState, _: NoteContentRemoved) -> Decision<FileEvent, ()> {
    if *state == FileState::Removed {
        return Decision::new(vec![FileEvent::ContentRemoved(ContentRemoved {})], ());
    }
    Decision::unchanged(())
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{FileId, SessionId, TimestampMs};

    use super::*;
    use crate::files::{command::FileDeclaration, event::FileNamed};

    fn stamp(ms: u64) -> Stamp {
        Stamp::new(TimestampMs(ms), [0; 10])
    }

    fn keep_command() -> KeepFile {
        KeepFile {
            id: FileId::mint(&stamp(1), 0),
            declaration: FileDeclaration { name: "q3.pdf".into(), media_type: "application/pdf".into() },
            bytes: 7,
            sha256: "00".into(),
            unnamed_ms_max: 100,
        }
    }

    fn step<T>(state: &mut FileState, decide: impl FnOnce(&FileState) -> Decision<FileEvent, T>) -> usize {
        let decision = decide(state);
        decision.events.iter().for_each(|event| state.evolve(event));
        decision.events.len()
    }

    fn begun_upload() -> FileState {
        let (mut state, command) = (FileState::default(), BeginUpload { by: "@ann.a".parse().unwrap() });
        assert_eq!(step(&mut state, |_| begin(&command, true, &stamp(10)).unwrap()), 1);
        state
    }

    fn stored_file() -> FileState {
        let mut state = begun_upload();
        assert_eq!(step(&mut state, |state| keep(state, &keep_command(), true, &stamp(20)).unwrap()), 1);
        state
    }

    #[test]
    fn given_a_token_that_was_revoked_then_nothing_is_begun_or_kept() {
        let command = BeginUpload { by: "@ann.a".parse().unwrap() };
        assert_eq!(begin(&command, false, &stamp(10)), Err(FileRejection::Unauthenticated));
        assert_eq!(
            keep(&begun_upload(), &keep_command(), false, &stamp(10)),
            Err(FileRejection::Unauthenticated)
        );
    }

    #[test]
    fn given_a_kept_file_when_its_time_is_over_then_it_is_removed_once_and_its_content_after_it() {
        let reply = keep(&begun_upload(), &keep_command(), true, &stamp(20)).unwrap().reply;
        assert_eq!((reply.created_at, reply.expires_at, reply.size_bytes), (20, 120, 7));
        let mut state = stored_file();
        assert_eq!(step(&mut state, |state| note_content_removed(state, NoteContentRemoved)), 0);
        assert_eq!(step(&mut state, |state| remove(state, RemoveFile::Expired, &stamp(119))), 0);
        assert_eq!(step(&mut state, |state| remove(state, RemoveFile::Expired, &stamp(120))), 1);
        assert_eq!(step(&mut state, |state| remove(state, RemoveFile::Abandoned, &stamp(120))), 0);
        assert_eq!(step(&mut state, |state| note_content_removed(state, NoteContentRemoved)), 1);
        assert_eq!(state, FileState::Gone);
    }

    #[test]
    fn given_a_file_that_a_message_names_then_it_stays() {
        let mut state = stored_file();
        state.evolve(&FileEvent::FileNamed(FileNamed { session: SessionId::mint(&stamp(1), 0) }));
        for command in [RemoveFile::Expired, RemoveFile::Abandoned] {
            assert!(remove(&state, command, &stamp(u64::MAX)).events.is_empty());
        }
    }

    #[test]
    fn given_an_upload_that_was_given_up_then_it_is_not_kept() {
        let mut state = begun_upload();
        assert_eq!(step(&mut state, |state| remove(state, RemoveFile::Expired, &stamp(11))), 0);
        assert_eq!(step(&mut state, |state| remove(state, RemoveFile::Abandoned, &stamp(11))), 1);
        assert_eq!(keep(&state, &keep_command(), true, &stamp(12)), Err(FileRejection::UploadDiscarded));
    }
}
