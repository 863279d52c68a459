//! Finds a name that is likely to be another spelling of a column name, or none if a wrong guess is
//! likely.

use strsim::normalized_damerau_levenshtein;

use super::normalized_name;

/// Minimum similarity of two words that count as misspellings or variants of each other.
const WORDS_ALIKE: f64 = 0.7;

/// Minimum similarity of two names that count as misspellings of each other, regardless of their
/// words.
const NAMES_ALIKE: f64 = 0.8;

/// Minimum share of common words for two names that may mean the same column.
const SHARE_IN_COMMON: f64 = 0.65;

/// Returns the candidate that is most likely to be another spelling of a column name: `PERMIT_NUM`
/// for `permit_number`. Returns `None` if no candidate is similar. Names with different words
/// (`expiration_date`, `creation_date`) or numbers (`address1`, `address2`) are not similar.
pub fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let name = normalized_name(name);
    let scored = candidates.iter().filter_map(|candidate| {
        let normalized = normalized_name(candidate);
        let likeness = likeness(&name, &normalized)?;
        Some((
            likeness,
            normalized_damerau_levenshtein(&name, &normalized),
            *candidate,
        ))
    });
    // Reversed because `max_by` returns the last of several equal scores, and the first candidate
    // is preferred.
    let scored: Vec<_> = scored.collect();
    scored
        .into_iter()
        .rev()
        .max_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)))
        .map(|(.., candidate)| candidate)
}

/// Adds the most similar known name to a TOML parser's message about an unknown name.
pub fn suggested(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let is_about_a_name = ["unknown field ", "unknown variant "]
        .iter()
        .any(|start| message.starts_with(start));
    match quoted
        .next()
        .filter(|_| is_about_a_name)
        .and_then(|name| nearest(name, &quoted.collect::<Vec<_>>()))
    {
        Some(candidate) => format!("{message}; did you mean `{candidate}`?"),
        None => message.to_owned(),
    }
}

/// Returns the similarity of two normalised names, which is 1 for equal names. Returns `None` if
/// the names most likely mean different columns.
fn likeness(one: &str, other: &str) -> Option<f64> {
    let digits = |name: &str| {
        name.chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
    };
    if one.is_empty()
        || other.is_empty()
        || (digits(one) != digits(other) && !digits(one).is_empty() && !digits(other).is_empty())
    {
        return None;
    }
    let joined = normalized_damerau_levenshtein(&one.replace('_', ""), &other.replace('_', ""));
    let by_words = words_in_common(
        &one.split('_').collect::<Vec<_>>(),
        &other.split('_').collect::<Vec<_>>(),
    )
    .filter(|share| *share >= SHARE_IN_COMMON);
    by_words
        .into_iter()
        .chain((joined >= NAMES_ALIKE).then_some(joined))
        .max_by(f64::total_cmp)
}

/// Returns the share of words in two names that have a counterpart in the other name. Returns
/// `None` if both names contain a word without a counterpart.
fn words_in_common(one: &[&str], other: &[&str]) -> Option<f64> {
    let mut left: Vec<&str> = other.to_vec();
    let mut common = 0.0;
    let mut alone = 0_usize;
    for word in one {
        let scored = left
            .iter()
            .enumerate()
            .map(|(place, candidate)| (place, word_likeness(word, candidate)));
        match scored
            .rev()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, likeness)| *likeness >= WORDS_ALIKE)
        {
            Some((place, likeness)) => {
                left.remove(place);
                common += likeness;
            }
            None => alone += 1,
        }
    }
    let words = u32::try_from(one.len() + other.len()).ok()?;
    (alone == 0 || left.is_empty()).then(|| 2.0 * common / f64::from(words))
}

/// Returns the similarity of two words. A word and its abbreviation (`num`, `number`; `desc`,
/// `description`) count as nearly equal.
fn word_likeness(one: &str, other: &str) -> f64 {
    let is_abbreviation =
        one.len().min(other.len()) >= 3 && (one.starts_with(other) || other.starts_with(one));
    if one != other && is_abbreviation {
        0.9
    } else {
        normalized_damerau_levenshtein(one, other)
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn another_spelling_of_a_name_is_found() {
        for (name, candidates, expected) in [
            (
                "PERMIT_NUM",
                &["status", "permit_number", "permit_type"][..],
                "permit_number",
            ),
            (
                "License Number",
                &["license_type", "licensenumber"],
                "licensenumber",
            ),
            ("issued", &["expired_date", "issued_date"], "issued_date"),
            ("ZIP", &["zip_code", "city"], "zip_code"),
            ("type_code", &["type", "typecode"], "typecode"),
            (
                "busines_name",
                &["business_name", "trade_name"],
                "business_name",
            ),
            (
                "contractor_address1",
                &["contractor_address2", "contractor_addr1"],
                "contractor_addr1",
            ),
            ("description", &["descr", "desc"], "descr"),
        ] {
            assert_eq!(nearest(name, candidates), Some(expected), "{name}");
        }
    }

    #[test]
    fn names_of_other_things_are_not_near() {
        for (name, candidates) in [
            ("permit_expiration_date", &["permit_creation_date"][..]),
            ("latitude", &["longitude"]),
            ("address1", &["address2"]),
            ("type_code", &["licenseprefix"]),
            ("permit", &["permit_contractor_name"]),
            ("status", &[]),
            ("", &["status", ""]),
        ] {
            assert_eq!(nearest(name, candidates), None, "{name}");
        }
    }
}
