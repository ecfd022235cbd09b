//! Asynchronous functions that are compiled once.
//! Must not know: what they do.

use std::{future::Future, pin::Pin};

/// A future whose code stands in the crate that makes it. The code of an `async fn` is compiled again in every crate that
/// awaits it, with all that it awaits itself: what many rooms call is sealed, for one small allocation a call.
pub type Sealed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Seals a future, in the function that is called.
pub fn seal<'a, T>(future: impl Future<Output = T> + Send + 'a) -> Sealed<'a, T> {
    Box::pin(future)
}
