//! Every limit of the console.

/// Most entries of a page of the audit; past it 400 `invalid_limit`.
pub const AUDIT_PAGE_MAX: usize = 500;
/// How many entries a page of the audit has unless it is said.
pub const AUDIT_PAGE_DEFAULT: usize = 100;
/// Most streams of everything that one owner's people and agents may follow at a time, at one process; past it 429
/// `too_many_streams`.
pub const WATCHES_PER_OWNER_MAX: usize = 32;
/// Most names in a filter of the stream of everything; past it 400.
pub const WATCH_NAMES_MAX: usize = 64;
/// Largest `data` of an event in the stream of everything, in bytes; a larger one is left out.
pub const WATCH_DATA_BYTES_MAX: usize = 2 << 10;
/// Most agents of an overview; past it `more` says that there are more.
pub const OVERVIEW_AGENTS_MAX: usize = 200;
/// Most events that one overview counts; past it `at_least` says so, and the next one goes on.
pub const COUNTED_AT_ONCE_MAX: usize = 20_000;
/// Of how many owners the counts of a day are kept in memory; past it they are counted again.
pub const DAYS_KEPT_MAX: usize = 1_024;
/// How long a challenge for a passkey may be used, in milliseconds.
pub const CHALLENGE_MS_MAX: u64 = 3 * 60 * 1_000;
/// Longest id of a passkey, in bytes (WebAuthn, 4).
pub const CREDENTIAL_BYTES_MAX: usize = 1_023;
/// Longest member of what a browser answers for a passkey, in characters of base64url.
pub const PASSKEY_BYTES_MAX: usize = 8 << 10;
/// How long an attempt to sign in at an issuer may take, in milliseconds.
pub const ATTEMPT_MS_MAX: u64 = 10 * 60 * 1_000;
/// Longest query of `/oauth/authorize` that a browser comes back to from an issuer, in bytes; past it 400 `invalid_query`.
pub const RETURN_BYTES_MAX: usize = 2_560;
/// Most attempts to sign in with a passkey or at an issuer that fail from one address within a minute; past it 429 `too_many_attempts`.
pub const ATTEMPTS_MAX: u32 = 30;
/// The same from addresses that are not known, such as the loopback, together.
pub const ATTEMPTS_UNKNOWN_MAX: u32 = 300;
/// Of how many addresses attempts are counted apart; past it those of further ones are counted together.
pub const ATTEMPTS_ADDRESSES_MAX: usize = 4_096;
