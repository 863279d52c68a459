//! Selects a publisher's files from the links on a page. A regular expression matches the file
//! names, and the newest file of each kind is selected.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Declares files whose names on a publisher's page change with every issue. The source's URL is
/// the page. The source's files are the links on that page that match the pattern, limited to the
/// newest of each kind.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// Case-insensitive regular expression that must match the entire last segment of a link. Named
    /// groups define the fields: `(?<state>[a-z]{2})`.
    pub pattern: String,
    /// Fields that define a kind. The newest file of each kind is selected.
    pub per: Vec<String>,
    /// Fields that order the files of a kind by age, most significant field first. Values are
    /// numbers or English month names, in full or as two or three letters.
    pub newest_by: Vec<String>,
    /// Preferred field values among equally new files: `{ extension = ["zip", "csv"] }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prefer: BTreeMap<String, Vec<String>>,
    /// Number of files of each kind, newest first. Use two if the next period's file is issued
    /// before the current period ends.
    #[serde(default = "newest_alone", skip_serializing_if = "is_newest_alone")]
    pub last: usize,
    /// Values to select, by field. If a field is absent, all of its values are selected.
    #[serde(default)]
    pub only: BTreeMap<String, Vec<String>>,
    /// Fallback URLs to fetch if the page cannot be read or no link matches. They name files that
    /// the publisher is known to have issued.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<String>,
}

/// A selected link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub link: String,
    /// Fields that stay the same from issue to issue: the fields that define the kind and the
    /// preferred fields. If several issues are read, the fields that distinguish issues are
    /// included too.
    pub keys: BTreeMap<String, String>,
    /// All fields of the file name.
    pub fields: BTreeMap<String, String>,
}

fn newest_alone() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde wants")]
fn is_newest_alone(last: &usize) -> bool {
    *last == 1
}

