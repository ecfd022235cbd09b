//! Parameters of the query: each stands once and is text, or the request is refused.
//! Must not know: what a parameter means.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use percent_encoding::percent_decode_str;
use plenary_shape::{Sent, Shape};

use crate::malformed::{Code, Malformed};

/// The query of a request: what is text, and the names of what is none.
pub(crate) struct Parameters {
    pairs: Vec<(String, String)>,
    no_texts: Vec<String>,
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let mut parameters = Self { pairs: Vec::new(), no_texts: Vec::new() };
        for pair in parts.uri.query().unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (decoded(name).filter(|name| !name.is_empty()), decoded(value)) {
                (Some(name), Some(value)) => parameters.pairs.push((name, value)),
                (Some(name), None) => parameters.no_texts.push(name),
                (None, _) => {}
            }
        }
        Ok(parameters)
    }
}

/// A part of a query as text (`application/x-www-form-urlencoded`); octets that are no text name nothing.
fn decoded(part: &str) -> Option<String> {
    let spaced = part.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(|text| text.into_owned())
}

impl Parameters {
    /// Reads it by its shape.
    ///
    /// # Errors
    /// The first fault.
    pub(crate) fn read(&self, shape: &'static Shape) -> Result<Sent<&str>, Malformed> {
        if let Some(name) = self.no_texts.iter().find(|name| shape.field(name).is_some()) {
            return Err(Malformed::parameter(name, "UTF-8"));
        }
        Ok(shape.read_query(&self.pairs)?)
    }

    /// The same with another word for a parameter, where there is one: what a header says instead.
    pub(crate) fn with(mut self, name: &str, word: Option<&str>) -> Self {
        if let Some(word) = word {
            self.pairs.retain(|(known, _)| known != name);
            self.pairs.push((name.to_owned(), word.to_owned()));
        }
        self
    }
}

/// Where an earlier page of a list ended, as that page said it.
///
/// # Errors
/// `invalid_cursor` for what no such list has said.
pub(crate) fn cursor<'a>(
    sent: &Sent<&'a str>,
    is_of_list: impl Fn(&str) -> bool,
) -> Result<Option<&'a str>, Malformed> {
    let cursor = sent.get("cursor");
    if cursor.is_none_or(is_of_list) {
        return Ok(cursor);
    }
    Err(Malformed {
        code: Code::InvalidCursor,
        field: Some("cursor".to_owned()),
        message: "`cursor` must be the `next_cursor` of an earlier page of this list.".to_owned(),
    })
}
