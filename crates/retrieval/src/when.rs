//! The time expressions of a query, and how well the date of a document matches them. Pure.
//! Must not know: words of texts, vectors.

use plenary_kernel::{
    TimestampMs,
    rfc3339::{self, Utc},
};

const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Words that ask for the newest documents.
const RECENT: [&str; 9] =
    ["recently", "recent", "lately", "latest", "newest", "currently", "nowadays", "yesterday", "today"];
/// Words that may precede a month or a year.
const IN: [&str; 3] = ["in", "during", "of"];
/// Documents about a day are mostly written on that day or in the weeks after it, seldom before.
const DAYS_AFTER: f64 = 14.0;
const DAYS_BEFORE: f64 = 3.0;
/// A recent document is one of the last weeks before the newest competing document.
const DAYS_RECENT: f64 = 30.0;

/// A time expression of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// A day, a month or a year; only the named fields are set.
    Date { year: Option<u16>, month: Option<u8>, day: Option<u8> },
    /// The newest documents.
    Recently,
}

impl When {
    /// Reads `2025-05-11`, `11 May 2025`, `May 11th`, `May 2025`, `in 2025`, and words such as `recently`.
    pub(crate) fn read(query: &str) -> Option<Self> {
        let words: Vec<String> = query
            .split(|c: char| !(c.is_alphanumeric() || c == '-'))
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let at = |nth: Option<usize>| nth.and_then(|nth| words.get(nth)).map_or("", String::as_str);
        if let Some(date) = words.iter().find_map(|word| iso(word)) {
            return Some(date);
        }
        for (nth, word) in words.iter().enumerate() {
            let Some(found) = month(word) else { continue };
            let before = |distance: usize| at(nth.checked_sub(distance));
            // "the 7th of May" and "7 May", "May 7" and "May 7 2023", "May 2023".
            let previous = if before(1) == "of" { before(2) } else { before(1) };
            let (next, last) = (at(Some(nth + 1)), at(Some(nth + 2)));
            let day = day_of_month(previous).or_else(|| day_of_month(next));
            let year = year(next).or_else(|| year(last));
            // "may" and "march" are verbs too, but not after "in".
            let is_verb = ["may", "march"].contains(&word.as_str()) && !IN.contains(&before(1));
            if day.is_some() || year.is_some() || !is_verb {
                return Some(Self::Date { year, month: Some(found), day });
            }
        }
        let in_year = words.windows(2).find_map(|pair| IN.contains(&&*pair[0]).then(|| year(&pair[1]))?);
        if in_year.is_some() {
            return Some(Self::Date { year: in_year, month: None, day: None });
        }
        words.iter().any(|word| RECENT.contains(&word.as_str())).then_some(Self::Recently)
    }

    /// How well a document matches this time, from 0 to 1. `newest_ms` is the creation time of the newest
    /// competing document;
    /// both are in milliseconds since 1970.
    pub(crate) fn fit(self, created_ms: i64, newest_ms: i64) -> f64 {
        let Some((from, to)) = self.period(created_ms) else {
            return (-days(newest_ms - created_ms) / DAYS_RECENT).exp();
        };
        if created_ms < from {
            (-days(from - created_ms) / DAYS_BEFORE).exp()
        } else {
            (-days((created_ms - to).max(0)) / DAYS_AFTER).exp()
        }
    }

    /// The first and the last millisecond; without a year, in the year of the document.
    fn period(self, created_ms: i64) -> Option<(i64, i64)> {
        let Self::Date { year, month, day } = self else { return None };
        let year = year.or_else(|| date(created_ms).get(..4)?.parse().ok())?;
        let start = |year: u16, month: u8, day: u8| {
            rfc3339::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"))
        };
        let from = start(year, month.unwrap_or(1), day.unwrap_or(1))?;
        let until = match (month, day) {
            (_, Some(_)) => from + DAY_MS,
            (Some(month @ ..12), None) => start(year, month + 1, 1)?,
            (_, None) => start(year + 1, 1, 1)?,
        };
        Some((from, until - 1))
    }
}

/// The date, as `2025-05-11`; times before 1970 count as its first day.
fn date(at_ms: i64) -> String {
    Utc(TimestampMs(u64::try_from(at_ms).unwrap_or_default())).to_string()[..10].to_owned()
}

/// The day of a time in milliseconds since 1970, in the words that questions use: date, weekday, month and
/// year.
pub(crate) fn day(at_ms: i64) -> String {
    let at_ms = at_ms.max(0);
    let date = date(at_ms);
    let nth = |text: &str| text.parse::<usize>().unwrap_or_default();
    let month = MONTHS.get(nth(&date[5..7]).wrapping_sub(1)).unwrap_or(&"");
    // The first day of 1970 was a Thursday.
    let weekday = usize::try_from(at_ms.div_euclid(DAY_MS).rem_euclid(7)).unwrap_or_default();
    format!("{date} {} {} {month} {}", WEEKDAYS[weekday], nth(&date[8..]), &date[..4])
}

