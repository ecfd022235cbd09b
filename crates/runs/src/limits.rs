//! Every limit of this room, by name, with its effect.
//! Must not know: where they are configured.

/// Largest event of a runner, in bytes of its own members; a larger event is not accepted.
pub const EVENT_BYTES_MAX: usize = 1 << 20;
/// Largest artifact, in bytes; an event with a larger one is not accepted.
pub const ARTIFACT_BYTES_MAX: usize = 16 << 20;
/// Most emitted events that are not written yet; beyond it the runner waits.
pub const EVENTS_WAITING_MAX: usize = 64;
/// Most answers that a runner has not read yet; beyond it the run ends with an error.
pub const ANSWERS_WAITING_MAX: usize = 16;
/// Longest piece of token-by-token output, in bytes; a longer one goes out in several.
pub const DELTA_BYTES_MAX: usize = 16 << 10;
/// Most waiting text deltas of a run; beyond it new deltas are lost.
pub const DELTAS_WAITING_MAX: usize = 256;
/// Most earlier runs of a thread that a runner gets: the newest ones.
pub const TURNS_MAX: usize = 64;
/// Most bytes of earlier requests and results that a runner gets: the newest ones.
pub const TURNS_BYTES_MAX: usize = 2 << 20;
/// Most agents of a server; beyond it a configuration is invalid, and enlisting gives 429 `too_many_agents`.
pub const AGENTS_MAX: usize = 1_024;
/// Most enlisted agents of one owner, so that no owner uses up all places; beyond it 429 `too_many_agents`.
pub const ENLISTED_PER_OWNER_MAX: usize = 256;
/// Longest purpose in an introduction, in characters; beyond it 422 `introduction_too_long`.
pub const PURPOSE_CHARS_MAX: usize = 500;
/// Most tools in an introduction; beyond it 422 `introduction_too_long`.
pub const AGENT_TOOLS_MAX: usize = 64;
/// Longest name of such a tool, in characters; beyond it 422 `introduction_too_long`.
pub const TOOL_CHARS_MAX: usize = 100;
/// Most runs of a thread; beyond it 409 `thread_full`.
pub const RUNS_PER_THREAD_MAX: usize = 1_000;
/// Most queued runs of a thread; beyond it 429 `too_many_queued_runs`.
pub const QUEUED_RUNS_MAX: usize = 64;
/// Most active runs of one process, unless configured; beyond it 429 `too_many_runs`.
pub const RUNS_ACTIVE_MAX: usize = 4_096;
/// Most active runs of one owner and its agents, unless configured; beyond it 429 `too_many_runs_of_owner`.
pub const RUNS_PER_OWNER_MAX: usize = 1_024;
/// Most queued runs of one process; beyond it 429 `too_many_runs`.
pub const QUEUED_RUNS_TOTAL_MAX: usize = 65_536;
/// Most queued runs of one owner and its agents, unless configured; beyond it 429 `too_many_queued_runs_of_owner`.
pub const QUEUED_RUNS_PER_OWNER_MAX: usize = 8_192;
/// Longest result of a run, in bytes; a longer one ends the run with an error. A result of joined text is cut.
pub const RESULT_BYTES_MAX: usize = 1 << 20;
/// Longest error text of a run, in bytes; a longer one is cut.
pub const WHY_BYTES_MAX: usize = 4 << 10;
/// Deepest chain of callers; beyond it 422 `depth_exceeded`.
pub const DEPTH_MAX: u32 = 32;
/// Longest title of a thread, in characters; the first request is cut to it.
pub const TITLE_CHARS_MAX: usize = 80;
/// Most bytes of an agent's arguments together; beyond it 422 `args_too_large`.
pub const ARGS_BYTES_MAX: usize = 64 << 10;
/// Most live streams and waiting requests of one owner and its agents in one process, unless configured; beyond it 429
/// `too_many_streams`.
pub const STREAMS_PER_OWNER_MAX: usize = 1_024;
/// Bytes of recent events that are kept for live followers of a thread.
pub const TAIL_BYTES_MAX: usize = 8 << 20;
/// Most deltas of this process that wait for other processes; beyond it deltas are lost.
pub const DELTAS_QUEUED_MAX: usize = 1_024;
/// Most bytes of an unfinished text that are kept for new readers; a longer text is dropped as a whole.
pub const PARTIAL_TEXT_BYTES_MAX: usize = 64 << 10;
/// Most threads whose unfinished text is kept; beyond it the oldest is dropped.
pub const PARTIAL_TEXTS_MAX: usize = 256;
/// How long a canceled run may take to end; then its runner is dropped.
pub const CANCEL_GRACE_MS: u64 = 8_000;
/// How long runs may take to end when the server stops; then their runners are dropped.
pub const STOP_GRACE_MS: u64 = 2_000;
/// The longest pause between two attempts to write a run's events while the store fails.
pub const WRITE_PAUSE_MS_MAX: u64 = 1_000;
/// Most events in one response to `get_events`; the rest is in the next one.
pub const PAGE_EVENTS_MAX: usize = 1_000;
/// Bytes of events after which a response to `get_events` ends; the rest is in the next one.
pub const PAGE_BYTES_MAX: usize = plenary_kernel::limits::PAGE_BYTES_MAX;
/// Most polling readers of a run; beyond it 429 `too_many_readers`.
pub const READERS_PER_RUN_MAX: usize = 64;
/// Longest name of a polling reader, in characters; beyond it 422.
pub const READER_CHARS_MAX: usize = 64;
/// Most threads in one list; a higher limit is reduced to this.
pub const THREADS_MAX: usize = 500;
/// The default number of threads in a list.
pub const THREADS_DEFAULT: usize = 100;
/// Most deltas that a live stream holds until the event before them; beyond it the oldest are lost.
pub const DELTAS_HELD_MAX: usize = 256;
/// A run that starts within this time after its message is part of the message's trace; a later run has its own trace
/// with a link to it.
pub const TRACE_NEAR_MS: u64 = 60_000;
/// Most bytes of sent text that a dashboard's stream remembers, so that it does not repeat the text as the result.
pub const SENT_TEXT_BYTES_MAX: usize = 64 << 10;
