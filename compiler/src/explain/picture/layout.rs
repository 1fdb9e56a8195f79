//! Where the boxes of a picture stand and where its edges run: rows from top to bottom, as wide as a page.

use std::collections::BTreeMap;

use super::blocks::{Band, Blocks, Edge};

/// The page of a layout, in pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Page {
    pub width: f64,
    /// Lanes on the left, in which edges pass rows.
    pub lanes: usize,
    /// Lanes on the right, in which edges lead to a block's next copy.
    pub return_lanes: usize,
}

impl Page {
    /// For the window of a desktop.
    pub const WIDE: Self = Self { width: 1240.0, lanes: 8, return_lanes: 4 };
    /// For the window of a phone.
    pub const NARROW: Self = Self { width: 372.0, lanes: 4, return_lanes: 2 };

    /// The left and the right end of the rows.
    pub fn row(&self) -> (f64, f64) {
        let side = |lanes: usize| MARGIN + lanes as f64 * LANE + LANE;
        (side(self.lanes), self.width - side(self.return_lanes))
    }

    fn lane(&self, lane: usize) -> f64 {
        MARGIN + (self.lanes - 1 - lane % self.lanes) as f64 * LANE
    }

    fn return_lane(&self, lane: usize) -> f64 {
        self.width - MARGIN - (self.return_lanes - 1 - lane % self.return_lanes) as f64 * LANE
    }
}

/// Around everything.
pub const MARGIN: f64 = 14.0;
/// The height of a box: three lines, and a bar.
pub const BOX_HEIGHT: f64 = 62.0;
/// The height of what stands above a repeated block.
const HEADER: f64 = 36.0;
const LANE: f64 = 7.0;
const NARROWEST_BOX: f64 = 262.0;
const WIDEST_BOX: f64 = 560.0;
const GAP: f64 = 18.0;
/// Between two rows: a line of text under the boxes, then edges.
const CHANNEL: f64 = 42.0;
/// Where edges turn below a box and above one.
const TURN: (f64, f64) = (17.0, 9.0);
/// Horizontal parts of edges are apart by this, of so many edges.
const APART: (f64, usize) = (3.0, 4);

/// A rectangle in pixels; x and y are those of its upper left corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rectangle {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rectangle {
    /// The middle between the left and the right side.
    pub fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    /// The lower side.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// A laid out picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// Each box.
    pub boxes: Vec<Rectangle>,
    /// The frame around each band that stands for several copies, with the band's position.
    pub frames: Vec<(usize, Rectangle)>,
    /// Each edge, in the words of a path of SVG.
    pub paths: Vec<String>,
    /// Where the picture ends.
    pub bottom: f64,
}

/// Lays the boxes out below `top`.
pub fn layout(blocks: &Blocks, page: &Page, top: f64) -> Layout {
    let mut placed = Placed {
        boxes: vec![Rectangle { x: 0.0, y: 0.0, width: 0.0, height: 0.0 }; blocks.groups.len()],
        rows: vec![0; blocks.groups.len()],
    };
    let (mut y, mut row, mut frames) = (top, 0, Vec::new());
    for (position, band) in blocks.bands.iter().enumerate() {
        let start = y;
        if band.times > 1 {
            y += HEADER;
        }
        for mut boxes in rows(band, &blocks.edges, page) {
            placed.order(&mut boxes, &blocks.edges);
            placed.place(&boxes, page, (row, y));
            y += BOX_HEIGHT + CHANNEL;
            row += 1;
        }
        if band.times > 1 {
            let x = page.row().0 - LANE / 2.0;
            let width = page.width - MARGIN / 2.0 - x;
            frames.push((position, Rectangle { x, y: start, width, height: y - start }));
            y += 2.0 * LANE;
        }
    }
    let paths = placed.paths(&blocks.edges, page);
    Layout { boxes: placed.boxes, frames, paths, bottom: y }
}

