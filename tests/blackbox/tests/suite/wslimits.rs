//! wslimits.
