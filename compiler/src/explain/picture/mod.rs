//! A partition as a picture: a box a group, rows by dependence, an edge for every value that is handed on.
//!
//! The picture holds a drawing for wide windows and one for narrow windows, each with repeated blocks folded and, behind a link,
//! with all groups. A style sheet shows one of them, so it needs no script, and what shows no links has the folded one.

mod blocks;
mod drawing;
mod layout;

use warpweave_fusion::partition::search::Partition;
use warpweave_graph::program::TensorProgram;

use self::blocks::Blocks;
use self::drawing::{Drawing, Subject, Way};
use self::layout::Page;
use super::folding::{Stretch, repeated_groups};
use crate::svg::escape;

/// The attribute of the first element of every picture that names this program.
pub const PICTURE_GENERATOR: &str = "data-generator=\"warpweave\"";

const STYLE: &str = "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1c1f23}.page{fill:#fff}.head{font-size:14px;\
    font-weight:600}.name{font-weight:600}.over{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
    .edge{fill:none;stroke:#8b95a1;stroke-linejoin:round}.next{stroke-dasharray:4 3}.tip{fill:#8b95a1}.group{stroke:#6b7480}\
    .frame{fill:none;stroke:#6b7480;stroke-dasharray:2 2}.bar{fill:#1c1f23;opacity:.55}a{text-decoration:underline}\
    .narrow,.opened{display:none}#all:target{display:inline}#all:target~.folded{display:none}\
    @media(prefers-color-scheme:dark){.page{fill:#16181c}text{fill:#dfe3e8}.box text{fill:#1c1f23}.over{stroke:#16181c}}";

/// The picture as a self-contained SVG, light or dark as the viewer prefers.
pub fn picture(title: &str, program: &TensorProgram, partition: &Partition) -> String {
    let stretches = repeated_groups(partition, &program.names);
    let everything = [Stretch { first: 0, length: partition.groups.len(), times: 1 }];
    let subject = Subject { title, program, partition };
    let ways = |page: &Page, class: &'static str| {
        let draw = |way: Way, stretches: &[Stretch]| {
            let blocks = Blocks::new(program, partition, stretches);
            Drawing::new(&subject, &blocks, page, (way, class))
        };
        if stretches.iter().all(|stretch| stretch.times == 1) {
            return [draw(Way::Whole, &everything), Drawing::default()];
        }
        [draw(Way::Folded, &stretches), draw(Way::Opened, &everything)]
    };
    let [wide, wide_opened] = ways(&Page::WIDE, "wide");
    let [narrow, narrow_opened] = ways(&Page::NARROW, "narrow");
    let title = escape(title);
    let (width, narrower) = (Page::WIDE.width, Page::NARROW.width);
    let size = |selector: &str, drawing: &Drawing, width: f64| {
        format!("svg{selector}{{width:{width:.0}px;height:{:.0}px}}", drawing.height)
    };
    let sizes = [
        size(":has(#all:target)", &wide_opened, width),
        format!(
            "@media(max-width:{:.0}px){{.wide{{display:none}}.narrow{{display:inline}}{}{}}}",
            width - 1.0,
            size("", &narrow, narrower),
            size(":has(#all:target)", &narrow_opened, narrower)
        ),
    ];
    format!(
        "<svg {PICTURE_GENERATOR} xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{:.0}\" role=\"img\">\n\
         <title>{title}</title>\n<style>{STYLE}{}</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" \
         markerUnits=\"userSpaceOnUse\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path class=\"tip\" d=\"M0 0L6 3L0 6z\"/></marker></defs>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n<g id=\"all\" class=\"opened\">\n{}{}</g>\n\
         <g class=\"folded\">\n{}{}</g>\n</svg>\n",
        wide.height,
        sizes.concat(),
        wide_opened.body,
        narrow_opened.body,
        wide.body,
        narrow.body
    )
}
