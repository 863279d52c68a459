//! Searches sorted cells near an expected index.

/// Returns the index of the first cell for which `is_below` is false. Starts at `guess`, which must
/// not exceed the length, and doubles its steps, so a good guess needs few steps. The first step is
/// about the square root of the length, the typical error of a guess in randomly spread cells.
pub fn search_near<T>(cells: &[T], guess: usize, is_below: impl Fn(&T) -> bool) -> usize {
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
