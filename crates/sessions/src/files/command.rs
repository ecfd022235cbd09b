//! The commands on a file. Pure.
//! Must not know: the transport of its content.

use plenary_kernel::{AgentHandle, FileId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Somebody begins to upload a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginUpload {
    /// Who.
    pub by: AgentHandle,
}

/// The content of an upload is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepFile {
    /// The file.
    pub id: FileId,
    /// What it is said to be.
    pub declaration: FileDeclaration,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
    /// How long it stays if no message names it.
    pub unnamed_ms_max: u64,
}

/// What an uploader says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDeclaration {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub media_type: String,
}

/// A file is removed that no message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoveFile {
    /// If its time is over.
    Expired,
    /// Whatever its time: its upload failed, or its uploader is gone.
    Abandoned,
}

/// The content of a removed file is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoteContentRemoved;

/// The response of `POST /files`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UploadedFile {
    /// The id that messages use as `file_id`.
    pub id: FileId,
    /// `pending`: no message names it yet.
    pub status: FileStatus,
    /// Its name.
    pub filename: String,
    /// Its media type.
    pub content_type: String,
    /// Its size.
    pub size_bytes: u64,
    /// When it was uploaded, in epoch milliseconds.
    pub created_at: u64,
    /// When it is removed if no message names it by then, in epoch milliseconds.
    pub expires_at: u64,
}

/// Whether a message names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    /// None does yet.
    Pending,
}
