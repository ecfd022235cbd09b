//! Tests of the room's pure parts, and of its reads from a log in memory.

mod deciding;
mod folding;
mod house;
mod linting;
mod onboarding;
mod paging;
mod spans;
mod stored_forms;
mod surface;
