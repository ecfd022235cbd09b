//! The Agentic Protocol as the real server speaks it: packages, facts, projects, sessions and reading, in raw JSON.
//!
//! Expected values come from the protocol's document and from the decisions on the wire; requirement ids (AP-n) stand
//! in the names of tests. Content hashes are computed a second time here. Must not know: how the server keeps any of it.

mod admission;
mod attribution;
mod bench;
mod blobs;
pub(crate) mod canonical;
mod cluster;
mod conversations;
mod deposits;
mod descriptor;
mod digest;
mod durability;
mod events;
pub(crate) mod factmodel;
mod factraces;
mod factrules;
mod facts;
mod factstorm;
mod factwalk;
mod factwalker;
mod feedwalk;
mod fidelity;
mod foreign;
mod hashing;
mod hashwalk;
mod hostile;
mod hygiene;
mod ids;
mod inbox;
mod lifecycle;
mod lifewalk;
mod matrix;
mod meaning;
mod members;
mod moving;
mod namespaces;
mod projects;
mod reading;
mod relevant;
mod reranking;
mod reviews;
mod revoked;
mod schema;
mod sessions;
mod speak;
mod syncing;
mod transport;
mod underway;
mod vectors;
mod verbatim;
