//! The deep learning recommendation model (Naumov et al., "Deep learning recommendation model for personalization and
//! recommendation systems", 2019), with the shape of the Criteo data: 13 numbers and 26 categories.

use crate::builder::{Builder, Unary, Value};
use crate::{Family, ModelInfo};

/// The recommendation model.
pub(crate) const DLRM: ModelInfo = ModelInfo {
    name: "dlrm",
    family: Family::Recommendation,
    parameters: Some(17_139_521),
    summary: "DLRM, 26 tables of 10,000 x 64, 13-512-256-64, 415-512-256-1 (Naumov et al. 2019)",
    build,
};

/// Numbers of an example.
const NUMBERS: usize = 13;

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (tables, rows, features) = scale.pick((26, 10_000, 64), (6, 100, 16));
    let (bottom, top) = scale.pick(([512, 256, 64], [512, 256, 1]), ([64, 32, 16], [64, 32, 1]));
    let batch = builder.batch();
    let dense = builder.input("dense", &[batch, NUMBERS]);
    let categories = builder.indices("categories", &[batch, tables]);
    let dense = builder.scoped("bottom", |builder| perceptron(builder, &dense, &bottom));
    let dense = builder.relu(&dense);
    let columns = builder.split(&categories, 1, tables);
    let mut vectors = vec![builder.unsqueeze(&dense, 1)];
    for (at, column) in columns.iter().enumerate() {
        let table = builder.weight(&format!("table{at}"), &[rows, features], 0.5);
        vectors.push(builder.gather(&table, column));
    }
    let vectors = builder.concat(&vectors.iter().collect::<Vec<_>>(), 1);
    let interactions = interactions(builder, &vectors);
    let joined = builder.concat(&[&dense, &interactions], 1);
    let score = builder.scoped("top", |builder| perceptron(builder, &joined, &top));
    let probability = builder.unary(Unary::Sigmoid, &score);
    builder.output("probability", &probability);
}

/// Linear layers with rectifiers between them.
fn perceptron(builder: &mut Builder, x: &Value, widths: &[usize]) -> Value {
    let mut x = x.clone();
    for (at, &width) in widths.iter().enumerate() {
        if at > 0 {
            x = builder.relu(&x);
        }
        x = builder.linear(&format!("layer{at}"), &x, width, 1.0);
    }
    x
}

/// The products of every two different vectors of `[batch, vectors, features]`.
fn interactions(builder: &mut Builder, vectors: &Value) -> Value {
    let count = vectors.shape[1];
    let transposed = builder.transpose(vectors, &[0, 2, 1]);
    let products = builder.matmul(vectors, &transposed);
    let products = builder.reshape(&products, &[vectors.shape[0], count * count]);
    let below: Vec<usize> = (0..count).flat_map(|row| (0..row).map(move |column| row * count + column)).collect();
    builder.pick(&products, &below)
}
