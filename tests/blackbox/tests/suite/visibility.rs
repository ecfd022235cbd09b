//! visibility.
