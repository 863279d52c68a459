//! Splits and normalises the names of organisations and people, so that equal names become equal
//! strings.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::{is_apostrophe, upper};

/// Business name, normalised for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationName {
    /// The full name with the designator in its short form: `ACME WIDGETS LLC`.
    pub normalized: String,
    /// The name without the designator: `ACME WIDGETS`.
    pub core: String,
    /// `LLC`, `INC`, …; `None` if the name has no designator.
    pub designator: Option<&'static str>,
}

/// Parts of a person's name, as written; missing parts are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Person {
    pub first: String,
    pub middle: String,
    pub last: String,
    pub suffix: String,
}

impl Person {
    /// Returns the name in spoken order: `GEROLD J TESTON II`.
    pub fn in_order(&self) -> String {
        let parts = [&self.first, &self.middle, &self.last, &self.suffix];
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Word order of a personal name that has no comma.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// `SAMPON LENA R`
    LastFirst,
    /// `GEROLD J TESTON II`
    FirstLast,
    /// Fixed columns: 20 characters for the last name, 14 for the first name, then initials:
    /// `VALENCIA            KATHERINE A`
    Columns,
}

/// Legal form in the name of an organisation.
struct LegalForm {
    short: &'static str,
    /// Spellings of the legal form, longest first.
    spellings: &'static [&'static str],
    /// True if state registries use this form. A word like `SA` or `SE` is just as likely to be
    /// part of a personal name. Such forms count only when searching for company names.
    is_domestic: bool,
}

