//! not_found.
