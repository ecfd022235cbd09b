//! Limits of this room.
//! Must not know: the code that applies them.

use std::time::Duration;

use plenary_kernel::limits::BODY_BYTES_MAX;

/// Most bytes of text and data of one task in a response; further output is omitted and `truncated` is in the task's
/// metadata. A page of tasks ends with the task that exceeds it.
pub(crate) const TASK_BYTES_MAX: usize = 4 << 20;
/// Most bytes of text in one response of OpenAI's API; further output is omitted, and `finish_reason` is `length`, or
/// the response's status `incomplete`.
pub(crate) const ANSWER_TEXT_BYTES_MAX: usize = 4 << 20;
/// Largest artifact whose content is inline in a task, as far as [`TASK_BYTES_MAX`] allows; all others are referenced
/// by their URL.
pub(crate) const INLINE_BYTES_MAX: usize = 64 << 10;
/// Most bytes of one event of a live run.
pub(crate) const EVENT_BYTES_MAX: usize = 32 << 20;
/// Most tasks of one page, and the default.
pub(crate) const PAGE_MAX: usize = 100;
/// See [`PAGE_MAX`].
pub(crate) const PAGE_DEFAULT: usize = 50;
/// Most threads or sessions that a list of tasks reads, and most tasks that it returns: the newest.
pub(crate) const LISTED_MAX: usize = 1_000;
/// Events of sessions after which a list of tasks reads no further session.
pub(crate) const LISTED_EVENTS_MAX: usize = 20_000;
/// How many seconds a client may cache a card.
pub(crate) const CARD_SECONDS: u32 = 60;
/// Most tasks that one repeated message starts under keys, each after the end of the previous one; further
/// repetitions are new messages.
pub(crate) const REPEATS_MAX: usize = 8;
/// Most bytes of a request to an agent: a message of another protocol, as the input and whole in `request_metadata`, where
/// the input has data as escaped JSON.
pub(crate) const RUN_BODY_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;
/// Most parts of a message.
pub(crate) const PARTS_MAX: usize = 256;
/// Most push configurations of one task.
pub(crate) const PUSH_CONFIGS_PER_TASK_MAX: usize = 10;
/// Most push configurations of one owner; beyond it one whose task is over is dropped, otherwise 429.
pub(crate) const PUSH_CONFIGS_PER_OWNER_MAX: usize = 500;
/// Longest URL of a push configuration, in bytes.
pub(crate) const PUSH_URL_BYTES_MAX: usize = 2_048;
/// Longest id, token, scheme and credentials of a push configuration, in bytes.
pub(crate) const PUSH_TEXT_BYTES_MAX: usize = 1_024;
/// Most owners whose push notifications are prepared concurrently; the others wait.
pub(crate) const PUSH_OWNERS_MAX: usize = 64;
/// The pause after notifications that could not be queued; it doubles up to [`PUSH_PAUSE_MAX`].
pub(crate) const PUSH_PAUSE: Duration = Duration::from_secs(1);
/// See [`PUSH_PAUSE`].
pub(crate) const PUSH_PAUSE_MAX: Duration = Duration::from_secs(60);
/// Most bytes of a notification; a larger task is sent without its artifacts, then also without its messages.
pub(crate) const PUSH_BYTES_MAX: usize = 256 << 10;
/// The default number of input items in a page, and the most; beyond it 400 `invalid_value`.
pub(crate) const INPUT_ITEMS: usize = 20;
/// See [`INPUT_ITEMS`].
pub(crate) const INPUT_ITEMS_MAX: usize = 100;
/// The default number of assistants, threads, runs or states that a search of LangGraph's API returns; at most
/// [`PAGE_MAX`].
pub(crate) const SEARCHED: usize = 10;
/// Most runs whose messages are in a state, or in a page of threads, of LangGraph's API: the newest.
pub(crate) const STATE_RUNS_MAX: usize = 100;
/// Most bytes of messages in a state of LangGraph's API, and in all states of one response; the newest runs count,
/// and one run is always included.
pub(crate) const STATE_TEXT_BYTES_MAX: usize = 8 << 20;
