//! Verifies a blob during a transfer: its last bytes are held back until the whole blob is verified.
//! Must not know: the source of the blob.

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream, stream::BoxStream};
use sha2::{Digest, Sha256};

use crate::{BlobId, Fault};

type Content = BoxStream<'static, Result<Bytes, Fault>>;

/// A blob during its transfer.
pub(crate) struct VerifiedStream {
    content: Content,
    id: BlobId,
    hasher: Sha256,
    pending: Option<Bytes>,
}

impl VerifiedStream {
    pub(crate) fn new(content: Content, id: BlobId) -> Self {
        Self { content, id, hasher: Sha256::new(), pending: None }
    }

    /// The next piece; `None` at the end of a blob that is right.
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        while let Some(piece) = self.content.next().await {
            let piece = piece?;
            if piece.is_empty() {
                continue;
            }
            self.hasher.update(&piece);
            if let Some(before) = self.pending.replace(piece) {
                return Ok(Some(before));
            }
        }
        // At the end only the held-back bytes are left.
        let Some(last) = self.pending.take() else { return Ok(None) };
        if BlobId::finished(self.hasher.clone()) == self.id {
            Ok(Some(last))
        } else {
            Err(Fault::Damaged(self.id))
        }
    }

    /// The pieces; the stream ends after an error.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Fault>> + Send {
        stream::try_unfold(self, |mut this| async move { Ok(this.next().await?.map(|piece| (piece, this))) })
    }
}

/// Reads a blob to its end and keeps none of it.
pub(crate) async fn verify(content: Content, id: &BlobId) -> Result<(), Fault> {
    let mut pieces = VerifiedStream::new(content, *id);
    while pieces.next().await?.is_some() {}
    Ok(())
}
