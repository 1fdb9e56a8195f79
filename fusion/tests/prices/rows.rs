use crate::cycles;

/// The sums of eight rows of 4,608 products, whose axes have these extents.
fn sums(extents: &[usize]) -> f64 {
    let box_of = |extents: &[usize]| extents.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    let named = |name: &dyn Fn(usize) -> String| (0..extents.len()).map(name).collect::<Vec<_>>().join(", ");
    let axes = named(&|at| format!("a{}<{}", at + 1, extents[at]));
    let place = named(&|at| format!("a{}", at + 1));
    // Behind each line stands an element that is not read, so axes stay apart.
    let mut beyond = extents.to_vec();
    beyond[1..].iter_mut().for_each(|extent| *extent += 1);
    let program = format!(
        "t0: f32[8x{}] = input 0\nt1: f32[{}] = input 1\n\
        e0 (t0, t1) -> t2: f32[8] = [a0<8] sum[{axes}] mul(x0[a0, {place}], x1[{place}])\noutput t2\n",
        box_of(&beyond),
        box_of(extents)
    );
    cycles(&program, "row/warp tile 8")
}

#[test]
fn every_further_axis_along_a_row_is_a_division_a_trip() {
    let [two, three] = [sums(&[1536, 3]), sums(&[512, 3, 3])];
    let divisions = (4608 / 32) as f64;
    assert!((10.0 * divisions..20.0 * divisions).contains(&(three - two)), "{two}, and {three} with an axis more");
}

#[test]
fn elements_of_whole_inner_dimensions_are_neighbours() {
    let of = |dimensions: &str, place: &str| {
        let program = format!(
            "t0: f32[1056x2048] = input 0\nt1: f32[{dimensions}] = input 1\n\
            e0 (t0, t1) -> t2: f32[1056] = [a0<1056] sum[a1<2048] mul(x0[a0, a1], x1[{place}])\noutput t2\n"
        );
        cycles(&program, "row/warp tile 8")
    };
    let [line, column, apart] = [("2048", "a1"), ("1x2048x1x1", "0, a1, 0, 0"), ("2048x8", "a1, 0")]
        .map(|(dimensions, place)| of(dimensions, place));
    assert_eq!(line, column);
    assert!(apart > 1.3 * line, "{apart}, and {line} of neighbours");
}
