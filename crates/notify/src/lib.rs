//! Notifications to people: an owner's subscriptions, the notifications on their way to them, and the dead letters. A
//! notification is stored as an event before it is sent, so a crash loses none; it may arrive twice, under one id.
//! Must not know: how a request is made or answered.

mod attempt;
mod delivery;
mod heard;
mod hours;
mod keys;
mod mail;
mod message;
mod notify;
mod post;
mod push;
mod rates;
mod refusals;
mod request;
mod routes;
mod sender;
mod sending;
mod served;
mod signature;
#[cfg(test)]
mod stored_forms;
mod subscription;
pub mod wire;

use std::{path::PathBuf, time::Duration};

pub use notify::Notify;
pub use post::Post;
pub use routes::operations;

/// Most subscriptions of one owner; past it 409 `too_many_subscriptions`.
pub const SUBSCRIPTIONS_MAX: usize = 20;
/// Longest URL of a subscription, in bytes; past it 400 `invalid_target`.
pub const URL_BYTES_MAX: usize = 2_048;
/// Longest name, address, topic, chat or token of a subscription, in characters; past it 400.
pub const WORD_CHARS_MAX: usize = 256;
/// Most agents that a subscription names; past it 400 `invalid_filter`.
pub const AGENTS_MAX: usize = 100;
/// The longest time in which notifications are gathered, in minutes; past it 400 `invalid_digest`.
pub const DIGEST_MINUTES_MAX: u32 = 24 * 60;
/// Most notifications of one digest; what comes after them is in the list of requests only.
pub const DIGEST_ITEMS_MAX: usize = 100;
/// How many more a digest has that strangers cause.
pub const DIGEST_ITEMS_OF_STRANGERS_MAX: usize = 20;
/// Of how many of them a digest has a one-tap link.
pub const DIGEST_LINKS_MAX: usize = 20;
/// Most notifications of one owner that are on their way; past it the next ones are not sent.
pub const QUEUED_PER_OWNER_MAX: usize = 500;
/// The same of those that tell of what strangers cause; they take no room from the others.
pub const QUEUED_OF_STRANGERS_MAX: usize = 100;
/// Most notifications of one owner that are kept after they did not arrive; past it the oldest goes.
pub const DEAD_PER_OWNER_MAX: usize = 200;
/// Notifications that one process sends at a time, in all and of one owner; past it they wait.
pub const SENDS_MAX: usize = 64;
/// See [`SENDS_MAX`].
pub const SENDS_PER_OWNER_MAX: usize = 4;
/// Tests of one owner at a time; past it 429 `too_many_tests`.
pub const TESTS_PER_OWNER_MAX: usize = 2;
/// Most mails of one owner to one address within an hour; past it they wait, and a test is answered 429 `too_many_tests`.
pub const MAILS_PER_ADDRESS_MAX: usize = 30;
/// The same to all addresses.
pub const MAILS_PER_OWNER_MAX: usize = 100;
/// Owners and addresses whose mails are counted; past it the one that was silent longest is forgotten.
pub const MAIL_RATES_MAX: usize = 16_384;
/// How long one attempt may take.
pub const SEND_TIME_MAX: Duration = Duration::from_secs(20);
/// How long after an attempt began another process may make the next one.
pub const LEASE_MS: u64 = 30_000;
/// The longest pause between two attempts, in milliseconds.
pub const PAUSE_MS_MAX: u64 = 3_600_000;
/// Bytes of an answer that are read; what is behind is not looked at.
pub const ANSWER_BYTES_MAX: usize = 16 << 10;
/// Of how many characters of what an agent wrote a notification consists.
pub const EXCERPT_CHARS_MAX: usize = 500;

/// How the server sends notifications.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whether addresses that are not public are reached too.
    pub private_addresses: bool,
    /// The pause after the first attempt; each next one is twice as long.
    pub retry_first: Duration,
    /// How long is tried.
    pub retry_for: Duration,
    /// The server that takes mail; without one there are no subscriptions of that kind.
    pub smtp: Option<Smtp>,
    /// Whom push services write to when there is trouble: `mailto:…` or `https://…`.
    pub contact: Option<String>,
    /// Certificate authorities in place of the system's.
    pub ca_file: Option<PathBuf>,
}

/// The server that takes mail.
#[derive(Clone)]
pub struct Smtp {
    /// `smtps://USER:PASSWORD@HOST`, `smtp://HOST?tls=required` or `smtp://HOST:PORT`.
    pub url: String,
    /// The sender.
    pub from: String,
}

impl std::fmt::Debug for Smtp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Smtp").field("from", &self.from).finish_non_exhaustive()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            private_addresses: false,
            retry_first: Duration::from_secs(5),
            retry_for: Duration::from_hours(24),
            smtp: None,
            contact: None,
            ca_file: None,
        }
    }
}
