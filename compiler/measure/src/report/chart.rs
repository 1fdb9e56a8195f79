//! What all charts share: the frame, the axes, and the table behind.

use warpweave::svg::{Anchor, Class, Drawing, text_width};

/// Width of every drawing: that of a small screen, so that text keeps its size there.
pub const WIDTH: f64 = 360.0;
/// Height of drawings whose height does not follow from the data.
pub const HEIGHT: f64 = 250.0;

/// What a table shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    pub headings: Vec<String>,
    /// One row a point of the chart.
    pub rows: Vec<Vec<String>>,
}

/// What a colour means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Legend {
    pub class: Class,
    pub text: String,
}

/// A chart with the table behind it.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// What is shown; of what, the section's heading says.
    pub title: String,
    /// What a reader must know.
    pub note: String,
    pub drawing: Drawing,
    /// What colours mean; empty where there is one only.
    pub legend: Vec<Legend>,
    /// The numbers.
    pub table: Table,
}

/// The rectangle between the axes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frame {
    /// Where values begin, from the left.
    pub left: f64,
    /// Where they end.
    pub right: f64,
    /// The upper edge.
    pub top: f64,
    /// The lower edge.
    pub bottom: f64,
}

impl Frame {
    /// The frame of a drawing of usual size.
    pub fn usual() -> Self {
        Self { left: 48.0, right: WIDTH - 12.0, top: 26.0, bottom: HEIGHT - 38.0 }
    }

    /// Horizontal grid lines with their numbers, and the axis' name above them.
    pub fn vertical_axis(&self, drawing: &mut Drawing, name: &str, ticks: &[(f64, String)]) {
        for (y, text) in ticks {
            drawing.line(Class::Grid, (self.left, *y), (self.right, *y));
            drawing.text(Class::Tick, Anchor::End, (self.left - 5.0, y + 4.0), text);
        }
        drawing.text(Class::Name, Anchor::Start, (0.0, 11.0), name);
    }

    /// The lower axis with its numbers and its name. Numbers that would touch the one before are left out.
    pub fn horizontal_axis(&self, drawing: &mut Drawing, name: &str, ticks: &[(f64, String)]) {
        drawing.line(Class::Axis, (self.left, self.bottom), (self.right, self.bottom));
        let mut free_from = f64::NEG_INFINITY;
        for (x, text) in ticks {
            let half = text_width(text) / 2.0;
            drawing.line(Class::Axis, (*x, self.bottom), (*x, self.bottom + 4.0));
            let middle = x.clamp(half, WIDTH - half);
            if middle - half < free_from {
                continue;
            }
            drawing.text(Class::Tick, Anchor::Middle, (middle, self.bottom + 18.0), text);
            free_from = middle + half + 6.0;
        }
        drawing.text(Class::Name, Anchor::End, (self.right, self.bottom + 34.0), name);
    }
}

/// Cells of a table from things that print.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$($cell.to_string()),*] };
}
pub(super) use cells;
