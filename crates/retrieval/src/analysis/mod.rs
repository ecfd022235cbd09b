//! The tokenizer: words of letters and digits in any script, lower case, without accents, without English stop words,
//! stemmed as English. Identifiers are indexed by their parts and as a whole; scripts without spaces by pairs of
//! characters.
//! Must not know: documents, or any index.

mod script;
mod split;
mod stop;

use std::{
    borrow::Cow,
    cell::RefCell,
    hash::{BuildHasher as _, Hasher as _},
    sync::LazyLock,
};

use frostem::{Algorithm, Stemmer};
use hashbrown::{DefaultHashBuilder, HashTable};
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

pub(crate) use script::is_without_spaces;

use crate::WORD_BYTES_MAX;

/// The use that a text is split into words for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// For the index: single characters of scripts without spaces are words too.
    Document,
    /// For a search: a single character of such a script is a word only if it stands alone.
    Query,
}

/// Shorter words are not stemmed.
const STEMMED_BYTES_MIN: usize = 3;

/// Most words whose forms a thread remembers; then it forgets them all.
const FORMS_MAX: usize = 8_192;

/// A word whose form a thread remembers.
struct KnownWord {
    word: Box<str>,
    hash: u64,
    /// Its form with the hash of the form; `None` for a stop word.
    form: Option<(Box<str>, u64)>,
}

thread_local! {
    /// Few words make up most of a text, and finding the form of one takes longer than a look here.
    static KNOWN: RefCell<HashTable<KnownWord>> = const { RefCell::new(HashTable::new()) };
}

/// Hashes words the same way in every thread.
static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// The hash of a word, the same in every text.
pub(crate) fn hash(word: &str) -> u64 {
    let mut hasher = HASHER.build_hasher();
    hasher.write(word.as_bytes());
    hasher.finish()
}

/// Calls `give` with each word of a text, in text order.
pub fn words(text: &str, purpose: Purpose, give: &mut dyn FnMut(&str)) {
    hashed_words(text, purpose, &mut |word, _| give(word));
}

/// Calls `give` with each word of a text, in text order, and with the hash of the word, which is the same in every text.
pub(crate) fn hashed_words(text: &str, purpose: Purpose, give: &mut dyn FnMut(&str, u64)) {
    let mut known = KNOWN.take();
    split::runs(&folded(text), purpose, &mut |word| {
        if word.len() > WORD_BYTES_MAX {
            if let Some(form) = form(word) {
                give(&form, hash(&form));
            }
            return;
        }
        let hash = hash(word);
        let found = match known.find(hash, |known| *known.word == *word) {
            Some(found) => found,
            // A number or an id is its own form, and displaces no word.
            None if is_plain_with_digits(word) => return give(word, hash),
            None => {
                if known.len() == FORMS_MAX {
                    known.clear();
                }
                &*known.insert_unique(hash, KnownWord::new(word, hash), |known| known.hash).into_mut()
            }
        };
        if let Some((form, hash)) = &found.form {
            give(form, *hash);
        }
    });
    KNOWN.set(known);
}

impl KnownWord {
    fn new(word: &str, hash_of_word: u64) -> Self {
        let form = form(word).map(|form| {
            let hash = hash(&form);
            (form, hash)
        });
        Self { word: word.into(), hash: hash_of_word, form }
    }
}

/// Whether a word has digits, and apart from them only ASCII letters in lower case.
fn is_plain_with_digits(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    word.bytes().any(|byte| byte.is_ascii_digit()) && word.bytes().all(is_plain)
}

/// The form of a word in the index; `None` for a stop word.
fn form(word: &str) -> Option<Box<str>> {
    let word = lower(word);
    let word = cut(&word);
    if stop::is_stop_word(word) {
        return None;
    }
    let has_forms = word.len() >= STEMMED_BYTES_MIN && word.bytes().all(|byte| byte.is_ascii_lowercase());
    Some(if has_forms { Stemmer::new(Algorithm::English).stem(word).into() } else { word.into() })
}

