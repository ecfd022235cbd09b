//! Sends an import: one request whose body is produced while it is sent.
//! Must not know: the source of the lines.

use std::{io::BufRead, pin::pin, time::Duration};

use bytes::Bytes;
use tokio::{sync::mpsc, time::timeout};

use super::{ImportOptions, ImportReport, OnProgress, Progress};
use crate::{Client, Error, FaultKind, NetworkFault, Reply, Result, query::Query};

/// Maximum number of pieces that wait to be sent.
const PIECES_WAITING_MAX: usize = 4;
/// Bytes per piece of a file.
const PIECE_BYTES: usize = 64 << 10;
/// How long the server may accept no data.
const STALL_MAX: Duration = Duration::from_secs(120);
/// How long the server may take to report the result after everything is sent.
const REPORT_WAIT: Duration = Duration::from_secs(600);

/// The source of a body's pieces; `None` after the last.
pub(super) trait Pieces: Send {
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>>> + Send;
}

/// A file, unchanged.
struct File(Box<dyn BufRead + Send>);

impl Pieces for File {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let unread = |error: std::io::Error| Error::Invalid(format!("the import cannot be read: {error}"));
        let bytes = self.0.fill_buf().map_err(unread)?;
        let piece = Bytes::copy_from_slice(&bytes[..bytes.len().min(PIECE_BYTES)]);
        self.0.consume(piece.len());
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }
}

/// Sends pieces as one import. Calls `told` for each piece.
pub(super) async fn send(
    client: &Client,
    options: &ImportOptions,
    pieces: &mut impl Pieces,
    mut on_piece: impl FnMut(&Bytes) + Send,
) -> Result<Reply<ImportReport>> {
    let path = format!("/v1/import?conflict={}&dry_run={}", options.conflict, options.dry_run);
    let path = Query::of(path).with("into", options.into.as_ref()).path();
    let stalled = || {
        let (server, detail) = (client.base().to_string(), "the server does not read the import".to_owned());
        Error::from(NetworkFault { kind: FaultKind::TimedOut, server, detail, is_safe: false })
    };
    let (tx, rx) = mpsc::channel(PIECES_WAITING_MAX);
    let mut request = pin!(client.upload(&path, "application/x-ndjson", &[], rx));
    loop {
        // The server may refuse before everything is sent.
        let permit = tokio::select! {
            biased;
            reply = &mut request => return Reply::read(reply?.into_success()?),
            permit = timeout(STALL_MAX, tx.reserve()) => permit.map_err(|_| stalled())?,
        };
        let Ok(permit) = permit else { break };
        let next = tokio::select! {
            biased;
            reply = &mut request => return Reply::read(reply?.into_success()?),
            next = pieces.next() => next,
        };
        match next {
            Ok(Some(piece)) => {
                on_piece(&piece);
                permit.send(Ok(piece));
            }
            Ok(None) => break,
            Err(error) => {
                // Aborts the body, so that the server does not take it for complete.
                permit.send(Err(std::io::ErrorKind::UnexpectedEof.into()));
                return Err(error);
            }
        }
    }
    drop(tx);
    let reply = timeout(REPORT_WAIT, request).await.map_err(|_| stalled())??;
    Reply::read(reply.into_success()?)
}

impl Client {
    /// Imports lines in the form of an export, or of other implementations. May be repeated: existing records are
    /// skipped.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the source cannot be read.
    pub async fn import(
        &self,
        from: Box<dyn BufRead + Send>,
        options: &ImportOptions,
        progress: OnProgress<'_>,
    ) -> Result<ImportReport> {
        let (mut records, mut bytes) = (0, 0);
        let on_piece = |piece: &Bytes| {
            records += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
            bytes += piece.len() as u64;
            progress(&Progress { step: "import", project: None, records, bytes });
        };
        Ok(send(self, options, &mut File(from), on_piece).await?.value)
    }
}
