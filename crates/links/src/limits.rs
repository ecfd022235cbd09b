//! All limits of links.

use std::time::Duration;

/// Maximum number of accords and open invitations; beyond it 409 `too_many_peers`.
pub const PEERS_MAX: usize = 100;
/// Maximum number of revoked accords in the state; beyond it the oldest is dropped.
pub const REVOKED_KEPT_MAX: usize = 100;
/// Maximum number of grants of one side of an accord; beyond it 400 `invalid_grants`.
pub const GRANTS_MAX: usize = 32;
/// Maximum number of owners of one grant; beyond it 400 `invalid_grants`.
pub const GRANT_OWNERS_MAX: usize = 100;
/// Maximum length of a grant's name, in bytes; beyond it 400 `invalid_grants`.
pub const GRANT_NAME_BYTES_MAX: usize = 64;
/// Maximum length of a network's URL, in bytes; beyond it 400 `invalid_network`.
pub const URL_BYTES_MAX: usize = 512;
/// Default lifetime of an invitation, in seconds.
pub const INVITATION_SECONDS: u64 = 24 * 60 * 60;
/// Maximum lifetime of an invitation, in seconds; beyond it 400 `invalid_expires_in`.
pub const INVITATION_SECONDS_MAX: u64 = 30 * 24 * 60 * 60;
/// Maximum length of a signature's header field, in bytes; beyond it the request counts as unsigned.
pub const FIELD_BYTES_MAX: usize = 1_024;
/// Lifetime of this network's signatures, in seconds.
pub const SIGNATURE_SECONDS: u64 = 60;
/// Maximum lifetime of a peer's signature, in seconds; beyond it 401 `signature_expired`.
pub const SIGNATURE_SECONDS_MAX: u64 = 120;
/// Maximum lead of a peer's clock, in seconds; beyond it 401 `signature_expired`.
pub const SKEW_SECONDS_MAX: u64 = 30;
/// Permitted lengths of a nonce, in characters; with another length the request counts as unsigned.
pub const NONCE_CHARS: std::ops::RangeInclusive<usize> = 16..=64;
/// Maximum number of nonces that one batch of the clean-up deletes.
pub const NONCES_SWEPT_MAX: usize = 1_000;
/// Maximum number of requests of one peer per minute; beyond it 429 `too_many_requests`.
pub const REQUESTS_PER_MINUTE_MAX: u32 = 600;
/// Maximum number of concurrent requests of all peers; beyond it 429 `too_many_requests`.
pub const REQUESTS_AT_ONCE_MAX: usize = 64;
/// Maximum number of concurrent requests of one peer.
pub const REQUESTS_PER_PEER_MAX: usize = 8;
/// Maximum number of concurrent outgoing frames; beyond it 429 `rate-limited`.
pub const LEAVING_MAX: usize = 256;
/// Maximum number of concurrent outgoing frames of one owner's agents.
pub const LEAVING_PER_OWNER_MAX: usize = 16;
/// Maximum number of concurrent outgoing frames to one peer.
pub const LEAVING_PER_PEER_MAX: usize = 64;
/// Maximum size of a peer's request body, in bytes; a larger request gets 404 like an unsigned one.
pub const BODY_BYTES_MAX: usize = 256 << 10;
/// Maximum number of invitations that are redeemed concurrently; beyond it 503 `overloaded`.
pub const REDEEMED_AT_ONCE_MAX: usize = 4;
/// Maximum size of another network's response, in bytes; beyond it `peer_unreachable`.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Time limit of a request to another network; beyond it `peer_unreachable`.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Pause after the first failed attempt to notify a peer of a revocation; it doubles after each further one.
pub const TELL_PAUSE: Duration = Duration::from_secs(1);
/// Maximum of this pause.
pub const TELL_PAUSE_MAX: Duration = Duration::from_mins(5);
/// How long the server tries to notify a peer of a revocation, in milliseconds.
pub const TELL_FOR_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// How long a process still tries after this time, because the server may have been away for all of it.
pub const TELL_LATE_FOR: Duration = Duration::from_hours(1);
/// Maximum number of session requests of one peer per minute; beyond it 429 `too_many_requests`.
pub const SESSION_REQUESTS_PER_MINUTE_MAX: u32 = 12_000;
/// Maximum number of concurrent session requests of all peers; beyond it 429 `too_many_requests`.
pub const SESSION_REQUESTS_AT_ONCE_MAX: usize = 512;
/// Maximum number of concurrent session requests of one peer.
pub const SESSION_REQUESTS_PER_PEER_MAX: usize = 80;
/// Maximum number of concurrent requests of one peer for news; beyond it 429 `too_many_requests`.
pub const NEWS_PER_PEER_MAX: usize = 4;
/// Maximum duration of a long poll for news, in milliseconds; a longer one is shortened to it.
pub const NEWS_WAIT_MS_MAX: u64 = 20_000;
/// Minimum interval between two requests for news to one peer.
pub const NEWS_APART: Duration = Duration::from_millis(20);
/// Maximum size of a peer's response with news, in bytes; beyond it the request counts as failed.
pub const NEWS_ANSWER_BYTES_MAX: usize = 512 << 10;
/// Maximum size of a peer's response with events, in bytes; beyond it the request counts as failed.
pub const EVENTS_ANSWER_BYTES_MAX: usize = 2 << 20;
/// Bytes of events that are copied from one peer per minute; the rest waits.
pub const COPIED_BYTES_PER_MINUTE_MAX: usize = 64 << 20;
/// Pause after the first failed request to a peer; it doubles after each further one.
pub const PULL_PAUSE: Duration = Duration::from_millis(250);
/// Maximum of this pause.
pub const PULL_PAUSE_MAX: Duration = Duration::from_secs(5);
/// Maximum number of copies of one peer's sessions that are updated concurrently.
pub const PULLS_AT_ONCE_MAX: usize = 8;
/// Maximum number of them whose last attempt failed.
pub const RETRIES_AT_ONCE_MAX: usize = 2;
/// Pause after the first unusable answer of a peer about a session; it doubles after each further one.
pub const REFUSED_PAUSE: Duration = Duration::from_secs(1);
/// Maximum of this pause.
pub const REFUSED_PAUSE_MAX: Duration = Duration::from_mins(5);
/// How many unusable answers about a session are followed by another attempt without news of it.
pub const REFUSALS_MAX: u32 = 20;
/// How often the log warns of unusable answers of one peer.
pub const REFUSED_WARNED_EVERY: Duration = Duration::from_hours(1);
/// Pause before the next request for news, for each session in the last answer that this network knows nothing of.
pub const UNKNOWN_PAUSE: Duration = Duration::from_millis(1);
/// Maximum number of agents in one request for delivery states of a message; the states of further agents stay unknown.
pub const STATES_ASKED_MAX: usize = 256;
/// Maximum number of invitations of one peer that this network takes for its agents; beyond it the oldest is dropped.
pub const OFFERS_KEPT_MAX: usize = 1_000;
/// Maximum number of sessions with differing histories that are counted for one accord.
pub const DIVERGED_KEPT_MAX: usize = 1_000;
/// Maximum number of requests of one peer's agents per minute; beyond it 429 `too_many_requests`.
pub const GUEST_REQUESTS_PER_MINUTE_MAX: u32 = 3_000;
/// Maximum number of concurrent requests of all peers' agents, open streams included; beyond it 429 `too_many_requests`.
pub const GUEST_REQUESTS_AT_ONCE_MAX: usize = 512;
/// Maximum number of concurrent requests of one peer's agents.
pub const GUEST_REQUESTS_PER_PEER_MAX: usize = 64;
/// Maximum size of the body of such a request, in bytes; the home answers a larger one with 413 `body_too_large`.
pub const GUEST_BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes of bodies of one peer's agents per minute; beyond it 429 `too_many_requests`.
pub const GUEST_BYTES_PER_MINUTE_MAX: usize = 64 << 20;
/// Maximum number of concurrent requests of this network's agents to peers, open streams included; beyond it 429
/// `too_many_requests`.
pub const GUESTS_OUT_MAX: usize = 512;
/// Maximum number of concurrent requests of one owner's agents to peers.
pub const GUESTS_OUT_PER_OWNER_MAX: usize = 32;
/// Maximum number of concurrent requests to one peer.
pub const GUESTS_OUT_PER_PEER_MAX: usize = 64;
/// How long a peer may take until its response to an agent begins; beyond it 503 `peer_unreachable`. A request may wait for the
/// result of a run.
pub const GUEST_ANSWER_WITHIN: Duration = Duration::from_mins(5);
/// Lifetime of a ticket with which the host of a session gets a file of this network, in milliseconds.
pub const TICKET_MS: u64 = 10 * 60 * 1_000;
/// Maximum length of a ticket, in bytes; a longer one gets 404.
pub const TICKET_BYTES_MAX: usize = 1_024;
