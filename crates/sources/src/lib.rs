//! Turns waiting items of other rooms into requests to the people of their owner, and returns the answers: runs that
//! wait for input, held runs and invitations, packages that await a person's review, contact requests and invitations
//! of strangers. A reactor follows the log. It is idempotent: the id of a request derives from its subject, and an
//! answer is accepted once.
//! Must not know: HTTP, or how a person is notified.

mod contacts;
mod holds;
mod invitations;
mod later;
mod reactor;
mod reviews;
mod runs;
mod served;
mod sources;

pub use sources::Sources;

/// How long a held run or invitation waits for a person, in milliseconds; then it is canceled or declined.
pub const HOLD_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Most postponed requests that one owner's agents cause; further ones are dropped.
pub const PUT_OFF_PER_OWNER_MAX: usize = 1_000;
