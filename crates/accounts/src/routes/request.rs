//! The parts of a request that handlers share: the path, the page.
//! Must not know: any one route.

use std::str::FromStr;

use axum::extract::{
    Path, Query,
    rejection::{PathRejection, QueryRejection},
};
use plenary_kernel::{MalformedText, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

/// The one parameter of a path.
pub(crate) type OnePath = Result<Path<String>, PathRejection>;
/// The two parameters of a path.
pub(crate) type TwoPath = Result<Path<(String, String)>, PathRejection>;
/// The query of a list with pages of at most `MAX` rows.
pub(crate) type PageSent<const MAX: usize> = Result<Query<PageQuery<MAX>>, QueryRejection>;

/// The subject of the path. An invalid name gets the same 404 as an absent one.
pub(crate) fn path_subject<T: FromStr>(path: OnePath) -> Result<T, Refusal> {
    let Path(text) = path.map_err(|_| Refusal::not_found())?;
    text.parse().map_err(|_| Refusal::not_found())
}

/// The subject of the path, and a part of it; the part is parsed after the caller's right to the subject is checked.
pub(crate) fn path_subject_and_part<A: FromStr, B: FromStr<Err = MalformedText>>(
    path: TwoPath,
    code: &'static str,
) -> Result<(A, Result<B, Refusal>), Refusal> {
    let Path((first, second)) = path.map_err(|_| Refusal::not_found())?;
    let second =
        second.parse().map_err(|reason| Refusal::malformed(code, format!("The path's last part: {reason}.")));
    Ok((first.parse().map_err(|_| Refusal::not_found())?, second))
}

/// The page of a list, of at most `MAX` rows.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PageQuery<const MAX: usize> {
    /// Maximum number of rows.
    #[schemars(with = "Option<u32>", range(min = 1, max = MAX))]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// A requested page.
pub(crate) struct Page<T> {
    pub(crate) limit: usize,
    pub(crate) after: Option<T>,
}

/// Reads the query of a list whose pages have at most `MAX` rows, which is also the default.
pub(crate) fn page<T: FromStr, const MAX: usize>(query: PageSent<MAX>) -> Result<Page<T>, Refusal> {
    let Query(page_query) =
        query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let limit = limit(page_query.limit.as_deref(), MAX, MAX)?;
    Ok(Page { limit, after: cursor(page_query.cursor.as_deref())? })
}

/// The requested number of rows, or `default`.
pub(crate) fn limit(value: Option<&str>, default: usize, limit_max: usize) -> Result<usize, Refusal> {
    let Some(text) = value else { return Ok(default) };
    text.parse().ok().filter(|limit| (1..=limit_max).contains(limit)).ok_or_else(|| {
        Refusal::malformed("invalid_limit", format!("limit must be a number from 1 to {limit_max}."))
    })
}

/// The end of the previous page.
pub(crate) fn cursor<T: FromStr>(value: Option<&str>) -> Result<Option<T>, Refusal> {
    value.map(str::parse).transpose().map_err(|_| invalid_cursor())
}

/// The refusal of a text that is no cursor.
pub(crate) fn invalid_cursor() -> Refusal {
    Refusal::malformed("invalid_cursor", "cursor must be the next_cursor of the page before.")
}
