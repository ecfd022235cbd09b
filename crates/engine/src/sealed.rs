//! Async functions that are compiled once.
//! Must not know: their purpose.

use std::{future::Future, pin::Pin};

/// A boxed future, compiled in the crate that creates it. The code of an `async fn` is compiled again in
/// every crate that awaits it, including all that it awaits itself. Functions that many rooms call are
/// therefore sealed, at the cost of one small allocation per call.
pub type Sealed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Boxes a future inside the called function.
pub fn seal<'a, T>(future: impl Future<Output = T> + Send + 'a) -> Sealed<'a, T> {
    Box::pin(future)
}
