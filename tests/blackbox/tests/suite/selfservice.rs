//! selfservice.