const fn domestic(short: &'static str, spellings: &'static [&'static str]) -> LegalForm {
    LegalForm {
        short,
        spellings,
        is_domestic: true,
    }
}

const fn foreign(short: &'static str, spellings: &'static [&'static str]) -> LegalForm {
    LegalForm {
        short,
        spellings,
        is_domestic: false,
    }
}

/// Legal forms, longest first.
const LEGAL_FORMS: &[LegalForm] = &[
    domestic("LLLP", &["LIMITED LIABILITY LIMITED PARTNERSHIP", "LLLP"]),
    domestic(
        "PLLC",
        &[
            "PROFESSIONAL LIMITED LIABILITY COMPANY",
            "PROFESSIONAL LIMITED LIABILITY CO",
            "PLLC",
        ],
    ),
    domestic("LLP", &["LIMITED LIABILITY PARTNERSHIP", "LLP"]),
    domestic(
        "LLC",
        &[
            "LIMITED LIABILITY COMPANY",
            "LIMITED LIABILITY CO",
            "LTD LIABILITY COMPANY",
            "LTD LIABILITY CO",
            "LLC",
        ],
    ),
    domestic("LP", &["LIMITED PARTNERSHIP", "LP"]),
    domestic("LC", &["LIMITED COMPANY", "LC"]),
    domestic("PC", &["PROFESSIONAL CORPORATION", "PC"]),
    domestic("PA", &["PROFESSIONAL ASSOCIATION", "PA"]),
    domestic("NA", &["NATIONAL ASSOCIATION", "NA"]),
    domestic("PLC", &["PUBLIC LIMITED COMPANY", "PLC"]),
    domestic("INC", &["INCORPORATED", "INC"]),
    domestic("CORP", &["CORPORATION", "CORP"]),
    domestic("CO", &["COMPANY", "CO"]),
    domestic("LTD", &["LIMITED", "LTD"]),
    domestic("TRUST", &["TRUST"]),
    foreign("AB", &["AB"]),
    foreign("AG", &["AG"]),
    foreign("ASA", &["ASA"]),
    foreign("BV", &["BV"]),
    foreign("GMBH", &["GMBH"]),
    foreign("KK", &["KK"]),
    foreign("NV", &["NV"]),
    foreign("OYJ", &["OYJ"]),
    foreign("PTE", &["PTE"]),
    foreign("PTY", &["PTY"]),
    foreign("SA", &["SA"]),
    foreign("SE", &["SE"]),
    foreign("SPA", &["SPA"]),
];

/// Status words that registries append to the name of a dissolved or inactive entity.
const STATUS_WORDS: &[&str] = &[
    "DISSOLVED",
    "DELINQUENT",
    "WITHDRAWN",
    "MERGED",
    "CONVERTED",
    "REVOKED",
    "EXPIRED",
    "CANCELLED",
    "CANCELED",
    "SUSPENDED",
    "NONCOMPLIANT",
    "RELINQUISHED",
];

const MONTHS: &[&str] = &[
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
];

/// `I` and `V` are not included, because they are initials far more often than numerals.
const SUFFIXES: &[&str] = &["JR", "SR", "II", "III", "IV", "2ND", "3RD", "4TH", "ESQ"];

/// Normalises a business name for comparison: converts it to upper case, writes `&` as `AND`, and
/// removes punctuation and a leading `THE`. Joins single letters (`L L C`) and shortens the
/// designator at the end.
pub fn organization(text: &str) -> OrganizationName {
    let mut words = joined_letters(plain_words(&upper(split_status(text).0)));
    if words.len() > 1 && words[0] == "THE" {
        words.remove(0);
    }
    let Some((designator, length)) = trailing_designator(&words) else {
        let name = words.join(" ");
        return OrganizationName {
            normalized: name.clone(),
            core: name,
            designator: None,
        };
    };
    words.truncate(words.len() - length);
    // `WOOD CONSTRUCTION COMPANY, INC.` and `WOOD CONSTRUCTION CO INC` become equal: designators
    // before the last one are shortened but kept.
    if let Some((inner, length)) = trailing_designator(&words) {
        words.truncate(words.len() - length);
        words.push(inner.to_owned());
    }
    let core = words.join(" ");
    OrganizationName {
        normalized: format!("{core} {designator}"),
        core,
        designator: Some(designator),
    }
}

/// Splits off the status that a registry appends to the name of a dissolved entity: `("ACME, INC.",
/// Some("Dissolved July 1, 2010"))`.
pub fn split_status(text: &str) -> (&str, Option<&str>) {
    for (comma, _) in text.match_indices(',') {
        let status = text[comma + 1..].trim();
        let mut words = status
            .split_whitespace()
            .map(|word| word.trim_matches(',').to_uppercase());
        let is_status = words
            .next()
            .is_some_and(|word| STATUS_WORDS.contains(&word.as_str()))
            && words
                .next()
                .is_some_and(|word| MONTHS.contains(&word.as_str()))
            && words.all(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        if is_status {
            return (text[..comma].trim(), Some(status));
        }
    }
    (text.trim(), None)
}

/// Splits a person's name; returns `None` if it contains no letters. A comma always ends the last
/// name; without a comma, `order` decides.
pub fn person(text: &str, order: Order) -> Option<Person> {
    if !text.chars().any(char::is_alphabetic) {
        return None;
    }
    if order == Order::Columns {
        let characters: Vec<char> = text.chars().collect();
        let column = |from: usize, to: usize| -> String {
            characters[from.min(characters.len())..to.min(characters.len())]
                .iter()
                .collect()
        };
        let given = format!("{} {}", column(20, 34), column(34, usize::MAX));
        return Some(assemble(&column(0, 20), &given));
    }
    if let Some((last, given)) = text.split_once(',') {
        return Some(assemble(last, given));
    }
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if words.len() == 1 {
        return Some(assemble(words[0], ""));
    }
    if order == Order::LastFirst {
        let last = if words.len() > 2 && is_suffix(words[1]) {
            words.drain(..2).collect::<Vec<_>>().join(" ")
        } else {
            words.remove(0).to_owned()
        };
        return Some(assemble(&last, &words.join(" ")));
    }
    let suffix = words.pop_if(|word| is_suffix(word)).unwrap_or_default();
    let last = words.pop().unwrap_or_default();
    Some(assemble(&format!("{last} {suffix}"), &words.join(" ")))
}

/// Returns the words of a name for search, normalised as by [`organization`] and without accents.
/// Removes no words; joins only single letters.
pub fn words(text: &str) -> Vec<String> {
    let upper = match text.is_ascii() {
        true => upper(text),
        false => upper(
            &text
                .nfkd()
                .filter(|c| !is_combining_mark(*c))
                .collect::<String>(),
        ),
    };
    // Letters that do not decompose into a base letter and a combining mark.
    let plain = if upper.is_ascii() {
        upper
    } else {
        upper
            .replace('Æ', "AE")
            .replace('Œ', "OE")
            .replace('Ø', "O")
            .replace('Ł', "L")
            .replace('Đ', "D")
    };
    joined_letters(plain_words(&plain))
}

/// Returns the words of a short name, such as a city name, as a single string for comparison.
pub fn comparable(text: &str) -> String {
    words(text).join(" ")
}

/// Name in the form used to compare queries with published names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchedName {
    /// The words of the name without legal forms.
    pub core: String,
    /// The legal forms at the end of the name, shortened, such as `CO INC`; empty if there are
    /// none.
    pub form: String,
}

/// Which words at the end of a name count as legal forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Forms {
    /// Only the forms that state registries use, for names that may belong to people.
    #[default]
    OfStates,
    OfAnyCountry,
}

/// Returns the search form of a name: its [`words`] without a leading `THE`, and separately all
/// legal forms at the end. A name that consists only of legal forms keeps its first word.
pub fn searched(text: &str, forms: Forms) -> SearchedName {
    let mut words = words(split_status(text).0);
    if words.len() > 1 && words[0] == "THE" {
        words.remove(0);
    }
    let mut found: Vec<&str> = Vec::new();
    while let Some((form, length)) = trailing_form(&words, |form| {
        form.is_domestic || forms == Forms::OfAnyCountry
    }) {
        found.insert(0, form);
        words.truncate(words.len() - length);
    }
    // A trailing `AND` is left over after legal forms are removed: `Procter & Gamble & Co`.
    while words.len() > 1 && !found.is_empty() && words.last().is_some_and(|word| word == "AND") {
        words.pop();
    }
    SearchedName {
        core: words.join(" "),
        form: found.join(" "),
    }
}

/// Returns whether a word is a legal form in any spelling.
pub fn is_legal_form(word: &str) -> bool {
    LEGAL_FORMS
        .iter()
        .any(|form| form.spellings.contains(&word))
}

/// Returns whether a word is a prefix of a legal form in any spelling.
pub fn begins_legal_form(word: &str, short: &str) -> bool {
    LEGAL_FORMS.iter().any(|form| {
        form.short == short
            && form
                .spellings
                .iter()
                .any(|spelling| spelling.starts_with(word))
    })
}

/// Builds a person's name from the last and given names, removing a suffix from either.
fn assemble(last: &str, given: &str) -> Person {
    let mut suffix = "";
    let mut last: Vec<&str> = last.split_whitespace().collect();
    let mut given: Vec<&str> = given
        .split([' ', '\t', ','])
        .filter(|word| !word.is_empty())
        .collect();
    for words in [&mut last, &mut given] {
        if words.len() > 1 || (words.len() == 1 && suffix.is_empty()) {
            let keep = usize::from(!suffix.is_empty());
            if words.len() > keep && words.last().is_some_and(|word| is_suffix(word)) {
                suffix = words.pop().unwrap_or_default();
            }
        }
    }
    let middle = if given.is_empty() {
        String::new()
    } else {
        given[1..].join(" ")
    };
    Person {
        first: given.first().copied().unwrap_or_default().to_owned(),
        middle,
        last: last.join(" "),
        suffix: suffix.trim_end_matches('.').to_owned(),
    }
}

fn is_suffix(word: &str) -> bool {
    let word = word.trim_end_matches('.').to_uppercase();
    SUFFIXES.contains(&word.as_str())
}

/// Splits text into words of letters and digits. `&` becomes the word `AND`, and an apostrophe
/// leaves no gap.
fn plain_words(upper: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(upper.len());
    for c in upper.chars() {
        match c {
            '&' => spaced.push_str(" AND "),
            c if is_apostrophe(c) => {}
            c if c.is_alphanumeric() || is_combining_mark(c) => spaced.push(c),
            _ => spaced.push(' '),
        }
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// Joins single letters: `L L C` becomes `LLC`, `J V` becomes `JV`.
fn joined_letters(words: Vec<String>) -> Vec<String> {
    let is_letter = |word: &str| word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let mut joined: Vec<String> = Vec::with_capacity(words.len());
    let mut open = false;
    for word in words {
        let letter = is_letter(&word);
        match joined.last_mut() {
            Some(last) if letter && open => last.push_str(&word),
            _ => joined.push(word),
        }
        open = letter;
    }
    joined
}

/// Returns the designator at the end of a name and how many words it has. A name that consists only
/// of a designator keeps it as the name.
fn trailing_designator(words: &[String]) -> Option<(&'static str, usize)> {
    trailing_form(words, |form| form.is_domestic)
}

fn trailing_form(
    words: &[String],
    counts: impl Fn(&LegalForm) -> bool,
) -> Option<(&'static str, usize)> {
    let last = words.last()?;
    LEGAL_FORMS
        .iter()
        .filter(|form| counts(form))
        .find_map(|form| {
            form.spellings
                .iter()
                .filter(|spelling| spelling.ends_with(last.as_str()))
                .find_map(|spelling| {
                    let length = spelling.split(' ').count();
                    let ends = words.len() > length
                        && spelling
                            .split(' ')
                            .eq(words[words.len() - length..].iter().map(String::as_str));
                    ends.then_some((form.short, length))
                })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, order: Order) -> [String; 4] {
        let person = person(text, order).unwrap();
        [person.first, person.middle, person.last, person.suffix]
    }

    /// Real names from CSLB, TDLR, DCWP, Sunbiz, NYC and Chicago permit rows.
    #[test]
    fn organizations() {
        let cases = [
            (
                "ACE 1 ENTERPRISES LLC",
                "ACE 1 ENTERPRISES LLC",
                "ACE 1 ENTERPRISES",
                Some("LLC"),
            ),
            (
                "NADIA DUMMWOOD CONTRACTOR",
                "NADIA DUMMWOOD CONTRACTOR",
                "NADIA DUMMWOOD CONTRACTOR",
                None,
            ),
            (
                "ADJUSTABLE FORMS, INC.",
                "ADJUSTABLE FORMS INC",
                "ADJUSTABLE FORMS",
                Some("INC"),
            ),
            (
                "435 WEST 50TH STREET LLC",
                "435 WEST 50TH STREET LLC",
                "435 WEST 50TH STREET",
                Some("LLC"),
            ),
            ("WIDGETS L L C", "WIDGETS LLC", "WIDGETS", Some("LLC")),
            ("Widgets L.L.C.", "WIDGETS LLC", "WIDGETS", Some("LLC")),
            (
                "LIGHTBOURNE'S IMPORTS LLC",
                "LIGHTBOURNES IMPORTS LLC",
                "LIGHTBOURNES IMPORTS",
                Some("LLC"),
            ),
            (
                "Lightbourne\u{2019}s Imports, LLC",
                "LIGHTBOURNES IMPORTS LLC",
                "LIGHTBOURNES IMPORTS",
                Some("LLC"),
            ),
            (
                "E&E CONSTRUCTION AND CLEANING LLC",
                "E AND E CONSTRUCTION AND CLEANING LLC",
                "E AND E CONSTRUCTION AND CLEANING",
                Some("LLC"),
            ),
            (
                "R.A.P CONSULTING LLC",
                "RAP CONSULTING LLC",
                "RAP CONSULTING",
                Some("LLC"),
            ),
            (
                "THE DEWY DANDELION LLC",
                "DEWY DANDELION LLC",
                "DEWY DANDELION",
                Some("LLC"),
            ),
            (
                "WPPP LEGACY LIMITED LIABILITY COMPANY",
                "WPPP LEGACY LLC",
                "WPPP LEGACY",
                Some("LLC"),
            ),
            (
                "T TESA CONSTRUCTION CO INC",
                "T TESA CONSTRUCTION CO INC",
                "T TESA CONSTRUCTION CO",
                Some("INC"),
            ),
            (
                "T. Tesa Construction Company, Incorporated",
                "T TESA CONSTRUCTION CO INC",
                "T TESA CONSTRUCTION CO",
                Some("INC"),
            ),
            (
                "AMY SAMPLEMAN MD , INC.",
                "AMY SAMPLEMAN MD INC",
                "AMY SAMPLEMAN MD",
                Some("INC"),
            ),
            ("C C & R", "CC AND R", "CC AND R", None),
            ("Builder J V", "BUILDER JV", "BUILDER JV", None),
            (
                "Acme Widgets, Inc., Dissolved July 1, 2010",
                "ACME WIDGETS INC",
                "ACME WIDGETS",
                Some("INC"),
            ),
            ("\u{FF21}cme Corp", "ACME CORP", "ACME", Some("CORP")),
            ("THE TRUST", "TRUST", "TRUST", None),
            ("---", "", "", None),
        ];
        for (text, normalized, core, designator) in cases {
            let name = organization(text);
            assert_eq!(
                (
                    name.normalized.as_str(),
                    name.core.as_str(),
                    name.designator
                ),
                (normalized, core, designator),
                "{text}"
            );
        }
    }

    #[test]
    fn status_text_is_split_only_where_it_is_one() {
        assert_eq!(
            split_status("Acme, LLC, Delinquent May 1, 2019"),
            ("Acme, LLC", Some("Delinquent May 1, 2019"))
        );
        assert_eq!(
            split_status("Dissolved Solids, Inc."),
            ("Dissolved Solids, Inc.", None)
        );
        assert_eq!(
            split_status("Salt, Dissolved in Water, LLC"),
            ("Salt, Dissolved in Water, LLC", None)
        );
    }

    #[test]
    fn persons() {
        let cases = [
            (
                "PLACI, COLAN G",
                Order::LastFirst,
                ["COLAN", "G", "PLACI", ""],
            ),
            (
                "SAMPTO, HAROLD WALDO",
                Order::LastFirst,
                ["HAROLD", "WALDO", "SAMPTO", ""],
            ),
            (
                "FICTINGLY, HANS A JR",
                Order::LastFirst,
                ["HANS", "A", "FICTINGLY", "JR"],
            ),
            (
                "DUMMWOOD JR, NADIA",
                Order::LastFirst,
                ["NADIA", "", "DUMMWOOD", "JR"],
            ),
            (
                "DUMMFORD, ZOE Q.",
                Order::FirstLast,
                ["ZOE", "Q.", "DUMMFORD", ""],
            ),
            (
                "Smith, John, Jr.",
                Order::LastFirst,
                ["John", "", "Smith", "Jr"],
            ),
            (
                "SAMPON LENA R",
                Order::LastFirst,
                ["LENA", "R", "SAMPON", ""],
            ),
            (
                "GEROLD J TESTON II",
                Order::FirstLast,
                ["GEROLD", "J", "TESTON", "II"],
            ),
            (
                "ALLAN FICTNER",
                Order::FirstLast,
                ["ALLAN", "", "FICTNER", ""],
            ),
            (
                "O'BRIEN, MARY",
                Order::LastFirst,
                ["MARY", "", "O'BRIEN", ""],
            ),
            (
                "EXAMFORD            KATHERINE     A       ",
                Order::Columns,
                ["KATHERINE", "A", "EXAMFORD", ""],
            ),
            (
                "EXAMPLO DA SILVA    ESTEVO                ",
                Order::Columns,
                ["ESTEVO", "", "EXAMPLO DA SILVA", ""],
            ),
            (
                "MOCKWELL            PAULA SAMPLE  P       ",
                Order::Columns,
                ["PAULA", "SAMPLE P", "MOCKWELL", ""],
            ),
            ("CHER", Order::FirstLast, ["", "", "CHER", ""]),
        ];
        for (text, order, expected) in cases {
            assert_eq!(parts(text, order), expected, "{text}");
        }
        assert_eq!(person(" - ", Order::LastFirst), None);
    }

    #[test]
    fn spellings_of_one_name_are_searched_for_in_one_form() {
        let cases = [
            (
                &["COCA COLA CO", "The Coca-Cola Company", "coca cola company"][..],
                ("COCA COLA", "CO"),
            ),
            (
                &["BANK OF AMERICA CORP", "Bank of America Corporation"],
                ("BANK OF AMERICA", "CORP"),
            ),
            (&["AT&T INC.", "AT and T Inc"], ("AT AND T", "INC")),
            (
                &[
                    "MCDONALDS CORP",
                    "McDonald's Corp",
                    "McDonald\u{2019}s Corporation",
                ],
                ("MCDONALDS", "CORP"),
            ),
            (
                &["J.P. Morgan", "JP MORGAN", "J P Morgan"],
                ("JP MORGAN", ""),
            ),
            (
                &["AMAZON COM INC", "Amazon.com, Inc."],
                ("AMAZON COM", "INC"),
            ),
            (&["NESTLE SA", "Nestl\u{e9} S.A."], ("NESTLE", "SA")),
            (&["ORSTED AS", "\u{d8}rsted A/S"], ("ORSTED AS", "")),
            (
                &["PENNEY J C CO INC", "Penney (J.C.) Company, Inc."],
                ("PENNEY JC", "CO INC"),
            ),
            (
                &["PROCTER & GAMBLE Co", "Procter and Gamble & Co."],
                ("PROCTER AND GAMBLE", "CO"),
            ),
            (
                &[
                    "WPPP LEGACY LIMITED LIABILITY COMPANY",
                    "WPPP Legacy L.L.C.",
                ],
                ("WPPP LEGACY", "LLC"),
            ),
            (&["CO INC"], ("CO", "INC")),
            (&["", " . "], ("", "")),
        ];
        for (spellings, (core, form)) in cases {
            for spelling in spellings {
                let name = searched(spelling, Forms::OfAnyCountry);
                assert_eq!(
                    (name.core.as_str(), name.form.as_str()),
                    (core, form),
                    "{spelling}"
                );
            }
        }
        assert!(
            begins_legal_form("IN", "INC")
                && begins_legal_form("COMP", "CO")
                && !begins_legal_form("COMPS", "CO")
        );
        assert_eq!(
            organization("JUAN SA").designator,
            None,
            "a person may be called so"
        );
        assert_eq!(searched("JUAN SA", Forms::OfStates).core, "JUAN SA");
    }

    #[test]
    fn words_are_those_of_search() {
        assert_eq!(words("Peña & Sons, L.L.C."), ["PENA", "AND", "SONS", "LLC"]);
        assert_eq!(words("O'BRIEN, MARY"), ["OBRIEN", "MARY"]);
    }
}
