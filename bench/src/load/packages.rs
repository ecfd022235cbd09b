//! Context packages of about two KiB, whose words are spread as those of texts are, and queries made of such words. The
//! same each time.
//! Must not know: what is done with them.

use std::fmt::Write as _;

use super::{STAMP_BYTES, request};

/// The bytes before a package's id, which is a stamp and the number of its sender.
pub(super) const BEFORE_ID: &[u8] = br#""package_id":""#;
/// Different words there are.
const WORDS: u32 = 30_000;
const BODY_WORDS: usize = 180;

/// Numbers that look drawn.
#[derive(Debug, Clone)]
pub(crate) struct Drawn(u64);

impl Drawn {
    /// A row of its own for each number.
    pub(crate) fn of(nth: u64) -> Self {
        Self(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn next(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below another one.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        (self.draw() >> 11) % end
    }

    /// A word; the nth most frequent one comes with a chance of about one to n.
    fn word(&mut self) -> String {
        let rank = f64::from(WORDS).powf(self.next());
        let mut rest = (0..WORDS).take_while(|nth| f64::from(nth + 1) < rank).count();
        let mut word = String::new();
        loop {
            word.push_str(SYLLABLES[rest % SYLLABLES.len()]);
            rest /= SYLLABLES.len();
            if rest == 0 {
                return word;
            }
        }
    }

    /// So many words.
    pub(crate) fn words(&mut self, count: usize) -> String {
        let words: Vec<_> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

const SYLLABLES: [&str; 32] = [
    "ba", "cor", "den", "fi", "gal", "hum", "jor", "kel", "lo", "mar", "nev", "os", "pra", "qui", "rod",
    "sim", "tur", "ul", "vex", "wan", "yel", "zor", "bri", "cle", "dra", "flo", "gri", "ple", "sta", "tre",
    "vlo", "spi",
];

/// A package of a project as it is sent.
pub(crate) fn package(project: &str, nth: u64) -> String {
    let mut drawn = Drawn::of(nth);
    let mut text = String::from("{");
    let id = std::str::from_utf8(BEFORE_ID).unwrap_or_default();
    let _ = write!(text, "{id}{}-{nth}\",\"project_id\":\"{project}\",", "0".repeat(STAMP_BYTES));
    let (day, second) = (1 + nth % 28, nth % 60);
    let minute = nth / 60 % 60;
    let _ = write!(
        text,
        "\"relay_version\":\"0.1\",\"title\":\"{}\",\"status\":\"complete\",\"package_type\":\"standard\",\
         \"review_type\":\"none\",\"created_at\":\"2026-04-{day:02}T12:{minute:02}:{second:02}Z\",\
         \"created_by\":{{\"id\":\"@bench.author0\",\"type\":\"agent\"}},\"decisions_made\":[\"{}\",\"{}\"],",
        drawn.words(6),
        drawn.words(10),
        drawn.words(10),
    );
    if nth.is_multiple_of(10) {
        let _ = write!(text, "\"open_questions\":[\"{}?\"],", drawn.words(8));
    }
    let _ = write!(
        text,
        "\"handoff_note\":\"{}\",\"description\":\"{}\",\"content_md\":\"{}\"}}",
        drawn.words(12),
        drawn.words(30),
        drawn.words(BODY_WORDS),
    );
    text
}

/// The request that deposits it.
pub(crate) fn depositing(project: &str, nth: u64, token: &str) -> Vec<u8> {
    request("POST", &format!("/v1/projects/{project}/packages"), token, package(project, nth).as_bytes())
}
