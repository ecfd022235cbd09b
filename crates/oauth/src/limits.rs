//! Every limit of the authorization server.

/// Largest form or registration, in bytes; past it 413.
pub const FORM_BYTES_MAX: usize = 16 << 10;
/// Most addresses that a client registers to be called back at; past it 400 `invalid_redirect_uri`.
pub const REDIRECTS_MAX: usize = 8;
/// Longest of them, in bytes; past it 400 `invalid_redirect_uri`.
pub const REDIRECT_BYTES_MAX: usize = 512;
/// All of them together, in bytes; past it 400 `invalid_redirect_uri`.
pub const REDIRECTS_BYTES_MAX: usize = 1_024;
/// Longest name of a client that is shown, in characters; the rest is cut off.
pub const CLIENT_NAME_CHARS_MAX: usize = 80;
/// Longest id of a client, in bytes; past it the client is unknown.
pub const CLIENT_ID_BYTES_MAX: usize = 2_048;
/// Longest `state`, in bytes; past it 400.
pub const STATE_BYTES_MAX: usize = 2_048;
/// Largest document of a client, in bytes; a larger one is not read.
pub const DOCUMENT_BYTES_MAX: usize = 16 << 10;
/// How long a client's document may take to come, in seconds.
pub const DOCUMENT_WITHIN_S: u64 = 5;
/// How long a client's document is kept, in milliseconds.
pub const DOCUMENT_KEPT_MS: u64 = 5 * 60 * 1_000;
/// Most documents that are kept; past it the one that was idle longest is fetched again.
pub const DOCUMENTS_KEPT_MAX: usize = 256;
/// Most documents that are fetched at a time; past it the page says to try again.
pub const DOCUMENTS_AT_ONCE_MAX: usize = 8;
/// How long a code may be used, in milliseconds.
pub const CODE_MS_MAX: u64 = 60 * 1_000;
/// How long a token lasts that a client gets, in milliseconds; it renews it.
pub const ACCESS_MS_MAX: u64 = 60 * 60 * 1_000;
/// Most days that a grant lasts.
pub const GRANT_DAYS_MAX: u64 = 365;
/// Most agents among which a person chooses on the page.
pub const AGENTS_SHOWN_MAX: usize = 200;
