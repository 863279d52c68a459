//! Words that are one slip away: a letter too few, too many, another one, or two neighbours swapped.

/// Shorter words have too many neighbours that mean something else.
pub const SHORTEST: usize = 5;

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// All texts one slip away from a word; none for a short one, or one with other letters.
pub fn variants(word: &str) -> Vec<String> {
    let letters = word.as_bytes();
    if letters.len() < SHORTEST || !letters.iter().all(u8::is_ascii) {
        return Vec::new();
    }
    let mut made = Vec::new();
    for place in 0..=letters.len() {
        let (before, after) = letters.split_at(place);
        made.extend(LETTERS.iter().map(|letter| [before, &[*letter], after].concat()));
        if let [letter, rest @ ..] = after {
            made.push([before, rest].concat());
            made.extend(LETTERS.iter().filter(|other| *other != letter).map(|other| [before, &[*other], rest].concat()));
        }
        if let [first, second, rest @ ..] = after {
            made.push([before, &[*second, *first], rest].concat());
        }
    }
    made.sort_unstable();
    made.dedup();
    made.retain(|variant| variant != letters);
    made.into_iter().filter_map(|variant| String::from_utf8(variant).ok()).collect()
}

/// Whether two words are equal or one slip apart.
pub fn is_near(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a.as_bytes(), b.as_bytes()) } else { (b.as_bytes(), a.as_bytes()) };
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    let (short, long) = (&short[same..], &long[same..]);
    match long.len() - short.len() {
        0 => short.len() < 2 || short[1..] == long[1..] || (short[0] == long[1] && short[1] == long[0] && short[2..] == long[2..]),
        1 => *short == long[1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::serve::search::typo::{is_near, variants};

    #[test]
    fn one_slip_is_near_and_two_are_not() {
        for near in ["MICROSOFT", "MICROSFT", "MICROSOFTT", "MICROSOFR", "MICORSOFT", "ICROSOFT", "MICROSOF"] {
            assert!(is_near("MICROSOFT", near) && is_near(near, "MICROSOFT"), "{near}");
        }
        for far in ["MICRSFT", "MCIORSOFT", "MICROSOFTTT", "MACROSOFTS", "SOFT"] {
            assert!(!is_near("MICROSOFT", far) && !is_near(far, "MICROSOFT"), "{far}");
        }
    }

    #[test]
    fn variants_are_the_words_that_are_near() {
        let made = variants("ACMES");
        assert!(made.iter().all(|variant| is_near("ACMES", variant)) && !made.contains(&"ACMES".to_owned()));
        for variant in ["CMES", "ACME", "CAMES", "ACMEZ", "ACME5", "XACMES", "ACMESX"] {
            assert!(made.contains(&variant.to_owned()), "{variant}");
        }
        assert!(variants("ACME").is_empty());
    }
}
