//! The limits of this room by name, each with its effect.

/// Longest token, in bytes; a longer one gets 401, or 400 `invalid_token` where a token is chosen.
pub const TOKEN_BYTES_MAX: usize = 512;
/// Shortest chosen token, in bytes; below it 400 `invalid_token`. A seed file may have shorter ones.
pub const TOKEN_BYTES_MIN: usize = 16;
/// Most entries of one agent's allowlist; beyond it 409 `allowlist_full`.
pub const ALLOWLIST_ENTRIES_MAX: usize = 10_000;
/// Most allowlist entries of one request; beyond it 400 `invalid_allowlist_entry`.
pub const ENTRIES_PER_REQUEST_MAX: usize = 1_000;
/// Most agents that one agent blocks; beyond it 409 `blocks_full`.
pub const BLOCKS_MAX: usize = 10_000;
/// Most agents that an owner creates with its own token; beyond it 409 `too_many_agents`. The operator may create more.
pub const AGENTS_PER_OWNER_MAX: usize = 1_000;
/// Longest display name of an agent, in characters; beyond it 400 `invalid_display_name`.
pub const DISPLAY_NAME_CHARS_MAX: usize = 100;
/// Longest description of an agent, in characters; beyond it 400 `invalid_description`.
pub const DESCRIPTION_CHARS_MAX: usize = 500;
/// Longest card of an agent, in bytes of UTF-8; beyond it 400 `invalid_card_body`.
pub const CARD_BYTES_MAX: usize = 16 << 10;
/// Most members of an organisation; beyond it 409 `members_full`.
pub const ORG_MEMBERS_MAX: usize = 10_000;
/// Most roles of one member; beyond it 400 `invalid_roles`.
pub const ROLES_PER_MEMBER_MAX: usize = 16;
/// Most unanswered contact requests of one agent; beyond it 429 `too_many_contacts`.
pub const CONTACTS_PENDING_MAX: usize = 1_000;
/// Most unanswered contact requests to one agent by the agents of one owner, deleted ones included; beyond it 429
/// `too_many_contacts`.
pub const CONTACTS_PENDING_TO_MAX: usize = 100;
/// Most contact requests of one page; beyond it 400 `invalid_limit`.
pub const CONTACTS_PAGE_MAX: usize = 100;
/// Longest message of a contact request, in bytes of UTF-8; beyond it 400 `invalid_message`.
pub const CONTACT_MESSAGE_BYTES_MAX: usize = 4_096;
/// Most rows of a page of blocks; beyond it 400 `invalid_limit` (wire.md 2.2).
pub const BLOCKS_PAGE_MAX: usize = 100;
/// Most rows of a page of owners, agents or members; beyond it 400 `invalid_limit`.
pub const LIST_PAGE_MAX: usize = 500;
/// Most allowlist entries in one page of agents; beyond it the page ends after the agent that reaches it.
pub const LIST_ENTRIES_MAX: usize = 20_000;
/// Most bytes of cards in one page of agents; beyond it the page ends after the agent that reaches it.
pub const LIST_CARD_BYTES_MAX: usize = 512 << 10;
/// Default rows of a page of reachable agents.
pub const REACHABLE_DEFAULT: usize = 50;
/// Most rows of a page of reachable agents; beyond it 400 `invalid_limit`.
pub const REACHABLE_PAGE_MAX: usize = 100;
/// Most agents that one page examines; then the page ends, and its cursor continues there.
pub const AGENTS_READ_MAX: usize = 1_000;
/// Most agents that one `GET /search` examines; then the answer ends, and its cursor continues there.
pub const AGENTS_SEARCHED_MAX: usize = 10_000;
/// Default of concurrent searches of one owner, for agents and messages together; beyond it 429
/// `too_many_searches`.
pub const SEARCHES_PER_OWNER_MAX: usize = 4;
/// Concurrent searches of all owners; beyond it 503.
pub const SEARCHES_AT_ONCE_MAX: usize = 256;
/// Shortest query, in characters; below it 400 `invalid_query`.
pub const SEARCH_CHARS_MIN: usize = 2;
/// Longest query, in characters; beyond it 400 `invalid_query`.
pub const SEARCH_CHARS_MAX: usize = 100;
/// Default agents of a page of a search.
pub const RESULTS_DEFAULT: usize = 20;
/// Most agents of a page of a search; beyond it 400 `invalid_limit`.
pub const RESULTS_PAGE_MAX: usize = 50;
/// Most unused tickets of one agent; beyond it the oldest becomes invalid.
pub const TICKETS_PER_AGENT_MAX: usize = 16;
/// Validity of a ticket, in seconds.
pub const TICKET_SECONDS: u64 = 30;
/// Most tokens whose bearer is cached; beyond it the cache drops entries, which are looked up again.
pub const BEARERS_CACHED_MAX: usize = 65_536;
/// How long a request waits for earlier commits of other processes on the store; beyond it 503 `unavailable`.
pub const OBSERVATION_WAIT: std::time::Duration = std::time::Duration::from_secs(2);
/// Most pairs of an agent (or of all other networks) and an owner whose trust is remembered; beyond it the one that was idle
/// longest is worked out again.
pub const REACHES_CACHED_MAX: usize = 4_096;
/// Most unused console links of one owner; beyond it the oldest becomes invalid.
pub const CONSOLE_LINKS_MAX: usize = 16;
/// Default validity of a console link, in milliseconds.
pub const CONSOLE_LINK_MS_MAX: u64 = 5 * 60 * 1_000;
/// Most console sessions of one owner; beyond it the one with the oldest use ends.
pub const CONSOLE_SESSIONS_MAX: usize = 32;
/// Default longest duration of a console session, in milliseconds.
pub const CONSOLE_SESSION_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Default longest idle time of a console session, in milliseconds.
pub const CONSOLE_IDLE_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Longest duration of a console session that began at an issuer, in milliseconds; then the person signs in there again.
pub const ISSUER_SESSION_MS_MAX: u64 = 12 * 60 * 60 * 1_000;
/// Most passkeys of one owner, or of the operator; beyond it 409 `too_many_passkeys`.
pub const PASSKEYS_MAX: usize = 32;
/// Longest name of a passkey, in characters; beyond it 400 `invalid_name`.
pub const PASSKEY_NAME_CHARS_MAX: usize = 60;
/// Most owners whose passkeys with one credential id are tried.
pub const PASSKEY_KEYRINGS_MAX: usize = 8;
/// Most challenges that passkeys of one owner use within the validity of a challenge; beyond it 401 `passkey_invalid`.
pub const CHALLENGES_USED_MAX: usize = 512;
/// Longest stored `User-Agent` of a console session, in characters; the rest is cut off.
pub const USER_AGENT_CHARS_MAX: usize = 200;
/// Largest answer that is stored with its idempotency key, in bytes; a larger one is computed again.
pub const ANSWER_STORED_BYTES_MAX: usize = 64 << 10;
/// Most additional tokens of one agent, including grants; beyond it 409 `too_many_tokens`.
pub const TOKENS_PER_AGENT_MAX: usize = 128;
/// Most of them that come from issuers' tokens; beyond it 503 at the token endpoint, 401 elsewhere, until one ends.
pub const TOKENS_OF_ISSUERS_MAX: usize = 64;
/// How long the check of an issuer's token is cached, in milliseconds; then the issuer's keys and the rules are
/// checked again.
pub const FOREIGN_TOKEN_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Most revoked tokens of issuers that are remembered until their expiry; beyond it the agent
/// gets no tokens for issuers' tokens.
pub const TOKENS_REFUSED_MAX: usize = 256;
/// Most descendants of one additional token, including a client's own; beyond it 409 `too_many_tokens`.
pub const TOKENS_BELOW_ONE_MAX: usize = 16;
/// Longest token of an issuer that is sent instead of one of this server, in bytes; beyond it 401.
pub const FOREIGN_TOKEN_BYTES_MAX: usize = 8 << 10;
/// Most valid tokens of one grant; beyond it the oldest ends.
pub const TOKENS_PER_GRANT_MAX: usize = 3;
/// Longest validity of an additional token with an expiry, in seconds; beyond it 400
/// `invalid_expires_in`.
pub const TOKEN_LASTS_S_MAX: u64 = 366 * 24 * 60 * 60;
/// Longest name of a token, in characters; beyond it 400 `invalid_name`.
pub const TOKEN_NAME_CHARS_MAX: usize = 100;
/// Longest scope, in bytes; beyond it 400 `invalid_scope`.
pub const SCOPE_BYTES_MAX: usize = 4_096;
/// Most sessions, channels and projects in a scope; beyond it 400 `invalid_scope`.
pub const SCOPE_IDS_MAX: usize = 32;
/// Most tokens whose last recorded use is cached; beyond it a use may be recorded earlier than necessary.
pub const USES_NOTED_MAX: usize = 16_384;
/// The least time between two recorded uses of a token, in milliseconds.
pub const USE_NOTED_EVERY_MS: u64 = 60 * 1_000;
