//! Tests of the pure part: what is a frame, a scope, a filter, and who may send what to whom.

mod bounds;
mod deciding;
mod faults;
mod filters;
mod random;
mod samples;
mod schemas;
mod scopes;
mod submissions;
