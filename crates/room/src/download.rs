//! The body of a download, which breaks off once the reader may no longer have it.
//! Must not know: what is downloaded, or who reads it.

use std::{error::Error, future::Future, io, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream::try_unfold};
use tokio::time::Instant;

/// The right is checked after this time or so many bytes, so that most pieces of a fast download cost no check.
const RECHECK_AFTER: Duration = Duration::from_millis(250);
const RECHECK_BYTES: usize = 1 << 20;

/// The error that ends a body whose reader has lost its right, so that nobody takes it for complete.
pub fn broken_off() -> io::Error {
    io::Error::other("the right to read it ended")
}

/// The body with these pieces. `is_allowed` says whether the reader may still have them, as at the beginning; otherwise the body
/// breaks off.
pub fn while_allowed<E, A>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    is_allowed: impl FnMut() -> A + Send + 'static,
) -> Body
where
    E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    A: Future<Output = bool> + Send + 'static,
{
    let state = (Box::pin(pieces), is_allowed, (Instant::now(), 0));
    Body::from_stream(try_unfold(state, |(mut pieces, mut is_allowed, (at, bytes))| async move {
        let Some(piece) = pieces.next().await else { return Ok(None) };
        let piece = piece.map_err(io::Error::other)?;
        let bytes = bytes + piece.len();
        let is_due = at.elapsed() >= RECHECK_AFTER || bytes >= RECHECK_BYTES;
        // Checked after the piece was read: a slow reader asks for it long after the previous one.
        if is_due && !is_allowed().await {
            return Err(broken_off());
        }
        let checked = if is_due { (Instant::now(), 0) } else { (at, bytes) };
        Ok(Some((piece, (pieces, is_allowed, checked))))
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use futures_util::stream::repeat_with;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_fast_download_is_checked_by_its_bytes() {
        let half = Bytes::from(vec![0; RECHECK_BYTES / 2]);
        let pieces = repeat_with(move || Ok::<_, io::Error>(half.clone())).take(4);
        let mut body = while_allowed(pieces, || std::future::ready(false)).into_data_stream();
        assert!(body.next().await.is_some_and(|piece| piece.is_ok()));
        assert!(body.next().await.is_some_and(|piece| piece.is_err()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_download_breaks_off_once_the_reader_may_no_longer_have_it() {
        let right = Arc::new(AtomicBool::new(true));
        let asked = right.clone();
        let pieces = repeat_with(|| Ok::<_, io::Error>(Bytes::from_static(b"piece"))).take(4);
        let body = while_allowed(pieces, move || std::future::ready(asked.load(Ordering::Relaxed)));
        let mut body = body.into_data_stream();
        assert!(body.next().await.is_some_and(|piece| piece.is_ok()));
        tokio::time::advance(RECHECK_AFTER).await;
        assert!(body.next().await.is_some_and(|piece| piece.is_ok()), "it is still allowed");
        right.store(false, Ordering::Relaxed);
        tokio::time::advance(RECHECK_AFTER).await;
        assert!(body.next().await.is_some_and(|piece| piece.is_err()));
        assert!(body.next().await.is_none());
    }
}
