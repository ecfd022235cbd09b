//! The console: the page for people and what it asks for beside the operations of the rooms: sign-in, people, the entries
//! of the audit, the one stream of everything, and the overview.
//! Must not know: any protocol; a room says itself what onlookers are told of its events.

mod assets;
mod audit;
mod challenges;
mod console;
pub mod limits;
mod overview;
mod page;
mod routes;
mod served;
mod watching;
mod webauthn;
mod who;
mod wire;

pub use console::Console;
