//! Every limit that more than one room shares, by name, with its effect.

/// Largest request body, in bytes; past it 413 (wire.md D.3).
pub const BODY_OCTETS_MAX: usize = 1 << 20;
/// Deepest JSON nesting, the outermost value counting as 1; past it 400 (wire.md D.9).
pub const JSON_DEPTH_MAX: usize = 64;
/// Largest integer that is exact in every JSON reader (I-JSON).
pub const JSON_INTEGER_MAX: u64 = (1 << 53) - 1;
/// Most events of one page of `GET …/events`; past it 400 (wire.md D.9).
pub const PAGE_EVENTS_MAX: usize = 1_000;
/// Bytes of one page of a list as it is on the wire; past it the page ends and says where it goes on. An item that is
/// larger stands on a page alone.
pub const PAGE_BYTES_MAX: usize = 2 << 20;
/// Most rows that one read of the log returns; a longer read goes on from its cursor.
pub const READ_ROWS_MAX: usize = 1_000;
