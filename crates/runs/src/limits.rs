//! Every limit of this room, by name, with its effect.
//! Must not know: where they are configured.

/// Largest event of a runner, in bytes of its own members; past it the event is not taken.
pub const EVENT_OCTETS_MAX: usize = 1 << 20;
/// Largest artifact, in bytes; past it the event is not taken.
pub const ARTIFACT_OCTETS_MAX: usize = 16 << 20;
/// Most events that a runner has said and that are not written yet; past it the runner waits.
pub const EVENTS_WAITING_MAX: usize = 64;
/// Most answers that a runner has not taken yet; past it the run ends with an error.
pub const ANSWERS_WAITING_MAX: usize = 16;
/// Longest piece of token-by-token output, in bytes; a longer one goes out in several.
pub const DELTA_OCTETS_MAX: usize = 16 << 10;
/// Most pieces of token-by-token output that wait to go out; past it new ones are lost, which they may be.
pub const DELTAS_WAITING_MAX: usize = 256;
/// Most earlier runs of a thread that a runner gets; of more it gets the newest.
pub const TURNS_MAX: usize = 64;
/// Most bytes of earlier requests and results that a runner gets; beyond it, it gets the newest.
pub const TURNS_OCTETS_MAX: usize = 2 << 20;
/// Most agents of a server; past it the configuration is refused, and one that comes by itself is with 429
/// `too_many_agents`.
pub const AGENTS_MAX: usize = 1_024;
/// Most agents of one owner that came by themselves, so that nobody takes all places; the same past it.
pub const ENLISTED_PER_OWNER_MAX: usize = 256;
/// Longest purpose that an agent which comes by itself may tell, in characters; past it 422 `introduction_too_long`.
pub const PURPOSE_CHARS_MAX: usize = 500;
/// Most tools that it may tell of; the same past it.
pub const AGENT_TOOLS_MAX: usize = 64;
/// Longest name of one of them, in characters; the same past it.
pub const TOOL_CHARS_MAX: usize = 100;
/// Most runs of a thread; past it 409 `thread_full`.
pub const RUNS_PER_THREAD_MAX: usize = 1_000;
/// Most runs of a thread that wait for their turn; past it 429 `too_many_queued_runs`.
pub const QUEUED_RUNS_MAX: usize = 64;
/// Most runs that go on in one process unless it is set; past it 429 `too_many_runs`.
pub const RUNS_ACTIVE_MAX: usize = 4_096;
/// Most of them that one owner and its agents ask for, unless it is set; past it 429 `too_many_runs_of_owner`.
pub const RUNS_PER_OWNER_MAX: usize = 1_024;
/// Most runs that wait for an earlier one of their thread in one process; past it 429 `too_many_runs`.
pub const QUEUED_RUNS_TOTAL_MAX: usize = 65_536;
/// Most of them that one owner and its agents ask for, unless it is set; past it 429 `too_many_queued_runs_of_owner`.
pub const QUEUED_RUNS_PER_OWNER_MAX: usize = 8_192;
/// Longest result of a run, in bytes; a longer one ends the run with an error, and text that is joined to one is cut.
pub const RESULT_OCTETS_MAX: usize = 1 << 20;
/// Longest text of what went wrong in a run, in bytes; it is cut.
pub const WHY_OCTETS_MAX: usize = 4 << 10;
/// Deepest chain of callers; past it 422 `depth_exceeded`.
pub const DEPTH_MAX: u32 = 32;
/// Longest title of a thread, in characters; the first request is cut to it.
pub const TITLE_CHARS_MAX: usize = 80;
/// Most bytes of an agent's arguments together; past it 422 `args_too_large`.
pub const ARGS_OCTETS_MAX: usize = 64 << 10;
/// Most streams that one owner and its agents follow at a time in one process, waiting requests among them, unless it is
/// set; past it 429 `too_many_streams`.
pub const STREAMS_PER_OWNER_MAX: usize = 1_024;
/// Bytes of recent events that are kept for live followers of a thread.
pub const TAIL_OCTETS_MAX: usize = 8 << 20;
/// Most deltas of this process that wait to be told to others; past it they are lost, which they may be.
pub const DELTAS_TO_TELL_MAX: usize = 1_024;
/// Most bytes of one text in the making that are kept for who comes while it is made; past it none of it is.
pub const MAKING_OCTETS_MAX: usize = 64 << 10;
/// Most threads whose text in the making is kept; past it the oldest is forgotten.
pub const MAKING_THREADS_MAX: usize = 256;
/// How long a run that was told to cancel may take to end; past it its runner is dropped.
pub const CANCEL_GRACE_MS: u64 = 8_000;
/// How long runs may take to end when the server stops; past it their runners are dropped.
pub const STOP_GRACE_MS: u64 = 2_000;
/// The longest pause between two tries to write what a run said, while the store can't.
pub const WRITE_PAUSE_MS_MAX: u64 = 1_000;
/// Longest idempotency key, in characters; past it 422.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;
/// Most events of one answer to `get_events`; the rest is in the next one.
pub const PAGE_EVENTS_MAX: usize = 1_000;
/// Bytes of events after which an answer to `get_events` ends; the rest is in the next one.
pub const PAGE_OCTETS_MAX: usize = plenary_kernel::limits::PAGE_BYTES_MAX;
/// Most polling readers of a run; past it 429 `too_many_readers`.
pub const READERS_PER_RUN_MAX: usize = 64;
/// Longest name of a polling reader, in characters; past it 422.
pub const READER_CHARS_MAX: usize = 64;
/// Most threads of one list; a higher limit counts as this one.
pub const THREADS_MAX: usize = 500;
/// How many threads a list has unless it is said.
pub const THREADS_DEFAULT: usize = 100;
/// Most deltas that a live stream holds back for the event that they follow; past it the oldest are lost.
pub const DELTAS_HELD_MAX: usize = 256;
/// A run that begins this long after the message that it answers is part of its trace; later it is a trace of its own that
/// links to it.
pub const TRACE_NEAR_MS: u64 = 60_000;
/// Most bytes of what a run has said that a stream for a dashboard remembers, so that its result is not said again.
pub const SAID_OCTETS_MAX: usize = 64 << 10;
