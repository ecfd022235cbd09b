//! Every limit of this room, by name, with what happens past it.
//! Must not know: where they are configured.

/// Largest event of a runner, in octets of its own members; past it the event is not taken.
pub const EVENT_OCTETS_MAX: usize = 1 << 20;
/// Largest artifact, in octets; past it the event is not taken.
pub const ARTIFACT_OCTETS_MAX: usize = 16 << 20;
/// Most events that a runner has said and that are not written yet; past it the runner waits.
pub const EVENTS_WAITING_MAX: usize = 64;
/// Most answers that a runner has not taken yet; past it the run ends with an error.
pub const ANSWERS_WAITING_MAX: usize = 16;
/// Longest piece of token-by-token output, in octets; a longer one goes out in several.
pub const DELTA_OCTETS_MAX: usize = 16 << 10;
/// Most pieces of token-by-token output that wait to go out; past it new ones are lost, which they may be.
pub const DELTAS_WAITING_MAX: usize = 256;
/// Most earlier runs of a thread that a runner is told of; of more it gets the newest.
pub const TURNS_MAX: usize = 64;
/// Most octets of earlier requests and results that a runner is told of; past it it gets the newest.
pub const TURNS_OCTETS_MAX: usize = 2 << 20;
/// Most agents of a server; past it the configuration is refused.
pub const AGENTS_MAX: usize = 1_024;
