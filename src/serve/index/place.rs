//! Finds places in sorted cells near where they should be.

/// Place of the first cell that is not below what is looked for, from a guess that is not behind
/// the end: in steps that double, so that a good guess costs few. The first is about as long as a
/// guess is wrong where cells are spread at random: as the square root of their number.
pub fn place_near<T>(cells: &[T], guess: usize, is_below: impl Fn(&T) -> bool) -> usize {
    let (before, after) = cells.split_at(guess);
    let mut step = 1 << (cells.len() | 16).ilog2().div_ceil(2) >> 2;
    if before.last().is_some_and(|last| !is_below(last)) {
        while step <= before.len() && !is_below(&before[before.len() - step]) {
            step *= 2;
        }
        let from = before.len().saturating_sub(step);
        return from + before[from..].partition_point(is_below);
    }
    let mut from = 0;
    while step <= after.len() && is_below(&after[step - 1]) {
        (from, step) = (step, step * 2);
    }
    guess + from + after[from..after.len().min(step)].partition_point(is_below)
}
