//! The bounds of a lane, each with its effect.
//! Must not know: where they are configured.

use std::time::Duration;

/// The limits of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneLimits {
    /// Most messages of one key that are kept for clients that reconnect. Beyond it the oldest are
    /// dropped once all subscriptions have read them.
    pub entries_max: usize,
    /// Most messages of one key that are kept for current subscriptions. Beyond it a subscription that
    /// has not read the oldest has stalled.
    pub backlog_max: usize,
    /// How long a message is kept; then it is dropped.
    pub age_max: Duration,
    /// Most keys. Beyond it a key without subscriptions is dropped; if all have subscriptions, a new key
    /// has no ring.
    pub keys_max: usize,
    /// Most bytes of the messages of one key. Beyond it the key's oldest are dropped, read or not.
    pub key_bytes_max: usize,
    /// Most bytes of all messages together. Beyond it the largest keys lose their oldest messages; a key
    /// that uses less than an equal share loses nothing.
    pub bytes_max: usize,
    /// Most bytes of one sender's messages in the rings of others that are kept for clients that
    /// reconnect. Beyond it the sender's oldest there are dropped once all current subscriptions have
    /// read them. A message counts once, in however many rings it is.
    pub sender_bytes_max: usize,
    /// Most bytes of one sender's messages that current subscriptions have not read. Beyond it the sender's oldest are
    /// dropped, read or not.
    pub sender_backlog_bytes_max: usize,
    /// Most subscriptions to one key. Beyond it a new one is refused.
    pub subscriptions_max: usize,
    /// Most messages that one turn of a subscription takes; the rest waits for its next turn.
    pub turn_count_max: usize,
    /// About how many bytes one turn takes: it ends with the message that reaches them.
    pub turn_bytes_max: usize,
    /// How long a subscription may leave messages waiting. Beyond it the subscription is dropped.
    pub stall_max: Duration,
}

impl Default for LaneLimits {
    fn default() -> Self {
        Self {
            entries_max: 256,
            backlog_max: 4_096,
            age_max: Duration::from_secs(300),
            keys_max: 16_384,
            key_bytes_max: 8 << 20,
            bytes_max: 64 << 20,
            sender_bytes_max: 16 << 20,
            sender_backlog_bytes_max: 32 << 20,
            subscriptions_max: 4_096,
            turn_count_max: 256,
            turn_bytes_max: 256 << 10,
            stall_max: Duration::from_secs(20),
        }
    }
}
