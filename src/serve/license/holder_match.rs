//! Compares a name with the names of a license's holder.

use schemars::JsonSchema;
use serde::Serialize;

use super::datasets::License;
use super::record::person_of;
use super::table::person_name;
use crate::release::rows::Record;
use crate::search::query::person_words;
use pubdata_core::canonical::name::{Forms, searched};

/// Result of comparing a name with a holder's names, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "VerificationNameMatch")]
pub enum HolderMatch {
    Exact,
    Partial,
    None,
}

/// Compares a name with all names of a holder, and returns the best result.
pub fn name_match(query: &str, license: &Record<'_, License>) -> HolderMatch {
    let names = ["holder_name", "business_name", "dba"]
        .into_iter()
        .filter_map(|column| license.text(column))
        .chain(license.texts("principals"));
    let person = person_name(person_of(license));
    names
        .chain(person.as_deref())
        .map(|name| compare(query, name))
        .min()
        .unwrap_or(HolderMatch::None)
}

/// Compares two names. They match exactly if they differ only in legal form and word order. They
/// match partially if one name contains all words of the other; an initial matches a name.
fn compare(query: &str, name: &str) -> HolderMatch {
    let sorted = |text: &str| {
        let mut words = person_words(text);
        words.sort_unstable();
        words
    };
    let (query_core, core) = (
        searched(query, Forms::OfStates).core,
        searched(name, Forms::OfStates).core,
    );
    let (a, b) = (sorted(query), sorted(name));
    if (!core.is_empty() && query_core == core) || a == b {
        return HolderMatch::Exact;
    }
    let is_same = |a: &str, b: &str| {
        a == b || a.len() == 1 && b.starts_with(a) || b.len() == 1 && a.starts_with(b)
    };
    let is_part = |short: &[String], long: &[String]| {
        let all = short
            .iter()
            .all(|word| long.iter().any(|known| is_same(word, known)));
        // Initials alone would match half of all names.
        !short.is_empty()
            && all
            && short
                .iter()
                .any(|word| word.len() > 1 && long.contains(word))
    };
    let (a, b) = (sorted(&query_core), sorted(&core));
    if is_part(&a, &b) || is_part(&b, &a) {
        HolderMatch::Partial
    } else {
        HolderMatch::None
    }
}

#[cfg(test)]
mod tests {
    use super::{HolderMatch, compare};

    #[test]
    fn names_compare_by_words_in_any_order() {
        let cases = [
            ("John Smith", "SMITH, JOHN", HolderMatch::Exact),
            ("Acme Widgets", "ACME WIDGETS, LLC", HolderMatch::Exact),
            ("smith", "SMITH, JOHN", HolderMatch::Partial),
            ("J. Smith", "SMITH, JOHN", HolderMatch::Partial),
            ("John A Smith", "SMITH, JOHN", HolderMatch::Partial),
            ("Acme", "ACME WIDGETS LLC", HolderMatch::Partial),
            ("Juan", "JUAN SA", HolderMatch::Partial),
            ("J", "SMITH, JOHN", HolderMatch::None),
            ("Jane Smith", "SMITH, JOHN", HolderMatch::None),
        ];
        for (query, name, expected) in cases {
            assert_eq!(compare(query, name), expected, "{query} / {name}");
        }
    }
}
