//! contacts.
