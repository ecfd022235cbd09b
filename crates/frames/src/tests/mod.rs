//! Tests of the pure part: frames, scopes, filters, and the permissions of senders.

mod bounds;
mod deciding;
mod faults;
mod filters;
mod random;
mod samples;
mod schemas;
mod scopes;
mod submissions;
