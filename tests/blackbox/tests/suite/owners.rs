//! owners.
