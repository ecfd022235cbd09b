//! blocks.
