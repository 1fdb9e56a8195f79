//! A laid out partition as elements of SVG.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use warpweave_fusion::partition::search::{FusionGroup, Partition};
use warpweave_graph::program::{Origin, Phase, TensorProgram};
use warpweave_plan::template::text::names;

use super::blocks::Blocks;
use super::layout::{Layout, MARGIN, Page, Rectangle, layout};
use crate::svg::scale::{bytes, digits};
use crate::svg::{TEXT_SIZE, escape, fitted, text_width};

/// What is drawn.
pub struct Subject<'a> {
    /// The picture's title.
    pub title: &'a str,
    /// Whose groups they are.
    pub program: &'a TensorProgram,
    /// What is drawn as boxes, by its groups' positions.
    pub partition: &'a Partition,
}

/// Which of a picture's drawings one is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Nothing is repeated.
    Whole,
    /// Repeated blocks are drawn once.
    Folded,
    /// All groups are drawn.
    Opened,
}

/// A drawing for one width of page.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Drawing {
    /// Its elements.
    pub body: String,
    /// Its height in pixels.
    pub height: f64,
}

/// The space between a box's side and its text.
const PADDING: f64 = 8.0;
/// The distance of two lines of text.
const LINE: f64 = 16.0;
/// The size of the title's text; the style sheet has the same.
const HEAD_SIZE: f64 = 14.0;
/// Names in a box's title.
const MOST_NAMES: usize = 400;

impl Drawing {
    /// Draws blocks on a page, as an element of this class.
    pub fn new(subject: &Subject, blocks: &Blocks, page: &Page, (way, class): (Way, &str)) -> Self {
        let mut drawing = Self { body: format!("<g class=\"{class}\">\n"), height: MARGIN };
        drawing.head(subject, page, way);
        let layout = layout(blocks, page, drawing.height + LINE);
        for (edge, path) in blocks.edges.iter().zip(&layout.paths) {
            let next = if edge.to_next_copy { " next" } else { "" };
            let width = 1.0 + (edge.bytes as f64 / 65_536.0).max(1.0).log10();
            let _ = writeln!(
                drawing.body,
                "<path class=\"edge{next}\" stroke-width=\"{width:.1}\" marker-end=\"url(#tip)\" d=\"{path}\"><title>{}</title></path>",
                bytes(edge.bytes as f64)
            );
        }
        for &(band, frame) in &layout.frames {
            drawing.frame(subject, blocks, band, frame);
        }
        drawing.boxes(subject, blocks, &layout);
        drawing.body.push_str("</g>\n");
        drawing.height = layout.bottom + MARGIN;
        drawing
    }

    /// The title, what colours mean, and how to read the rest.
    fn head(&mut self, subject: &Subject, page: &Page, way: Way) {
        let width = page.width - 2.0 * MARGIN;
        for line in wrapped(subject.title, width * TEXT_SIZE / HEAD_SIZE) {
            self.height += HEAD_SIZE + 4.0;
            self.text("head", (MARGIN, self.height), &escape(&line));
        }
        let present: BTreeSet<&str> =
            subject.partition.groups.iter().map(|group| group.kernel.rules().name()).collect();
        let (mut x, swatch) = (MARGIN, 12.0);
        self.height += LINE * 1.5;
        for name in present {
            let taken = swatch + 6.0 + text_width(name) + 12.0;
            if x + taken > MARGIN + width && x > MARGIN {
                (x, self.height) = (MARGIN, self.height + LINE);
            }
            let _ = writeln!(
                self.body,
                "<rect class=\"group\" x=\"{x:.0}\" y=\"{:.0}\" width=\"{swatch}\" height=\"{swatch}\" fill=\"{}\"/>",
                self.height - 10.0,
                colour(name)
            );
            let _ = writeln!(
                self.body,
                "<text class=\"legend\" x=\"{:.0}\" y=\"{:.0}\">{name}</text>",
                x + swatch + 6.0,
                self.height
            );
            x += taken;
        }
        let legend = "Bar: share of the predicted time, the longest of all boxes at full width. Below a box: bytes that it hands on. \
                      Dashed: to the next copy. Pointing at a box names its nodes.";
        for line in wrapped(legend, width) {
            self.height += LINE;
            self.text("note", (MARGIN, self.height), &escape(&line));
        }
        let (target, words) = match way {
            Way::Whole => return,
            Way::Folded => ("#all", "Draw every copy of the repeated blocks"),
            Way::Opened => ("#", "Draw repeated blocks once"),
        };
        self.height += LINE;
        self.link((MARGIN, self.height), target, words);
    }

    /// The frame of a repeated block, and what its copies take.
    fn frame(&mut self, subject: &Subject, blocks: &Blocks, band: usize, frame: Rectangle) {
        let Rectangle { x, y, width, height } = frame;
        let band = &blocks.bands[band];
        let groups = || blocks.groups[band.boxes.clone()].iter().flatten();
        let percent = 100.0 * share(subject.partition, groups().copied());
        let first = groups().min().copied().unwrap_or(0);
        let last = groups().max().copied().unwrap_or(0);
        let _ = writeln!(
            self.body,
            "<rect class=\"frame\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\"/>"
        );
        let text = format!("× {} · groups {first} to {last} · {} %", band.times, digits(percent));
        self.text("over name", (x + PADDING, y + LINE), &escape(&text));
    }

