//! Suggests the valid name for a mistyped name.

use std::collections::BTreeSet;

use strsim::levenshtein;

/// Longer names are truncated before they are compared.
const MAX_CHARACTERS: usize = 64;

/// Maximum number of listed candidates and of suggestions.
const MAX_LISTED: usize = 30;
const MAX_ALIKE: usize = 3;

/// Words that callers write, each with the valid name or value that has the same meaning. The hint
/// suggests that name or value if it is a valid candidate.
const MEANINGS: [(&str, &str); 36] = [
    ("age", "demographics"),
    ("category", "line_items"),
    ("company", "organization"),
    ("corporation", "organization"),
    ("count", "limit"),
    ("distance", "radius_mi"),
    ("food", "grocery"),
    ("households", "demographics"),
    ("inc", "corporation"),
    ("income", "demographics"),
    ("individual", "person"),
    ("license_type", "profession"),
    ("limited_liability_company", "llc"),
    ("llc", "organization"),
    ("median_age", "demographics"),
    ("median_gross_rent", "demographics"),
    ("median_home_value", "demographics"),
    ("median_household_income", "demographics"),
    ("medicine", "otc_drug"),
    ("medicine", "prescription_drug"),
    ("miles", "radius_mi"),
    ("offset", "cursor"),
    ("page", "cursor"),
    ("page_size", "limit"),
    ("per_page", "limit"),
    ("population", "demographics"),
    ("postal_code", "zip"),
    ("postal_code", "zips"),
    ("poverty_rate", "demographics"),
    ("query", "q"),
    ("type", "profession"),
    ("unemployment_rate", "demographics"),
    ("year", "fiscal_year"),
    ("year", "vintage"),
    ("zipcode", "zip"),
    ("zipcode", "zips"),
];

/// Returns the candidate with the smallest edit distance, ignoring case. The distance may be at
/// most one edit for every three characters.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: String = name
        .chars()
        .take(MAX_CHARACTERS)
        .collect::<String>()
        .to_ascii_lowercase();
    let limit = name.chars().count() / 3;
    let scored = candidates.into_iter().map(|candidate| {
        (
            levenshtein(&name, &candidate.to_ascii_lowercase()),
            candidate,
        )
    });
    scored
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= limit)
        .map(|(_, candidate)| candidate)
}

/// Writes the hint for an unknown name. The first of these rules that matches decides:
///
/// 1. names with the same words
/// 2. names with the same meaning, or names that share all words of the shorter one
/// 3. the nearest name
/// 4. names with the same last word (`_from`)
/// 5. all valid names
pub fn hint(name: &str, candidates: &[&str]) -> String {
    let name: String = name.chars().take(MAX_CHARACTERS).collect();
    let known = words(&name);
    let of = |is_alike: &dyn Fn(&str) -> bool| {
        let alike: Vec<String> = candidates
            .iter()
            .filter(|candidate| is_alike(candidate))
            .map(|candidate| format!("`{candidate}`"))
            .collect();
        (1..=MAX_ALIKE).contains(&alike.len()).then_some(alike)
    };
    let is_same = |candidate: &str| words(candidate) == known;
    let is_part = |candidate: &str| {
        let words = words(candidate);
        MEANINGS.contains(&(&*name.to_ascii_lowercase(), candidate))
            || words.is_subset(&known)
            || (!known.is_empty() && known.is_subset(&words))
    };
    let near = nearest(&name, candidates.iter().copied());
    let is_nearest = |candidate: &str| near == Some(candidate);
    let last_word = |name: &str| name.rsplit_once('_').map(|(_, word)| word.to_owned());
    let ends_alike =
        |candidate: &str| last_word(candidate).is_some_and(|word| last_word(&name) == Some(word));
    match of(&is_same)
        .or_else(|| of(&is_part))
        .or_else(|| of(&is_nearest))
        .or_else(|| of(&ends_alike))
    {
        Some(alike) => format!("did you mean {}?", alike.join(" or ")),
        None if candidates.is_empty() => "no name is valid here".to_owned(),
        None => {
            let more = candidates.len().saturating_sub(MAX_LISTED);
            let listed = candidates[..candidates.len() - more].join(", ");
            if more == 0 {
                format!("known: {listed}")
            } else {
                format!("known: {listed} and {more} more")
            }
        }
    }
}

/// Returns the words of a name, in lower case and in the singular.
fn words(name: &str) -> BTreeSet<String> {
    let words = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words
        .map(|word| word.to_ascii_lowercase().trim_end_matches('s').to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::http::nearest::{hint, nearest};

    #[test]
    fn nearest_name_is_found_and_distant_names_are_not() {
        let names = ["metrics", "vintage", "history"];
        assert_eq!(nearest("metric", names), Some("metrics"));
        assert_eq!(nearest("vintaeg", names), Some("vintage"));
        assert_eq!(nearest("q", names), None);
        assert_eq!(nearest("vin", names), None);
        assert_eq!(nearest("foo", ["pool", "roofing"]), None);
        assert_eq!(
            nearest("zpi", ["q", "zip"]),
            None,
            "two slips in three letters"
        );
        assert_eq!(nearest("metxyz", names), None, "three slips in six letters");
        assert_eq!(nearest("pol", ["solar", "pool"]), Some("pool"));
        assert_eq!(
            hint(
                "date_from",
                &["form", "filed_from", "filed_to", "period_from"]
            ),
            "did you mean `filed_from` or `period_from`?"
        );
        assert_eq!(
            hint("zzzzzzzzzz", &names),
            "known: metrics, vintage, history"
        );
        assert_eq!(hint("", &names), "known: metrics, vintage, history");
        assert!(hint("zzzzzzzzzz", &["name"; 40]).ends_with("name, name and 10 more"));
    }

    #[test]
    fn words_and_meanings_are_suggested_before_slips() {
        for (name, candidates, expected) in [
            (
                "radius",
                &["lat", "radius_mi", "q"][..],
                "did you mean `radius_mi`?",
            ),
            ("zip_codes", &["zips", "fields"], "did you mean `zips`?"),
            (
                "type",
                &["name", "status", "entity_type"],
                "did you mean `entity_type`?",
            ),
            (
                "type",
                &["name", "profession", "holder_type"],
                "did you mean `profession` or `holder_type`?",
            ),
            (
                "permit_type",
                &["permit_number", "type"],
                "did you mean `type`?",
            ),
            (
                "LLC",
                &["corporation", "llc", "professional_llc", "lp"],
                "did you mean `llc`?",
            ),
            (
                "llc",
                &["person", "organization"],
                "did you mean `organization`?",
            ),
            (
                "food",
                &["general", "food_drug", "grocery", "prepared_food"],
                "did you mean `food_drug` or `grocery` or `prepared_food`?",
            ),
            (
                "population",
                &["city", "demographics"],
                "did you mean `demographics`?",
            ),
            (
                "address_state",
                &["state", "origin_state"],
                "did you mean `state`?",
            ),
        ] {
            assert_eq!(hint(name, candidates), expected, "{name}");
        }
    }
}
