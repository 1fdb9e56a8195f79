//! Tensors as NumPy's files and back.

use bytes::Bytes;
use warpweave_graph::Tensor;
use warpweave_graph::npy::{NpyError, parse, print};

#[test]
fn what_is_printed_parses_back() {
    let tensors = [
        Tensor::new([2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, -6.5]),
        Tensor::scalar(7i64),
        Tensor::vector_i64(&[]),
        Tensor::from_bools([2], &[true, false]),
    ];
    for tensor in tensors {
        let bytes = print(&tensor).expect("NumPy has the type");
        assert_eq!((bytes.len() - tensor.bytes().len()) % 64, 0);
        assert_eq!(parse(&bytes.into()), Ok(tensor));
    }
}

#[test]
fn garbage_is_refused() {
    let good = print(&Tensor::vector_i64(&[1, 2])).expect("NumPy has the type");
    for length in 0..good.len() {
        assert!(parse(&Bytes::copy_from_slice(&good[..length])).is_err());
    }
}

#[test]
fn elements_of_the_other_byte_order_are_read() {
    let mut bytes = print(&Tensor::new([3], &[1f32, -2.5, 7.0])).expect("NumPy has the type");
    let at = bytes.windows(3).position(|name| name == b"<f4").expect("the header names the type");
    bytes[at] = b'>';
    let start = bytes.len() - 12;
    bytes[start..].chunks_mut(4).for_each(<[u8]>::reverse);
    assert_eq!(parse(&bytes.into()), Ok(Tensor::new([3], &[1f32, -2.5, 7.0])));
}

#[test]
fn ranks_are_named() {
    let of = |rank: usize| parse(&print(&Tensor::new(vec![1; rank], &[1f32])).expect("NumPy has the type").into());
    assert_eq!(of(16).map(|tensor| tensor.shape().len()), Ok(16));
    assert_eq!(of(17), Err(NpyError::Rank(17)));
}
