//! Derives the meaning of a column's name from the words in the name. `PermitNum` and `permit_no`
//! are treated as the same name, and a name has a meaning only if all its words are known.

use pubdata_core::pipeline::normalized_name;

/// Words in column names with their variants. The first variant represents all of them.
const WORDS: &[&[&str]] = &[
    &["number", "num", "no", "nbr", "nr", "numb"],
    &["date", "dt", "day", "datetime"],
    &["description", "desc", "descr", "descript"],
    &["address", "addr", "adr"],
    &["type", "typ"],
    &["status", "stat"],
    &["value", "val", "valuation"],
    &["estimated", "est"],
    &["amount", "amt"],
    &["feet", "ft", "footage"],
    &["square", "sq"],
    &["latitude", "lat"],
    &["longitude", "lon", "lng", "long"],
    &["code", "cd"],
    &["zip", "postal"],
    &["issued", "issue", "issuance"],
    &["applied", "apply", "application"],
    &["completed", "complete", "completion"],
    &["final", "finaled", "finalized"],
    &["expires", "expire", "expired", "expiration", "exp"],
    &["contractor", "contractors"],
    &["category", "cat"],
    &["original", "orig"],
    &["street", "str"],
    &["current", "curr"],
    &["url", "hyperlink"],
    &["direction", "dir", "direct"],
    &["fee", "fees"],
    &["street", "st"],
];

/// Other words used in names, needed to split compound names.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "permit", "record", "case", "class", "mapped", "work", "job", "project", "cost", "total", "city", "state", "county", "site", "property", "location", "filed",
    "submitted", "received", "opened", "house", "name", "company", "business", "license", "parcel", "link", "sub", "construction", "declared", "council", "district",
    "dwelling", "housing", "paid", "full", "building", "floor", "area", "of", "the", "in", "raw", "pin", "apn", "id",
];

/// Splits a column's name into words: `AppliedDate`, `applied_date` and `application dt` all become
/// `applied`, `date`. Omits the names of objects that merely wrap a record's attributes.
pub(super) fn words(published: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(published.len() + 8);
    let mut before = ' ';
    for character in published.chars() {
        let is_hump = before.is_lowercase() && character.is_uppercase();
        let is_edge = before.is_alphabetic() != character.is_alphabetic()
            && before.is_alphanumeric()
            && character.is_alphanumeric();
        if is_hump || is_edge {
            spaced.push(' ');
        }
        spaced.push(character);
        before = character;
    }
    let normalized = normalized_name(&spaced);
    let mut parts: Vec<&str> = normalized
        .split('_')
        .filter(|part| !part.is_empty())
        .collect();
    if parts.len() > 1 && matches!(parts[0], "attributes" | "properties") {
        parts.remove(0);
    }
    parts
        .into_iter()
        .flat_map(split)
        .map(|word| full(&word).to_owned())
        .collect()
}

/// Returns a column's name in the normalised form used for comparisons.
pub(super) fn key(published: &str) -> String {
    words(published).concat()
}

fn full(word: &str) -> &str {
    WORDS
        .iter()
        .find(|forms| forms.contains(&word))
        .map_or(word, |forms| forms[0])
}

fn is_known(word: &str) -> bool {
    OTHERS.contains(&word) || WORDS.iter().any(|forms| forms.contains(&word))
}

/// Splits text into the smallest number of known words. Returns the text itself if it cannot be
/// split.
fn split(text: &str) -> Vec<String> {
    // The best split of each prefix of the text, indexed by the prefix length.
    let mut best: Vec<Option<Vec<String>>> = vec![None; text.len() + 1];
    best[0] = Some(Vec::new());
    for end in (1..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        for start in (0..end).filter(|start| text.is_char_boundary(*start)) {
            // Two letters count as a word only if they are the entire text.
            let is_word =
                (end - start > 2 || end - start == text.len()) && is_known(&text[start..end]);
            let Some(known) = best[start].as_ref().filter(|_| is_word) else {
                continue;
            };
            if best[end]
                .as_ref()
                .is_none_or(|other| other.len() > known.len() + 1)
            {
                let mut words = known.clone();
                words.push(text[start..end].to_owned());
                best[end] = Some(words);
            }
        }
    }
    best.pop()
        .flatten()
        .unwrap_or_else(|| vec![text.to_owned()])
}

