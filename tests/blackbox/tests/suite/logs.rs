//! logs.
