//! Generates words that are one edit away: a letter is missing, added or replaced, or two adjacent
//! letters are swapped.

/// Minimum length of a word; shorter words are similar to too many words with another meaning.
pub const SHORTEST: usize = 5;

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Calls `take` with every string that is one edit away from a word; some strings occur twice.
/// Skips short words and words with non-ASCII letters.
pub fn each_variant(word: &str, mut take: impl FnMut(&str)) {
    if word.len() < SHORTEST || !word.is_ascii() {
        return;
    }
    let mut take = |variant: &[u8]| {
        if variant != word.as_bytes() {
            take(std::str::from_utf8(variant).unwrap_or_default());
        }
    };
    // Moves a slot for one extra letter from the front to the end.
    let mut longer: Vec<u8> = [b"A", word.as_bytes()].concat();
    for place in 0..longer.len() {
        with_each_letter(&mut longer, place, &mut take);
        if place + 1 < longer.len() {
            longer.swap(place, place + 1);
        }
    }
    let mut same = word.as_bytes().to_vec();
    for place in 0..same.len() {
        with_each_letter(&mut same, place, &mut take);
        if place + 1 < same.len() {
            same.swap(place, place + 1);
            take(&same);
            same.swap(place, place + 1);
        }
    }
    let mut shorter = word.as_bytes()[1..].to_vec();
    for place in 0..=shorter.len() {
        take(&shorter);
        if let Some(letter) = shorter.get_mut(place) {
            *letter = word.as_bytes()[place];
        }
    }
}

/// Calls `take` with the word for each letter at one position, then restores the word.
fn with_each_letter(word: &mut [u8], place: usize, take: &mut impl FnMut(&[u8])) {
    let kept = word[place];
    for letter in LETTERS {
        word[place] = *letter;
        take(word);
    }
    word[place] = kept;
}

/// Returns true if two words are equal or one edit apart.
pub fn is_near(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() {
        (a.as_bytes(), b.as_bytes())
    } else {
        (b.as_bytes(), a.as_bytes())
    };
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    let (short, long) = (&short[same..], &long[same..]);
    match long.len() - short.len() {
        0 => {
            short.len() < 2
                || short[1..] == long[1..]
                || (short[0] == long[1] && short[1] == long[0] && short[2..] == long[2..])
        }
        1 => *short == long[1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::search::typo::{LETTERS, each_variant, is_near};

    fn variants(word: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        each_variant(word, |variant| _ = all.insert(variant.to_owned()));
        all
    }

    #[test]
    fn one_slip_is_near_and_two_are_not() {
        for near in [
            "MICROSOFT",
            "MICROSFT",
            "MICROSOFTT",
            "MICROSOFR",
            "MICORSOFT",
            "ICROSOFT",
            "MICROSOF",
        ] {
            assert!(
                is_near("MICROSOFT", near) && is_near(near, "MICROSOFT"),
                "{near}"
            );
        }
        for far in ["MICRSFT", "MCIORSOFT", "MICROSOFTTT", "MACROSOFTS", "SOFT"] {
            assert!(
                !is_near("MICROSOFT", far) && !is_near(far, "MICROSOFT"),
                "{far}"
            );
        }
    }

    #[test]
    fn variants_are_the_words_that_are_near() {
        let made = variants("ACMES");
        assert!(made.iter().all(|variant| is_near("ACMES", variant)) && !made.contains("ACMES"));
        for variant in [
            "CMES", "ACME", "CAMES", "ACMEZ", "ACME5", "XACMES", "ACMESX",
        ] {
            assert!(made.contains(variant), "{variant}");
        }
        assert!(variants("ACME").is_empty() && variants("ÄCMES").is_empty());
        // Insertions at six positions, replacements of each letter, swaps of adjacent letters (not
        // counted if another edit gives the same word), and deletions.
        let all = |length: usize| -> Vec<String> {
            let mut texts = vec![String::new()];
            for _ in 0..length {
                texts = texts
                    .iter()
                    .flat_map(|text| {
                        [b'A', b'B', b'C'].map(|letter| format!("{text}{}", char::from(letter)))
                    })
                    .collect();
            }
            texts
        };
        for word in ["ABABC", "AAAAA"] {
            let near: BTreeSet<String> = [4, 5, 6]
                .into_iter()
                .flat_map(all)
                .filter(|text| text != word && is_near(word, text))
                .collect();
            let made: BTreeSet<String> = variants(word)
                .into_iter()
                .filter(|text| text.bytes().all(|letter| b"ABC".contains(&letter)))
                .collect();
            assert_eq!(made, near, "{word}");
        }
        assert!(LETTERS.len() == 36);
    }
}