/// Rule that maps a name to one of our columns. The name must contain one word of each group, and
/// no other words except those in `beside`.
struct Meaning {
    ours: &'static str,
    groups: &'static [&'static [&'static str]],
    beside: &'static [&'static str],
}

#[rustfmt::skip]
const MEANINGS: &[Meaning] = &[
    Meaning { ours: "permit_number", groups: &[&["permit", "record", "case"], &["number", "id"]], beside: &[] },
    Meaning { ours: "applied_date", groups: &[&["applied", "submitted", "filed", "received"]], beside: &["date", "permit", "on"] },
    Meaning { ours: "issued_date", groups: &[&["issued"]], beside: &["date", "permit", "on"] },
    Meaning { ours: "completed_date", groups: &[&["completed", "final"]], beside: &["date", "permit", "on"] },
    Meaning { ours: "expires_date", groups: &[&["expires"]], beside: &["date", "permit", "on"] },
    Meaning { ours: "status_date", groups: &[&["status"], &["date"]], beside: &["permit", "current"] },
    Meaning { ours: "status", groups: &[&["status"]], beside: &["permit", "current", "record", "description"] },
    Meaning { ours: "type", groups: &[&["type"]], beside: &["permit", "record", "description", "applied"] },
    Meaning { ours: "sub_type", groups: &[&["sub"], &["type"]], beside: &["permit"] },
    Meaning { ours: "sub_type", groups: &[&["subtype"]], beside: &["permit"] },
    Meaning { ours: "work_class", groups: &[&["work"], &["class", "type"]], beside: &["mapped"] },
    Meaning { ours: "property_class", groups: &[&["permit", "property"], &["class"], &["mapped"]], beside: &[] },
    Meaning { ours: "description", groups: &[&["description"]], beside: &["work", "permit", "job", "project", "of"] },
    Meaning { ours: "job_value", groups: &[&["value", "cost"]], beside: &["job", "project", "estimated", "declared", "construction", "permit", "total", "work"] },
    Meaning { ours: "fees", groups: &[&["fee"]], beside: &["total", "permit", "amount"] },
    Meaning { ours: "square_feet", groups: &[&["square"], &["feet"]], beside: &["total"] },
    Meaning { ours: "square_feet", groups: &[&["sqft"]], beside: &["total"] },
    Meaning { ours: "housing_units", groups: &[&["housing", "dwelling"], &["units"]], beside: &["number", "total", "of"] },
    Meaning { ours: "line1", groups: &[&["address"]], beside: &["street", "site", "property", "location", "permit", "project", "original", "full", "line", "1", "job"] },
    Meaning { ours: "city", groups: &[&["city"]], beside: &["original", "site", "name"] },
    Meaning { ours: "address_state", groups: &[&["state"]], beside: &["original", "site"] },
    Meaning { ours: "zip", groups: &[&["zip"]], beside: &["code", "original", "site"] },
    Meaning { ours: "lat", groups: &[&["latitude"]], beside: &[] },
    Meaning { ours: "lon", groups: &[&["longitude"]], beside: &[] },
    Meaning { ours: "link", groups: &[&["link", "url"]], beside: &["permit", "record"] },
    Meaning { ours: "predir", groups: &[&["direction", "predir", "predirection"]], beside: &["street", "pre", "house"] },
    Meaning { ours: "parcel", groups: &[&["parcel", "apn"]], beside: &["number", "id"] },
    Meaning { ours: "contractor_name", groups: &[&["contractor"]], beside: &["name"] },
    Meaning { ours: "contractor_business_name", groups: &[&["contractor"], &["company", "business"]], beside: &["name"] },
];

impl Meaning {
    fn is_of(&self, words: &[String]) -> bool {
        let is_in = |group: &[&str], word: &String| group.contains(&word.as_str());
        let has_all = self
            .groups
            .iter()
            .all(|group| words.iter().any(|word| is_in(group, word)));
        has_all
            && words.iter().all(|word| {
                is_in(self.beside, word) || self.groups.iter().any(|group| is_in(group, word))
            })
    }
}

