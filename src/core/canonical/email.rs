//! Recognises e-mail addresses, which are never published.

/// Returns the length of the e-mail address at the start of the text.
pub fn length(text: &[char]) -> Option<usize> {
    let is_local = |c: &char| c.is_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let local = text.iter().take_while(|c| is_local(c)).count();
    let domain = text[local..]
        .iter()
        .skip(1)
        .take_while(|c| c.is_alphanumeric() || matches!(c, '.' | '-'))
        .count();
    let end = local + 1 + domain;
    let has_gap = text[..local].windows(2).any(|pair| pair == ['.', '.']);
    let is_address = !has_gap
        && text.first().is_some_and(|c| c.is_alphanumeric())
        && text.get(local) == Some(&'@')
        && text[local + 1..end].contains(&'.');
    is_address.then_some(end)
}

/// Returns whether the text contains an e-mail address.
pub fn is_in(text: &str) -> bool {
    // Fast path: few strings contain `@`.
    if !text.contains('@') {
        return false;
    }
    let characters: Vec<char> = text.chars().collect();
    let is_start = |place: usize| place == 0 || !characters[place - 1].is_alphanumeric();
    (0..characters.len()).any(|place| is_start(place) && length(&characters[place..]).is_some())
}

#[cfg(test)]
mod tests {
    use super::is_in;

    #[test]
    fn addresses_are_told_from_other_texts() {
        for text in [
            "BARONWORLDINC@GMAIL.COM",
            "C/O a.b-c@example.co.uk, FL 3",
            "mail:x@y.org",
        ] {
            assert!(is_in(text), "{text}");
        }
        for text in [
            "LEO@WEST 34 STREET",
            "residence @ 5,940 SF.",
            "12 MAIN ST",
            "@home",
            "",
        ] {
            assert!(!is_in(text), "{text}");
        }
    }
}
