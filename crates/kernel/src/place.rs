//! `Position` in the whole log, and `Version` in one stream.

use serde::{Deserialize, Serialize};

macro_rules! place {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Before everything.
            pub const ZERO: Self = Self(0);
            /// The place directly after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
            /// The place `n` further.
            #[must_use]
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

place!(
    /// A place in the log, rising in commit order; the first event stands at 1.
    Position
);
place!(
    /// A place in one stream, gap-free; the first event stands at 1, an absent stream is at 0.
    Version
);
