//! Every limit of the server, by name, with its effect.

use std::time::Duration;

/// Largest message of a client, in bytes, beyond it 413: the largest body of an operation, with its envelope.
pub const MESSAGE_BYTES_MAX: usize = plenary_kernel::limits::BODY_BYTES_MAX + (64 << 10);
/// Maximum number of open sessions in all (`initialize` generation); beyond it the least recently used session of the
/// owner with the most sessions is closed.
pub const SESSIONS_MAX: usize = 4_096;
/// Maximum number of sessions of one caller; beyond it the least recently used is closed.
pub const SESSIONS_PER_CALLER_MAX: usize = 64;
/// Default maximum number of sessions of one owner and its agents; beyond it the least recently used is closed.
pub const SESSIONS_PER_OWNER_MAX: usize = 1_024;
/// How often a session slot is tried for while others compete for it; after that 429.
pub const ROOM_TRIES_MAX: usize = 8;
/// How long a session may be without a request or an open stream; after that it is closed.
pub const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
/// Maximum number of concurrent requests of one caller, open streams included; beyond it 429.
pub const REQUESTS_PER_CALLER_MAX: usize = 128;
/// Maximum number of resources in one subscription or session; beyond it a subscription is refused, or cut to the limit.
pub const FOLLOWED_MAX: usize = 32;
/// How often sessions and open streams are checked for invalid tokens and idleness.
pub const SWEEP_EVERY: Duration = Duration::from_secs(2);
/// How long a stopping server waits for pending answers; after that they are aborted.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
/// Largest answer in which a list of tools replaces its mark, in bytes; a larger one is refused.
pub const MARKED_BYTES_MAX: usize = MESSAGE_BYTES_MAX + (64 << 10);
/// The polling interval of a followed resource that has no wake-up.
pub const LOOK_EVERY: Duration = Duration::from_secs(3);
/// Maximum number of inbox pages that are read to find its end; after that each further page counts as news.
pub const INBOX_PAGES_MAX: usize = 50;
/// The length of one long poll of the inbox, in seconds.
pub const INBOX_WAIT_S: u64 = 30;
/// The pause after a failed read of the inbox.
pub const INBOX_PAUSE: Duration = Duration::from_secs(3);
/// The silence after which a stream sends a keepalive.
pub const KEEPALIVE: Duration = Duration::from_secs(15);
/// How long a client may cache the lists of tools, prompts and resources, in milliseconds.
pub const LIST_TTL_MS: u64 = 60_000;
/// Largest text beside a structured result, in bytes; a longer one is cut, the structured result never is.
pub const TEXT_BYTES_MAX: usize = 20_000;
/// Largest text of one part of a prompt, in bytes; a longer one is cut.
pub const PROMPT_PART_BYTES_MAX: usize = 8_000;
