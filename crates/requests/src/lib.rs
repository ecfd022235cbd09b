//! Requests to people: decisions that wait for a person's answer, from every program.
//! Must not know: another room, the purpose of a permission, or the effect of an answer.

mod answer_wait;
pub mod command;
pub mod decide;
#[cfg(test)]
mod decide_tests;
mod due;
pub mod event;
mod glance;
mod news;
mod refusals;
mod request;
mod request_list;
mod request_view;
mod requests;
mod room;
mod routes;
pub mod rules;
mod served;
pub mod state;
#[cfg(test)]
mod stored_forms;
mod tap;
mod underway;
mod watch_events;
pub mod wire;

pub use command::{Answer, MakeRequest, Source};
pub use request_view::{RequestReading, is_request, owner_of};
pub use requests::Requests;
pub use routes::operations;
pub use tap::LinkReceivers;
pub use wire::{Allow, AnswerType, Content, Detail, Kind, OnTimeout, Phase};

/// Most unanswered requests of one agent; beyond it 429 `too_many_requests`.
pub const OPEN_PER_AGENT_MAX: usize = 200;
/// Most unanswered requests of the agents of one owner; beyond it 429 `too_many_requests`.
pub const OPEN_PER_OWNER_MAX: usize = 1_000;
/// Most unanswered requests to the people of one owner that agents of one other owner cause (invitations and contact
/// requests); beyond it they wait until there is room.
pub const OPEN_PER_STRANGER_MAX: usize = 20;
/// Most such requests of all other owners together. They do not use the limits of the owner's own agents.
pub const OPEN_OF_STRANGERS_MAX: usize = 200;
/// Longest title, in characters; beyond it 400 `invalid_title`.
pub const TITLE_CHARS_MAX: usize = 200;
/// Longest name of an action, tool, directory or source, in characters; beyond it 400.
pub const NAME_CHARS_MAX: usize = 512;
/// Largest content of a request, in bytes of JSON; beyond it 413 `request_too_large`.
pub const CONTENT_BYTES_MAX: usize = 64 << 10;
/// Largest content of an answer, in bytes of JSON; beyond it 413 `answer_too_large`.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Most choices of a question; beyond it 400 `invalid_choices`.
pub const CHOICES_MAX: usize = 20;
/// The latest deadline and the longest snooze, in milliseconds from now; beyond it 400.
pub const AHEAD_MS_MAX: u64 = 30 * 24 * 3_600_000;
/// The longest time in which an answer can be undone, in seconds; beyond it 400 `invalid_undo_seconds`.
pub const UNDO_SECONDS_MAX: u64 = 60;
/// Most changes of one request: snoozes, delegations, undone answers, links; beyond it 409 `too_many_changes`.
pub const CHANGES_MAX: u32 = 200;
/// Most rules of one owner; beyond it 409 `too_many_rules`.
pub const RULES_MAX: usize = 200;
/// The longest life of a rule, in days; beyond it 400 `invalid_rule`.
pub const RULE_DAYS_MAX: u64 = 365;
/// Most answers of one batch; beyond it 400 `invalid_answers`.
pub const BATCH_MAX: usize = 100;
/// The default number of requests in a page.
pub const LIMIT_DEFAULT: usize = 50;
/// Most requests of a page; beyond it 400 `invalid_limit`.
pub const LIMIT_MAX: usize = 100;
/// Most requests that are searched for one page and its counts; later ones are not counted.
pub const ROWS_READ_MAX: usize = 5_000;
/// Most requests that are read for one page with a person as a filter; beyond it the page ends with a `next_cursor`.
pub const READ_FOR_PERSON_MAX: usize = 200;
/// The longest wait for an answer, in seconds; beyond it 400 `invalid_wait`.
pub const WAIT_SECONDS_MAX: u64 = 60;
/// Most concurrent waits of one owner; beyond it 429 `too_many_waits`.
pub const WAITS_PER_OWNER_MAX: usize = 256;
/// Most answers in the inbox of an agent; older ones can be read by their id.
pub const ANSWERS_REPORTED_MAX: usize = 500;
/// How long a one-tap link is valid, in milliseconds.
pub const TAP_MS_MAX: u64 = 7 * 24 * 3_600_000;
