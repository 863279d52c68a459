//! Generates pseudorandom numbers from a seed, so that a draw can be repeated. Not suitable for
//! secrets.

/// The SplitMix64 generator.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn from_seed(seed: u32) -> Self {
        Self(u64::from(seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`. `end` must not be 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        // The high half of the product is as uniformly distributed as 64 bits allow.
        ((u128::from(self.next()) * u128::from(end.max(1))) >> 64) as u64
    }

    /// Returns a random element.
    pub(super) fn one_of<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(usize::try_from(self.below(of.len() as u64)).unwrap_or_default())
    }

    pub(super) fn shuffle<T>(&mut self, of: &mut [T]) {
        for end in (1..of.len()).rev() {
            of.swap(
                end,
                usize::try_from(self.below(end as u64 + 1)).unwrap_or_default(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first SplitMix64 numbers for the seed 1234567, as printed by the authors' program.
    #[test]
    fn it_is_the_generator_that_it_says() {
        let mut random = Random::from_seed(1_234_567);
        assert_eq!(
            [random.next(), random.next(), random.next()],
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn every_number_below_is_drawn_and_none_beyond() {
        let mut random = Random::from_seed(1);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| random.below(7)).collect();
        assert_eq!(drawn, (0..7).collect());
        let mut cards: Vec<u32> = (0..52).collect();
        random.shuffle(&mut cards);
        assert_ne!(cards, (0..52).collect::<Vec<_>>());
        cards.sort_unstable();
        assert_eq!(cards, (0..52).collect::<Vec<_>>());
    }
}
