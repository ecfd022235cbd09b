//! Query parameters: a repeated parameter is refused.
//! Must not know: the meaning of a parameter.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Query};
use http::{HeaderMap, request::Parts};

use crate::malformed::{Code, FrameFault};

/// The query of a request; `None` if it is invalid.
pub(crate) struct Parameters(Option<Vec<(String, String)>>);

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(Query::try_from_uri(&parts.uri).ok().map(|Query(pairs)| pairs)))
    }
}

impl Parameters {
    /// The name of a parameter that is not in `known`.
    pub(crate) fn unknown(&self, known: &[&str]) -> Option<&str> {
        let mut names = self.0.iter().flatten().map(|(name, _)| name.as_str());
        names.find(|name| !known.contains(name))
    }

    /// The parameter of a name.
    ///
    /// # Errors
    /// `field-invalid` if it appears twice, or the query is invalid.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, FrameFault> {
        let Some(pairs) = &self.0 else {
            return Err(FrameFault::whole(Code::FieldInvalid, "The query cannot be read."));
        };
        let mut values = pairs.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_str());
        let value = values.next();
        if values.next().is_some() {
            return Err(FrameFault::parameter(name, "sent once"));
        }
        Ok(value)
    }
}

/// The header of a name, as a parameter.
///
/// # Errors
/// `field-invalid` if it appears twice or is not text.
pub(crate) fn header<'a>(
    headers: &'a HeaderMap,
    name: &str,
    parameter: &str,
) -> Result<Option<&'a str>, FrameFault> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match value.to_str() {
        Ok(text) if values.next().is_none() => Ok(Some(text)),
        _ => Err(FrameFault::parameter(parameter, "sent once, in ASCII")),
    }
}
