//! One bearer a token: a row for each living one, written in the append that gives the token out or takes it back.
//! Two appends that give out the same token can't both be written.
//! Must not know: whose a token is; the index does.

use bytes::Bytes;
use plenary_log::RowOp;

use crate::TokenDigest;

/// The rows `bearer/<hex digest>`, empty.
fn row(token: &TokenDigest) -> String {
    format!("bearer/{}", token.hex())
}

/// The token gets its bearer; the append is held to nobody having it.
pub(crate) fn given(token: &TokenDigest) -> RowOp {
    RowOp { name: row(token), expected: Some(0), value: Some(Bytes::new()) }
}

/// The token is invalid; any account may choose it again.
pub(crate) fn freed(token: &TokenDigest) -> RowOp {
    RowOp { name: row(token), expected: None, value: None }
}

/// The row `used/<hex digest>`: when a token beside an agent's own was last used.
pub(crate) fn used(token: &TokenDigest) -> String {
    format!("used/{}", token.hex())
}

/// The token is dead; nobody asks any more when it was used.
pub(crate) fn unused(token: &TokenDigest) -> RowOp {
    RowOp { name: used(token), expected: None, value: None }
}
