//! The Agentic Protocol: context packages, facts, reviews, orientation (wire.md section 0, decisions D.4, D.7).
//! Must not know: another protocol, or any database.

pub mod access;
pub mod activity;
pub mod attribution;
pub mod blob;
mod bundles;
mod contents;
mod context;
mod cursor;
pub mod document;
pub mod extensions;
pub mod fact;
pub mod focus;
pub mod hash;
mod history;
mod index;
pub mod key;
pub mod lifecycle;
pub mod limits;
pub mod malformed;
pub mod members;
pub mod moment;
pub mod news;
pub mod package;
mod package_reader;
mod parameters;
pub mod people;
pub mod project;
pub mod project_names;
mod provenance;
pub mod quotas;
mod refusals;
pub mod rejection;
mod reviews;
mod rounds;
mod routes;
pub mod schema;
mod search;
mod served;
pub mod session;
mod shape;
mod teller;
#[cfg(test)]
mod tests;
pub mod transfer;
pub mod wire;

pub use context::{Config, Context, Failure};
pub use routes::{operations, routes};
pub use search::Indexes;