/// The boxes of a band by row: each below those of the band that it reads, as many side by side as the page takes.
fn rows(band: &Band, edges: &[Edge], page: &Page) -> Vec<Vec<usize>> {
    let start = band.boxes.start;
    let mut depth = vec![0; band.boxes.len()];
    // Edges are in the order of their boxes, which is topological, so the depth of what is read is known.
    for edge in edges
        .iter()
        .filter(|edge| !edge.to_next_copy && band.boxes.contains(&edge.from) && band.boxes.contains(&edge.to))
    {
        depth[edge.to - start] = depth[edge.to - start].max(depth[edge.from - start] + 1);
    }
    let mut layers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (position, depth) in depth.into_iter().enumerate() {
        layers.entry(depth).or_default().push(start + position);
    }
    let (left, right) = page.row();
    let most = (((right - left + GAP) / (NARROWEST_BOX + GAP)) as usize).max(1);
    let split = |layer: Vec<usize>| {
        let rows = layer.len().div_ceil(most);
        layer.chunks(layer.len().div_ceil(rows)).map(<[usize]>::to_vec).collect::<Vec<_>>()
    };
    layers.into_values().flat_map(split).collect()
}

/// Boxes that have their places, and the row of each.
struct Placed {
    boxes: Vec<Rectangle>,
    rows: Vec<usize>,
}

impl Placed {
    /// Orders the boxes of a row by the mean place of what they read, which lies above them.
    fn order(&self, boxes: &mut [usize], edges: &[Edge]) {
        let mean = |to: usize| {
            let read = edges.iter().filter(|edge| edge.to == to && !edge.to_next_copy);
            let places: Vec<f64> = read.map(|edge| self.boxes[edge.from].middle()).collect();
            places.iter().sum::<f64>() / places.len().max(1) as f64
        };
        let means: BTreeMap<usize, f64> = boxes.iter().map(|&id| (id, mean(id))).collect();
        boxes.sort_by(|a, b| means[a].total_cmp(&means[b]).then(a.cmp(b)));
    }

    /// Places a row in the middle of the page.
    fn place(&mut self, boxes: &[usize], page: &Page, (row, y): (usize, f64)) {
        let (left, right) = page.row();
        let count = boxes.len() as f64;
        let width = ((right - left - (count - 1.0) * GAP) / count).min(WIDEST_BOX);
        let indent = (right - left - count * width - (count - 1.0) * GAP) / 2.0;
        for (position, &id) in boxes.iter().enumerate() {
            let x = left + indent + position as f64 * (width + GAP);
            self.boxes[id] = Rectangle { x, y, width, height: BOX_HEIGHT };
            self.rows[id] = row;
        }
    }

    fn paths(&self, edges: &[Edge], page: &Page) -> Vec<String> {
        let lanes = self.lanes(edges, page);
        let mut readers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (position, edge) in edges.iter().enumerate() {
            readers.entry(edge.to).or_default().push(position);
        }
        let end = |position: usize| {
            let ends = &readers[&edges[position].to];
            let place = ends.iter().position(|&other| other == position).unwrap_or(0);
            let reader = self.boxes[edges[position].to];
            (reader.x + reader.width * (place + 1) as f64 / (ends.len() + 1) as f64, reader.y)
        };
        let path = |position: usize| {
            let Edge { from, to, to_next_copy, .. } = edges[position];
            let ((x1, y1), (x2, y2)) = ((self.boxes[from].middle(), self.boxes[from].bottom()), end(position));
            if !to_next_copy && self.rows[to] == self.rows[from] + 1 {
                let (low, high) = (y1 + TURN.0, y2 - TURN.1 / 2.0);
                let middle = (low + high) / 2.0;
                return format!(
                    "M{x1:.0} {y1:.0}V{low:.0}C{x1:.0} {middle:.0} {x2:.0} {middle:.0} {x2:.0} {high:.0}V{y2:.0}"
                );
            }
            let lane = lanes[&(from, to_next_copy)];
            let x = if to_next_copy { page.return_lane(lane) } else { page.lane(lane) };
            let apart = APART.0 * (lane % APART.1) as f64;
            let (low, high) = (y1 + TURN.0 + apart, y2 - TURN.1);
            format!("M{x1:.0} {y1:.0}V{low:.0}H{x:.0}V{high:.0}H{x2:.0}V{y2:.0}")
        };
        (0..edges.len()).map(path).collect()
    }

