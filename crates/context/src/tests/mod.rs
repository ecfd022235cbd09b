//! Tests of the room's pure part.

mod deciding_facts;
mod deciding_packages;
mod deciding_projects;
mod deciding_sessions;
mod old_store;
mod samples;
mod schemas;
mod stored_forms;
