//! Picks a publisher's files from the links of a page by the form of their names: of each kind the newest.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Files that a publisher names on a page, under names that change with every issue: the source's URL is the page, its files are the
/// page's links that have the pattern's form, of each kind the newest.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// Form of the last segment of a link: fixed characters, and fields such as `{state:letters2}`, `{year:digits4}`, `{day:digits1-2}`,
    /// `{month:month}` (JAN to DEC), `{month:monthname}` (JANUARY to DECEMBER) and `{extension:csv|zip}`. Letter case does not count.
    pub pattern: String,
    /// Fields that tell files apart of which the newest is wanted.
    pub per: Vec<String>,
    /// Fields by which a file is newer than another, the weightiest first. Of equals, the one whose alternative stands first in the pattern.
    pub newest_by: Vec<String>,
    /// How many of each kind are wanted, the newest first: two where the next period's file is put out before the present one ends.
    #[serde(default = "newest_alone", skip_serializing_if = "is_newest_alone")]
    pub last: usize,
    /// Values that are wanted, by field, where not all are.
    #[serde(default)]
    pub only: BTreeMap<String, Vec<String>>,
    /// Addresses to ask for while the page cannot be read or names no file of the form: what the publisher is known to have put out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<String>,
}

/// A link that a listing asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub link: String,
    /// What stays the same from issue to issue: the fields that tell files apart, and alternatives. Where several issues are read, those that
    /// tell issues apart too.
    pub keys: BTreeMap<String, String>,
    /// All fields.
    pub fields: BTreeMap<String, String>,
}

fn newest_alone() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde wants")]
fn is_newest_alone(last: &usize) -> bool {
    *last == 1
}

const MONTHS: [&str; 12] = ["JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER"];

/// A piece of a pattern.
enum Piece<'p> {
    Fixed(&'p str),
    Field(&'p str, Kind<'p>),
}

enum Kind<'p> {
    /// Fewest and most.
    Letters(usize, usize),
    Digits(usize, usize),
    Month,
    MonthName,
    Alternatives(Vec<&'p str>),
}

impl Listing {
    /// Checks the pattern and the names of its fields.
    ///
    /// # Errors
    /// `Config`, naming what is wrong.
    pub fn check(&self) -> Result<()> {
        let pieces = pieces(&self.pattern)?;
        let fields: Vec<&str> = pieces.iter().filter_map(|piece| if let Piece::Field(name, _) = piece { Some(*name) } else { None }).collect();
        if self.last == 0 {
            return Err(Error::config(format!("pattern `{}`: `last` is 0, so that no file would be read", self.pattern)));
        }
        if let Some(unknown) = self.per.iter().chain(&self.newest_by).chain(self.only.keys()).find(|name| !fields.contains(&name.as_str())) {
            return Err(Error::config(format!("`{unknown}` is no field of the pattern `{}`", self.pattern)));
        }
        let is_address = |address: &&String| address.starts_with("https://") && fields_of(&pieces, name_of(address)).is_some();
        match self.otherwise.iter().find(|address| !is_address(address)) {
            Some(other) => Err(Error::config(format!("`{other}` of `otherwise` is no https:// address whose name has the form `{}`", self.pattern))),
            None => Ok(()),
        }
    }

    /// Names of the pattern's fields, with a value each that they could have.
    pub fn sample(&self) -> BTreeMap<String, String> {
        let pieces = pieces(&self.pattern).unwrap_or_default();
        pieces.iter().filter_map(|piece| if let Piece::Field(name, _) = piece { Some(((*name).to_owned(), "0".to_owned())) } else { None }).collect()
    }

    /// Picks the newest links of each kind.
    ///
    /// # Shape
    /// In the order of their keys, of each kind the oldest first.
    ///
    /// # Errors
    /// `Config`, when the pattern is not valid.
    pub fn newest(&self, links: &[String]) -> Result<Vec<Listed>> {
        let pieces = pieces(&self.pattern)?;
        let mut found: BTreeMap<Vec<String>, Vec<Listed>> = BTreeMap::new();
        for link in links {
            let Some(fields) = fields_of(&pieces, name_of(link)) else { continue };
            if !self.is_wanted(&fields) {
                continue;
            }
            let tells_issues_apart = |name: &str| self.last > 1 && self.newest_by.iter().any(|by| by == name);
            let is_key = |name: &str| self.per.iter().any(|per| per == name) || alternatives(&pieces, name).is_some() || tells_issues_apart(name);
            let keys = fields.iter().filter(|(name, _)| is_key(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
            let listed = Listed { link: link.clone(), keys, fields };
            let kind: Vec<String> = self.per.iter().map(|name| listed.fields[name].clone()).collect();
            found.entry(kind).or_default().push(listed);
        }
        let newest = |mut listed: Vec<Listed>| {
            listed.sort_by(|one, other| self.compare(&pieces, other, one));
            listed.dedup_by(|later, kept| self.is_same_issue(later, kept));
            listed.truncate(self.last);
            listed.reverse();
            listed
        };
        Ok(found.into_values().flat_map(newest).collect())
    }

    /// Whether two files are one issue under two names, such as one packed and one not.
    fn is_same_issue(&self, one: &Listed, other: &Listed) -> bool {
        self.newest_by.iter().all(|name| one.fields[name] == other.fields[name])
    }

    /// Whether a file of these fields is asked for. A field that is not among them says nothing.
    pub fn is_wanted(&self, fields: &BTreeMap<String, String>) -> bool {
        self.only.iter().all(|(name, wanted)| fields.get(name).is_none_or(|value| wanted.contains(value)))
    }

    /// What tells a file from others of which the newest is wanted too.
    pub fn kind<'k>(&self, keys: &'k BTreeMap<String, String>) -> Vec<&'k String> {
        self.per.iter().filter_map(|name| keys.get(name)).collect()
    }