    /// The lane of each box whose edges pass rows, and of each whose edges lead to the next copy: the first that is free.
    fn lanes(&self, edges: &[Edge], page: &Page) -> BTreeMap<(usize, bool), usize> {
        let mut spans: BTreeMap<(usize, bool), (usize, usize)> = BTreeMap::new();
        for edge in edges.iter().filter(|edge| edge.to_next_copy || self.rows[edge.to] > self.rows[edge.from] + 1) {
            let (from, to) = (self.rows[edge.from], self.rows[edge.to]);
            let span = spans.entry((edge.from, edge.to_next_copy)).or_insert((from, from));
            *span = (span.0.min(to), span.1.max(to));
        }
        let mut spans: Vec<_> = spans.into_iter().map(|(of, (first, last))| (first, last, of)).collect();
        spans.sort_unstable();
        let mut free = [vec![0; page.lanes], vec![0; page.return_lanes]];
        let mut lanes = BTreeMap::new();
        for (number, (first, last, of)) in spans.into_iter().enumerate() {
            let free = &mut free[usize::from(of.1)];
            let lane = free.iter().position(|&end| end <= first).unwrap_or(number % free.len());
            free[lane] = last + 1;
            lanes.insert(of, lane);
        }
        lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that differ for every seed.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit
        }
    }

    /// Boxes in bands, each of which reads some before it, and some of its own band's earlier copy.
    fn drawn(seed: u64) -> Blocks {
        let mut draw = Draw(seed);
        let (mut bands, mut edges, mut start) = (Vec::new(), Vec::new(), 0);
        for _ in 0..1 + draw.below(4) {
            let band = Band { boxes: start..start + 1 + draw.below(20), times: 1 + draw.below(3) };
            for to in band.boxes.clone() {
                let count = if to > 0 { draw.below(4) } else { 0 };
                let mut from: Vec<usize> = (0..count).map(|_| draw.below(to)).collect();
                from.sort_unstable();
                from.dedup();
                edges.extend(from.into_iter().map(|from| Edge { from, to, bytes: 1, to_next_copy: false }));
                if band.times > 1 && draw.below(4) == 0 {
                    let from = band.boxes.start + draw.below(band.boxes.len());
                    edges.push(Edge { from, to, bytes: 1, to_next_copy: true });
                }
            }
            start = band.boxes.end;
            bands.push(band);
        }
        edges.sort_by_key(|edge| (edge.from, edge.to, edge.to_next_copy));
        Blocks { groups: (0..start).map(|group| vec![group]).collect(), bands, edges }
    }

    #[test]
    fn boxes_stand_apart_below_what_they_read_and_on_the_page() {
        for (seed, page) in (0..200).flat_map(|seed| [(seed, Page::WIDE), (seed, Page::NARROW)]) {
            let blocks = drawn(seed);
            let layout = layout(&blocks, &page, 10.0);
            let (left, right) = page.row();
            for (position, place) in layout.boxes.iter().enumerate() {
                assert!(place.x >= left - 0.1 && place.x + place.width <= right + 0.1, "seed {seed}");
                assert!(place.y >= 10.0 && place.bottom() < layout.bottom, "seed {seed}");
                for other in &layout.boxes[..position] {
                    let apart = |a: f64, a_size: f64, b: f64, b_size: f64| a + a_size < b || b + b_size < a;
                    let apart = apart(place.x, place.width, other.x, other.width)
                        || apart(place.y, place.height, other.y, other.height);
                    assert!(apart, "seed {seed}");
                }
            }
            for edge in blocks.edges.iter().filter(|edge| !edge.to_next_copy) {
                assert!(layout.boxes[edge.from].bottom() < layout.boxes[edge.to].y, "seed {seed}: {edge:?}");
            }
            for (band, frame) in &layout.frames {
                let inside = |place: &Rectangle| place.y > frame.y && place.bottom() < frame.bottom();
                assert!(layout.boxes[blocks.bands[*band].boxes.clone()].iter().all(inside), "seed {seed}");
            }
        }
    }
}