#[expect(clippy::cast_precision_loss, reason = "days of a few centuries")]
fn days(ms: i64) -> f64 {
    ms.max(0) as f64 / DAY_MS as f64
}

/// `2025-05-11`.
fn iso(word: &str) -> Option<When> {
    let [year_, month, day] = word.split('-').collect::<Vec<_>>()[..] else { return None };
    let (month, day) = (month.parse().ok()?, day.parse().ok()?);
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(When::Date {
        year: Some(year(year_)?),
        month: Some(month),
        day: Some(day),
    })
}

/// A month by its name or its first three letters.
fn month(word: &str) -> Option<u8> {
    let is_it = |name: &&str| {
        let name = name.to_lowercase();
        word == name || (word.len() == 3 && name.starts_with(word)) || (word == "sept" && name == "september")
    };
    u8::try_from(MONTHS.iter().position(is_it)? + 1).ok()
}

/// `7`, `7th`.
fn day_of_month(word: &str) -> Option<u8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let is_ordinal = ["", "st", "nd", "rd", "th"].contains(&&word[digits.len()..]);
    digits.parse().ok().filter(|day| is_ordinal && (1..=31).contains(day))
}

fn year(word: &str) -> Option<u16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1970..2200).contains(year))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(year: Option<u16>, month: Option<u8>, day: Option<u8>) -> Option<When> {
        Some(When::Date { year, month, day })
    }

    #[test]
    fn dates_are_read_as_people_write_them() {
        let full = named(Some(2023), Some(5), Some(7));
        for query in [
            "What did she do on 2023-05-07?",
            "on 7 May 2023",
            "on May 7, 2023?",
            "the 7th of May 2023",
            "May 7th 2023",
        ] {
            assert_eq!(When::read(query), full, "{query}");
        }
        assert_eq!(When::read("in September 2023"), named(Some(2023), Some(9), None));
        assert_eq!(When::read("which trip in May"), named(None, Some(5), None));
        assert_eq!(When::read("which trip in sept"), named(None, Some(9), None));
        assert_eq!(When::read("early in Dec"), named(None, Some(12), None));
        assert_eq!(When::read("on 3rd July"), named(None, Some(7), Some(3)));
        assert_eq!(When::read("what happened in 2024"), named(Some(2024), None, None));
        assert_eq!(When::read("What has she done recently?"), Some(When::Recently));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for query in [
            "may I march on?",
            "version 1.2.3 of the parser",
            "2023-13-01",
            "40 people and 1999 others",
            "the decision",
            "port 2024",
            "2023-05",
            "",
        ] {
            assert_eq!(When::read(query), None, "{query}");
        }
    }

    #[test]
    fn a_document_of_the_day_fits_best_and_one_of_the_weeks_after_better_than_one_before() {
        let ms = |day: &str| rfc3339::parse(&format!("{day}T12:00:00Z")).unwrap();
        let fit = |query: &str, day: &str| When::read(query).unwrap().fit(ms(day), ms("2023-08-01"));
        assert!((fit("on 7 May 2023", "2023-05-07") - 1.0).abs() < 1e-9);
        assert!(
            (fit("in May", "2023-05-31") - 1.0).abs() < 1e-9
                && (fit("in May 2024", "2024-05-01") - 1.0).abs() < 1e-9
        );
        assert!((fit("in December", "2023-12-31") - 1.0).abs() < 1e-9);
        assert!((fit("in 2023", "2023-12-31") - 1.0).abs() < 1e-9);
        let (after, before) = (fit("on 7 May", "2023-05-12"), fit("on 7 May", "2023-05-02"));
        assert!(1.0 > after && after > before && before > 0.0, "{after} {before}");
        assert!(fit("on 7 May 2023", "2022-05-07") < 1e-9);
        assert!(fit("on 31 February 2023", "2023-02-20") > 0.0, "a day that is none is of the last weeks");
        assert!((fit("recently", "2023-08-01") - 1.0).abs() < 1e-9);
        assert!(fit("recently", "2023-07-01") > fit("recently", "2023-06-01"));
    }

    #[test]
    fn a_day_has_its_words() {
        for (at, words) in [
            ("2025-05-11T10:00:00Z", "2025-05-11 Sunday 11 May 2025"),
            ("1970-01-01T00:00:00Z", "1970-01-01 Thursday 1 January 1970"),
            ("1969-12-31T23:59:59Z", "1970-01-01 Thursday 1 January 1970"),
            ("2024-02-29T00:00:00.5Z", "2024-02-29 Thursday 29 February 2024"),
        ] {
            assert_eq!(day(rfc3339::parse(at).unwrap()), words);
        }
    }
}
