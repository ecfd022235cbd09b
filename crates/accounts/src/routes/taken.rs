//! What handlers take from a request besides its caller and body: the path, the page.
//! Must not know: any one route.

use std::str::FromStr;

use axum::extract::{Path, rejection::PathRejection};
use plenary_edge::Parameters;
use plenary_kernel::{Malformed, Refusal};
use plenary_shape::Shape;

/// The one parameter of a path.
pub(crate) type OnePath = Result<Path<String>, PathRejection>;
/// The two parameters of a path.
pub(crate) type TwoPath = Result<Path<(String, String)>, PathRejection>;

/// What the path names. What nobody can be called is nobody: the one 404.
pub(crate) fn one<T: FromStr>(path: OnePath) -> Result<T, Refusal> {
    let Path(text) = path.map_err(|_| Refusal::not_found())?;
    text.parse().map_err(|_| Refusal::not_found())
}

/// What the path names, and what it names within that; the second is judged after the caller's right to the first.
pub(crate) fn two<A: FromStr, B: FromStr<Err = Malformed>>(
    path: TwoPath,
    code: &'static str,
) -> Result<(A, Result<B, Refusal>), Refusal> {
    let Path((first, second)) = path.map_err(|_| Refusal::not_found())?;
    let second =
        second.parse().map_err(|wrong| Refusal::malformed(code, format!("The path's last part: {wrong}.")));
    Ok((first.parse().map_err(|_| Refusal::not_found())?, second))
}

/// A page that was asked for.
pub(crate) struct Page<T> {
    pub(crate) limit: usize,
    pub(crate) after: Option<T>,
}

/// Reads the query of a list whose pages have at most `limit_max` rows, which is also the default.
pub(crate) fn page<T: FromStr>(
    parameters: &Parameters,
    shape: &'static Shape,
    limit_max: usize,
) -> Result<Page<T>, Refusal> {
    let sent = parameters.read(shape)?;
    let after = sent.get("cursor").map(|text| text.parse().map_err(|_| wrong_cursor())).transpose()?;
    Ok(Page { limit: sent.count("limit").unwrap_or(limit_max), after })
}

/// A cursor that no list has said.
pub(crate) fn wrong_cursor() -> Refusal {
    Refusal::malformed("invalid_cursor", "cursor must be the next_cursor of the page before.")
}
