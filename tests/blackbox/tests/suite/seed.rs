//! seed.
