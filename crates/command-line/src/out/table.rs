//! Columns of text that fit the terminal: the last column is shortened, and shortened text ends in `…`. On a terminal that is too
//! narrow for the columns, each row is a block with a line for each cell.
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

    /// Whether the columns fit this width.
    pub fn fits(&self, width: Option<usize>) -> bool {
        let used: usize = self.widths().iter().map(|width| width + GAP.len()).sum();
        width.is_none_or(|width| used + LAST_MIN <= width)
    }

    /// The widths of the columns before the last.
    fn widths(&self) -> Vec<usize> {
        let last = self.head.len() - 1;
        let widest = |(column, name): (usize, &&str)| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(name.len())
        };
        self.head[..last].iter().enumerate().map(widest).collect()
    }

    /// The lines: with the heading first if the columns fit, otherwise a block for each row.
    pub fn lines(&self, width: Option<usize>) -> Vec<String> {
        if let Some(width) = width.filter(|_| !self.fits(width)) {
            return self.blocks(width);
        }
        let head: Vec<String> = self.head.iter().map(|name| (*name).to_owned()).collect();
        let (last, widths) = (self.head.len() - 1, self.widths());
        let used: usize = widths.iter().map(|width| width + GAP.len()).sum();
        let room = width.map(|width| width.saturating_sub(used).max(LAST_MIN));
        std::iter::once(&head)
            .chain(&self.rows)
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

    /// A block for each row: a line for each cell that is not empty, with the name of its column. Only the last is shortened.
    fn blocks(&self, width: usize) -> Vec<String> {
        let label = self.head.iter().map(|name| name.len()).max().unwrap_or(0) + GAP.len();
        let room = width.saturating_sub(label).max(LAST_MIN);
        let last = self.head.len() - 1;
        let block = |row: &Vec<String>| {
            let cells = self.head.iter().zip(row).enumerate().filter(|(_, (_, cell))| !cell.is_empty());
            let line = |(column, (name, cell)): (usize, (&&str, &String))| {
                format!("{name:label$}{}", cut(cell, (column == last).then_some(room)))
            };
            cells.map(line).collect::<Vec<_>>()
        };
        self.rows.iter().map(block).collect::<Vec<_>>().join(&String::new())
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
    fn a_terminal_that_is_too_narrow_gets_blocks() {
        assert!(table().fits(Some(50)) && table().fits(None) && !table().fits(Some(44)));
        assert_eq!(
            table().lines(Some(44)),
            [
                "ID     sess_01JXABCDEFGHJKMNPQRSTVWXYZ",
                "STATE  active",
                "TOPIC  a long topic a long topic a long top…",
                "",
                "ID     sess_02",
                "STATE  ended",
                "TOPIC  evil\\nrow \\u{1b}[2J",
            ]
        );
    }

    #[test]
    fn a_cell_never_breaks_the_table() {
        let lines = table().lines(None);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].ends_with("evil\\nrow \\u{1b}[2J"));
    }
}
