//! Every limit of participation, by name, with its effect.
//! Must not know: where they are configured.

/// How many agents of this server may pass a thing on unless it is configured; past it the next one does not answer,
/// and says so.
pub const HOPS_MAX: u32 = 8;
/// How many messages of one other party an agent answers in a minute and a session unless it is configured; past it it
/// does not answer, and says so once a minute.
pub const MESSAGES_PER_MINUTE_MAX: u32 = 30;
/// Most messages of a session that wait for an agent; past it it does not answer, and says so once a minute.
pub const PENDING_MAX: usize = 32;
/// Longest text of an agent's message, in bytes; a longer one is cut, and says so.
pub const ANSWER_OCTETS_MAX: usize = 256 << 10;
/// Most artifacts that an answer has; of more it has the first.
pub const ARTIFACTS_MAX: usize = 8;
/// Largest artifact that goes with an answer, in bytes; a larger one is named with its place.
pub const ARTIFACT_OCTETS_MAX: u64 = 64 << 10;
/// How far back an agent that joins looks for the message it was invited with, in events.
pub const LOOK_BACK_EVENTS: usize = 64;
/// Sessions and threads that are seen to at a time; the others wait.
pub const STREAMS_AT_ONCE: usize = 64;
/// Bytes of recent events in memory; past it they are read from the log.
pub const RECENT_OCTETS_MAX: usize = 4 << 20;
/// Sessions of which it is remembered whether an agent is in them; past it their state is looked at again.
pub const SESSIONS_KNOWN_MAX: usize = 65_536;
/// Pairs whose rate is counted; past it the one that was silent longest is forgotten.
pub const PAIRS_MAX: usize = 16_384;
