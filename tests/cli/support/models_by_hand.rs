//! Small models as bytes.

use std::fs;

use crate::support::tool::Folder;

/// One field of a message in the encoding of protocol buffers.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).expect("a short field")], bytes].concat()
}

fn integer(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

/// A dimension that is open, or fixed.
fn dimension(extent: Option<u8>) -> Vec<u8> {
    extent.map_or_else(|| field(2, b"N"), |extent| integer(1, extent))
}

const SINGLES: u8 = 1;
const DOUBLES: u8 = 11;
const FLOAT8E4M3FN: u8 = 17;
const FLOAT8E5M2: u8 = 19;
const INT4: u8 = 22;

/// An input or output of these elements.
fn value(name: &str, elements: u8, extents: &[Option<u8>]) -> Vec<u8> {
    let dimensions: Vec<u8> = extents.iter().flat_map(|extent| field(1, &dimension(*extent))).collect();
    let tensor = [integer(1, elements), field(2, &dimensions)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

/// An input or output of rows of 8 numbers.
fn rows(name: &str, count: Option<u8>) -> Vec<u8> {
    value(name, SINGLES, &[count, Some(8)])
}

fn write(folder: &Folder, file: &str, graph: &[Vec<u8>]) -> String {
    let bytes = [integer(1, 8), field(8, &integer(2, 17)), field(7, &graph.concat())].concat();
    let path = folder.join(file);
    fs::write(&path, bytes).expect("the file can be written");
    path.display().to_string()
}

/// A model `y = Relu(x)` of `N` rows of 8 numbers, `N` open.
pub fn open_batch(folder: &Folder) -> String {
    let node = [field(1, b"x"), field(2, b"y"), field(4, b"Relu")].concat();
    let graph = [field(1, &node), field(2, b"rows"), field(11, &rows("x", None)), field(12, &rows("y", None))];
    write(folder, "rows.onnx", &graph)
}

/// A model `y = x + w` of 2 rows of 8 numbers, `w` in the file `w.bin`.
pub fn external_data(folder: &Folder) -> String {
    fs::write(folder.join("w.bin"), [0; 64]).expect("the file can be written");
    let node = [field(1, b"x"), field(1, b"w"), field(2, b"y"), field(4, b"Add")].concat();
    let place = [field(1, b"location"), field(2, b"w.bin")].concat();
    let dims = [integer(1, 2), integer(1, 8)].concat();
    let weight = [dims, integer(2, 1), field(8, b"w"), field(13, &place), integer(14, 1)].concat();
    let ends = [field(11, &rows("x", Some(2))), field(12, &rows("y", Some(2)))].concat();
    write(folder, "outside.onnx", &[field(1, &node), field(2, b"sum"), field(5, &weight), ends])
}

/// A model that picks the row of this number from 2 rows of 8 numbers, by a node named `pick`.
pub fn constant_index(folder: &Folder, index: i64) -> String {
    let node = [field(1, b"x"), field(1, b"i"), field(2, b"y"), field(3, b"pick"), field(4, b"Gather")];
    let constant = [integer(1, 1), integer(2, 7), field(8, b"i"), field(9, &index.to_le_bytes())].concat();
    let ends = [field(11, &rows("x", Some(2))), field(12, &field(1, b"y"))].concat();
    write(folder, "pick.onnx", &[field(1, &node.concat()), field(2, b"row"), field(5, &constant), ends])
}

/// A model `y = Exp(x)` of four doubles, for which there are no kernels.
pub fn doubles(folder: &Folder) -> String {
    let node = [field(1, b"x"), field(2, b"y"), field(4, b"Exp")].concat();
    let [x, y] = ["x", "y"].map(|name| value(name, DOUBLES, &[Some(4)]));
    write(folder, "doubles.onnx", &[field(1, &node), field(2, b"doubles"), field(11, &x), field(12, &y)])
}

/// A model of three elements of 8-bit floating point `c`, which are cast to another such type, and of three 4-bit integers, which are
/// brought back with the scale `s`.
pub fn storage(folder: &Folder) -> String {
    let number = |number: u8| [field(1, b"to"), integer(3, number), vec![0xa0, 1, 2]].concat();
    let cast = [field(1, b"c"), field(2, b"y"), field(4, b"Cast"), field(5, &number(FLOAT8E5M2))].concat();
    let back = [field(1, b"w"), field(1, b"s"), field(2, b"d"), field(4, b"DequantizeLinear")].concat();
    let weight = [integer(1, 3), integer(2, INT4), field(8, b"w"), field(9, &[0x78, 0x0f])].concat();
    let inputs = [value("c", FLOAT8E4M3FN, &[Some(3)]), value("s", SINGLES, &[])].map(|input| field(11, &input));
    let outputs = ["y", "d"].map(|name| field(12, &field(1, name.as_bytes())));
    let graph = [field(1, &cast), field(1, &back), field(2, b"storage"), field(5, &weight)];
    write(folder, "storage.onnx", &[graph.concat(), inputs.concat(), outputs.concat()])
}
