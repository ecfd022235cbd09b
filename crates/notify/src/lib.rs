//! Notifications to people: an owner's subscriptions, the queued notifications, and the dead letters. A notification
//! is stored as an event before it is sent, so a crash loses none; it may arrive twice, with the same id.
//! Must not know: how a request is made or answered.

mod attempt;
mod delivery;
mod hours;
mod keys;
mod mail;
mod matcher;
mod message;
mod notify;
mod post;
mod push;
mod rates;
mod refusals;
mod request;
mod routes;
mod scheduler;
mod sender;
mod served;
mod signature;
#[cfg(test)]
mod stored_forms;
mod subscription;
pub mod wire;

use std::{path::PathBuf, time::Duration};

pub use notify::Notify;
pub use post::{Post, PostOrigins};
pub use routes::operations;

/// Most subscriptions of one owner; beyond it 409 `too_many_subscriptions`.
pub const SUBSCRIPTIONS_MAX: usize = 20;
/// Longest URL of a subscription, in bytes; beyond it 400 `invalid_target`.
pub const URL_BYTES_MAX: usize = 2_048;
/// Longest name, address, topic, chat or token of a subscription, in characters; beyond it 400.
pub const WORD_CHARS_MAX: usize = 256;
/// Most agents that a subscription names; beyond it 400 `invalid_filter`.
pub const AGENTS_MAX: usize = 100;
/// The longest time in which notifications are collected, in minutes; beyond it 400 `invalid_digest`.
pub const DIGEST_MINUTES_MAX: u32 = 24 * 60;
/// Most notifications of one digest; later ones are in the list of requests only.
pub const DIGEST_ITEMS_MAX: usize = 100;
/// Most additional notifications of a digest that strangers cause.
pub const DIGEST_ITEMS_OF_STRANGERS_MAX: usize = 20;
/// Most notifications of a digest with a one-tap link.
pub const DIGEST_LINKS_MAX: usize = 20;
/// Most queued notifications of one owner; beyond it further ones are dropped.
pub const QUEUED_PER_OWNER_MAX: usize = 500;
/// Most queued notifications about requests that strangers cause; they do not use the limit of the others.
pub const QUEUED_OF_STRANGERS_MAX: usize = 100;
/// Most dead letters of one owner; beyond it the oldest is dropped.
pub const DEAD_PER_OWNER_MAX: usize = 200;
/// Most notifications that one process sends concurrently; beyond it they wait.
pub const SENDS_MAX: usize = 64;
/// Most of these for one owner.
pub const SENDS_PER_OWNER_MAX: usize = 4;
/// Most concurrent tests of one owner; beyond it 429 `too_many_tests`.
pub const TESTS_PER_OWNER_MAX: usize = 2;
/// Most mails of one owner to one address within an hour; beyond it they wait, and a test gets 429 `too_many_tests`.
pub const MAILS_PER_ADDRESS_MAX: usize = 30;
/// Most mails of one owner to all addresses within an hour.
pub const MAILS_PER_OWNER_MAX: usize = 100;
/// Most owners and addresses with a mail counter; beyond it the least recently used one is dropped.
pub const MAIL_RATES_MAX: usize = 16_384;
/// How long one attempt may take.
pub const SEND_TIME_MAX: Duration = Duration::from_secs(20);
/// How long the claim of an attempt lasts; then another process may make the next attempt.
pub const LEASE_MS: u64 = 30_000;
/// The longest pause between two attempts, in milliseconds.
pub const PAUSE_MS_MAX: u64 = 3_600_000;
/// Most bytes of a response that are read.
pub const ANSWER_BYTES_MAX: usize = 16 << 10;
/// Longest excerpt of an agent's text in a notification, in characters.
pub const EXCERPT_CHARS_MAX: usize = 500;

/// The configuration of sending.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whether private addresses may be reached too.
    pub private_addresses: bool,
    /// The pause after the first attempt; it doubles each time.
    pub retry_first: Duration,
    /// How long attempts are repeated.
    pub retry_for: Duration,
    /// The mail server; without one there are no mail subscriptions.
    pub smtp: Option<Smtp>,
    /// The operator's contact for push services: `mailto:…` or `https://…`.
    pub contact: Option<String>,
    /// Certificate authorities instead of the system's.
    pub ca_file: Option<PathBuf>,
}

/// The mail server.
#[derive(Clone)]
pub struct Smtp {
    /// `smtps://USER:PASSWORD@HOST` or `smtp://HOST:PORT`, with `?tls=required`, `?tls=opportunistic` or `?tls=none`.
    pub url: String,
    /// The sender address.
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
