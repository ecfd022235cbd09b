//! shutdown.
