//! Agent-Channel Fan-Out as the real server speaks it: raw frames over HTTP, streams read to the byte.
//!
//! Expected values come from the protocol's document and from the decisions on the wire; requirement ids (FO-n) stand
//! in the names of tests or above them. "Nothing came" is always shown by a fence: a later frame that must come, with
//! nothing before it.

mod alter;
mod catalogue;
mod cluster;
mod crowd;
mod delivery;
mod endings;
mod envelope;
mod fairness;
mod filters;
mod hygiene;
mod identity;
mod inbox;
mod lab;
mod limits;
mod locks;
mod orgs;
mod payloads;
mod precedence;
mod probes;
mod resume;
mod roster;
mod scopes;
pub(crate) mod speak;
mod stream;
mod trust;
