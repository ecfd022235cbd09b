//! Every limit of the server, by name, with its effect.

use std::time::Duration;

/// Largest message of a client, in bytes; past it 413. The largest body that an operation takes, with its envelope.
pub const MESSAGE_OCTETS_MAX: usize = plenary_kernel::limits::BODY_OCTETS_MAX + (64 << 10);
/// Sessions of all callers that are open at once (initialize era); past it the one that was silent longest is closed, of the
/// owner that has the most.
pub const SESSIONS_MAX: usize = 4_096;
/// Sessions of one caller; past it the one that was silent longest is closed.
pub const SESSIONS_PER_CALLER_MAX: usize = 64;
/// Sessions of one owner and its agents, unless it is set; past it the one that was silent longest is closed.
pub const SESSIONS_PER_OWNER_MAX: usize = 1_024;
/// How often a place for a session is looked for, while others look for one too; past it 429.
pub const ROOM_TRIES_MAX: usize = 8;
/// How long a session may stand without a request or an open stream; past it it is closed.
pub const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
/// Requests of one caller that are answered at once, open streams included; past it 429.
pub const REQUESTS_PER_CALLER_MAX: usize = 128;
/// Resources that one subscription or one session follows; beyond it a subscription is refused, or cut to the limit.
pub const FOLLOWED_MAX: usize = 32;
/// How often sessions and open streams are looked at: whether their tokens still hold, and whether they are idle.
pub const SWEEP_EVERY: Duration = Duration::from_secs(2);
/// How long a server that stops waits for the answers under way; past it they are broken off.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
/// Largest answer in which a list of tools takes the place of its mark, in bytes; a larger one is refused.
pub const MARKED_OCTETS_MAX: usize = MESSAGE_OCTETS_MAX + (64 << 10);
/// How often a followed resource is read again that nothing wakes us for.
pub const LOOK_EVERY: Duration = Duration::from_secs(3);
/// Pages of the inbox that are read to find its end; behind that many items each page is told as news.
pub const INBOX_PAGES_MAX: usize = 50;
/// How long one wait for the inbox lasts, in seconds.
pub const INBOX_WAIT_S: u64 = 30;
/// How long after a failure the inbox is asked again.
pub const INBOX_PAUSE: Duration = Duration::from_secs(3);
/// After how long without an event a stream says that it is alive.
pub const KEEPALIVE: Duration = Duration::from_secs(15);
/// How long a client may take the lists of tools, prompts and resources for fresh, in milliseconds.
pub const LIST_TTL_MS: u64 = 60_000;
/// Largest text beside a structured result, in bytes; a longer one is cut, the structured result never is.
pub const TEXT_OCTETS_MAX: usize = 20_000;
/// Largest text of one part of a prompt, in bytes; a longer one is cut.
pub const PROMPT_PART_OCTETS_MAX: usize = 8_000;
