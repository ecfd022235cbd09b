//! Files of messages: upload and download in pieces.
//! Must not know: the message that names a file.

use std::path::PathBuf;

use bytes::Bytes;
use http::HeaderValue;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use plenary_kernel::FileId;
use serde::{Deserialize, Serialize};
use tokio::{
    fs::File,
    io::AsyncReadExt as _,
    sync::mpsc::{self, Sender},
};

use crate::{
    Client, Error, FaultKind, IdempotencyKey, NetworkFault, Reply, Result,
    client::{IDEMPOTENCY_KEY, segment},
};

/// Bytes read from a file at a time.
const PIECE_BYTES: usize = 64 << 10;
/// Maximum number of pieces that wait to be sent.
const PIECES_WAITING_MAX: usize = 4;

/// A local file to upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    /// Its path.
    pub path: PathBuf,
    /// Its name on the server.
    pub name: String,
    /// Its media type.
    pub media_type: String,
}

/// The answer of `POST /files`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadedFile {
    /// The id by which messages reference it.
    pub id: FileId,
    /// `pending` until a message references it.
    pub status: String,
    /// Its name.
    pub filename: String,
    /// Its media type.
    pub content_type: String,
    /// Its size.
    pub size_bytes: u64,
    /// When it was uploaded, in epoch milliseconds.
    pub created_at: u64,
    /// When it is removed if no message references it by then, in epoch milliseconds.
    pub expires_at: Option<u64>,
}

/// A download in progress.
#[derive(Debug)]
pub struct FileContent {
    server: String,
    body: Incoming,
}

impl FileContent {
    /// The next piece; `None` at the end of a complete file.
    ///
    /// # Errors
    /// When the connection breaks, as it does for a damaged file.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| {
                let detail = error.to_string();
                NetworkFault { kind: FaultKind::Lost, server: self.server.clone(), detail, is_safe: true }
            })?;
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
    }
}

impl Client {
    /// `POST /files`. Retried on transient failures: with one key the file is stored once.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the file cannot be read; 413 `body_too_large`.
    pub async fn upload_file(&self, file: &LocalFile, key: &IdempotencyKey) -> Result<Reply<UploadedFile>> {
        self.retry().run(|| self.upload_file_once(file, key)).await
    }

    async fn upload_file_once(&self, file: &LocalFile, key: &IdempotencyKey) -> Result<Reply<UploadedFile>> {
        let unreadable = |error: std::io::Error| {
            Error::Invalid(format!("{} cannot be read: {error}", file.path.display()))
        };
        let content = File::open(&file.path).await.map_err(unreadable)?;
        if content.metadata().await.map_err(unreadable)?.is_dir() {
            return Err(Error::Invalid(format!("{} is a directory", file.path.display())));
        }
        let boundary = format!("plenary-{}", IdempotencyKey::random());
        let name = file.name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: {}\r\n\r\n",
            file.media_type
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let (pieces, sent) = mpsc::channel(PIECES_WAITING_MAX);
        tokio::spawn(send(content, head, tail, pieces));
        let key = HeaderValue::from_str(key.as_str())
            .map_err(|_| Error::Invalid("the idempotency key is not valid in a header".into()))?;
        let media_type = format!("multipart/form-data; boundary={boundary}");
        let reply = self.upload("/files", &media_type, &[(IDEMPOTENCY_KEY, key)], sent).await?;
        Reply::read(reply.into_success()?)
    }

    /// `GET /files/{id}`.
    ///
    /// # Errors
    /// 404 if the file does not exist, or the caller may not read it.
    pub async fn file(&self, id: &FileId) -> Result<FileContent> {
        let path = format!("/files/{}", segment(id.as_str()));
        let response = self.open(&path, "*/*", &[]).await?;
        Ok(FileContent { server: self.base().to_string(), body: response.into_body() })
    }
}

/// Sends a body with one part. A read error aborts the body, so that the server does not take it for complete.
async fn send(mut content: File, head: String, tail: String, pieces: Sender<std::io::Result<Bytes>>) {
    let mut piece = Ok(Bytes::from(head));
    loop {
        let is_over = piece.is_err();
        // After a refusal, the server reads no further.
        if pieces.send(piece).await.is_err() || is_over {
            return;
        }
        let mut read = Vec::with_capacity(PIECE_BYTES);
        piece = match (&mut content).take(PIECE_BYTES as u64).read_to_end(&mut read).await {
            Ok(0) => break,
            Ok(_) => Ok(Bytes::from(read)),
            Err(error) => Err(error),
        };
    }
    let _ = pieces.send(Ok(Bytes::from(tail))).await;
}
