//! What waits for a person in other rooms becomes a request to the people of its owner, and their answer goes back: runs
//! that wait for input, packages that wait for a person's review, contact requests and invitations of strangers. A reactor
//! behind the log: everything that it does twice it does once, for a request has an id that follows from what it is about, and an answer is taken once.
//! Must not know: HTTP, or how a person is told.

mod contacts;
mod invitations;
mod later;
mod reactor;
mod reviews;
mod runs;
mod served;
mod sources;

pub use sources::Sources;

/// Most requests that one owner's agents cause and that wait until there is room to ask; past it they are not asked.
pub const PUT_OFF_PER_OWNER_MAX: usize = 1_000;
