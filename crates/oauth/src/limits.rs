//! Every limit of the authorization server.

/// Largest form or registration, in bytes; beyond it 413.
pub const FORM_BYTES_MAX: usize = 16 << 10;
/// Most redirect URIs of a client; beyond it 400 `invalid_redirect_uri`.
pub const REDIRECTS_MAX: usize = 8;
/// Longest redirect URI, in bytes; beyond it 400 `invalid_redirect_uri`.
pub const REDIRECT_BYTES_MAX: usize = 512;
/// All redirect URIs of a client together, in bytes; beyond it 400 `invalid_redirect_uri`.
pub const REDIRECTS_BYTES_MAX: usize = 1_024;
/// Longest displayed name of a client, in characters; the rest is cut off.
pub const CLIENT_NAME_CHARS_MAX: usize = 80;
/// Longest id of a client, in bytes; beyond it the client is unknown.
pub const CLIENT_ID_BYTES_MAX: usize = 2_048;
/// Longest `state`, in bytes; beyond it 400.
pub const STATE_BYTES_MAX: usize = 2_048;
/// Largest document of a client, in bytes; a larger one is not read.
pub const DOCUMENT_BYTES_MAX: usize = 16 << 10;
/// Time limit for fetching a client's document, in seconds.
pub const DOCUMENT_WITHIN_S: u64 = 5;
/// How long a client's document is cached, in milliseconds.
pub const DOCUMENT_KEPT_MS: u64 = 5 * 60 * 1_000;
/// Most cached documents; beyond it a document is dropped, and fetched again when it is needed.
pub const DOCUMENTS_KEPT_MAX: usize = 256;
/// Most documents fetched concurrently; beyond it the page says to try again.
pub const DOCUMENTS_AT_ONCE_MAX: usize = 8;
/// Most of them for the people of one owner.
pub const DOCUMENTS_OF_OWNER_MAX: usize = 2;
/// Validity of a code, in milliseconds.
pub const CODE_MS_MAX: u64 = 60 * 1_000;
/// Validity of a client's access token, in milliseconds; the client renews it.
pub const ACCESS_MS_MAX: u64 = 60 * 60 * 1_000;
/// Longest validity of a grant, in days.
pub const GRANT_DAYS_MAX: u64 = 365;
/// Most agents in the list on the page.
pub const AGENTS_SHOWN_MAX: usize = 200;
