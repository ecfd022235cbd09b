//! What the measurement says: progress on standard error, the table on standard output.
//! Must not know: what is measured.

use std::io::Write as _;

/// Writes one line of progress. A closed terminal is no reason to stop, so the result is dropped.
pub(crate) fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes the result.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
