//! The scripts without spaces between words.
//! Must not know: the tokens.

/// Ranges of such scripts: Thai, Lao, Myanmar, Khmer, Hangul, kana, Han.
const WITHOUT_SPACES: [(char, char); 14] = [
    ('\u{0e00}', '\u{0eff}'),
    ('\u{1000}', '\u{109f}'),
    ('\u{1100}', '\u{11ff}'),
    ('\u{1780}', '\u{17ff}'),
    ('\u{3005}', '\u{3007}'),
    ('\u{3040}', '\u{30ff}'),
    ('\u{3100}', '\u{312f}'),
    ('\u{31f0}', '\u{31ff}'),
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    ('\u{ac00}', '\u{d7ff}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{1b000}', '\u{1b16f}'),
    ('\u{20000}', '\u{3ffff}'),
];

/// Whether a letter belongs to a script without spaces.
pub(crate) fn is_without_spaces(c: char) -> bool {
    c >= WITHOUT_SPACES[0].0 && WITHOUT_SPACES.iter().any(|(first, last)| (*first..=*last).contains(&c))
}
