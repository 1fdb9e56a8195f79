//! Tables in Markdown whose columns line up.

use std::fmt::Write;

/// Where a cell's text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// A table; its columns stand left unless they are made numbers.
pub struct Table {
    columns: Vec<(String, Side)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of columns of words and, after them, of numbers.
    pub fn new(words: &[&str], numbers: &[&str]) -> Self {
        let words = words.iter().map(|title| (cell(title), Side::Left));
        let numbers = numbers.iter().map(|title| (cell(title), Side::Right));
        Self { columns: words.chain(numbers).collect(), rows: Vec::new() }
    }

    /// Adds a row, a cell a column.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell a column");
        self.rows.push(cells.iter().map(|text| cell(text)).collect());
    }

    /// Writes the table under its heading; nothing if it has no rows.
    pub fn write(&self, heading: &str, text: &mut String) {
        if self.rows.is_empty() {
            return;
        }
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).chain([&self.columns[at].0]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &mut dyn Iterator<Item = &String>| {
            let padded = cells.zip(&self.columns).zip(&widths).map(|((cell, (_, side)), width)| match side {
                Side::Left => format!("{cell:<width$}"),
                Side::Right => format!("{cell:>width$}"),
            });
            format!("| {} |", padded.collect::<Vec<String>>().join(" | "))
        };
        let _ = writeln!(text, "\n## {heading}\n\n{}", line(&mut self.columns.iter().map(|(title, _)| title)));
        let rules = self.columns.iter().zip(&widths).map(|((_, side), width)| match side {
            Side::Left => "-".repeat(width + 2),
            Side::Right => format!("{}:", "-".repeat(width + 1)),
        });
        let _ = writeln!(text, "|{}|", rules.collect::<Vec<String>>().join("|"));
        for row in &self.rows {
            let _ = writeln!(text, "{}", line(&mut row.iter()));
        }
    }
}

/// Text that stays in its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<&str>>().join(" ")
}