    fn compare(&self, pieces: &[Piece<'_>], one: &Listed, other: &Listed) -> Ordering {
        let is_month = |month: &str, text: &str| month == text || month.get(..3) == Some(text);
        let rank = |text: &str| MONTHS.iter().position(|month| is_month(month, text)).map_or_else(|| text.parse().unwrap_or(0), |month| month as u64);
        let by_issue = self.newest_by.iter().map(|name| rank(&one.fields[name]).cmp(&rank(&other.fields[name])));
        let place = |listed: &Listed, name: &str| {
            alternatives(pieces, name).and_then(|values| values.iter().position(|value| value.eq_ignore_ascii_case(&listed.fields[name])))
        };
        let by_alternative = one.fields.keys().map(|name| place(other, name).cmp(&place(one, name)));
        by_issue.chain(by_alternative).find(|order| order.is_ne()).unwrap_or_else(|| other.link.cmp(&one.link))
    }
}

fn alternatives<'p>(pieces: &'p [Piece<'p>], name: &str) -> Option<&'p [&'p str]> {
    pieces.iter().find_map(|piece| match piece {
        Piece::Field(field, Kind::Alternatives(values)) if *field == name => Some(values.as_slice()),
        _ => None,
    })
}

fn pieces(pattern: &str) -> Result<Vec<Piece<'_>>> {
    let wrong = |what: &str| Error::config(format!("pattern `{pattern}`: {what}"));
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        if !before.is_empty() {
            pieces.push(Piece::Fixed(before));
        }
        let (field, tail) = after.split_once('}').ok_or_else(|| wrong("`{` without `}`"))?;
        let (name, kind) = field.split_once(':').ok_or_else(|| wrong(&format!("`{field}` has no kind, such as `{{{field}:digits4}}`")))?;
        let range = |text: &str| {
            let (fewest, most) = text.split_once('-').unwrap_or((text, text));
            Some((fewest.parse().ok()?, most.parse().ok()?))
        };
        let kind = match (kind.strip_prefix("letters").and_then(range), kind.strip_prefix("digits").and_then(range), kind) {
            (Some((fewest, most)), ..) => Kind::Letters(fewest, most),
            (_, Some((fewest, most)), _) => Kind::Digits(fewest, most),
            (_, _, "month") => Kind::Month,
            (_, _, "monthname") => Kind::MonthName,
            (_, _, values) => Kind::Alternatives(values.split('|').collect()),
        };
        pieces.push(Piece::Field(name, kind));
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Fixed(rest));
    }
    Ok(pieces)
}

/// The last segment of an address.
fn name_of(link: &str) -> &str {
    let path = link.split(['?', '#']).next().unwrap_or(link);
    path.rsplit('/').next().unwrap_or(path)
}

