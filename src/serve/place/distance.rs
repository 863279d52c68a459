//! Computes great-circle distances, and finds points within a radius in a list sorted by latitude.

/// Mean radius of the earth in statute miles.
const EARTH_RADIUS_MI: f64 = 3958.7613;

/// Coordinates of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub lat: f64,
    pub lon: f64,
    pub row: u32,
}

/// A point within the search radius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    pub row: u32,
    /// Distance in hundredths of a mile, rounded as it is shown and sorted.
    pub hundredths: u32,
}

/// Returns the distance between two points along the great circle (haversine).
///
/// # Units
/// Degrees in, statute miles out.
pub fn distance_mi(a: (f64, f64), b: (f64, f64)) -> f64 {
    distance_from(a, a.0.to_radians().cos(), b)
}

/// Computes the distance with a precomputed cosine of the first point's latitude.
fn distance_from((lat_a, lon_a): (f64, f64), cos_a: f64, (lat_b, lon_b): (f64, f64)) -> f64 {
    let half_chord = |degrees: f64| (degrees.to_radians() / 2.0).sin().powi(2);
    let h =
        half_chord(lat_b - lat_a) + cos_a * lat_b.to_radians().cos() * half_chord(lon_b - lon_a);
    2.0 * EARTH_RADIUS_MI * h.sqrt().min(1.0).asin()
}

/// Finds the points within a radius of `center`. `points` must ascend by latitude.
pub fn within(points: &[Point], center: (f64, f64), radius_mi: f64) -> Vec<Near> {
    // Slightly wider than exact, so that rounding never drops a point within the exact distance.
    let angle = radius_mi / EARTH_RADIUS_MI * (1.0 + 1e-9) + 1e-12;
    let (lat, lon) = center;
    let band = angle.to_degrees();
    let start = points.partition_point(|point| point.lat < lat - band);
    let end = points.partition_point(|point| point.lat <= lat + band);
    let widest = widest_longitude(lat, angle);
    let (mut near, cos) = (Vec::new(), lat.to_radians().cos());
    for point in &points[start..end] {
        let apart = (point.lon - lon).abs() % 360.0;
        if apart.min(360.0 - apart) > widest {
            continue;
        }
        let distance = distance_from(center, cos, (point.lat, point.lon));
        if distance <= radius_mi {
            near.push(Near {
                row: point.row,
                hundredths: (distance * 100.0).round() as u32,
            });
        }
    }
    near
}

/// Returns the largest difference in longitude, in degrees, that a point within `angle` (radians)
/// of a latitude can have. A cap that contains a pole has points at every longitude.
fn widest_longitude(lat: f64, angle: f64) -> f64 {
    let ratio = angle.sin() / lat.to_radians().cos();
    if lat.abs() + angle.to_degrees() >= 90.0 || ratio >= 1.0 {
        180.0
    } else {
        ratio.asin().to_degrees() * (1.0 + 1e-9) + 1e-9
    }
}

#[cfg(test)]
mod tests {
    use crate::place::distance::{Near, Point, distance_mi, within};
    use proptest::prelude::*;

    #[test]
    fn known_distances_come_out() {
        // A quarter of a great circle, and one degree of latitude.
        assert!((distance_mi((0.0, 0.0), (0.0, 90.0)) - 6_218.408).abs() < 0.001);
        assert!((distance_mi((34.0, -118.0), (35.0, -118.0)) - 69.093_4).abs() < 0.001);
        assert!(distance_mi((34.1, -118.4), (34.1, -118.4)).abs() < f64::EPSILON);
        // Across the antimeridian: Attu (Aleutians) lies west of 180°.
        assert!((distance_mi((52.0, 179.9), (52.0, -179.9)) - 8.507).abs() < 0.01);
    }

    fn coordinate() -> impl Strategy<Value = (f64, f64)> {
        let lat = prop_oneof![
            -90.0..90.0,
            85.0..90.0,
            -90.0..-88.0,
            Just(90.0),
            Just(-90.0),
            51.0..53.0
        ];
        let lon = prop_oneof![
            -180.0..180.0,
            179.0..180.0,
            -180.0..-179.0,
            Just(180.0),
            Just(-180.0)
        ];
        (lat, lon)
    }

    proptest! {
        #[test]
        fn search_finds_what_looking_at_every_point_finds(
            center in coordinate(),
            mut spots in prop::collection::vec(coordinate(), 0..200),
            offsets in prop::collection::vec((-1.5f64..1.5, -1.5f64..1.5), 0..50),
            radius in prop_oneof![0.1f64..100.0, Just(100.0), 0.1f64..1.0],
        ) {
            spots.extend(offsets.iter().map(|(lat, lon)| ((center.0 + lat).clamp(-90.0, 90.0), center.1 + lon)));
            spots.push(center);
            let mut points: Vec<Point> = spots.iter().enumerate().map(|(row, &(lat, lon))| Point { lat, lon, row: row as u32 }).collect();
            points.sort_by(|a, b| a.lat.total_cmp(&b.lat));
            let mut found: Vec<u32> = within(&points, center, radius).iter().map(|near: &Near| near.row).collect();
            let mut expected: Vec<u32> = (0..spots.len()).filter(|&row| distance_mi(center, spots[row]) <= radius).map(|row| row as u32).collect();
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
