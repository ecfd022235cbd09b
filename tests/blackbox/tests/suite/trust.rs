//! trust.
