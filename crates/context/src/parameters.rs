//! Query parameters: a repeated parameter is refused.
//! Must not know: the meaning of a parameter.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use percent_encoding::percent_decode_str;

use crate::{
    malformed::{Code, ContextFault},
    moment::Moment,
};

/// The query of a request; a value that is not UTF-8 is `None`.
pub(crate) struct Parameters(Vec<(String, Option<String>)>);

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let pairs = parts.uri.query().unwrap_or_default().split('&');
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)))
        };
        Ok(Self(pairs.filter_map(pair).collect()))
    }
}

/// Decodes a part of a query (`application/x-www-form-urlencoded`); `None` if it is not UTF-8.
fn decoded(part: &str) -> Option<String> {
    let spaced = part.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(|text| text.into_owned())
}

impl Parameters {
    /// The value of a parameter.
    ///
    /// # Errors
    /// `invalid_parameter` if it occurs twice, or is not UTF-8.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, ContextFault> {
        let mut values = self.0.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_deref());
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(Some(value)), None) => Ok(Some(value)),
            (Some(None), None) => Err(ContextFault::parameter(name, "UTF-8")),
            (Some(_), Some(_)) => Err(ContextFault::parameter(name, "sent once")),
        }
    }

    /// A required parameter, which must not be empty.
    pub(crate) fn required(&self, name: &str) -> Result<&str, ContextFault> {
        self.one(name)?
            .filter(|value| !value.is_empty())
            .ok_or_else(|| ContextFault::parameter(name, "given"))
    }

    /// A whole number within bounds.
    pub(crate) fn number(&self, name: &str, default: u64, low: u64, high: u64) -> Result<u64, ContextFault> {
        let Some(text) = self.one(name)? else { return Ok(default) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && (low..=high).contains(number));
        number.ok_or_else(|| ContextFault::parameter(name, &format!("a whole number from {low} to {high}")))
    }

    /// The same as a `usize`.
    pub(crate) fn count(
        &self,
        name: &str,
        default: usize,
        low: usize,
        high: usize,
    ) -> Result<usize, ContextFault> {
        let number = self.number(name, default as u64, low as u64, high as u64)?;
        Ok(usize::try_from(number).unwrap_or(high))
    }

    /// A switch: `true`, `1`, `false`, `0`.
    pub(crate) fn switch(&self, name: &str) -> Result<bool, ContextFault> {
        match self.one(name)? {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(ContextFault::parameter(name, "true or false")),
        }
    }

    /// The cursor of an earlier page.
    ///
    /// # Errors
    /// `invalid_cursor` if it is not a cursor of this list.
    pub(crate) fn cursor(&self, is_of_list: impl Fn(&str) -> bool) -> Result<Option<&str>, ContextFault> {
        let cursor = self.one("cursor")?;
        if cursor.is_none_or(is_of_list) {
            return Ok(cursor);
        }
        Err(ContextFault {
            code: Code::InvalidCursor,
            field: Some("cursor".to_owned()),
            message: "`cursor` must be the `next_cursor` of an earlier page of this list.".to_owned(),
        })
    }

    /// Refuses all other parameters. For operations that delete or import: an unknown restriction must not be ignored.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ContextFault> {
        let unknown = self
            .0
            .iter()
            .map(|(name, _)| name)
            .find(|name| !name.is_empty() && !known.contains(&name.as_str()));
        let known = known.join(", ");
        unknown.map_or(Ok(()), |name| {
            Err(ContextFault::parameter(name, &format!("left out; what counts here is {known}")))
        })
    }

    /// A time in UTC, or a day, which means its beginning.
    pub(crate) fn moment(&self, name: &str) -> Result<Option<Moment>, ContextFault> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let moment = Moment::exact(text).or_else(|| Moment::exact(&format!("{text}T00:00:00Z")));
        let expected = "an RFC 3339 time in UTC with at most nine digits after the second, or a day";
        moment.map(Some).ok_or_else(|| ContextFault::parameter(name, expected))
    }
}
