//! The query of a request, as pairs of names and words.
//! Must not know: what a parameter means.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use plenary_shape::{Misfit, Sent, Shape};

/// The query of a request.
#[derive(Debug, Clone, Default)]
pub struct Parameters(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        // Any query is a list of pairs.
        Ok(Self(Query::try_from_uri(&parts.uri).map(|Query(pairs)| pairs).unwrap_or_default()))
    }
}

impl Parameters {
    /// Reads it by its shape.
    ///
    /// # Errors
    /// The first fault.
    pub fn read(&self, shape: &'static Shape) -> Result<Sent<&str>, Misfit> {
        shape.read_query(&self.0)
    }

    /// The same with another word for a parameter, where there is one: what a header says instead.
    #[must_use]
    pub fn with(mut self, name: &str, word: Option<&str>) -> Self {
        if let Some(word) = word {
            self.0.retain(|(known, _)| known != name);
            self.0.push((name.to_owned(), word.to_owned()));
        }
        self
    }
}
