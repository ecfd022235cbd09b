//! The limits that several rooms share, each with its effect.

/// Maximum size of a request body in bytes; a larger body gets 413 (wire.md D.3).
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Maximum depth of JSON; the outermost array or object is level 1. Deeper JSON gets 400 (wire.md D.9).
pub const JSON_DEPTH_MAX: usize = 64;
/// The largest integer that every JSON reader represents exactly (I-JSON).
pub const JSON_INTEGER_MAX: u64 = (1 << 53) - 1;
/// Maximum number of events in one page of `GET …/events`; a larger `limit` gets 400 (wire.md D.9).
pub const PAGE_EVENTS_MAX: usize = 1_000;
/// Maximum size in bytes of one page of a list on the wire. The page ends before it and tells the client where to continue. A
/// larger item has a page to itself.
pub const PAGE_BYTES_MAX: usize = 2 << 20;
/// Maximum number of rows of one read of the log; a longer read continues from its cursor.
pub const READ_ROWS_MAX: usize = 1_000;
