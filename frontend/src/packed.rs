//! Elements of fewer than 8 bits, which ONNX packs into bytes, low bits first.

use warpweave_graph::ElementType;
use warpweave_graph::arithmetic::wrap;

/// Bytes that so many elements take in a model; `None` if that is more than a number can say.
pub(crate) fn packed_bytes(element: ElementType, elements: usize) -> Option<usize> {
    let whole = elements.checked_mul(element.bytes())?;
    let elements_a_byte = elements_a_byte(element);
    Some(if elements_a_byte > 1 { elements.div_ceil(elements_a_byte) } else { whole })
}

/// Whether elements share bytes in a model.
pub(crate) fn is_packed(element: ElementType) -> bool {
    elements_a_byte(element) > 1
}

/// The elements in bytes of a model, one byte each; there are enough of them.
pub(crate) fn unpacked(element: ElementType, elements: usize, packed: &[u8]) -> Vec<u8> {
    let (bits, elements_a_byte) = (element.bits(), elements_a_byte(element));
    let mask = u8::MAX >> (8 - bits.min(8));
    let code = |at: usize| packed[at / elements_a_byte] >> (at % elements_a_byte * bits) & mask;
    // Signed integers are extended; of floating point a byte is the code itself.
    (0..elements).map(|at| if element.is_float() { code(at) } else { wrap(element, code(at).into()) as u8 }).collect()
}

fn elements_a_byte(element: ElementType) -> usize {
    (8 / element.bits()).max(1)
}
