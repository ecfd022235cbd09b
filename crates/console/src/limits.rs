//! All limits of the console.

/// Maximum size of the body with which a browser signs in, in bytes; beyond it 413. It is read before its sender is known.
pub const SIGN_IN_BYTES_MAX: usize = 16 << 10;
/// Maximum number of entries in a page of the audit; beyond it 400 `invalid_limit`.
pub const AUDIT_PAGE_MAX: usize = 500;
/// Number of entries in a page of the audit without a `limit`.
pub const AUDIT_PAGE_DEFAULT: usize = 100;
/// Maximum number of `/watch` streams of one owner's people and agents in one process; beyond it 429 `too_many_streams`.
pub const WATCHES_PER_OWNER_MAX: usize = 32;
/// Maximum number of names in one filter of `/watch`; beyond it 400.
pub const WATCH_NAMES_MAX: usize = 64;
/// Maximum size of an event's `data` in `/watch`, in bytes; a larger one is replaced by `{"truncated": true}`.
pub const WATCH_DATA_BYTES_MAX: usize = 2 << 10;
/// Maximum number of agents in an overview; beyond it `more` is set.
pub const OVERVIEW_AGENTS_MAX: usize = 200;
/// Maximum number of events that one overview counts; beyond it `at_least` is set, and the next overview continues.
pub const COUNTED_AT_ONCE_MAX: usize = 20_000;
/// Number of owners whose counts of the day stay in memory; beyond it all counts start again.
pub const DAYS_STORED_MAX: usize = 1_024;
/// Lifetime of a passkey challenge, in milliseconds.
pub const CHALLENGE_MS_MAX: u64 = 3 * 60 * 1_000;
/// Maximum length of a passkey's id, in bytes (WebAuthn, 4).
pub const CREDENTIAL_BYTES_MAX: usize = 1_023;
/// Maximum length of one member of a browser's passkey response, in characters of base64url.
pub const PASSKEY_BYTES_MAX: usize = 8 << 10;
/// Time limit of a sign-in at an issuer, in milliseconds.
pub const ATTEMPT_MS_MAX: u64 = 10 * 60 * 1_000;
/// Maximum length of the `/oauth/authorize` query that a browser returns to from an issuer, in bytes; beyond it 400
/// `invalid_query`.
pub const RETURN_BYTES_MAX: usize = 2_560;
/// Maximum number of failed sign-ins with a passkey or at an issuer from one address per minute; beyond it 429
/// `too_many_attempts`.
pub const ATTEMPTS_MAX: u32 = 30;
/// The same for all addresses that many clients share, such as the loopback, together.
pub const ATTEMPTS_UNKNOWN_MAX: u32 = 300;
/// Number of addresses whose attempts are counted separately; further ones count with the shared addresses.
pub const ATTEMPTS_ADDRESSES_MAX: usize = 4_096;
