//! The limits of this room by name, each with its effect.

use plenary_kernel::limits::JSON_INTEGER_MAX;

/// Largest frame, in bytes of its JSON text; beyond it 413 `field-invalid` (wire.md D.5).
pub const FRAME_BYTES_MAX: usize = 32 << 10;
/// Largest body of a submission, the wrapper around the frame included; beyond it 413 `field-invalid`.
pub const BODY_BYTES_MAX: usize = 34 << 10;
/// Longest prose of a payload, in bytes of UTF-8; beyond it 400 `field-invalid`.
pub const TEXT_BYTES_MAX: u64 = 2_048;
/// Longest reference, in bytes; beyond it 400 `field-invalid`.
pub const REFERENCE_BYTES_MAX: u64 = 512;
/// Longest scope, in bytes; beyond it 400 `field-invalid`.
pub const SCOPE_BYTES_MAX: u64 = 512;
/// Longest handover, in bytes; beyond it 400 `field-invalid`.
pub const HANDOVER_BYTES_MAX: u64 = 8 << 10;
/// Longest session id, in bytes; beyond it 400 `field-invalid`.
pub const SESSION_BYTES_MAX: u64 = 128;
/// Most items of an array; beyond it 400 `field-invalid`.
pub const ITEMS_MAX: u64 = 64;
/// Longest advisory lease, in milliseconds; beyond it 400 `field-invalid`.
pub const LEASE_MS_MAX: u64 = 3_600_000;
/// Largest span of time; beyond it 400 `field-invalid`.
pub const SPAN_MS_MAX: u64 = JSON_INTEGER_MAX;
/// How long a capability opens streams, in milliseconds; then a client asks for another.
pub const CAPABILITY_MS: u64 = 600_000;
/// Most clauses of a filter; beyond it 400 `filter-value-invalid`.
pub const FILTER_CLAUSES_MAX: usize = 32;
/// Longest path of a field that a refusal names, in bytes; the rest is cut off.
pub const PATH_BYTES_MAX: usize = 256;
/// Most principals that the scope of one frame may name; beyond it 403 `scope-unauthorised`.
pub const PRINCIPALS_MAX: usize = 1_000;
/// Most entries of a roster from one process; beyond it the newest are left out.
pub const ROSTER_ENTRIES_MAX: usize = 2_048;
