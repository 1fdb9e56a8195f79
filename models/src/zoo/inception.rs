//! Inception-v3 without the auxiliary head (Szegedy et al., "Rethinking the inception architecture for computer vision",
//! 2015).

use crate::blocks::image::{self, Unit};
use crate::builder::{Builder, Convolution, Value, Window};
use crate::{Family, ModelInfo};

/// Inception-v3.
pub(crate) const INCEPTION_V3: ModelInfo = ModelInfo {
    name: "inception_v3",
    family: Family::Convolutional,
    parameters: Some(23_834_568),
    summary: "Inception-v3 without auxiliary head, 299x299 (Szegedy et al. 2015)",
    build,
};

const POINT: Window = Window::same(1);
const WIDE: Window = Window::same(3);
const HALVING: Window = Window::valid(3, 2);

/// A window of one row.
const fn row(taps: usize) -> Window {
    Window { kernel: [1, taps], stride: [1; 2], padding: [0, taps / 2] }
}

/// A window of one column.
const fn column(taps: usize) -> Window {
    Window { kernel: [taps, 1], stride: [1; 2], padding: [taps / 2, 0] }
}

fn build(builder: &mut Builder) {
    let (resolution, divisor, classes) = builder.options.scale.pick((299, 1, 1000), (75, 8, 10));
    let image = image::input(builder, resolution);
    let mut network = Network { builder, divisor };
    let x = network.chain("stem0", &image, &[(32, HALVING), (32, Window::valid(3, 1)), (64, WIDE)]);
    let x = network.builder.max_pool(&x, HALVING);
    let x = network.chain("stem1", &x, &[(80, POINT), (192, Window::valid(3, 1))]);
    let mut x = network.builder.max_pool(&x, HALVING);
    for (at, pooled) in [32, 64, 64].into_iter().enumerate() {
        x = network.scoped(&format!("mixed_a{at}"), |network| network.fives(&x, pooled));
    }
    x = network.scoped("reduction_a", |network| {
        let wide = network.chain("wide", &x, &[(384, HALVING)]);
        let deep = network.chain("deep", &x, &[(64, POINT), (96, WIDE), (96, HALVING)]);
        let pooled = network.builder.max_pool(&x, HALVING);
        network.builder.concat(&[&wide, &deep, &pooled], 1)
    });
    for (at, inner) in [128, 160, 160, 192].into_iter().enumerate() {
        x = network.scoped(&format!("mixed_b{at}"), |network| network.sevens(&x, inner));
    }
    x = network.scoped("reduction_b", |network| {
        let wide = network.chain("wide", &x, &[(192, POINT), (320, HALVING)]);
        let deep = [(192, POINT), (192, row(7)), (192, column(7)), (192, HALVING)];
        let deep = network.chain("deep", &x, &deep);
        let pooled = network.builder.max_pool(&x, HALVING);
        network.builder.concat(&[&wide, &deep, &pooled], 1)
    });
    for at in 0..2 {
        x = network.scoped(&format!("mixed_c{at}"), |network| network.fans(&x));
    }
    image::classify(builder, &x, classes);
}

/// The network in the making, its channels divided.
struct Network<'a> {
    builder: &'a mut Builder,
    divisor: usize,
}

impl Network<'_> {
    fn scoped<T>(&mut self, name: &str, part: impl FnOnce(&mut Network) -> T) -> T {
        let divisor = self.divisor;
        self.builder.scoped(name, |builder| part(&mut Network { builder, divisor }))
    }

    /// Convolutions one after another, of these channels and windows.
    fn chain(&mut self, name: &str, x: &Value, parts: &[(usize, Window)]) -> Value {
        let mut x = x.clone();
        for (at, &(channels, window)) in parts.iter().enumerate() {
            let convolution = Convolution::new(channels / self.divisor, window);
            let unit = Unit { epsilon: 1e-3, ..Unit::relu(convolution) };
            x = unit.build(self.builder, &format!("{name}.{at}"), &x);
        }
        x
    }

    /// The mean of 3 × 3 windows, and a convolution.
    fn pooled(&mut self, x: &Value, channels: usize) -> Value {
        let pooled = self.builder.average_pool(x, WIDE, true);
        self.chain("pooled", &pooled, &[(channels, POINT)])
    }

    /// Branches of 1 × 1, 5 × 5 and twice 3 × 3.
    fn fives(&mut self, x: &Value, pooled: usize) -> Value {
        let point = self.chain("point", x, &[(64, POINT)]);
        let five = self.chain("five", x, &[(48, POINT), (64, Window::same(5))]);
        let deep = self.chain("deep", x, &[(64, POINT), (96, WIDE), (96, WIDE)]);
        let pooled = self.pooled(x, pooled);
        self.builder.concat(&[&point, &five, &deep, &pooled], 1)
    }

    /// Branches whose 7 × 7 windows are rows and columns.
    fn sevens(&mut self, x: &Value, inner: usize) -> Value {
        let point = self.chain("point", x, &[(192, POINT)]);
        let once = self.chain("once", x, &[(inner, POINT), (inner, row(7)), (192, column(7))]);
        let twice = [(inner, POINT), (inner, column(7)), (inner, row(7)), (inner, column(7)), (192, row(7))];
        let twice = self.chain("twice", x, &twice);
        let pooled = self.pooled(x, 192);
        self.builder.concat(&[&point, &once, &twice, &pooled], 1)
    }

    /// Branches that fan out into a row and a column.
    fn fans(&mut self, x: &Value) -> Value {
        let point = self.chain("point", x, &[(320, POINT)]);
        let wide = self.chain("wide", x, &[(384, POINT)]);
        let wide = self.fan("wide", &wide);
        let deep = self.chain("deep", x, &[(448, POINT), (384, WIDE)]);
        let deep = self.fan("deep", &deep);
        let pooled = self.pooled(x, 192);
        self.builder.concat(&[&point, &wide, &deep, &pooled], 1)
    }

    fn fan(&mut self, name: &str, x: &Value) -> Value {
        let across = self.chain(&format!("{name}.row"), x, &[(384, row(3))]);
        let down = self.chain(&format!("{name}.column"), x, &[(384, column(3))]);
        self.builder.concat(&[&across, &down], 1)
    }
}
