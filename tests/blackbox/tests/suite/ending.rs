//! ending.
