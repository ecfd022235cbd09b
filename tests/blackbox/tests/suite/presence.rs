//! presence.