/// Whether a character only modifies a letter: accents of Latin, Greek and Cyrillic, the vowel marks of Hebrew and Arabic, and
/// the Arabic tatweel. Marks of other scripts belong to their letters.
fn is_accent(c: char) -> bool {
    match c {
        '\u{300}'..='\u{36f}' | '\u{640}' => true,
        '\u{591}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}'
        | '\u{6d6}'..='\u{6ed}' => is_combining_mark(c),
        _ => false,
    }
}

/// Whether a character within a word is not seen: soft hyphen, zero-width space, word joiner. The joiners of Persian and Indic
/// scripts divide words.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// The text in Unicode compatibility form (NFKC), without accents and invisible characters.
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkd().filter(|c| !is_accent(*c) && !is_invisible(*c)).nfc().collect())
}

fn lower(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

fn cut(word: &str) -> &str {
    let mut end = word.len().min(WORD_BYTES_MAX);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    &word[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str, purpose: Purpose) -> Vec<String> {
        let mut found = Vec::new();
        words(text, purpose, &mut |word| found.push(word.to_owned()));
        found
    }

    fn document(text: &str) -> Vec<String> {
        of(text, Purpose::Document)
    }

    #[test]
    fn forms_of_a_word_are_one_word() {
        assert_eq!(document("Migrations migrated; migrating MIGRATE!"), ["migrat"; 4]);
        assert_eq!(
            document("The user's logins aren't failing, they'll work"),
            ["user", "login", "fail", "work"]
        );
        assert_eq!(document("user’s O'Neil"), ["user", "o", "neil"]);
    }

    #[test]
    fn words_that_say_nothing_are_left_out() {
        assert!(document("What is it that we are to do with them?").is_empty());
        assert_eq!(document("C and R"), ["c", "r"]);
    }

    #[test]
    fn accents_and_widths_do_not_count() {
        assert_eq!(document("Café CAFÉ cafe\u{301} naïve"), ["cafe", "cafe", "cafe", "naiv"]);
        assert_eq!(document("ＡＢＣ１２"), document("abc12"));
        assert_eq!(document("Übergröße"), document("ubergroße"));
        assert_eq!(document("İstanbul"), document("istanbul"));
    }

    #[test]
    fn vowel_marks_do_not_count() {
        assert_eq!(document("مُحَمَّد"), document("محمد"));
        assert_eq!(document("شَـــاهِد"), document("شاهد"));
        assert_eq!(document("שָׁלוֹם"), document("שלום"));
        assert_eq!(document("בֵּית־סֵפֶר"), ["בית", "ספר"]);
        assert_eq!(document("٣"), ["٣"]);
        assert_ne!(document("हिन्दी"), document("हनद"), "marks of other scripts belong to their letters");
    }

    #[test]
    fn what_nobody_sees_does_not_divide_a_word() {
        for invisible in ['\u{ad}', '\u{200b}', '\u{2060}', '\u{feff}'] {
            assert_eq!(document(&format!("pass{invisible}word")), ["password"], "{invisible:?}");
        }
        assert_eq!(document("Donau\u{ad}dampf\u{ad}schiff"), document("Donaudampfschiff"));
        assert!(document("\u{ad}\u{200b}").is_empty());
    }

    #[test]
    fn identifiers_are_found_by_their_parts_and_whole() {
        assert_eq!(document("src/main.rs"), ["src", "main", "rs"]);
        assert_eq!(document("fix_login"), ["fix", "login"]);
        assert_eq!(document("fixLogin"), ["fixlogin", "fix", "login"]);
        assert_eq!(document("HTTPServer2"), ["httpserver2", "http", "server2"]);
        assert_eq!(document("pkg-0f3a:sha256"), ["pkg", "0f3a", "sha256"]);
        assert_eq!(document("GET /v1/packages?mode=relevant"), ["get", "v1", "packag", "mode", "relev"]);
    }

    #[test]
    fn scripts_without_spaces_do_not_vanish() {
        assert_eq!(document("数据库"), ["数", "数据", "据", "据库", "库"]);
        assert_eq!(of("数据库", Purpose::Query), ["数据", "据库"]);
        assert_eq!(of("库", Purpose::Query), ["库"]);
        assert_eq!(of("テスト4件", Purpose::Query), ["テス", "スト", "4", "件"]);
        assert_eq!(of("が", Purpose::Query), ["が"]);
        assert_eq!(of("서버 배포", Purpose::Query), ["서버", "배포"]);
        assert_eq!(document("Привет мир"), ["привет", "мир"]);
        assert!(!document("हिन्दी").is_empty());
    }

    #[test]
    fn a_long_word_counts_by_its_beginning() {
        let long = "x1".repeat(WORD_BYTES_MAX);
        assert_eq!(document(&long), [long[..WORD_BYTES_MAX].to_owned()]);
        assert_eq!(document(&"é1".repeat(WORD_BYTES_MAX))[0].len(), WORD_BYTES_MAX);
        assert_eq!(document(&"ж".repeat(WORD_BYTES_MAX))[0].len(), WORD_BYTES_MAX);
    }

    #[test]
    fn a_thread_that_has_forgotten_a_word_finds_its_form_again() {
        // Words without vowels are their own forms.
        let word = |nth: usize| -> String {
            (0..5).map(|place| char::from(b"bcdfghjk"[nth >> (3 * place) & 7])).collect()
        };
        let many: Vec<String> = (0..FORMS_MAX).map(word).collect();
        for _again in 0..2 {
            assert_eq!(document("Migrations of the"), ["migrat"]);
            assert_eq!(document(&many.join(" ")), many);
        }
        let remembered = KNOWN.with_borrow(HashTable::len);
        assert!((1..=FORMS_MAX).contains(&remembered), "{remembered}");
    }

    #[test]
    fn a_number_is_its_own_form_and_is_not_remembered() {
        let before = KNOWN.with_borrow(HashTable::len);
        assert_eq!(document("20260101 0f3a w1"), ["20260101", "0f3a", "w1"]);
        assert_eq!(document("٣1 é1"), ["٣1", "e1"]);
        assert_eq!(KNOWN.with_borrow(HashTable::len), before + 1, "of ASCII characters alone");
    }

    #[test]
    fn a_word_has_the_same_hash_in_every_text_and_thread() {
        let hashes = |text: &str| {
            let mut hashes = Vec::new();
            hashed_words(text, Purpose::Document, &mut |_, hash| hashes.push(hash));
            hashes
        };
        let [long, short] = [3, 1].map(|times| "1x".repeat(WORD_BYTES_MAX * times / 2));
        let texts = ["Migrations the 1x", "MIGRAT 1x", &long, &short].map(str::to_owned);
        let here = texts.each_ref().map(|text| hashes(text));
        assert_eq!((here[0].len(), &here[0], &here[2]), (2, &here[1], &here[3]));
        let there = std::thread::spawn(move || texts.each_ref().map(|text| hashes(text)));
        assert_eq!(there.join().unwrap(), here);
    }

    proptest! {
        #[test]
        fn words_have_letters_and_digits_alone(text in "\\PC{0,200}") {
            for purpose in [Purpose::Document, Purpose::Query] {
                for word in of(&text, purpose) {
                    prop_assert!(!word.is_empty() && word.len() <= WORD_BYTES_MAX);
                    prop_assert!(!word.contains(|c: char| c.is_whitespace() || "'\"\\:&|!*()<>-".contains(c)), "{word:?}");
                }
            }
        }

        #[test]
        fn whatever_a_query_looks_for_is_in_the_text_that_it_was(text in "\\PC{0,200}") {
            let has = document(&text);
            for word in of(&text, Purpose::Query) {
                prop_assert!(has.contains(&word), "{word:?} of {text:?}");
            }
        }
    }
}
