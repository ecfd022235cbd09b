//! Every limit of issuers.

/// Most configured issuers; with more the server does not start.
pub const ISSUERS_MAX: usize = 32;
/// Most rules of one issuer for people, and for agents; with more the server does not start.
pub const RULES_MAX: usize = 256;
/// Longest token of an issuer, in bytes; a longer one is refused with `token_malformed`.
pub const TOKEN_BYTES_MAX: usize = 8 << 10;
/// Largest discovery document or answer of a token endpoint, in bytes; beyond it `issuer_unavailable`.
pub const DOCUMENT_BYTES_MAX: usize = 64 << 10;
/// Largest set of keys, in bytes; beyond it `issuer_unavailable`.
pub const KEYS_BYTES_MAX: usize = 256 << 10;
/// Most keys of an issuer that are kept; the rest are left out.
pub const KEYS_MAX: usize = 64;
/// Time limit of one request to an issuer, in seconds; beyond it `issuer_unavailable`.
pub const ANSWER_WITHIN_S: u64 = 5;
/// How long keys are kept before they are fetched again, in milliseconds.
pub const KEYS_FRESH_MS: u64 = 60 * 60 * 1_000;
/// How long keys are used when the issuer cannot be reached, in milliseconds; beyond it `issuer_unavailable`.
pub const KEYS_KEPT_MS: u64 = 24 * 60 * 60 * 1_000;
/// Most fetches of one issuer's keys per minute, whatever key ids arrive; beyond it the cached keys decide.
pub const FETCHES_PER_MINUTE_MAX: u32 = 6;
/// Most codes redeemed concurrently at one issuer; beyond it `issuer_unavailable`.
pub const REDEEMED_AT_ONCE_MAX: usize = 16;
/// Tolerated difference between the clocks of an issuer and of this server, in milliseconds.
pub const SKEW_MS_MAX: u64 = 60 * 1_000;
/// Default validity of an exchanged token, in milliseconds.
pub const EXCHANGED_MS_DEFAULT: u64 = 15 * 60 * 1_000;
/// Longest validity that a rule may set; with more the server does not start.
pub const EXCHANGED_MS_MAX: u64 = 12 * 60 * 60 * 1_000;
