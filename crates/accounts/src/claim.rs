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

/// The token gets its bearer, on the condition that it is not in use.
pub(crate) fn claim(token: &TokenDigest) -> RowOp {
    RowOp { name: row(token), expected: Some(0), value: Some(Bytes::new()) }
}

/// The token is invalid; any account may choose it again.
pub(crate) fn release(token: &TokenDigest) -> RowOp {
    RowOp { name: row(token), expected: None, value: None }
}

/// The row `used/<hex digest>`: the last use of an additional token.
pub(crate) fn use_row(token: &TokenDigest) -> String {
    format!("used/{}", token.hex())
}

/// The token is invalid, so its last use is no longer needed.
pub(crate) fn forget_use(token: &TokenDigest) -> RowOp {
    RowOp { name: use_row(token), expected: None, value: None }
}