/// The values of a name's fields, letters in upper case; none when the name is not of the form.
fn fields_of(pieces: &[Piece<'_>], name: &str) -> Option<BTreeMap<String, String>> {
    let Some((piece, others)) = pieces.split_first() else { return name.is_empty().then(BTreeMap::new) };
    match piece {
        Piece::Fixed(text) => {
            let (start, rest) = name.split_at_checked(text.len())?;
            start.eq_ignore_ascii_case(text).then(|| fields_of(others, rest))?
        }
        Piece::Field(field, kind) => lengths(kind, name).into_iter().find_map(|length| {
            let (value, rest) = name.split_at(length);
            let mut fields = fields_of(others, rest)?;
            let value = if matches!(kind, Kind::Alternatives(_)) { value.to_ascii_lowercase() } else { value.to_ascii_uppercase() };
            fields.insert((*field).to_owned(), value);
            Some(fields)
        }),
    }
}

/// How many bytes at the beginning of a name can be a field, the longest first.
fn lengths(kind: &Kind<'_>, name: &str) -> Vec<usize> {
    let run = |fewest: usize, most: usize, is_part: fn(&u8) -> bool| {
        let longest = name.bytes().take(most).take_while(is_part).count();
        (fewest..=longest).rev().collect()
    };
    let starts = |value: &&&str| name.get(..value.len()).is_some_and(|start| start.eq_ignore_ascii_case(value));
    match kind {
        Kind::Letters(fewest, most) => run(*fewest, *most, u8::is_ascii_alphabetic),
        Kind::Digits(fewest, most) => run(*fewest, *most, u8::is_ascii_digit),
        Kind::Month => MONTHS.iter().filter_map(|month| month.get(..3)).filter(|month| starts(&month)).map(str::len).collect(),
        Kind::MonthName => MONTHS.iter().filter(starts).map(|month| month.len()).collect(),
        Kind::Alternatives(values) => values.iter().filter(starts).map(|value| value.len()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        Listing {
            pattern: "{state:letters2}R{year:digits4}Q{quarter:digits1}{month:month}{day:digits1-2}.{extension:zip|csv|txt}".to_owned(),
            per: vec!["state".to_owned()],
            newest_by: ["year", "quarter", "month", "day"].map(str::to_owned).into(),
            last: 1,
            only: BTreeMap::new(),
            otherwise: Vec::new(),
        }
    }

    fn newest(listing: &Listing, links: &[&str]) -> Vec<String> {
        let links: Vec<String> = links.iter().map(|link| (*link).to_owned()).collect();
        listing.newest(&links).unwrap().into_iter().map(|listed| listed.link).collect()
    }

    #[test]
    fn the_newest_of_each_state_is_picked_by_number_and_month() {
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
        let only = Listing { only: [("state".to_owned(), vec!["WI".to_owned()])].into(), ..listing() };
        assert_eq!(newest(&only, &links), [links[0]]);
    }

    #[test]
    fn of_equals_the_first_alternative_is_picked() {
        assert_eq!(newest(&listing(), &["https://a/MNR2026Q2FEB18.csv", "https://a/MNR2026Q2FEB18.zip"]), ["https://a/MNR2026Q2FEB18.zip"]);
        let listed = listing().newest(&["https://a/MNR2026Q2FEB18.ZIP".to_owned()]).unwrap().remove(0);
        assert_eq!(listed.keys, BTreeMap::from([("state".to_owned(), "MN".to_owned()), ("extension".to_owned(), "zip".to_owned())]));
        assert_eq!(listed.fields["day"], "18");
    }

    #[test]
    fn the_newest_two_are_picked_and_known_by_their_issue() {
        let two = Listing {
            pattern: "Rates_{year:digits2}Q{quarter:digits1}{end:_0.zip|.zip}".to_owned(),
            per: Vec::new(),
            newest_by: vec!["year".to_owned(), "quarter".to_owned()],
            last: 2,
            ..listing()
        };
        let links = ["https://a/Rates_26Q3.zip", "https://a/Rates_27Q1.zip", "https://a/Rates_26Q4.zip", "https://a/Rates_26Q4_0.zip"];
        assert_eq!(newest(&two, &links), [links[3], links[1]]);
        let listed = two.newest(&[links[1].to_owned()]).unwrap().remove(0);
        assert_eq!(listed.keys, BTreeMap::from([("end", ".zip"), ("quarter", "1"), ("year", "27")].map(|(name, value)| (name.to_owned(), value.to_owned()))));
    }

    #[test]
    fn months_are_written_in_full_too() {
        let listing = Listing {
            pattern: "NPPES_Data_Dissemination_{month:monthname}_{year:digits4}_V2.zip".to_owned(),
            per: Vec::new(),
            newest_by: ["year", "month"].map(str::to_owned).into(),
            ..listing()
        };
        let links = ["September_2026", "December_2026", "October_2026", "May_2025", "Sep_2027"];
        let links = links.map(|month| format!("https://a/NPPES_Data_Dissemination_{month}_V2.zip"));
        assert_eq!(newest(&listing, &links.each_ref().map(String::as_str)), [links[1].as_str()]);
    }

    #[test]
    fn addresses_for_a_page_that_cannot_be_read_have_the_form() {
        let at = |address: &str| Listing { otherwise: vec![address.to_owned()], ..listing() }.check();
        assert!(at("https://a/MNR2026Q2FEB18.csv").is_ok());
        for address in ["https://a/readme.txt", "http://a/MNR2026Q2FEB18.csv"] {
            assert!(at(address).unwrap_err().to_string().contains(&format!("`{address}` of `otherwise`")), "{address}");
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
    fn a_pattern_names_its_fields() {
        assert!(listing().check().is_ok());
        let unknown = Listing { per: vec!["county".to_owned()], ..listing() };
        assert_eq!(unknown.check().unwrap_err().to_string(), format!("`county` is no field of the pattern `{}`", unknown.pattern));
        for pattern in ["{state", "{state}"] {
            assert!(Listing { pattern: pattern.to_owned(), ..listing() }.check().is_err(), "{pattern}");
        }
    }
}