const MONTHS: [&str; 12] = [
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

/// Two-letter month abbreviations, as used in the weather service's file names.
const SHORT_MONTHS: [&str; 12] = [
    "JA", "FE", "MR", "AP", "MY", "JN", "JL", "AU", "SE", "OC", "NV", "DE",
];

/// Memory limit for a compiled pattern. The declared patterns use a tenth of it.
const MAX_PATTERN_BYTES: usize = 1 << 17;

impl Listing {
    /// Checks the pattern and the names of its fields.
    ///
    /// # Errors
    /// The invalid key and the error.
    pub fn check(&self) -> std::result::Result<(), (&'static str, String)> {
        let pattern = self
            .regex()
            .map_err(|error| ("pattern", error.to_string()))?;
        if self.last == 0 {
            return Err(("last", "is 0, so that no file would be read".to_owned()));
        }
        let fields: Vec<&str> = pattern.capture_names().flatten().collect();
        let named = |key: &'static str, names: Vec<&String>| {
            names
                .into_iter()
                .find(|name| !fields.contains(&name.as_str()))
                .map(|name| (key, name.clone()))
        };
        let unknown = named("per", self.per.iter().collect())
            .or_else(|| named("newest_by", self.newest_by.iter().collect()))
            .or_else(|| named("prefer", self.prefer.keys().collect()))
            .or_else(|| named("only", self.only.keys().collect()));
        if let Some((key, name)) = unknown {
            return Err((
                key,
                format!(
                    "`{name}` is not a named group of the pattern `{}`",
                    self.pattern
                ),
            ));
        }
        let is_address = |address: &&String| {
            address.starts_with("https://") && self.fields_of(&pattern, name_of(address)).is_some()
        };
        match self.otherwise.iter().find(|address| !is_address(address)) {
            Some(other) => Err((
                "otherwise",
                format!(
                    "`{other}` is not an https:// URL whose name has the form `{}`",
                    self.pattern
                ),
            )),
            None => Ok(()),
        }
    }

    /// Returns the field names of the pattern, each with a possible value.
    pub fn sample(&self) -> BTreeMap<String, String> {
        let names = |pattern: Regex| {
            pattern
                .capture_names()
                .flatten()
                .map(|name| (name.to_owned(), "0".to_owned()))
                .collect()
        };
        self.regex().map(names).unwrap_or_default()
    }

    /// Selects the newest links of each kind.
    ///
    /// # Shape
    /// Sorted by keys; within a kind, the oldest file comes first.
    ///
    /// # Errors
    /// `Config`, when the pattern is invalid.
    pub fn newest(&self, links: &[String]) -> Result<Vec<Listed>> {
        let pattern = self.regex()?;
        let mut found: BTreeMap<Vec<String>, Vec<Listed>> = BTreeMap::new();
        for link in links {
            let Some(fields) = self
                .fields_of(&pattern, name_of(link))
                .filter(|fields| self.is_selected(fields))
            else {
                continue;
            };
            let tells_issues_apart =
                |name: &str| self.last > 1 && self.newest_by.iter().any(|by| by == name);
            let is_key = |name: &str| {
                self.per.iter().any(|per| per == name)
                    || self.prefer.contains_key(name)
                    || tells_issues_apart(name)
            };
            let keys = fields
                .iter()
                .filter(|(name, _)| is_key(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            let listed = Listed {
                link: link.clone(),
                keys,
                fields,
            };
            let kind: Vec<String> = self
                .per
                .iter()
                .map(|name| listed.fields[name].clone())
                .collect();
            found.entry(kind).or_default().push(listed);
        }
        let newest = |mut listed: Vec<Listed>| {
            listed.sort_by(|one, other| self.compare(other, one));
            listed.dedup_by(|later, kept| self.is_same_issue(later, kept));
            listed.truncate(self.last);
            listed.reverse();
            listed
        };
        Ok(found.into_values().flat_map(newest).collect())
    }

    /// Compiles the pattern, which must match an entire name. The pattern is ASCII-only, so that
    /// `\d` matches only the ten ASCII digits.
    fn regex(&self) -> Result<Regex> {
        let mut builder = RegexBuilder::new(&format!("^(?:{})$", self.pattern));
        builder
            .unicode(false)
            .case_insensitive(true)
            .size_limit(MAX_PATTERN_BYTES)
            .build()
            .map_err(|error| {
                let text = error.to_string();
                let last_line = text.lines().last().unwrap_or_default();
                let why = last_line
                    .strip_prefix("error: ")
                    .unwrap_or(last_line)
                    .trim_end_matches('.');
                let hint = if why.contains("UTF-8") {
                    r": write a dot as `\.`, and classes as `[a-z]`"
                } else {
                    ""
                };
                Error::config(format!(
                    "`{}` is not a usable regular expression: {why}{hint}",
                    self.pattern
                ))
            })
    }

    /// Returns the fields of a name, with preferred fields in lower case and all others in upper
    /// case. Returns `None` if the name does not match, or if a field in `newest_by` is neither a
    /// number nor a month.
    fn fields_of(&self, pattern: &Regex, name: &str) -> Option<BTreeMap<String, String>> {
        let captures = pattern.captures(name)?;
        let value = |name: &str| {
            let text = captures.name(name).map_or("", |found| found.as_str());
            if self.prefer.contains_key(name) {
                text.to_ascii_lowercase()
            } else {
                text.to_ascii_uppercase()
            }
        };
        let fields: BTreeMap<String, String> = pattern
            .capture_names()
            .flatten()
            .map(|name| (name.to_owned(), value(name)))
            .collect();
        self.newest_by
            .iter()
            .all(|name| fields.get(name).is_some_and(|value| rank(value).is_some()))
            .then_some(fields)
    }

    /// Returns whether two files are the same issue under different names, such as a compressed
    /// file and an uncompressed one.
    fn is_same_issue(&self, one: &Listed, other: &Listed) -> bool {
        self.newest_by
            .iter()
            .all(|name| one.fields[name] == other.fields[name])
    }

    /// Returns whether a file with these fields is selected. Fields that the file does not have are
    /// ignored.
    pub fn is_selected(&self, fields: &BTreeMap<String, String>) -> bool {
        self.only
            .iter()
            .all(|(name, allowed)| fields.get(name).is_none_or(|value| allowed.contains(value)))
    }

    /// Returns the values of the fields that define a file's kind.
    pub fn kind<'k>(&self, keys: &'k BTreeMap<String, String>) -> Vec<&'k String> {
        self.per.iter().filter_map(|name| keys.get(name)).collect()
    }

    fn compare(&self, one: &Listed, other: &Listed) -> Ordering {
        let by_issue = self
            .newest_by
            .iter()
            .map(|name| issue(name, one).cmp(&issue(name, other)));
        let place = |listed: &Listed, name: &str, values: &[String]| {
            values
                .iter()
                .position(|value| value.eq_ignore_ascii_case(&listed.fields[name]))
                .unwrap_or(values.len())
        };
        let by_preference = self
            .prefer
            .iter()
            .map(|(name, values)| place(other, name, values).cmp(&place(one, name, values)));
        by_issue
            .chain(by_preference)
            .find(|order| order.is_ne())
            .unwrap_or_else(|| other.link.cmp(&one.link))
    }
}

