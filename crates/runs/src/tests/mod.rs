//! Tests of the pure part: what follows from what, what is stored, what goes out.

mod deciding;
mod random;
mod requests;
mod stored_forms;
mod thread;
mod wired;
