//! reopen.
