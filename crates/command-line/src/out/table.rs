//! Columns of text that fit the terminal: the last column is shortened, and shortened text ends in `…`.
//! Must not know: the content of the cells.

use super::clean;

const GAP: &str = "  ";
/// Minimum width of the last column, in characters.
const LAST_MIN: usize = 8;

/// A table with a heading.
#[derive(Debug)]
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of these columns, without rows.
    pub fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, one cell for each column. Cleans the cells.
    pub fn row<const N: usize>(&mut self, cells: [&str; N]) {
        debug_assert_eq!(N, self.head.len(), "one cell to a column");
        self.rows.push(cells.iter().map(|cell| clean(cell).into_owned()).collect());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, heading first, none wider than `width` where the columns before the last allow it.
    pub fn lines(&self, width: Option<usize>) -> Vec<String> {
        let head: Vec<String> = self.head.iter().map(|name| (*name).to_owned()).collect();
        let all: Vec<&Vec<String>> = std::iter::once(&head).chain(&self.rows).collect();
        let last = self.head.len() - 1;
        let widths: Vec<usize> = (0..last)
            .map(|column| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        let used: usize = widths.iter().map(|width| width + GAP.len()).sum();
        let room = width.map(|width| width.saturating_sub(used).max(LAST_MIN));
        all.iter()
            .map(|row| {
                let mut line = String::new();
                for (cell, width) in row.iter().zip(&widths) {
                    line.push_str(cell);
                    line.extend(std::iter::repeat_n(' ', width - cell.chars().count()));
                    line.push_str(GAP);
                }
                line.push_str(&cut(&row[last], room));
                line.truncate(line.trim_end().len());
                line
            })
            .collect()
    }
}

fn cut(text: &str, room: Option<usize>) -> String {
    match room {
        Some(room) if text.chars().count() > room => {
            text.chars().take(room - 1).chain(std::iter::once('…')).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["ID", "STATE", "TOPIC"]);
        table.row(["sess_01JXABCDEFGHJKMNPQRSTVWXYZ", "active", &"a long topic ".repeat(10)]);
        table.row(["sess_02", "ended", "evil\nrow \u{1b}[2J"]);
        table
    }

    #[test]
    fn it_fits_eighty_columns_and_nothing_is_cut_for_a_program() {
        let lines = table().lines(Some(80));
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        assert!(lines[0].starts_with("ID") && lines[1].ends_with('…') && lines.len() == 3);
        assert_eq!(lines[0].find("TOPIC"), lines[1].find("a long"));
        assert!(table().lines(None)[1].len() > 120);
    }

    #[test]
    fn a_cell_never_breaks_the_table() {
        let lines = table().lines(None);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].ends_with("evil\\nrow \\u{1b}[2J"));
    }
}
