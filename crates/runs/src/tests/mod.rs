//! Tests of the pure part: decisions, stored forms, wire forms.

mod deciding;
mod random;
mod requests;
mod stored_forms;
mod thread;
mod wire_form;
