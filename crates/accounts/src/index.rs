//! The indexes of this room: names, keys and content. Each is a pure function of the events.
//! Must not know: how they are read.

/// Hex digest of a token -> its bearer as an actor's text.
pub(crate) const TOKENS: &str = "accounts.token";
/// `owner/name` of every live agent.
pub(crate) const AGENTS: &str = "accounts.agents";
/// `owner` of every owner.
pub(crate) const OWNERS: &str = "accounts.owners";
/// `blocked/blocker`, so that "who blocks this agent" is a read by prefix.
pub(crate) const BLOCKED_BY: &str = "accounts.blocked_by";
/// `digest of a credential/keyring` of every passkey, so that "whose is this credential" is a read by prefix.
pub(crate) const PASSKEYS: &str = "accounts.passkeys";
/// `from/to` of every unanswered contact request -> its id.
pub(crate) const CONTACTS_PENDING: &str = "accounts.contacts_pending";
/// `to/owner of from/from` of the same requests, so that those of an owner to one agent are a read by prefix.
pub(crate) const CONTACTS_PENDING_TO: &str = "accounts.contacts_pending_to";
/// When a token ends by itself, in milliseconds with leading zeros, `/`, its id -> its agent. Until it has ended.
pub(crate) const EXPIRING: &str = "accounts.expiring";

pub(crate) fn expiring_key(at: plenary_kernel::TimestampMs, id: &str) -> String {
    format!("{:020}/{id}", at.0)
}
