//! Every limit of links.

use std::time::Duration;

/// Most accords and open invitations; past it 409 `too_many_peers`.
pub const PEERS_MAX: usize = 100;
/// Most revoked accords that are remembered; past it the oldest is forgotten.
pub const REVOKED_KEPT_MAX: usize = 100;
/// Most grants of one side of an accord; past it 400 `invalid_grants`.
pub const GRANTS_MAX: usize = 32;
/// Most owners of one grant; past it 400 `invalid_grants`.
pub const GRANT_OWNERS_MAX: usize = 100;
/// Longest name of a grant, in bytes; past it 400 `invalid_grants`.
pub const GRANT_NAME_BYTES_MAX: usize = 64;
/// Longest URL of a network, in bytes; past it 400 `invalid_network`.
pub const URL_BYTES_MAX: usize = 512;
/// How long an invitation lasts unless it says otherwise, in seconds.
pub const INVITATION_SECONDS: u64 = 24 * 60 * 60;
/// The longest that it may say; past it 400 `invalid_expires_in`.
pub const INVITATION_SECONDS_MAX: u64 = 30 * 24 * 60 * 60;
/// Longest field of a signature, in bytes; past it the request is not signed.
pub const FIELD_BYTES_MAX: usize = 1_024;
/// How long a signed request of this network is good, in seconds.
pub const SIGNATURE_SECONDS: u64 = 60;
/// The longest that a peer's may be; past it 401 `signature_expired`.
pub const SIGNATURE_SECONDS_MAX: u64 = 120;
/// How far a peer's clock may be ahead, in seconds; past it 401 `signature_expired`.
pub const SKEW_SECONDS_MAX: u64 = 30;
/// Shortest and longest nonce, in characters; with another one a request is not signed.
pub const NONCE_CHARS: std::ops::RangeInclusive<usize> = 16..=64;
/// Most nonces that are forgotten at a time.
pub const NONCES_SWEPT_MAX: usize = 1_000;
/// Most requests of one peer within a minute; past it 429 `too_many_requests`.
pub const REQUESTS_PER_MINUTE_MAX: u32 = 600;
/// Requests of peers at a time; past it 429 `too_many_requests`.
pub const REQUESTS_AT_ONCE_MAX: usize = 64;
/// The same of one peer.
pub const REQUESTS_PER_PEER_MAX: usize = 8;
/// Frames that leave for peers at a time; past it 429 `rate-limited`.
pub const LEAVING_MAX: usize = 256;
/// The same of one owner's agents.
pub const LEAVING_PER_OWNER_MAX: usize = 16;
/// The same to one peer.
pub const LEAVING_PER_PEER_MAX: usize = 64;
/// Largest body of a peer's request, in bytes; past it 413.
pub const BODY_BYTES_MAX: usize = 256 << 10;
/// Invitations that are redeemed at a time; past it 503 `overloaded`.
pub const REDEEMED_AT_ONCE_MAX: usize = 4;
/// Largest answer of another network, in bytes; past it `peer_unreachable`.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// How long one request to another network may take; past it `peer_unreachable`.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// The pause after the first attempt to tell a peer of a revocation; each next one is twice as long.
pub const TELL_PAUSE: Duration = Duration::from_secs(1);
/// The longest such pause.
pub const TELL_PAUSE_MAX: Duration = Duration::from_mins(5);
/// How long the server tries to tell a peer of a revocation, in milliseconds; then it stops.
pub const TELL_FOR_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Most requests about sessions of one peer within a minute; past it 429 `too_many_requests`.
pub const SESSION_REQUESTS_PER_MINUTE_MAX: u32 = 12_000;
/// Requests about sessions of peers at a time; past it 429 `too_many_requests`.
pub const SESSION_REQUESTS_AT_ONCE_MAX: usize = 512;
/// The same of one peer.
pub const SESSION_REQUESTS_PER_PEER_MAX: usize = 80;
/// Requests for news of one peer at a time; past it 429 `too_many_requests`.
pub const NEWS_PER_PEER_MAX: usize = 4;
/// How long a peer that asks for news may wait, in milliseconds; asked for longer, it is answered then.
pub const NEWS_WAIT_MS_MAX: u64 = 20_000;
/// How much later than the last one a peer is asked for news at the earliest.
pub const NEWS_APART: Duration = Duration::from_millis(20);
/// Largest answer of a peer with news, in bytes; past it the peer says no news.
pub const NEWS_ANSWER_BYTES_MAX: usize = 512 << 10;
/// Largest answer of a peer with events of a session, in bytes; past it they are not taken.
pub const EVENTS_ANSWER_BYTES_MAX: usize = 2 << 20;
/// Bytes of events that are taken from one peer within a minute; past it the rest waits.
pub const COPIED_BYTES_PER_MINUTE_MAX: usize = 64 << 20;
/// The pause after a peer could not be asked; each next one is twice as long.
pub const PULL_PAUSE: Duration = Duration::from_millis(250);
/// The longest such pause.
pub const PULL_PAUSE_MAX: Duration = Duration::from_secs(5);
/// Most agents of a peer for which it is asked at a time what became of a message; of more nothing is known.
pub const STATES_ASKED_MAX: usize = 256;
/// Invitations of one peer that agents of this network took and whose sessions may begin here; past it the oldest is forgotten.
pub const OFFERS_KEPT_MAX: usize = 1_000;