    fn boxes(&mut self, subject: &Subject, blocks: &Blocks, layout: &Layout) {
        let shares: Vec<f64> =
            blocks.groups.iter().map(|groups| share(subject.partition, groups.iter().copied())).collect();
        let longest = shares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut handed: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        for edge in &blocks.edges {
            handed.entry(edge.from).or_default().insert(edge.bytes);
        }
        for (position, (groups, &place)) in blocks.groups.iter().zip(&layout.boxes).enumerate() {
            self.group(subject, groups, place, (shares[position], shares[position] / longest));
            let sizes = match handed.get(&position) {
                Some(sizes) => sizes.iter().rev().map(|&size| bytes(size as f64)).collect::<Vec<_>>().join(" · "),
                None => "output".to_owned(),
            };
            let sizes = fitted(&sizes, place.width / 2.0 - PADDING);
            self.text("over", (place.middle() + 5.0, place.bottom() + 12.0), &escape(&sizes));
        }
    }

    /// A box, its share of the time, and that share of the longest box's.
    fn group(&mut self, subject: &Subject, groups: &[usize], place: Rectangle, (share, relative): (f64, f64)) {
        let Rectangle { x, y, width, height } = place;
        let group = &subject.partition.groups[groups[0]];
        let room = width - 2.0 * PADDING;
        let template = group.kernel.rules().name();
        let _ = writeln!(
            self.body,
            "<g class=\"box\"><title>{}</title><rect class=\"group\" x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"{height:.0}\" \
             rx=\"4\" fill=\"{}\"/>",
            about(subject, groups),
            colour(template)
        );
        let times = if groups.len() > 1 { format!(" × {}", groups.len()) } else { String::new() };
        let time: f64 = groups.iter().map(|&group| subject.partition.groups[group].microseconds).sum();
        let lines = [
            ("name", named(subject, groups[0], room)),
            ("", fitted(&format!("{template} {}", tile(group)), room)),
            (
                "",
                fitted(
                    &format!("{} % · {} µs{times}{}", digits(100.0 * share), digits(time), phase(subject, group)),
                    room,
                ),
            ),
        ];
        for (line, (class, text)) in lines.iter().enumerate() {
            self.text(class, (x + PADDING, y + LINE * (line + 1) as f64), &escape(text));
        }
        let _ = writeln!(
            self.body,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.0}\" width=\"{:.1}\" height=\"4\"/></g>",
            x + PADDING,
            y + height - 8.0,
            (room * relative).max(1.0)
        );
    }

    fn text(&mut self, class: &str, (x, y): (f64, f64), escaped: &str) {
        let _ = writeln!(self.body, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.0}\">{escaped}</text>");
    }

    fn link(&mut self, (x, y): (f64, f64), target: &str, words: &str) {
        let _ = writeln!(self.body, "<a href=\"{target}\"><text x=\"{x:.1}\" y=\"{y:.0}\">{words}</text></a>");
    }
}

/// A light colour for each template: hues evenly apart.
fn colour(name: &str) -> String {
    let (number, count) = (names().position(|known| known == name).unwrap_or(0), names().count());
    format!("hsl({} 60% 87%)", 360 * number / count)
}

/// The share of all groups' time that these take, in 0 … 1.
fn share(partition: &Partition, groups: impl Iterator<Item = usize>) -> f64 {
    let all: f64 = partition.groups.iter().map(|group| group.microseconds).sum();
    groups.map(|group| partition.groups[group].microseconds).sum::<f64>() / all.max(f64::MIN_POSITIVE)
}

/// The tile in the words of a kernel's parameters.
fn tile(group: &FusionGroup) -> String {
    let tile = &group.kernel.params().tile;
    if tile.is_empty() {
        "tile none".to_owned()
    } else {
        format!("tile {}", tile.iter().map(ToString::to_string).collect::<Vec<_>>().join("x"))
    }
}

/// What a training step's group is for.
fn phase(subject: &Subject, group: &FusionGroup) -> String {
    match subject.program.names.phase(&group.origins) {
        Phase::Forward => String::new(),
        phase => format!(" · {}", phase.name()),
    }
}

/// A group by its number and the first of its nodes that has a name.
fn named(subject: &Subject, group: usize, room: f64) -> String {
    let characters = (room / text_width("x")) as usize;
    let number = group.to_string();
    let origins = &subject.partition.groups[group].origins;
    let label = subject.program.names.label_within(origins, characters.saturating_sub(number.len() + 1));
    format!("{number} {label}").trim_end().to_owned()
}

/// All that is known of a box, in lines: its kernel, then its groups with their nodes.
fn about(subject: &Subject, groups: &[usize]) -> String {
    let first = &subject.partition.groups[groups[0]];
    let kernel = format!("{}; {} statements", first.kernel.params(), first.statements.len());
    let nodes = |&group: &usize| {
        let origins = &subject.partition.groups[group].origins;
        let known = origins.iter().filter_map(|&origin| subject.program.names.origins.get(origin));
        let nodes: Vec<String> = known.map(Origin::shown).collect();
        let more =
            if nodes.len() > MOST_NAMES { format!(", {} more", nodes.len() - MOST_NAMES) } else { String::new() };
        format!("group {group}: {}{more}", nodes[..nodes.len().min(MOST_NAMES)].join(", "))
    };
    let lines: Vec<String> = std::iter::once(kernel).chain(groups.iter().map(nodes)).collect();
    lines.iter().map(|line| escape(line)).collect::<Vec<String>>().join("\n")
}

/// A text in lines of at most this width, where no word is wider.
fn wrapped(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').map(|word| fitted(word, width)) {
        match lines.last_mut() {
            Some(line) if text_width(line) + text_width(&word) + text_width(" ") <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}
