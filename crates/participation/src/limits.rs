//! Every limit of participation, by name, with its effect.
//! Must not know: where they are configured.

/// Default for how many agents of this server may pass a message on; beyond it the next agent does not answer, and says
/// so.
pub const HOPS_MAX: u32 = 8;
/// Default for how many messages of one sender an agent answers per minute and session; beyond it the agent does not
/// answer, and says so once a minute.
pub const MESSAGES_PER_MINUTE_MAX: u32 = 30;
/// Most messages of a session that wait for an agent; beyond it the agent does not answer, and says so once a minute.
pub const PENDING_MAX: usize = 32;
/// Longest text of an agent's message, in bytes; a longer one is cut and marked as cut.
pub const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Most artifacts in an answer; the first ones are sent.
pub const ARTIFACTS_MAX: usize = 8;
/// Largest artifact that is sent within an answer, in bytes; a larger one is sent as its path.
pub const ARTIFACT_BYTES_MAX: u64 = 64 << 10;
/// How many events an agent that joins searches back for the message of its invitation.
pub const LOOK_BACK_EVENTS: usize = 64;
/// Sessions and threads that are handled concurrently; the others wait.
pub const STREAMS_AT_ONCE: usize = 64;
/// Bytes of recent events in memory; older ones are read from the log.
pub const RECENT_BYTES_MAX: usize = 4 << 20;
/// Sessions for which the presence of an agent is cached; for others the state is read.
pub const SESSIONS_KNOWN_MAX: usize = 65_536;
/// Pairs whose rate is counted; beyond it the cache drops pairs.
pub const PAIRS_MAX: usize = 16_384;