/// Returns our column that the words of a name mean. Returns `None` if the words mean no column or
/// several columns.
pub(super) fn meaning(words: &[String]) -> Option<&'static str> {
    let mut found = MEANINGS
        .iter()
        .filter(|meaning| meaning.is_of(words))
        .map(|meaning| meaning.ours);
    found
        .next()
        .filter(|first| found.all(|other| other == *first))
}

/// Returns our columns whose own names have the columns as their meaning.
#[cfg(test)]
pub(super) fn self_named_columns() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = MEANINGS
        .iter()
        .map(|meaning| meaning.ours)
        .filter(|ours| meaning(&words(ours)) == Some(*ours))
        .collect();
    names.dedup();
    names
}

/// Returns true if a name contains one of the words that characterise our column.
pub(super) fn shares_word_with(words: &[String], ours: &str) -> bool {
    let of_ours = MEANINGS.iter().filter(|meaning| meaning.ours == ours);
    of_ours.flat_map(|meaning| meaning.groups).any(|group| {
        words
            .iter()
            .any(|word| group.contains(&word.as_str()) && word != "permit")
    })
}

/// Returns true if a name suggests that the column contains names or contact details of persons.
pub(super) fn may_be_of_a_person(words: &[String]) -> bool {
    const OF_PERSONS: &[&str] = &[
        "name",
        "owner",
        "applicant",
        "contact",
        "phone",
        "telephone",
        "fax",
        "email",
        "mail",
        "first",
        "last",
        "middle",
        "person",
        "tenant",
        "agent",
        "permittee",
        "contractor",
        "architect",
        "engineer",
        "inspector",
        "planner",
        "reviewer",
        "user",
        "by",
        "editor",
        "creator",
        "assigned",
        "manager",
        "professional",
    ];
    words.iter().any(|word| {
        OF_PERSONS
            .iter()
            .any(|known| word == known || (known.len() > 4 && word.starts_with(known)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_meaning_have_one_key() {
        for names in [
            &[
                "PermitNum",
                "permit_no",
                "PERMIT NUMBER",
                "permitnum",
                "attributes.PERMIT_NUMBER",
                "Permit Nr",
            ][..],
            &["AppliedDate", "applieddate", "application_date", "APPLY_DT"],
            &["OriginalAddress1", "originaladdress1", "original_address1"],
            &["CouncilDistrict", "council_district", "councildistrict"],
        ] {
            assert!(
                names.iter().all(|name| key(name) == key(names[0])),
                "{:?}",
                names.iter().map(|name| key(name)).collect::<Vec<_>>()
            );
        }
        assert_ne!(key("address1"), key("address2"));
        assert_eq!(words("estprojectcost"), ["estimated", "project", "cost"]);
        assert_eq!(words("neighborhood"), ["neighborhood"]);
    }

    #[test]
    fn column_name_is_recognised_only_if_all_its_words_match() {
        let of = |name: &str| meaning(&words(name));
        assert_eq!(of("Record Number"), Some("permit_number"));
        assert_eq!(of("Issue Dt"), Some("issued_date"));
        assert_eq!(of("STATUS_DATE"), Some("status_date"));
        assert_eq!(of("Dwelling Units"), Some("housing_units"));
        assert_eq!(of("STREET DIRECTION"), Some("predir"));
        assert_eq!(of("Permit Class Mapped"), Some("property_class"));
        for other in [
            "Master Permit Number",
            "Electrical Permit No",
            "Owner Address",
            "Mailing City",
            "Council District",
            "Status Planner",
            "Unit",
            "Fee Status",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn columns_of_persons_are_known_by_their_names() {
        for name in [
            "OWNER_NAME",
            "Applicant",
            "ContractorPhone",
            "e-mail",
            "Contact Email",
            "Permittee's Last Name",
            "EnteredBy",
            "created_by",
        ] {
            assert!(may_be_of_a_person(&words(name)), "{name}");
        }
        for name in [
            "Permit Number",
            "Status",
            "Issue Date",
            "Project Description",
        ] {
            assert!(!may_be_of_a_person(&words(name)), "{name}");
        }
    }
}
