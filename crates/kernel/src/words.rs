//! Enumerations whose values are words.
//! Must not know: any enumeration.

/// An enumeration, with the word of each value behind it: `ALL` has every value in order, `as_str` gives the word, and
/// `named` the value. A derived serialisation names its words itself.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$of:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$of])* $variant),+ }

        impl $name {
            /// Every value, in order.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Its word.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value with this word.
            $vis fn named(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == word)
            }
        }
    };
}
