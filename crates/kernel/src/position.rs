//! `Position` in the log, and `Version` in one stream.

use serde::{Deserialize, Serialize};

macro_rules! sequence_number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The number before the first event.
            pub const ZERO: Self = Self(0);
            /// The number after this one.
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
            /// This number plus `n`.
            pub const fn plus(self, n: u64) -> Self {
                Self(self.0 + n)
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

sequence_number!(
    /// A position in the whole log, which rises in commit order. The first event has position 1.
    Position
);
sequence_number!(
    /// A version of one stream, without gaps. The first event has version 1; an absent stream is at 0.
    Version
);
