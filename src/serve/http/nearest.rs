//! Finds the valid name that a mistyped one probably meant.

use strsim::levenshtein;

/// Longer names are compared by their beginnings.
const MAX_CHARACTERS: usize = 64;

/// The most candidates that are listed, and of those with the same last word.
const MAX_LISTED: usize = 30;
const MAX_ALIKE: usize = 3;

/// Returns the candidate with the smallest edit distance, when it is near enough to be meant: one slip in three letters.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: String = name.chars().take(MAX_CHARACTERS).collect();
    let limit = name.chars().count() / 3;
    let scored = candidates.into_iter().map(|candidate| (levenshtein(&name, candidate), candidate));
    scored.min_by_key(|(distance, _)| *distance).filter(|(distance, _)| *distance <= limit).map(|(_, candidate)| candidate)
}

/// Writes the hint of an unknown name: the nearest valid one, else those with the same last word (`_from`), else all of them.
pub fn hint(name: &str, candidates: &[&str]) -> String {
    let last_word = |name: &str| name.rsplit_once('_').map(|(_, word)| word.to_owned());
    let alike: Vec<String> =
        candidates.iter().filter(|candidate| last_word(candidate).is_some_and(|word| last_word(name) == Some(word))).map(|name| format!("`{name}`")).collect();
    match nearest(name, candidates.iter().copied()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None if candidates.is_empty() => "none is known here".to_owned(),
        None if (1..=MAX_ALIKE).contains(&alike.len()) => format!("did you mean {}?", alike.join(" or ")),
        None => {
            let more = candidates.len().saturating_sub(MAX_LISTED);
            let listed = candidates[..candidates.len() - more].join(", ");
            if more == 0 { format!("known: {listed}") } else { format!("known: {listed} and {more} more") }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::http::nearest::{hint, nearest};

    #[test]
    fn nearest_name_is_found_and_strangers_are_not() {
        let names = ["metrics", "vintage", "history"];
        assert_eq!(nearest("metric", names), Some("metrics"));
        assert_eq!(nearest("vintaeg", names), Some("vintage"));
        assert_eq!(nearest("q", names), None);
        assert_eq!(nearest("vin", names), None);
        assert_eq!(nearest("foo", ["pool", "roofing"]), None);
        assert_eq!(nearest("zpi", ["q", "zip"]), None, "two slips in three letters");
        assert_eq!(nearest("metxyz", names), None, "three slips in six letters");
        assert_eq!(nearest("pol", ["solar", "pool"]), Some("pool"));
        assert_eq!(hint("date_from", &["form", "filed_from", "filed_to", "period_from"]), "did you mean `filed_from` or `period_from`?");
        assert_eq!(hint("zzzzzzzzzz", &names), "known: metrics, vintage, history");
        assert!(hint("zzzzzzzzzz", &["name"; 40]).ends_with("name, name and 10 more"));
    }
}
