//! What a project's facts must be, in its simplest form: for each subject and predicate the list of all that was ever
//! asserted, and what each question over them has to answer. Also the random numbers and times of those who ask.
//! Must not know: a server.

use std::collections::BTreeMap;

use serde_json::Value;

use super::speak::{at, enc, instant, present};

/// Numbers from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("small");
        usize::try_from(self.next() % end).expect("small")
    }

    /// True so many times of a hundred.
    pub(crate) fn percent(&mut self, of_100: usize) -> bool {
        self.below(100) < of_100
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// A number of that range, both ends included.
    pub(super) fn between(&mut self, first: i64, last: i64) -> i64 {
        let span = u64::try_from(last - first + 1).expect("a range");
        first + i64::try_from(self.next() % span).expect("within the range")
    }
}

/// Names the seed of a walk that fails.
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    /// That of `PLENARY_TEST_SEED`, or a new one.
    pub(crate) fn choose() -> Self {
        let chosen = std::env::var("PLENARY_TEST_SEED").ok();
        let chosen = chosen.map(|seed| seed.parse().expect("PLENARY_TEST_SEED is a number"));
        Self(chosen.unwrap_or_else(|| u64::try_from(blackbox::epoch_ms()).expect("after 1970")))
    }
}

impl Drop for Seed {
    #[expect(clippy::print_stderr, reason = "the seed belongs beside the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("PLENARY_TEST_SEED={} repeats this walk", self.0);
        }
    }
}

/// A time as microseconds after 1970. Nothing finer is sent here.
#[track_caller]
pub(super) fn micros(time: &Value) -> i64 {
    let text = instant(time);
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().expect("digits");
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let (shifted, of_year) = if month > 2 { (month - 3, year) } else { (month + 9, year - 1) };
    let days = of_year * 365 + of_year.div_euclid(4) - of_year.div_euclid(100)
        + of_year.div_euclid(400)
        + (153 * shifted + 2) / 5
        + day
        - 719_469;
    let seconds = ((days * 24 + number(11..13)) * 60 + number(14..16)) * 60 + number(17..19);
    seconds * 1_000_000 + number(20..26)
}

/// The same backwards.
pub(super) fn time(micros: i64) -> String {
    let whole = at(micros.div_euclid(1_000));
    format!("{}{:03}Z", whole.trim_end_matches('Z'), micros.rem_euclid(1_000))
}

pub(super) fn now() -> i64 {
    micros(&Value::from(present()))
}

/// Project, subject, predicate.
pub(super) type Key = (String, String, String);

/// A question about the facts of a project.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub(super) project: String,
    pub(super) subject: Option<String>,
    pub(super) predicate: Option<String>,
    pub(super) as_of: Option<i64>,
    pub(super) include_ended: bool,
    pub(super) min_confidence: Option<f64>,
    pub(super) tag: Option<String>,
}

impl Question {
    /// The query of a `GET …/facts`.
    pub(super) fn query(&self) -> String {
        let mut parts = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            parts.extend(value.map(|value| format!("{name}={}", enc(&value))));
        };
        add("subject", self.subject.clone());
        add("predicate", self.predicate.clone());
        add("as_of", self.as_of.map(time));
        add("include_ended", self.include_ended.then(|| "true".to_owned()));
        add("min_confidence", self.min_confidence.map(|least| least.to_string()));
        add("tag", self.tag.clone());
        parts.join("&")
    }

    fn takes(&self, (project, subject, predicate): &Key, fact: &Value) -> bool {
        let is = |wanted: &Option<String>, found: &String| wanted.as_ref().is_none_or(|text| text == found);
        let ended = fact["valid_to"].as_i64();
        let at_that_time = match self.as_of {
            // AP-51: the first moment belongs to it, the last does not.
            Some(t) => micros(&fact["valid_from"]) <= t && ended.is_none_or(|end| t < end),
            None => self.include_ended || ended.is_none(),
        };
        let sure = |least: f64| fact["confidence"].as_f64().is_some_and(|found| found >= least);
        let tagged = |tag: &String| fact["tags"].as_array().is_some_and(|tags| tags.iter().any(|t| t == tag));
        *project == self.project
            && is(&self.subject, subject)
            && is(&self.predicate, predicate)
            && at_that_time
            && self.min_confidence.is_none_or(sure)
            && self.tag.as_ref().is_none_or(tagged)
    }
}

/// All that was ever asserted; `valid_to` in microseconds, since it may be spelt in two ways.
#[derive(Debug, Default, Clone)]
pub(super) struct Model {
    pub(super) lines: BTreeMap<Key, Vec<Value>>,
}

/// A fact as it came, with `valid_to` as the model has it.
#[track_caller]
pub(super) fn plain(mut fact: Value) -> Value {
    if !fact["valid_to"].is_null() {
        fact["valid_to"] = Value::from(micros(&fact["valid_to"]));
    }
    fact
}

impl Model {
    pub(super) fn current(&self, key: &Key) -> Option<&Value> {
        self.lines.get(key)?.last().filter(|fact| fact["valid_to"].is_null())
    }

    /// The first moment at which the next fact may begin; `None` for a pair without any.
    pub(super) fn bound(&self, key: &Key) -> Option<i64> {
        let last = self.lines.get(key)?.last()?;
        Some(last["valid_to"].as_i64().unwrap_or_else(|| micros(&last["valid_from"]) + 1))
    }

    /// AP-48: the new one ends the current one.
    pub(super) fn add(&mut self, key: &Key, fact: Value) {
        let line = self.lines.entry(key.clone()).or_default();
        if let Some(last) = line.last_mut().filter(|fact| fact["valid_to"].is_null()) {
            last["valid_to"] = Value::from(micros(&fact["valid_from"]));
        }
        line.push(fact);
    }

    /// AP-52: the current one ends, and nothing follows.
    pub(super) fn end(&mut self, key: &Key, at: i64) {
        let line = self.lines.get_mut(key).expect("there is a current fact");
        line.last_mut().expect("there is a current fact")["valid_to"] = Value::from(at);
    }

    /// What the server has to answer, in the order of subject, predicate and time.
    pub(super) fn answer(&self, question: &Question) -> Vec<Value> {
        let of_line = |(key, line): (&Key, &Vec<Value>)| {
            line.iter().filter(|fact| question.takes(key, fact)).cloned().collect::<Vec<_>>()
        };
        self.lines.iter().flat_map(of_line).collect()
    }
}

/// Times go there and back.
#[test]
fn a_time_is_its_microseconds() {
    for text in [
        "1970-01-01T00:00:00.000000Z",
        "1969-12-31T23:59:59.999999Z",
        "2000-02-29T12:30:45.000001Z",
        "2026-11-21T14:00:59.123456Z",
        "2400-12-31T23:59:59.999000Z",
    ] {
        assert_eq!(time(micros(&Value::from(text))), text);
    }
    assert_eq!(micros(&Value::from("2026-01-01T00:00:00Z")), 1_767_225_600_000_000);
}
