//! The losses of a run as a picture.

use std::fmt::Write;

use warpweave::explain::PICTURE_GENERATOR;

/// Extents of the picture, and of the margins where numbers stand.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const MARGIN: f64 = 30.0;
/// Horizontal lines of the grid.
const LINES: usize = 5;

/// The losses, from step `first` on, as a document that stands alone.
pub fn picture(first: u64, losses: &[f64]) -> String {
    let lowest = losses.iter().copied().fold(f64::INFINITY, f64::min).min(0.0);
    let highest = losses.iter().copied().fold(f64::NEG_INFINITY, f64::max).max(lowest + f64::MIN_POSITIVE);
    let x = |at: usize| LEFT + (WIDTH - LEFT - MARGIN) * at as f64 / (losses.len().max(2) - 1) as f64;
    let y = |loss: f64| HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * (loss - lowest) / (highest - lowest);
    let mut svg = format!(
        "<svg {PICTURE_GENERATOR} xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>Loss by step</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    for line in 0..=LINES {
        let loss = lowest + (highest - lowest) * line as f64 / LINES as f64;
        let at = y(loss);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{loss:.4}</text>",
            WIDTH - MARGIN,
            LEFT - 6.0,
            at + 4.0
        );
    }
    let last = first + losses.len().saturating_sub(1) as u64;
    for (at, anchor, step) in [(LEFT, "start", first), (WIDTH - MARGIN, "end", last)] {
        let _ =
            writeln!(svg, "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">step {step}</text>", HEIGHT - 8.0);
    }
    let points: Vec<String> =
        losses.iter().enumerate().map(|(at, loss)| format!("{:.1},{:.1}", x(at), y(*loss))).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f6feb\" stroke-width=\"1.5\"/>",
        points.join(" ")
    );
    svg.push_str("</svg>\n");
    svg
}
