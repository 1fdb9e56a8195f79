//! Greedy suppression: what stays of a row suppresses what comes after it.

/// Most places of a row: of each, a block of a device keeps in shared memory whether it stays.
pub const LONGEST_ROW: usize = 1 << 18;

/// Which places of a row stay, looked at one after another. A place stays unless it suppresses itself, as `itself`
/// says, or a place before it that stays suppresses it. It does not stay either if `most` have stayed already. `by`
/// gives for a place that stays, whether it suppresses each place of the row.
///
/// # Errors
/// Those of `by`.
pub fn staying<E>(
    itself: &[bool],
    most: u64,
    mut by: impl FnMut(usize) -> Result<Vec<bool>, E>,
) -> Result<Vec<bool>, E> {
    let mut gone = itself.to_vec();
    let mut stays = vec![false; itself.len()];
    let mut left = most;
    for place in 0..itself.len() {
        if left == 0 {
            break;
        }
        if gone[place] {
            continue;
        }
        stays[place] = true;
        left -= 1;
        for (gone, suppressed) in gone.iter_mut().zip(by(place)?).skip(place + 1) {
            *gone |= suppressed;
        }
    }
    Ok(stays)
}
