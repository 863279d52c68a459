//! Computes the bucket of a key or a registrant, and the bucket's name in paths. The result must
//! never change, because published parts are named after their bucket.

use super::{Cik, Digest};

/// Returns the bucket of a key: the first eight bytes of its SHA-256 as a number, modulo `count`.
/// The result must never change, because published parts are named after their bucket.
///
/// # Panics
/// When `count` is 0.
pub fn hash_bucket(key: &str, count: u32) -> u32 {
    let digest = Digest::sha256(key.as_bytes());
    let first = digest.as_bytes()[..8]
        .try_into()
        .expect("a digest has 32 bytes");
    u32::try_from(u64::from_be_bytes(first) % u64::from(count))
        .expect("less than a number of 32 bits")
}

/// Returns the bucket of a registrant: the last three digits of the CIK. Published parts are named
/// after it.
pub fn cik_bucket(cik: Cik) -> String {
    format!("{:03}", cik.number() % 1_000)
}

/// Returns the name of a bucket: the bucket number, zero-padded to the length of the highest
/// number.
pub fn bucket_name(bucket: u32, count: u32) -> String {
    let digits = count.saturating_sub(1).to_string().len();
    format!("{bucket:0digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrant_bucket_is_the_last_three_digits_of_its_number() {
        assert_eq!(
            [320_193, 1_750, 7].map(|number| cik_bucket(Cik::from_number(number).unwrap())),
            ["193", "750", "007"]
        );
    }

    #[test]
    fn buckets_are_those_of_the_digest() {
        // printf %s P23000021555 | sha256sum: 9a972c261de2bcf9…
        assert_eq!(hash_bucket("P23000021555", 64), 0x1de2_bcf9 % 64);
        assert_eq!(
            (hash_bucket("anything", 1), bucket_name(0, 1)),
            (0, "0".to_owned())
        );
        assert_eq!(
            (bucket_name(7, 64), bucket_name(7, 1000)),
            ("07".to_owned(), "007".to_owned())
        );
    }
}
