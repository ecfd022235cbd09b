//! The console: the web page for people, and the operations that only the page needs: sign-in, people, the audit, the stream of
//! all events, and the overview.
//! Must not know: any protocol; each room defines the form of its own events for `/watch`.

mod assets;
mod audit;
mod challenges;
mod console;
mod ephemeral;
mod event_stream;
pub mod limits;
mod overview;
mod page;
mod routes;
mod served;
mod wakes;
mod webauthn;
mod who;
mod wire;

pub use console::{Console, RoomReaders};
