//! Drawing, as SVG elements, and the scales of axes.

pub mod scale;

use std::fmt::Write;

/// Where a text stands relative to its point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// How something looks; the page's style sheet says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A line of the grid.
    Grid,
    /// An axis.
    Axis,
    /// A number at an axis.
    Tick,
    /// The name of an axis.
    Name,
    /// A label of something drawn.
    Label,
    /// A value in figures.
    Value,
    /// A bar, one a row of the table.
    Bar,
    /// A bar of what is worse, one a row of the table.
    WorseBar,
    /// A bar that gathers what lies beyond the axis, one row of the table.
    RestBar,
    /// A dot, one a row of the table.
    Dot,
    /// The dot of a whole, one row of the table.
    WholeDot,
    /// A line through dots.
    Line,
    /// A dot of a peer's values.
    PeerDot,
    /// A line through such dots.
    PeerLine,
    /// A limit or a marker.
    Mark,
}

impl Class {
    /// The name in the style sheet; tags that stand for a row of the table also have the class `point`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Axis => "axis",
            Self::Tick => "tick",
            Self::Name => "name",
            Self::Label => "label",
            Self::Value => "value",
            Self::Bar => "bar point",
            Self::WorseBar => "worse point",
            Self::RestBar => "rest point",
            Self::Dot => "dot point",
            Self::WholeDot => "whole point",
            Self::Line => "line",
            Self::PeerDot => "peer-dot",
            Self::PeerLine => "peer-line",
            Self::Mark => "mark",
        }
    }
}

/// Text size in units of the drawing; the style sheet has the same.
pub const TEXT_SIZE: f64 = 11.0;
/// No usual character is wider, in units of the drawing.
const CHARACTER_WIDTH: f64 = 0.6 * TEXT_SIZE;

/// The width that a text takes at most.
pub fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER_WIDTH
}

/// The text, cut so that it is not wider than `width`.
pub fn fitted(text: &str, width: f64) -> String {
    let most = (width / CHARACTER_WIDTH).max(1.0) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A text in which nothing means markup.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Control characters are not allowed in such documents.
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

/// A drawing of fixed size.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    width: f64,
    height: f64,
    body: String,
}

impl Drawing {
    /// An empty drawing.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// A straight line.
    pub fn line(&mut self, class: Class, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let class = class.name();
        let _ = writeln!(self.body, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#);
    }

    /// A rectangle that says `title` when pointed at. Corners in any order.
    pub fn rectangle(&mut self, class: Class, (x1, y1): (f64, f64), (x2, y2): (f64, f64), title: &str) {
        let (class, title) = (class.name(), escape(title));
        let (x, y, width, height) = (x1.min(x2), y1.min(y2), (x1 - x2).abs(), (y1 - y2).abs());
        let _ = writeln!(
            self.body,
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"><title>{title}</title></rect>"#
        );
    }

    /// A dot that says `title` when pointed at.
    pub fn dot(&mut self, class: Class, (x, y): (f64, f64), radius: f64, title: &str) {
        let (class, title) = (class.name(), escape(title));
        let _ = writeln!(
            self.body,
            r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius:.1}"><title>{title}</title></circle>"#
        );
    }

    /// A line through points; none through fewer than two.
    pub fn polyline(&mut self, class: Class, points: &[(f64, f64)]) {
        if points.len() < 2 {
            return;
        }
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.body, r#"<polyline class="{}" points="{}"/>"#, class.name(), points.join(" "));
    }

    /// A text whose baseline is at `y`, moved sideways where it would leave the drawing.
    pub fn text(&mut self, class: Class, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        let text = fitted(text, self.width);
        let width = text_width(&text);
        let (before, name) = match anchor {
            Anchor::Start => (0.0, "start"),
            Anchor::Middle => (width / 2.0, "middle"),
            Anchor::End => (width, "end"),
        };
        let x = x.clamp(before, (self.width - width + before).max(before));
        let (class, text) = (class.name(), escape(&text));
        let _ =
            writeln!(self.body, r#"<text class="{class}" text-anchor="{name}" x="{x:.1}" y="{y:.1}">{text}</text>"#);
    }

    /// Width and height.
    pub fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    /// What was drawn, as elements.
    pub fn body(&self) -> &str {
        &self.body
    }
}
