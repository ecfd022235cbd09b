//! The body of a response that crosses, which ends with the accord.
//! Must not know: the content.

use std::{future::Future, io};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream::unfold};

/// The body with these pieces. When `end` returns first, it breaks off with an error, so that nobody takes it for complete.
/// `guard` is dropped with the body.
pub(crate) fn ending<E, H>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    end: impl Future<Output = ()> + Send + 'static,
    guard: H,
) -> Body
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + Send + 'static,
    H: Send + 'static,
{
    let state = Some((Box::pin(pieces), Box::pin(end), guard));
    Body::from_stream(unfold(state, |state| async move {
        let (mut pieces, mut end, guard) = state?;
        let piece = tokio::select! {
            biased;
            () = &mut end => return Some((Err(io::Error::other("the accord ended")), None)),
            piece = pieces.next() => piece?,
        };
        match piece {
            Ok(piece) => Some((Ok(piece), Some((pieces, end, guard)))),
            Err(error) => Some((Err(io::Error::other(error)), None)),
        }
    }))
}
