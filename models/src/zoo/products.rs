//! The products of a transformer's weights alone, one after another: what hand-written programs compute that were measured on an
//! H200.

use crate::builder::Builder;
use crate::{Family, ModelInfo};

/// The chain of products.
pub(crate) const PRODUCTS_48: ModelInfo = ModelInfo {
    name: "products_48",
    family: Family::Transformer,
    parameters: None,
    summary: "48 dependent products of 128 rows with the weights of BERT-base's 12 layers, without attention",
    build,
};

/// Rows: tokens of an example.
const ROWS: usize = 128;

/// Each layer multiplies by the weights of queries, keys and values at once; what would be the values by those of the output; then
/// by both of the feed-forward network.
fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (layers, features, rows) = scale.pick((12, 768, ROWS), (2, 32, 16));
    let rows = rows * builder.batch();
    let mut x = builder.input("x", &[rows, features]);
    for layer in 0..layers {
        x = builder.scoped(&format!("layer{layer}"), |builder| {
            let joined = builder.projection("queries_keys_values", &x, 3 * features, 1.0);
            let values = builder.slice(&joined, 1, 2 * features, 3 * features);
            let output = builder.projection("output", &values, features, 1.0);
            let inner = builder.projection("inner", &output, 4 * features, 1.0);
            builder.projection("outer", &inner, features, 1.0)
        });
    }
    builder.output("y", &x);
}
