//! The places of a text that match a query.
//! Must not know: the index, or how the places are shown.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use crate::{
    Query,
    analysis::{is_invisible, is_without_spaces},
};

impl Query {
    /// The byte ranges of a text that match a word of the query in any form, in text order: whole words, and in scripts
    /// without spaces the characters that match.
    pub fn matches(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::<Range<usize>>::new();
        for run in runs(text) {
            let has_spaces = !text[run.clone()].starts_with(is_without_spaces);
            let pairs = if has_spaces { Vec::new() } else { self.pairs(text, run.clone()) };
            let is_whole = pairs.is_empty() && self.count_in(&text[run.clone()]) > 0;
            for range in pairs.into_iter().chain(is_whole.then_some(run)) {
                match found.last_mut() {
                    Some(last) if last.end >= range.start => last.end = range.end,
                    Some(_) | None => found.push(range),
                }
            }
        }
        found
    }

    /// The characters, and the pairs of neighbours, of a run of a script without spaces that match.
    fn pairs(&self, text: &str, run: Range<usize>) -> Vec<Range<usize>> {
        let begins = |(at, c): (usize, char)| (!belongs_to_letter(c)).then_some(run.start + at);
        let mut bounds: Vec<usize> = text[run.clone()].char_indices().filter_map(begins).collect();
        bounds.push(run.end);
        let count = |range: &Range<usize>| self.count_in(&text[range.clone()]);
        let mut found = Vec::new();
        for (nth, begin) in bounds[..bounds.len() - 1].iter().enumerate() {
            let one = *begin..bounds[nth + 1];
            let pair = bounds.get(nth + 2).map(|end| *begin..*end);
            // What the pair has beyond its two characters is a word of both.
            let matches = |pair: &Range<usize>| count(pair) > count(&one) + count(&(one.end..pair.end));
            match pair.filter(matches) {
                Some(pair) => found.push(pair),
                None if count(&one) > 0 => found.push(one),
                None => {}
            }
        }
        found
    }
}

/// Whether a character belongs to the letter before it.
fn belongs_to_letter(c: char) -> bool {
    is_combining_mark(c) || is_invisible(c)
}

/// The words of a text as they stand there.
fn runs(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut begin) = (Vec::new(), None::<(usize, bool)>);
    for (at, c) in text.char_indices() {
        let is_letter = c.is_alphanumeric();
        match begin {
            Some((from, spaceless)) if is_letter && !belongs_to_letter(c) => {
                if is_without_spaces(c) != spaceless {
                    found.push(from..at);
                    begin = Some((at, !spaceless));
                }
            }
            Some(_) if belongs_to_letter(c) => {}
            Some((from, _)) => {
                found.push(from..at);
                begin = None;
            }
            None => begin = is_letter.then(|| (at, is_without_spaces(c))),
        }
    }
    found.extend(begin.map(|(from, _)| from..text.len()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked<'a>(query: &str, text: &'a str) -> Vec<&'a str> {
        let query = Query::read(query).unwrap();
        query.matches(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn what_matches_is_marked_whatever_its_form() {
        let text = "Über: LOGIN fails, refixed; fix_login";
        assert_eq!(marked("fix failing logins", text), ["LOGIN", "fails", "fix", "login"]);
        assert!(marked("fix", "").is_empty() && marked("fix", "nothing of it").is_empty());
    }

    #[test]
    fn marks_of_letters_do_not_divide_a_word() {
        assert_eq!(marked("zèbre", "le Ze\u{300}bre."), ["Ze\u{300}bre"]);
        assert_eq!(marked("हिन्दी", "यह हिन्दी है"), ["हिन्दी"]);
        assert_eq!(marked("محمد", "قال مُحَمَّد لنا"), ["مُحَمَّد"]);
        assert_eq!(marked("password", "my pass\u{ad}word."), ["pass\u{ad}word"]);
    }

    #[test]
    fn of_scripts_without_spaces_only_what_matches_is_marked() {
        assert_eq!(marked("数据库", "我们的数据库很大"), ["数据库"]);
        assert_eq!(marked("数据", "数据库和数据"), ["数据", "数据"]);
        assert_eq!(marked("库", "数据库"), ["库"]);
        assert_eq!(marked("มีน", "เขามีน้อย"), ["มีน้"]);
        assert_eq!(marked("テスト", "4件のテスト2"), ["テスト"]);
        assert_eq!(marked("서버", "\u{1109}\u{1165}\u{1107}\u{1165}"), ["\u{1109}\u{1165}\u{1107}\u{1165}"]);
    }
}
