//! Limits of this room.
//! Must not know: the code that applies them.

use std::time::Duration;

/// Most bytes of text and data of one task that an answer holds; what an agent says beyond it is left out and `truncated`
/// stands in the task's metadata. A page of tasks ends with the task that passes it.
pub(crate) const TASK_BYTES_MAX: usize = 4 << 20;
/// Most bytes of text of one answer over OpenAI's API; what an agent says beyond it is left out, and `finish_reason` is
/// `length`, or the response's status `incomplete`.
pub(crate) const ANSWER_TEXT_BYTES_MAX: usize = 4 << 20;
/// Artifacts of at most so many bytes stand in a task, as far as [`TASK_BYTES_MAX`] has room; all others are named by their
/// URL.
pub(crate) const INLINE_BYTES_MAX: usize = 64 << 10;
/// Most bytes of one event of a run that is followed.
pub(crate) const EVENT_BYTES_MAX: usize = 32 << 20;
/// Most tasks of one page, and how many where the request does not say.
pub(crate) const PAGE_MAX: usize = 100;
/// See [`PAGE_MAX`].
pub(crate) const PAGE_DEFAULT: usize = 50;
/// Most threads, or sessions, that a list of tasks looks through, and most tasks that it finds there: the newest.
pub(crate) const LISTED_MAX: usize = 1_000;
/// After so many events of sessions a list of tasks looks into no further session.
pub(crate) const LISTED_EVENTS_MAX: usize = 20_000;
/// How many seconds a client may use a card without asking whether it has changed.
pub(crate) const CARD_SECONDS: u32 = 60;
/// Most tasks that one message begins under keys, each after the end of the one before; after them each repetition is new.
pub(crate) const REPEATS_MAX: usize = 8;
/// Most parts of a message.
pub(crate) const PARTS_MAX: usize = 256;
/// Most push configurations of one task.
pub(crate) const PUSH_CONFIGS_PER_TASK_MAX: usize = 10;
/// Most push configurations of one owner; past it one whose task is over goes, or 429.
pub(crate) const PUSH_CONFIGS_PER_OWNER_MAX: usize = 500;
/// Longest URL of a push configuration, in bytes.
pub(crate) const PUSH_URL_BYTES_MAX: usize = 2_048;
/// Longest id, token, scheme and credentials of a push configuration, in bytes.
pub(crate) const PUSH_WORD_BYTES_MAX: usize = 1_024;
/// Owners whose push notifications are prepared at the same time; the others wait.
pub(crate) const PUSH_OWNERS_TOLD_MAX: usize = 64;
/// After how long what could not be told is tried again; it doubles each time, up to [`PUSH_PAUSE_MAX`].
pub(crate) const PUSH_PAUSE: Duration = Duration::from_secs(1);
/// See [`PUSH_PAUSE`].
pub(crate) const PUSH_PAUSE_MAX: Duration = Duration::from_secs(60);
/// Most bytes of a notification; a task that is larger comes without its artifacts, then without what was said.
pub(crate) const PUSH_BYTES_MAX: usize = 256 << 10;
/// Items of a page of what a response was asked, where the client does not say; and most of them, past which it is 400
/// `invalid_value`.
pub(crate) const INPUT_ITEMS: usize = 20;
/// See [`INPUT_ITEMS`].
pub(crate) const INPUT_ITEMS_MAX: usize = 100;
/// How many assistants, threads, runs or states a search over LangGraph's API finds where it does not say; [`PAGE_MAX`] at
/// most.
pub(crate) const SEARCHED: usize = 10;
/// Most runs whose messages stand in a state, or in a page of threads, over LangGraph's API: the last ones.
pub(crate) const STATE_RUNS_MAX: usize = 100;
/// Bytes of what was asked and said in a state over LangGraph's API, and in all states of one answer; the last runs count, and one
/// run is always there.
pub(crate) const STATE_TEXT_BYTES_MAX: usize = 8 << 20;
