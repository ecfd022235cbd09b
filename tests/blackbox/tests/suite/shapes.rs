//! shapes.
