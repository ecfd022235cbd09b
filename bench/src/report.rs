//! The table: each figure beside its bare limit and its goal.
//! Must not know: how a figure is measured.

use std::fmt::Write as _;

/// Begins and ends what a run writes into the document; the rest of it is written by hand.
const BEGIN: &str = "<!-- written by the bench from here -->";
const END: &str = "<!-- to here -->";

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// So many a second.
    PerSecond,
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
    Kib,
    Mib,
}

impl Unit {
    fn write(self, value: f64) -> String {
        match self {
            Self::PerSecond if value >= 1e6 => format!("{:.2}M/s", value / 1e6),
            Self::PerSecond if value >= 1e4 => format!("{:.1}k/s", value / 1e3),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Micros if value >= 10_000.0 => format!("{:.1} ms", value / 1e3),
            Self::Micros => format!("{value:.0} us"),
            Self::Millis => format!("{value:.1} ms"),
            Self::Kib => format!("{value:.1} KiB"),
            Self::Mib => format!("{value:.1} MiB"),
        }
    }
}

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// At least this many times the limit.
    RatioAtLeast(f64),
    /// At most this many times the limit.
    RatioAtMost(f64),
    /// The figure itself, at least.
    AtLeast(f64),
    /// The figure itself, at most.
    AtMost(f64),
    /// Nothing; it is there to be seen.
    None,
}

/// The values of the rounds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(pub(crate) Vec<f64>);

impl Series {
    /// The middle one.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => f64::NAN,
            odd if odd % 2 == 1 => sorted[middle],
            _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
        }
    }

    fn write(&self, unit: Unit) -> String {
        let all: Vec<_> = self.0.iter().map(|value| unit.write(*value)).collect();
        all.join(", ")
    }
}

/// One line of the table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) figure: Series,
    /// What it is compared with, and that.
    pub(crate) limit: Option<(String, Series)>,
    pub(crate) goal: Goal,
    pub(crate) note: String,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        Some(self.figure.median() / self.limit.as_ref()?.1.median())
    }

    /// Whether the goal is met, if there is one.
    pub(crate) fn met(&self) -> Option<bool> {
        let figure = self.figure.median();
        let ratio = self.ratio().unwrap_or(f64::NAN);
        match self.goal {
            Goal::RatioAtLeast(goal) => Some(ratio >= goal),
            Goal::RatioAtMost(goal) => Some(ratio <= goal),
            Goal::AtLeast(goal) => Some(figure >= goal),
            Goal::AtMost(goal) => Some(figure <= goal),
            Goal::None => None,
        }
    }

    fn goal(&self) -> String {
        match self.goal {
            Goal::RatioAtLeast(goal) => format!(">= {goal:.2} x"),
            Goal::RatioAtMost(goal) => format!("<= {goal:.2} x"),
            Goal::AtLeast(goal) => format!(">= {}", self.unit.write(goal)),
            Goal::AtMost(goal) => format!("<= {}", self.unit.write(goal)),
            Goal::None => String::new(),
        }
    }

    /// The line, as it is printed during the measurement and at the end.
    pub(crate) fn line(&self) -> String {
        let limit = self
            .limit
            .as_ref()
            .map_or(String::new(), |(name, series)| format!("{} ({name})", self.unit.write(series.median())));
        let met = match self.met() {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "",
        };
        let ratio = self.ratio().map_or(String::new(), |ratio| format!("{ratio:.2}"));
        let figure = self.unit.write(self.figure.median());
        format!("| {} | {} | {figure} | {limit} | {ratio} | {} | {met} |", self.id, self.what, self.goal())
    }
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    pub(crate) facts: Vec<(&'static str, String)>,
    /// What else was found out, and how long it took.
    pub(crate) remarks: Vec<String>,
}

impl Table {
    /// The table alone.
    pub(crate) fn to_markdown(&self) -> String {
        let head = "| id | what | figure | bare limit | ratio | goal | met |\n|---|---|---|---|---|---|---|"
            .to_owned();
        let lines = self.rows.iter().map(Row::line);
        std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
    }

    /// The part of the document that a run writes.
    pub(crate) fn to_document(&self, command: &str) -> String {
        let mut text = format!("Made by `{command}`.\n\n{}\n\n## Machine\n\n", self.to_markdown());
        for (name, fact) in &self.facts {
            let _ = writeln!(text, "- {name}: {fact}");
        }
        for remark in &self.remarks {
            let _ = writeln!(text, "- {remark}");
        }
        text.push_str("\n## Every round\n\n| id | figure | bare limit | remarks |\n|---|---|---|---|\n");
        for row in &self.rows {
            let limit = row.limit.as_ref().map_or(String::new(), |(_, series)| series.write(row.unit));
            let _ =
                writeln!(text, "| {} | {} | {limit} | {} |", row.id, row.figure.write(row.unit), row.note);
        }
        text
    }
}

/// Puts the output of a run between its marks; the text around them stays.
pub(crate) fn replace_generated(document: &str, generated: &str) -> String {
    let (before, after) = match (document.split_once(BEGIN), document.split_once(END)) {
        (Some((before, _)), Some((_, after))) => (before, after),
        _ => ("# Speed and size\n\n", "\n"),
    };
    format!("{before}{BEGIN}\n\n{generated}\n{END}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(figure: &[f64], limit: &[f64], goal: Goal) -> Row {
        Row {
            id: "P0",
            what: "a thing".to_owned(),
            unit: Unit::PerSecond,
            figure: Series(figure.to_vec()),
            limit: Some(("bare".to_owned(), Series(limit.to_vec()))),
            goal,
            note: String::new(),
        }
    }

    #[test]
    fn a_ratio_is_of_medians() {
        let row = row(&[3.0, 100.0, 8.0], &[10.0, 1.0, 16.0], Goal::RatioAtLeast(0.8));
        assert_eq!(row.line(), "| P0 | a thing | 8/s | 10/s (bare) | 0.80 | >= 0.80 x | yes |");
    }

    #[test]
    fn a_miss_is_reported() {
        assert_eq!(row(&[1.0], &[1.0], Goal::RatioAtLeast(4.0)).met(), Some(false));
        assert_eq!(row(&[1.0], &[1.0], Goal::AtMost(2.0)).met(), Some(true));
        assert_eq!(row(&[f64::NAN], &[1.0], Goal::RatioAtMost(2.0)).met(), Some(false));
    }

    #[test]
    fn what_is_written_by_hand_stays() {
        let first = replace_generated("", "one");
        let by_hand = first.replace("# Speed and size", "# Mine") + "more";
        let second = replace_generated(&by_hand, "two");
        assert!(second.starts_with("# Mine") && second.ends_with("more"));
        assert!(second.contains("two") && !second.contains("one"));
    }
}
