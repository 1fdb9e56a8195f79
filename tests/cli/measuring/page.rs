//! The page of `report`, looked at without a browser. It is well formed, every drawing keeps inside its frame, no two
//! texts touch, and every mark has its row in the table.

use std::collections::BTreeMap;

use warpweave::runtime::json::{self, Value, json};
use warpweave_measure::bench::{
    BenchResult, Distribution, Hardware, LowerBounds, PeerComparison, Precision, Sweep, SweepPoint,
};
use warpweave_measure::report::page;

/// A tag with its attributes and the text up to the next tag.
#[derive(Debug)]
struct Tag {
    name: String,
    attributes: BTreeMap<String, String>,
    text: String,
}

impl Tag {
    fn number(&self, name: &str) -> f64 {
        let text = self.attributes.get(name).unwrap_or_else(|| panic!("{self:?} has no {name}"));
        let number: f64 = text.parse().unwrap_or_else(|_| panic!("{self:?}: {name} is no number"));
        assert!(number.is_finite(), "{self:?}: {name}");
        number
    }

    fn class(&self) -> &str {
        self.attributes.get("class").map_or("", String::as_str)
    }

    fn is_mark(&self) -> bool {
        self.class().split(' ').any(|class| class == "point")
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn tag(content: &str, text: &str) -> Tag {
    let content = content.trim_end_matches('/');
    let (name, mut rest) = content.split_once([' ', '\n']).unwrap_or((content, ""));
    let mut attributes = BTreeMap::new();
    while let Some((key, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"').expect("a value ends");
        let is_new = attributes.insert(key.trim().to_owned(), unescaped(value)).is_none();
        assert!(is_new, "{content}: {key} twice");
        rest = after;
    }
    Tag { name: name.to_owned(), attributes, text: unescaped(text.trim()) }
}

/// All tags of a document, after a look at whether each is closed in its turn.
fn tags(html: &str) -> Vec<Tag> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for piece in html.split('<').skip(1) {
        let (content, text) = piece.split_once('>').expect("a tag ends");
        if let Some(name) = content.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed in turn");
            continue;
        }
        if content.starts_with('!') {
            continue;
        }
        let tag = tag(content, text);
        if !content.ends_with('/') && tag.name != "meta" {
            open.push(tag.name.clone());
        }
        found.push(tag);
    }
    assert!(open.is_empty(), "{open:?} stay open");
    found
}

#[derive(Clone, Copy, Debug)]
struct Box {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Where a text stands, with characters of usual width.
fn place(text: &Tag) -> Box {
    let (x, y, width) = (text.number("x"), text.number("y"), text.text.chars().count() as f64 * 5.9);
    let left = match text.attributes["text-anchor"].as_str() {
        "start" => x,
        "middle" => x - width / 2.0,
        "end" => x - width,
        other => panic!("unknown anchor {other}"),
    };
    Box { left, right: left + width, top: y - 9.0, bottom: y + 2.0 }
}

fn overlap(a: Box, b: Box) -> bool {
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

/// Looks at one figure: its drawing and its table.
fn check_figure(figure: &str) {
    let tags = tags(figure);
    let drawing = tags.iter().find(|tag| tag.name == "svg").expect("a figure has a drawing");
    let size: Vec<f64> =
        drawing.attributes["viewBox"].split(' ').map(|number| number.parse().expect("a number")).collect();
    let inside = |x: f64, y: f64| {
        let (wide, high) = (-0.6..=size[2] + 0.6, -0.6..=size[3] + 0.6);
        assert!(wide.contains(&x) && high.contains(&y), "({x}, {y}) is outside of {size:?}:\n{figure}");
    };
    let mut texts: Vec<(Box, &str)> = Vec::new();
    for tag in &tags {
        match tag.name.as_str() {
            "line" => {
                inside(tag.number("x1"), tag.number("y1"));
                inside(tag.number("x2"), tag.number("y2"));
            }
            "rect" => {
                let (x, y) = (tag.number("x"), tag.number("y"));
                inside(x, y);
                inside(x + tag.number("width"), y + tag.number("height"));
            }
            "circle" => {
                inside(tag.number("cx"), tag.number("cy"));
                assert!(tag.number("r") > 0.0);
            }
            "polyline" => {
                for point in tag.attributes["points"].split(' ') {
                    let (x, y) = point.split_once(',').expect("two coordinates");
                    inside(x.parse().expect("a number"), y.parse().expect("a number"));
                }
            }
            "text" => {
                let own = place(tag);
                inside(own.left, own.top);
                inside(own.right, own.bottom);
                for (other, text) in &texts {
                    assert!(!overlap(own, *other), "`{}` touches `{text}`:\n{figure}", tag.text);
                }
                assert!(!tag.text.is_empty());
                texts.push((own, &tag.text));
            }
            _ => {}
        }
    }
    let tags = tags.iter().filter(|tag| tag.is_mark()).count();
    let body = figure.split_once("<tbody>").expect("a figure has a table").1;
    assert!(tags > 0 && tags == body.matches("<tr>").count(), "{tags} tags, other rows:\n{figure}");
}

/// The figures of a page that stands on its own.
fn check(results: &[BenchResult]) -> Vec<String> {
    let page = page(results);
    tags(&page.html);
    for foreign in ["NaN", "inf", "<script", "src=", "href=", "http", "@import", "url("] {
        let found = page.html.replace("infer", "").find(foreign);
        assert!(found.is_none(), "the page has `{foreign}`");
    }
    assert!(page.html.contains("prefers-color-scheme: dark"));
    let parts = page.html.split("<figure>").skip(1);
    let figures: Vec<String> =
        parts.map(|part| part.split_once("</figure>").expect("a figure ends").0.to_owned()).collect();
    assert_eq!(figures.len(), page.charts);
    figures.iter().for_each(|figure| check_figure(figure));
    figures
}

fn distribution(times: &[f64]) -> Value {
    json::to_value(Distribution::of(times).expect("there are times")).expect("it has JSON")
}

/// A result with these latencies and nothing else.
fn result(name: &str, times: &[f64]) -> BenchResult {
    let latency = distribution(times);
    let value = json!({
        "schema": "warpweave.bench/1", "producer": "warpweave 0", "device": "host", "runs": times.len(),
        "model": {"name": name, "blake3": "", "precision": "fp16", "batch": 1},
        "method": {"warmup_ms": 1, "warmup_limit_ms": 1, "duration_ms": 1, "threads": 1, "seed": 0, "input_sets": 1,
                   "cold_l2": false},
        "warmup": {"runs": 1, "seconds": 0.1, "stable": true, "coefficient_of_variation": 0.0},
        "seconds": 1.0, "throughput": 1.0, "items_per_second": 1.0, "latency": latency,
        "samples": {"every": 1, "latency": times, "device_time": null}, "warnings": [], "peers": []
    });
    json::from_value(value).expect("a result")
}

fn with_plan(mut result: BenchResult, groups: &[(u64, u64, f64)], limits: Option<LowerBounds>) -> BenchResult {
    let group = |&(operations, bytes, seconds): &(u64, u64, f64)| json!({"operations": operations, "bytes": bytes, "tasks": 4, "estimated_seconds": seconds});
    let sum = |of: fn(&(u64, u64, f64)) -> u64| groups.iter().map(of).sum::<u64>();
    let plan = json!({
        "launches": 1, "units": 132, "tasks": 9, "waits": 3, "counters": 3, "arena_bytes": 1000, "weights_bytes": 0,
        "operations": sum(|group| group.0), "bytes": sum(|group| group.1), "estimated_seconds": 1e-4,
        "groups": groups.iter().map(group).collect::<Vec<_>>()
    });
    result.plan = Some(json::from_value(plan).expect("a plan"));
    let plan = result.plan.as_ref().expect("it was just set");
    result.achieved = warpweave_measure::bench::Achieved::of(plan, result.median_seconds(), limits);
    result
}

fn with_peers(mut result: BenchResult, speed_ups: &[f64]) -> BenchResult {
    let peer = |speed_up: &f64| {
        json!({"peer": "another program 2.11", "mode": "graph", "speed_up": speed_up,
               "device": "cpu", "precision": "fp16", "batch": 1,
               "median_seconds": result.median_seconds() * speed_up})
    };
    let peers = Value::Array(speed_ups.iter().map(peer).collect());
    result.peers = json::from_value(peers).expect("peers");
    result
}

fn with_sweep(mut result: BenchResult, points: &[(usize, f64)]) -> BenchResult {
    let (latency, peers) = (result.latency, result.peers.clone());
    let of_batch = |batch| peers.iter().map(|peer| PeerComparison { batch: Some(batch), ..peer.clone() }).collect();
    let point = |&(batch, items_per_second)| SweepPoint {
        batch,
        latency,
        device_time: None,
        items_per_second,
        arena_bytes: Some(1 << 20),
        peers: of_batch(batch),
        warnings: Vec::new(),
    };
    result.sweep = Some(Sweep::new(points.iter().map(point).collect()));
    result
}

fn spread(count: u32, base: f64) -> Vec<f64> {
    (0..count).map(|run| base * (1.0 + f64::from(run * run % 97) * 1e-3 + f64::from(run % 61 / 60))).collect()
}

#[test]
fn everything_at_once_is_drawn_in_its_frame() {
    let limits = LowerBounds { operations_per_second: 6.06e13, bytes_per_second: 4.47e12 };
    let groups: Vec<(u64, u64, f64)> =
        (1..60u64).map(|group| (group.pow(5) + 1, 40_000 + group * 977, 1.4e-6 * group as f64)).collect();
    let long = "a_model_with_a_name_that_is_much_longer_than_any_drawing_is_wide <&> \"quoted\"";
    let full = with_peers(result(long, &spread(3000, 2.5e-4)), &[0.02, 0.8, 1.0, 3.7, 250.0]);
    let full = with_sweep(full, &[(1, 4000.0), (4, 15000.0), (16, 15100.0), (64, 15200.0), (256, 1.0)]);
    let full = with_plan(full, &[&groups[..], &[(0, 100, 1e-6)]].concat(), Some(limits));
    let figures = check(&[full.clone(), with_plan(result("small", &[0.1, 0.2]), &groups[..1], None)]);
    assert_eq!(figures.len(), 6);
    let many = check(&vec![full; 20]);
    assert!(many[0].contains("over the fastest peer") && many.len() == 81);
}

#[test]
fn peers_that_are_not_known_to_be_equal_are_in_no_chart() {
    let equal = with_peers(result("a", &[0.1, 0.2]), &[2.0]);
    assert!(page(std::slice::from_ref(&equal)).html.contains("Speed-up over peers"));
    let differences: [fn(&mut PeerComparison); 5] = [
        |peer| peer.device = Some(Hardware::Gpu("NVIDIA H200".to_owned())),
        |peer| peer.device = None,
        |peer| peer.precision = Some(Precision::Fp32),
        |peer| peer.precision = None,
        |peer| peer.batch = Some(8),
    ];
    for (number, change) in differences.into_iter().enumerate() {
        let mut other = equal.clone();
        other.peers.iter_mut().for_each(change);
        let html = page(&[other]).html;
        assert!(!html.contains("Speed-up") && html.contains("1 peers are left out"), "{number}: {html}");
    }
}

#[test]
fn charts_without_data_are_left_out() {
    assert!(check(&[]).is_empty());
    let bare = with_plan(result("moves", &[1.0]), &[(0, 10, 1e-6)], None);
    let figures = check(&[bare]);
    assert_eq!(figures.len(), 1, "the distribution alone");
    assert!(figures[0].contains("aria-label=\"Latency, moves b1 fp16 host\""));
}

#[test]
fn extreme_times_stay_in_the_frame() {
    for times in [vec![1e-9; 5], vec![0.0, 0.0], vec![1e4, 1e-7, 3.0], vec![5.0]] {
        check(&[result("x", &times)]);
    }
    let mut spike = spread(500, 1e-5);
    spike.push(100.0);
    let flat = with_sweep(result("spike", &spike), &[(1, 1e-9)]);
    check(&[with_peers(flat, &[1e-12, 1e12])]);
    let tiny = [(1, u64::MAX / 4, 1.0), (u64::MAX / 4, 1, 1e-9)];
    let limits = LowerBounds { operations_per_second: 1e3, bytes_per_second: 1e18 };
    check(&[with_plan(result("far", &[1.0]), &tiny, Some(limits))]);
}
