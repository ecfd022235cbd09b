//! The limits of this room by name, each with its effect.

/// Longest package, project and session id, in bytes of UTF-8; a longer one gets 400 `invalid_schema`.
pub const ID_BYTES_MAX: usize = 1_024;
/// Longest part of a stream's name or an index key; a longer text is replaced by its digest.
pub const KEY_PART_BYTES_MAX: usize = 200;
/// Longest title, in characters (AP-22); a longer one gets 400 `invalid_schema`.
pub const TITLE_CHARACTERS_MAX: usize = 200;
/// Longest subject or predicate of a fact, in bytes; a longer one gets 400 `invalid_schema`.
pub const TERM_BYTES_MAX: usize = 4_096;
/// Longest value of a fact, in bytes; a longer one gets 400 `invalid_schema`.
pub const VALUE_BYTES_MAX: usize = 64 << 10;
/// Largest fact with all its members, in bytes; a larger one gets 400 `invalid_schema`.
pub const FACT_BYTES_MAX: usize = 128 << 10;
/// Longest note of a flag or a review, in bytes; a longer one gets 400 `invalid_schema`.
pub const NOTE_BYTES_MAX: usize = 16 << 10;
/// Most steps of a package's review; after them only the step to `complete` is accepted, others get 409
/// `too_many_steps`.
pub const STEPS_MAX: u32 = 1_000;
/// Most members of a project; a further one gets 409 `project_full`.
pub const MEMBERS_MAX: usize = 1_000;
/// Most entries of a list in one response; a higher limit gets 400 `invalid_parameter`. `next_cursor` leads to
/// the rest.
pub const LIST_MAX: usize = 1_000;
/// Bytes of packages or facts in one response, after which the list continues with `next_cursor`.
pub const LIST_BYTES_MAX: usize = plenary_kernel::limits::PAGE_BYTES_MAX;
/// Default `limit` of `mode=latest`, in packages (AP-58).
pub const LATEST_DEFAULT: usize = 5;
/// Default `window_days` of orient and orchestrate (AP-61).
pub const WINDOW_DAYS_DEFAULT: u64 = 14;
/// Most days of a window; more get 400 `invalid_parameter`.
pub const WINDOW_DAYS_MAX: u64 = 36_500;
/// Most packages of an orientation.
pub const ORIENT_PACKAGES: usize = 20;
/// Most open questions of an orientation and of a digest; older ones are left out.
pub const QUESTIONS_MAX: usize = 100;
/// Most packages that a digest counts; the oldest of the window beyond it are left out, and the summary says
/// so.
pub const DIGEST_PACKAGES_MAX: usize = 100_000;
/// Most packages from which a digest takes snippets, best matches first.
pub const FOCUS_PACKAGES_MAX: usize = 60;
/// Most recent packages, not indexed yet, that a digest reads in addition.
pub const FOCUS_WAITING_MAX: usize = 60;
/// Most snippets of one package.
pub const SNIPPETS_OF_PACKAGE_MAX: usize = 10;
/// Default number of snippets of a digest (AP-62).
pub const SNIPPETS_DEFAULT: usize = 25;
/// Most snippets of a digest; more get 400 `invalid_parameter`.
pub const SNIPPETS_MAX: usize = 200;
/// Most characters of a snippet.
pub const SNIPPET_CHARACTERS: usize = 400;
/// Most projects of a digest over all projects; the rest is left out, and the summary says so.
pub const DIGEST_PROJECTS_MAX: usize = 200;
/// Most changes of one write to the vector index; each may need vectors of up to 64 parts.
pub const SEMANTIC_CHANGES_MAX: usize = 16;
/// Most packages that a hybrid ranking scores; further ones are not found.
pub const HYBRID_CANDIDATES_MAX: usize = 200;
/// A hybrid ranking reads this many times the wanted hits from each index.
pub const CANDIDATES_FACTOR: usize = 3;
/// Bytes of the projects in one response; then the list continues with `next_cursor`.
pub const PROJECTS_LISTED_BYTES_MAX: usize = 4 << 20;
/// Concurrent reads of packages for one response.
pub const READS_AT_ONCE: usize = 16;
/// Target for the bytes of one round of such reads.
pub const READ_BYTES: usize = 1 << 20;
/// Index rows that one response reads; then the list continues with `next_cursor`.
pub const SCAN_ROWS_MAX: usize = 10_000;
/// Most projects of a list; the rest is left out.
pub const PROJECTS_LISTED_MAX: usize = 10_000;
/// Most live streams of one token; a further one gets 429 `too_many_streams`.
pub const WATCHERS_PER_TOKEN_MAX: usize = 256;
/// Longest name of a project, in characters; a longer one gets 400 `invalid_schema`.
pub const NAME_CHARACTERS_MAX: usize = 200;
/// Size limit of a description, of settings, and of the members `x-…` of a project or session, in bytes; beyond it 400
/// `invalid_schema`.
pub const ABOUT_BYTES_MAX: usize = 16 << 10;
/// Largest line of an import, in bytes: a package with its review log; a larger line is refused with
/// `line_too_long`.
pub const LINE_BYTES_MAX: usize = (3 << 20) + (64 << 10);
/// Largest review log in an export, in bytes; from a larger one the notes are left out.
pub const REVIEWS_BYTES_MAX: usize = 1 << 20;
/// Most agents of an owner, by handle, whose records it may import; those of further ones are refused.
pub const IMPORT_AGENTS_MAX: usize = 10_000;
/// Most records of an import that are written concurrently.
pub const IMPORTS_AT_ONCE: usize = 64;
/// Bytes of imported records that wait to be written; beyond it they are written at once.
pub const IMPORT_BYTES_WAITING_MAX: usize = 8 << 20;
/// Most refused records and renamed packages that a report lists; further ones are only counted.
pub const REFUSED_LISTED_MAX: usize = 1_000;
/// Most packages that one import renames; a further one gets 409 `too_many_renames`, and written records stay.
pub const RENAMES_MAX: usize = 100_000;
/// Most predicted states of one kind that a dry run remembers for later records; beyond it those states are dropped,
/// and no more facts are remembered.
pub const PREDICTED_STREAMS_MAX: usize = 100_000;
/// Most projects of one export; more get 409 `too_many_projects` and must be exported one by one.
pub const EXPORT_PROJECTS_MAX: usize = 100_000;
/// Bytes of one piece of an export; a piece of this size is sent.
pub const EXPORT_PIECE_BYTES: usize = 64 << 10;
/// Most log positions that one step of an incremental export reads.
pub const EXPORT_WINDOW: u64 = 4_096;
/// Most projects with the same id that are read to check whether a plain id is unambiguous.
pub const NAMESAKES_MAX: usize = 16;
/// Most attempts to claim ids of old facts after conflicts; then 503.
pub const CLAIM_ATTEMPTS_MAX: usize = 8;
/// Most new ids that are tried for a renamed package; if packages of others have them all, its record is refused.
pub const NEW_IDS_MAX: usize = 4;
/// Most renamed packages of one original id that are looked at as copies of a package, or as its parent.
pub const RENAMED_LOOKED_AT_MAX: usize = 16;
/// How far ahead of this server's clock an imported fact may begin or end, and a window ends, in milliseconds, because
/// clocks differ.
pub const AHEAD_MS_MAX: u64 = 60_000;
/// Most running and waiting searches of all owners; a further one gets 503.
pub const SEARCHES_WAITING_MAX: usize = 256;
/// Most concurrent exports of all owners; a further one gets 503.
pub const EXPORTS_AT_ONCE_MAX: usize = 64;
