//! The only place that prints: data on standard output, everything else on standard error.
//! Must not know: the meaning of the data.

mod clean;
mod progress;
mod suggestion;
mod table;
mod time;

use std::io::{self, IsTerminal, Write};

use serde_json::json;

use clean::clean_json;
pub use clean::{clean, clean_block};
pub use progress::{Progress, counted, grouped, size};
pub use suggestion::GivenOption;
pub use table::Table;
pub use time::{second, span, utc};

/// The style of a piece of text, if colours are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Secondary: ids, times.
    Dim,
    /// Names.
    Bold,
    /// Errors.
    Red,
    /// An arrival or a beginning.
    Green,
    /// A departure or an end.
    Yellow,
}

impl Style {
    const fn code(self) -> u8 {
        match self {
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
        }
    }
}

/// The output of a command.
#[derive(Debug, Clone, Copy)]
pub struct Out {
    json: bool,
    color_out: bool,
    color_err: bool,
    /// Maximum width of a table; `None` if the reader is a program, for which nothing is cut.
    width: Option<usize>,
    /// Whether notes are suppressed.
    is_silent: bool,
    /// The options that suggested commands repeat.
    given: &'static [GivenOption],
}

impl Out {
    /// Colours are on if standard output is a terminal, unless `--json`, `--no-color`, `NO_COLOR` or `TERM=dumb` turns them off.
    pub fn new(json: bool, no_color: bool) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = !no_color && !set("NO_COLOR") && !dumb;
        let on_terminal = io::stdout().is_terminal();
        Self {
            json,
            color_out: color && on_terminal && !json,
            color_err: color && io::stderr().is_terminal(),
            width: on_terminal.then(terminal_width),
            is_silent: false,
            given: &[],
        }
    }

    /// The same output without notes.
    pub const fn silent(self) -> Self {
        Self { is_silent: true, ..self }
    }

    /// The same output with the options that the user gave in every command that it suggests. They live as long as the
    /// process, which runs one command.
    pub fn repeating(self, given: Vec<GivenOption>) -> Self {
        Self { given: given.leak(), ..self }
    }

    /// The text with the given options in the commands that it suggests. Notes and errors have them already.
    pub fn suggestion(&self, text: &str) -> String {
        suggestion::repeat(text, self.given)
    }

    /// Whether `--json` was given.
    pub const fn is_json(&self) -> bool {
        self.json
    }

    /// Styles a text for standard output, if colours are on. Clean the text first.
    pub fn paint(&self, style: Style, text: &str) -> String {
        paint(self.color_out, style, text)
    }

    /// A text in lines that fit the terminal, broken at blanks; one line for a program.
    pub fn wrapped(&self, text: &str) -> Vec<String> {
        self.width.map_or_else(|| vec![text.to_owned()], |width| wrap(text, width))
    }

    /// One line of data; under `--json` a document, see [`Self::json`].
    pub fn line(&self, text: &str) -> io::Result<()> {
        if self.json { self.json(text) } else { Self::raw_line(text) }
    }

    /// A JSON document on one line: unchanged for a program; on a terminal, hidden characters are escaped.
    pub fn json(&self, json: &str) -> io::Result<()> {
        if self.width.is_some() { Self::raw_line(&clean_json(json)) } else { Self::raw_line(json) }
    }

    fn raw_line(text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.write_all(b"\n")?;
        stdout.flush()
    }

    /// Data, unchanged.
    pub fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// A table, or the text `empty` if it has no rows.
    pub fn table(&self, table: &Table, empty: &str) -> io::Result<()> {
        if table.is_empty() {
            self.note(empty);
            return Ok(());
        }
        let has_head = table.fits(self.width);
        table.lines(self.width).into_iter().enumerate().try_for_each(|(n, line)| match n {
            0 if has_head => self.line(&self.paint(Style::Dim, &line)),
            _ => self.line(&line),
        })
    }

    /// A note for the person at the terminal.
    pub fn note(&self, text: &str) {
        if !self.is_silent {
            self.stderr(&format!("{}\n", self.suggestion(text)));
        }
    }

    /// A note of low importance.
    pub fn aside(&self, text: &str) {
        self.note(&paint(self.color_err, Style::Dim, text));
    }

    /// A question; the cursor stays on its line for the answer.
    pub fn ask(&self, text: &str) {
        self.stderr(text);
    }

    /// An error with its causes. Some errors name their cause themselves; it is not repeated.
    pub fn failure(&self, error: &anyhow::Error) {
        let mut text = String::new();
        for cause in error.chain().map(ToString::to_string) {
            if text.is_empty() {
                text = cause;
            } else if !text.ends_with(&cause) {
                text = format!("{text}: {cause}");
            }
        }
        self.error(&text, None);
    }

    /// An error and what to do next. Under `--json` one line of JSON: `{"error":{"message","next"?}}`.
    pub fn error(&self, what: &str, next: Option<&str>) {
        let (what, next) = (without_numbers(what), next.map(|next| self.suggestion(next)));
        if self.json {
            let mut error = json!({"message": what});
            if let Some(next) = next {
                error["next"] = next.into();
            }
            self.json_error(&error);
            return;
        }
        let what = clean_block(&what, "       ");
        self.stderr(&format!("{} {what}\n", paint(self.color_err, Style::Red, "error:")));
        if let Some(next) = next {
            self.stderr(&format!(
                "{}  {}\n",
                paint(self.color_err, Style::Bold, "next:"),
                clean_block(&next, "       ")
            ));
        }
    }

    /// An error's members as one line of JSON on standard error.
    pub fn json_error(&self, error: &serde_json::Value) {
        let json = json!({ "error": error }).to_string();
        let json = if io::stderr().is_terminal() { clean_json(&json) } else { json.as_str().into() };
        self.stderr(&format!("{json}\n"));
    }

    fn stderr(&self, text: &str) {
        // Ignored: if standard error is closed, nobody reads.
        let _closed = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// The text without the numbers of the system's errors, whose words say the same: `(os error 13)`.
pub(crate) fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut cleaned = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.parse::<i32>().is_ok() => cleaned.push_str(rest),
            _ => cleaned.extend([" (os error ", part]),
        }
    }
    cleaned
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn paint(color: bool, style: Style, text: &str) -> String {
    if color { format!("\x1b[{}m{text}\x1b[0m", style.code()) } else { text.to_owned() }
}

/// `COLUMNS`, else the terminal's width, else 80.
pub(crate) fn terminal_width() -> usize {
    let from_variable = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let from_terminal =
        || rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    from_variable.or_else(from_terminal).filter(|width| *width >= 20).unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_blanks() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("one two", 7), ["one two"]);
        assert_eq!(wrap("a verylongword b", 6), ["a", "verylongword", "b"]);
    }

    #[test]
    fn a_number_of_the_system_is_left_out() {
        for (text, cleaned) in [
            ("a: Permission denied (os error 13)", "a: Permission denied"),
            ("b (os error 2); c (os error 3)", "b; c"),
            ("(os error x) (os error y)", "(os error x) (os error y)"),
        ] {
            assert_eq!(without_numbers(text), cleaned);
        }
    }
}
