//! The limits of this room by name, each with its effect.

/// Longest package, project and session id, in bytes of UTF-8; past it 400 `invalid_schema`.
pub const ID_OCTETS_MAX: usize = 1_024;
/// Longest part of a stream's name or an index key; a longer text stands there as its digest.
pub const KEY_PART_OCTETS_MAX: usize = 200;
/// Longest title, in characters (AP-22); past it 400 `invalid_schema`.
pub const TITLE_CHARACTERS_MAX: usize = 200;
/// Longest subject or predicate of a fact, in bytes; past it 400 `invalid_schema`.
pub const TERM_OCTETS_MAX: usize = 4_096;
/// Longest value of a fact, in bytes; past it 400 `invalid_schema`.
pub const VALUE_OCTETS_MAX: usize = 64 << 10;
/// Largest fact with all its members, in bytes; past it 400 `invalid_schema`.
pub const FACT_OCTETS_MAX: usize = 128 << 10;
/// Longest note of a flag or a review, in bytes; past it 400 `invalid_schema`.
pub const NOTE_OCTETS_MAX: usize = 16 << 10;
/// Most steps of a package's review; past it only the one to `complete` is taken, and others are 409 `too_many_steps`.
pub const STEPS_MAX: u32 = 1_000;
/// Most members of a project; past it 409 `project_full`.
pub const MEMBERS_MAX: usize = 1_000;
/// Most entries of a list in one answer; past it 400 `invalid_parameter`. More is behind `next_cursor`.
pub const LIST_MAX: usize = 1_000;
/// Bytes of packages or facts in one answer, after which the list goes on behind `next_cursor`.
pub const LIST_OCTETS_MAX: usize = plenary_kernel::limits::PAGE_BYTES_MAX;
/// Packages of `mode=latest` without `limit` (AP-58).
pub const LATEST_DEFAULT: usize = 5;
/// Days that orient and orchestrate look back on without `window_days` (AP-61).
pub const WINDOW_DAYS_DEFAULT: u64 = 14;
/// Most days of a window; past it 400 `invalid_parameter`.
pub const WINDOW_DAYS_MAX: u64 = 36_500;
/// Packages of an orientation.
pub const ORIENT_PACKAGES: usize = 20;
/// Open questions of an orientation and of a digest; older ones are left out.
pub const QUESTIONS_MAX: usize = 100;
/// Packages that a digest counts; past it the oldest of the window are left out, and the summary says so.
pub const DIGEST_PACKAGES_MAX: usize = 100_000;
/// Packages nearest to its focus that a digest takes snippets from.
pub const FOCUS_PACKAGES_MAX: usize = 60;
/// Packages deposited just now, and not indexed yet, that it looks at too.
pub const FOCUS_WAITING_MAX: usize = 60;
/// Most snippets of one package.
pub const SNIPPETS_OF_PACKAGE_MAX: usize = 10;
/// Snippets of a digest without `snippets` (AP-62).
pub const SNIPPETS_DEFAULT: usize = 25;
/// Most snippets of a digest; past it 400 `invalid_parameter`.
pub const SNIPPETS_MAX: usize = 200;
/// Characters of a snippet.
pub const SNIPPET_CHARACTERS: usize = 400;
/// Projects of a digest over all projects; the rest is left out, and the summary says so.
pub const DIGEST_PROJECTS_MAX: usize = 200;
/// Changes of the search index that one write takes together; the rest goes into the next one.
pub const SEARCH_CHANGES_MAX: usize = 4_096;
/// Changes that one write of the index by meaning takes together; each may need vectors of up to 64 parts.
pub const SEMANTIC_CHANGES_MAX: usize = 16;
/// Packages that compete where words and meaning rank together; those behind them are not found.
pub const HYBRID_CANDIDATES_MAX: usize = 200;
/// So many times the hits that are wanted are taken from each ranking before two become one.
pub const CANDIDATES_FACTOR: usize = 3;
/// Bytes of packages that one write takes together; the one that goes past it is the last.
pub const SEARCH_OCTETS_MAX: usize = 16 << 20;
/// Bytes of packages that are kept for the index; older ones are read from the log again.
pub const SEARCH_RECENT_OCTETS_MAX: usize = 16 << 20;
/// Bytes of the projects in one answer, past which the rest is left out; `x-truncated` then says so.
pub const PROJECTS_LISTED_BYTES_MAX: usize = 4 << 20;
/// Reads of packages that go on at the same time for one answer.
pub const READS_AT_ONCE: usize = 16;
/// Bytes of packages that one round of such reads aims at.
pub const READ_BYTES: usize = 1 << 20;
/// Index rows that one answer looks through; past it the list goes on behind `next_cursor`.
pub const SCAN_ROWS_MAX: usize = 10_000;
/// Most projects of a list; the rest is left out.
pub const PROJECTS_LISTED_MAX: usize = 10_000;
/// Most live streams of one token; past it 429 `too_many_streams`.
pub const WATCHERS_PER_TOKEN_MAX: usize = 256;
/// Longest name of a project, in characters; past it 400 `invalid_schema`.
pub const NAME_CHARACTERS_MAX: usize = 200;
/// Longest description, largest settings and most members `x-…` of a project or session, in bytes; past it 400
/// `invalid_schema`.
pub const ABOUT_OCTETS_MAX: usize = 16 << 10;
/// Largest line of an import, in bytes: a package with its review log; past it the line is refused, `line_too_long`.
pub const LINE_OCTETS_MAX: usize = (3 << 20) + (64 << 10);
/// Largest review log in an export, in bytes; past it the notes are left out.
pub const REVIEWS_OCTETS_MAX: usize = 1 << 20;
/// Records of an import that are written at the same time.
pub const IMPORTS_AT_ONCE: usize = 64;
/// Bytes of the records of an import that wait to be written; past it they are written at once.
pub const IMPORT_OCTETS_WAITING_MAX: usize = 8 << 20;
/// Refused records and renamed packages that a report lists; further ones are counted.
pub const REFUSED_LISTED_MAX: usize = 1_000;
/// Packages that one import renames; past it 409 `too_many_renames`, and what was written stays.
pub const RENAMES_MAX: usize = 100_000;
/// Records of one kind that a dry run remembers, so that one meets what those before it would have made; past it those
/// states are forgotten, and no more facts are remembered.
pub const FORETOLD_MAX: usize = 100_000;
/// Projects of one export; past it 409 `too_many_projects`: they are exported one by one.
pub const EXPORT_PROJECTS_MAX: usize = 100_000;
/// Bytes of one piece of an export, after which it is handed on.
pub const EXPORT_PIECE_OCTETS: usize = 64 << 10;
/// Positions of the log that one step of an incremental export looks at.
pub const EXPORT_WINDOW: u64 = 4_096;
/// Most projects of one id that are looked at to tell whether a plain id means one; further ones change nothing.
pub const NAMESAKES_MAX: usize = 16;
/// How often ids of old facts are claimed again where another writer comes first; past it 503.
pub const CLAIM_ATTEMPTS_MAX: usize = 8;
/// Packages of one origin that are tried where a package names that origin as its parent; further ones are not.
pub const RENAMED_LOOKED_AT_MAX: usize = 16;
/// How far ahead of this server's clock a fact of an import may begin or end, in milliseconds: clocks differ a little.
pub const IMPORT_AHEAD_MS_MAX: u64 = 60_000;
/// Most searches of all owners that go on or wait for their turn; past it 503.
pub const SEARCHES_WAITING_MAX: usize = 256;
/// Most exports of all owners at once; past it 503.
pub const EXPORTS_AT_ONCE_MAX: usize = 64;
