//! Predicts when the disk will be full from the growth of the home.

/// Minimum number of runs and minimum time span in seconds. A trend over less data may be a
/// coincidence.
const MIN_RUNS: usize = 3;
const MIN_HISTORY_SECONDS: f64 = 2.0 * 86_400.0;

/// Maximum prediction horizon in seconds.
const MAX_PREDICTION_SECONDS: f64 = 10.0 * 365.0 * 86_400.0;

/// Predicts the time in seconds at which `free_bytes` will be used up, by fitting a least-squares
/// line through the sizes. Returns `None` if the home does not grow or if there are too few sizes.
/// Each size is a pair of seconds and bytes, oldest first.
pub(super) fn full_at(sizes: &[(i64, u64)], free_bytes: u64) -> Option<i64> {
    let ((first, _), (last, _)) = (*sizes.first()?, *sizes.last()?);
    if sizes.len() < MIN_RUNS || ((last - first) as f64) < MIN_HISTORY_SECONDS {
        return None;
    }
    let points: Vec<(f64, f64)> = sizes
        .iter()
        .map(|(second, bytes)| ((second - first) as f64, *bytes as f64))
        .collect();
    let count = points.len() as f64;
    let (mean_second, mean_bytes) = (
        points.iter().map(|point| point.0).sum::<f64>() / count,
        points.iter().map(|point| point.1).sum::<f64>() / count,
    );
    let covariance: f64 = points
        .iter()
        .map(|(second, bytes)| (second - mean_second) * (bytes - mean_bytes))
        .sum();
    let variance: f64 = points
        .iter()
        .map(|(second, _)| (second - mean_second).powi(2))
        .sum();
    let bytes_per_second = covariance / variance;
    let seconds = free_bytes as f64 / bytes_per_second;
    (bytes_per_second > 0.0 && seconds < MAX_PREDICTION_SECONDS).then(|| last + seconds as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    /// After a week of growth by one gigabyte per day, ten free gigabytes last ten days.
    #[test]
    fn evenly_growing_home_is_full_when_its_free_bytes_are_used() {
        let week: Vec<(i64, u64)> = (0..7)
            .map(|night| (night * DAY, 50_000_000_000 + night as u64 * 1_000_000_000))
            .collect();
        let full = full_at(&week, 10_000_000_000).unwrap();
        assert!((full - 16 * DAY).abs() < 60, "{full}");
    }

    #[test]
    fn too_few_nights_and_a_home_that_shrinks_foretell_nothing() {
        let growing: Vec<(i64, u64)> = (0..7)
            .map(|night| (night * DAY, 1_000 + night as u64))
            .collect();
        assert_eq!(full_at(&growing[..2], 10), None);
        assert_eq!(
            full_at(&[(0, 1), (60, 2), (120, 3)], 10),
            None,
            "three runs of one hour"
        );
        let shrinking: Vec<(i64, u64)> = (0..7)
            .map(|night| (night * DAY, 1_000 - night as u64))
            .collect();
        assert_eq!(full_at(&shrinking, 10), None);
        let still: Vec<(i64, u64)> = (0..7).map(|night| (night * DAY, 1_000)).collect();
        assert_eq!(full_at(&still, 10), None);
        assert_eq!(full_at(&growing, u64::MAX), None, "in a million years");
        assert_eq!(full_at(&[], 10), None);
    }
}
