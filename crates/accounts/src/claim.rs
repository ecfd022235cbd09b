//! One bearer per token: a row for each valid token, written in the append that issues or revokes it. Two appends
//! that issue the same token cannot both be written.
//! Must not know: the owner of a token; the index has it.

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
