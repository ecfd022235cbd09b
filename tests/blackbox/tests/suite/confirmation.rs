//! confirmation.