/// Returns a field's rank for comparing the age of files. The name of a quarterly file may state
/// the month of issue without the year. Months after the quarter's end then come first, followed by
/// the months of the next year.
fn issue(name: &str, listed: &Listed) -> Option<u64> {
    let rank = rank(&listed.fields[name])?;
    let quarter = listed
        .fields
        .get("quarter")
        .and_then(|quarter| quarter.parse::<u64>().ok());
    Some(
        if name == "month" && quarter.is_some_and(|quarter| rank <= 3 * quarter) {
            rank + 12
        } else {
            rank
        },
    )
}

/// Parses a number or a month name, and returns the number.
fn rank(text: &str) -> Option<u64> {
    let is_month = |(long, short): (&&str, &&str)| {
        *long == text || *short == text || long.get(..3) == Some(text)
    };
    MONTHS
        .iter()
        .zip(&SHORT_MONTHS)
        .position(is_month)
        .map(|month| month as u64 + 1)
        .or_else(|| text.parse().ok())
}

/// Returns the last segment of a URL.
fn name_of(link: &str) -> &str {
    let path = link.split(['?', '#']).next().unwrap_or(link);
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        Listing {
            pattern: r"(?<state>[a-z]{2})R(?<year>\d{4})Q(?<quarter>\d)(?<month>[a-z]{3})(?<day>\d\d?)\.(?<extension>zip|csv|txt)".to_owned(),
            per: vec!["state".to_owned()],
            newest_by: ["year", "quarter", "month", "day"].map(str::to_owned).into(),
            prefer: [("extension".to_owned(), ["zip", "csv", "txt"].map(str::to_owned).into())].into(),
            last: 1,
            only: BTreeMap::new(),
            otherwise: Vec::new(),
        }
    }

    fn newest(listing: &Listing, links: &[&str]) -> Vec<String> {
        let links: Vec<String> = links.iter().map(|link| (*link).to_owned()).collect();
        listing
            .newest(&links)
            .unwrap()
            .into_iter()
            .map(|listed| listed.link)
            .collect()
    }

    #[test]
    fn newest_file_of_each_state_is_selected_by_number_and_month() {
        let links = [
            "https://a/WIR2026Q2FEB18.csv",
            "https://a/MNR2025Q4DEC9.csv",
            "https://a/MNR2026Q2FEB18.csv",
            "https://a/MNR2026Q2FEB9.csv",
            "https://a/MNR2026Q2JAN28.csv",
            "https://a/mnr2026q1nov30.ZIP",
            "https://a/NER2013Q2FEB25.txt",
        ];
        assert_eq!(newest(&listing(), &links), [links[2], links[6], links[0]]);
        let only = Listing {
            only: [("state".to_owned(), vec!["WI".to_owned()])].into(),
            ..listing()
        };
        assert_eq!(newest(&only, &links), [links[0]]);
    }

    #[test]
    fn reissued_quarter_is_newer_than_its_file_of_the_previous_autumn() {
        let order = [
            "2026Q1SEP2",
            "2026Q1OCT31",
            "2026Q1NOV30",
            "2026Q1JAN15",
            "2026Q1MAR1",
            "2026Q2NOV20",
            "2026Q2FEB18",
            "2026Q2JUN1",
            "2026Q4AUG30",
            "2026Q4DEC1",
        ];
        let links = order.map(|issue| format!("https://a/MNR{issue}.zip"));
        for pair in links.windows(2) {
            assert_eq!(
                newest(&listing(), &[&pair[1], &pair[0]]),
                [pair[1].as_str()]
            );
            assert_eq!(
                newest(&listing(), &[&pair[0], &pair[1]]),
                [pair[1].as_str()]
            );
        }
    }

    #[test]
    fn months_of_two_letters_are_months() {
        let pattern = r"bp(?<day>\d\d)(?<month>[a-z]{2})(?<year>\d\d)\.dbx".to_owned();
        let listing = Listing {
            pattern,
            per: Vec::new(),
            newest_by: ["year", "month", "day"].map(str::to_owned).into(),
            prefer: BTreeMap::new(),
            ..listing()
        };
        let links = [
            "https://a/bp18mr25.dbx",
            "https://a/bp16ap26.dbx",
            "https://a/bp02ja26.dbx",
            "https://a/bp30xx26.dbx",
        ];
        assert_eq!(newest(&listing, &links), [links[1]]);
    }

    #[test]
    fn of_equals_the_preferred_one_is_picked() {
        assert_eq!(
            newest(
                &listing(),
                &[
                    "https://a/MNR2026Q2FEB18.csv",
                    "https://a/MNR2026Q2FEB18.zip"
                ]
            ),
            ["https://a/MNR2026Q2FEB18.zip"]
        );
        let listed = listing()
            .newest(&["https://a/MNR2026Q2FEB18.ZIP".to_owned()])
            .unwrap()
            .remove(0);
        assert_eq!(
            listed.keys,
            BTreeMap::from([
                ("state".to_owned(), "MN".to_owned()),
                ("extension".to_owned(), "zip".to_owned())
            ])
        );
        assert_eq!(listed.fields["day"], "18");
    }

    #[test]
    fn newest_two_issues_are_selected_with_their_keys() {
        let two = Listing {
            pattern: r"Rates_(?<year>\d\d)Q(?<quarter>\d)(?<end>_0\.zip|\.zip)".to_owned(),
            prefer: [(
                "end".to_owned(),
                ["_0.zip", ".zip"].map(str::to_owned).into(),
            )]
            .into(),
            per: Vec::new(),
            newest_by: vec!["year".to_owned(), "quarter".to_owned()],
            last: 2,
            ..listing()
        };
        let links = [
            "https://a/Rates_26Q3.zip",
            "https://a/Rates_27Q1.zip",
            "https://a/Rates_26Q4.zip",
            "https://a/Rates_26Q4_0.zip",
        ];
        assert_eq!(newest(&two, &links), [links[3], links[1]]);
        let listed = two.newest(&[links[1].to_owned()]).unwrap().remove(0);
        assert_eq!(
            listed.keys,
            BTreeMap::from(
                [("end", ".zip"), ("quarter", "1"), ("year", "27")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
            )
        );
    }

    #[test]
    fn months_are_written_in_full_too() {
        let listing = Listing {
            pattern: r"NPPES_Data_Dissemination_(?<month>[a-z]+)_(?<year>\d{4})_V2\.zip".to_owned(),
            prefer: BTreeMap::new(),
            per: Vec::new(),
            newest_by: ["year", "month"].map(str::to_owned).into(),
            ..listing()
        };
        let links = [
            "September_2026",
            "December_2026",
            "October_2026",
            "May_2025",
            "Sept_2027",
        ];
        let links = links.map(|month| format!("https://a/NPPES_Data_Dissemination_{month}_V2.zip"));
        assert_eq!(
            newest(&listing, &links.each_ref().map(String::as_str)),
            [links[1].as_str()]
        );
    }

    #[test]
    fn addresses_for_a_page_that_cannot_be_read_have_the_form() {
        let at = |address: &str| {
            Listing {
                otherwise: vec![address.to_owned()],
                ..listing()
            }
            .check()
        };
        assert!(at("https://a/MNR2026Q2FEB18.csv").is_ok());
        for address in ["https://a/readme.txt", "http://a/MNR2026Q2FEB18.csv"] {
            let (key, message) = at(address).unwrap_err();
            assert_eq!(
                (
                    key,
                    message.starts_with(&format!("`{address}` is not an https:// URL"))
                ),
                ("otherwise", true),
                "{message}"
            );
        }
    }

    #[test]
    fn other_names_are_passed_over() {
        for name in [
            "WAR_excerpt.csv",
            "MNB2026Q2FEB18.csv",
            "MNR2026Q2FEB18.pdf",
            "MNR2026Q2FEB.csv",
            "MNR2026Q2XXX18.csv",
            "XMNR2026Q2FEB18.csv",
            "",
            "MNR2026Q2FEB18.csv.bak",
        ] {
            assert_eq!(newest(&listing(), &[name]), [""; 0], "{name}");
        }
    }

    #[test]
    fn field_without_a_named_group_in_the_pattern_is_rejected() {
        assert_eq!(listing().check(), Ok(()));
        let unknown = Listing {
            per: vec!["county".to_owned()],
            ..listing()
        };
        assert_eq!(
            unknown.check(),
            Err((
                "per",
                format!(
                    "`county` is not a named group of the pattern `{}`",
                    unknown.pattern
                )
            ))
        );
        let none = Listing {
            last: 0,
            ..listing()
        };
        assert_eq!(none.check().unwrap_err().0, "last");
    }

    #[test]
    fn unusable_pattern_is_rejected_with_the_reason() {
        let ascii_only =
            r"pattern can match invalid UTF-8: write a dot as `\.`, and classes as `[a-z]`";
        let too_large = format!("compiled regex exceeds size limit of {MAX_PATTERN_BYTES} bytes");
        for (pattern, why) in [
            ("(?<state>[a-z]{2}", "unclosed group"),
            ("{state:letters2}", "repetition operator missing expression"),
            ("R.csv", ascii_only),
            ("(?:[a-z]{1000}){1000}", &too_large),
        ] {
            let (key, message) = Listing {
                pattern: pattern.to_owned(),
                ..listing()
            }
            .check()
            .unwrap_err();
            let expected = format!("`{pattern}` is not a usable regular expression: {why}");
            assert_eq!(
                (key, message.to_lowercase()),
                ("pattern", expected.to_lowercase())
            );
        }
    }
}
