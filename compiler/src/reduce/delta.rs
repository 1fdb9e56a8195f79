//! Minimising a list: the algorithm `ddmin`.

/// A part of `all` for which `fails` holds and stops to hold without any one of its items; `fails` is taken to hold for `all`.
/// The order is kept.
pub fn smallest_failing<T: Copy, E>(all: &[T], fails: &mut dyn FnMut(&[T]) -> Result<bool, E>) -> Result<Vec<T>, E> {
    let mut kept = all.to_vec();
    let mut parts = 2;
    while kept.len() >= 2 {
        let length = kept.len().div_ceil(parts);
        match smaller(&kept, length, fails)? {
            Some((found, is_complement)) => {
                kept = found;
                parts = if is_complement { (parts - 1).max(2) } else { 2 };
            }
            None if length == 1 => break,
            None => parts = (parts * 2).min(kept.len()),
        }
    }
    Ok(kept)
}

/// A chunk of this length that fails alone, or what fails without one, and whether it is that.
fn smaller<T: Copy, E>(
    kept: &[T],
    length: usize,
    fails: &mut dyn FnMut(&[T]) -> Result<bool, E>,
) -> Result<Option<(Vec<T>, bool)>, E> {
    for chunk in kept.chunks(length) {
        if fails(chunk)? {
            return Ok(Some((chunk.to_vec(), false)));
        }
    }
    let chunks = kept.chunks(length).count();
    // The complement of one of two chunks is the other.
    for left_out in (0..chunks).filter(|_| chunks > 2) {
        let chosen = kept.chunks(length).enumerate().filter(|(at, _)| *at != left_out);
        let rest: Vec<T> = chosen.flat_map(|(_, chunk)| chunk.iter().copied()).collect();
        if fails(&rest)? {
            return Ok(Some((rest, true)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::smallest_failing;

    #[test]
    fn what_is_needed_together_is_kept_and_nothing_else() {
        let all: Vec<u32> = (0..100).collect();
        for needed in [&[17][..], &[3, 96], &[0, 50, 51, 99]] {
            let mut fails = |part: &[u32]| Ok::<_, Infallible>(needed.iter().all(|item| part.contains(item)));
            assert_eq!(smallest_failing(&all, &mut fails), Ok(needed.to_vec()));
        }
    }
}
