//! Where the work is: the address in one form, the parcel, and the property that both belong to.

use super::cells::Reader;
use super::settings::{Lookup, Parcel};
use pubdata_core::canonical::{address, line, state, street};

/// The address and parcel of a permit.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Location {
    pub(super) line1: Option<String>,
    pub(super) line2: Option<String>,
    pub(super) city: Option<String>,
    pub(super) state: Option<String>,
    pub(super) zip: Option<String>,
    pub(super) normalized: Option<String>,
    pub(super) key: Option<String>,
    pub(super) parcel: Option<String>,
    pub(super) property_id: Option<String>,
}

pub(super) fn read(reader: &mut Reader<'_>) -> Location {
    let settings = reader.settings;
    let unit = joined(reader, &settings.line2).filter(|unit| unit != "0");
    let published = joined(reader, &settings.line1);
    let mut address = match &published {
        Some(whole) if settings.has_whole_addresses => line::parse_line(&comparable(whole, &settings.suffix)),
        Some(line1) => street::parse_street(&comparable(line1, &settings.suffix)),
        None => street::parse_street(""),
    };
    if !settings.has_whole_addresses {
        address.zip = zip(reader).unwrap_or_default();
        address.city = reader.text("city").map(address::city).unwrap_or_default();
        address.state = reader.text("address_state").and_then(state::usps).unwrap_or_default().to_owned();
    }
    if let Some(city) = settings.city.get(&address.city) {
        city.clone_into(&mut address.city);
    }
    let line1 = published.map(|text| if settings.has_whole_addresses { text.split(',').next().unwrap_or_default().trim().to_owned() } else { text });
    let line1 = line1.filter(|text| !text.is_empty());
    if line1.is_some() && address.city.is_empty() {
        address.city = settings.jurisdiction.city.clone().unwrap_or_default();
    }
    if line1.is_some() && address.state.is_empty() {
        address.state.clone_from(&settings.jurisdiction.state);
    }
    if address.unit.is_empty()
        && let Some(unit) = unit.as_deref().filter(|unit| is_unit(unit))
    {
        address.unit_kind = "UNIT".to_owned();
        address.unit = unit.to_uppercase();
    }
    // A lot without a house has the number 0 in some cities: all lots of a street are no one property.
    let key = address.key().filter(|_| address.number.bytes().any(|byte| byte.is_ascii_alphanumeric() && byte != b'0'));
    let parcel = settings.parcel.as_ref().and_then(|parcel| parcel_number(reader, parcel));
    let property = key.as_ref().map(|key| {
        let city = if address.zip.is_empty() { address.city.as_str() } else { "" };
        slug(&format!("{key}|{city}"))
    });
    let property = property.or_else(|| Some(slug(&format!("{}|{}", settings.parcel.as_ref()?.scheme, parcel.as_ref()?))));
    let present = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Location {
        normalized: line1.is_some().then(|| address.normalized()).filter(|text| !text.is_empty()),
        city: present(&address.city),
        state: present(&address.state),
        zip: present(&address.zip),
        line2: unit.or_else(|| present(address.unit.trim()).filter(|_| settings.has_whole_addresses)),
        property_id: property.map(|property| format!("{}:{property}", settings.jurisdiction.id)),
        line1,
        key,
        parcel,
    }
}

/// The cells of some columns, joined by blanks; those of `a+b` without.
fn joined(reader: &Reader<'_>, pieces: &[String]) -> Option<String> {
    let piece = |piece: &String| piece.split('+').filter_map(|column| reader.text(column)).collect::<String>();
    let texts: Vec<String> = pieces.iter().map(piece).filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Five digits; a cell that is no ZIP code is noted.
fn zip(reader: &mut Reader<'_>) -> Option<String> {
    let cell = reader.text("zip")?;
    let zip = address::zip(cell).map(|(zip, _)| zip);
    if zip.is_none() {
        reader.warn("bad_zip", format!("zip is `{cell}`"));
    }
    zip
}

/// A street line without what is no address: `5660 New England Dr [Mary's Planet]`, `303 02nd St`; its last word as others write it.
fn comparable(line: &str, suffixes: &Lookup) -> String {
    let line = line.split('[').next().unwrap_or_default().trim();
    let (street, last) = line.rsplit_once(' ').unwrap_or(("", line));
    let line = suffixes.get(last).map_or_else(|| line.to_owned(), |suffix| format!("{street} {suffix}"));
    let word = |word: &str| {
        let number = word.trim_start_matches('0');
        let is_ordinal = number.len() < word.len() && number.len() > 2 && ["ST", "ND", "RD", "TH"].iter().any(|end| number.to_uppercase().ends_with(end));
        if is_ordinal && number.starts_with(|c: char| c.is_ascii_digit()) { number.to_owned() } else { word.to_owned() }
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A unit in its column, as opposed to a remark (`TEMP`, `3rd Floor`).
fn is_unit(text: &str) -> bool {
    text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// The parts of a parcel's number in their full width, joined; none when one is missing or zero.
fn parcel_number(reader: &Reader<'_>, parcel: &Parcel) -> Option<String> {
    let part = |(index, column): (usize, &String)| {
        let cell = reader.text(column)?;
        let cell = cell.split(|c| parcel.separators.contains(c)).next().unwrap_or_default().trim();
        let cell = parcel.codes.get(cell).unwrap_or(cell);
        let is_something = cell.bytes().any(|byte| byte.is_ascii_alphanumeric() && byte != b'0');
        is_something.then(|| parcel.digits.get(index).map_or_else(|| cell.to_owned(), |digits| padded(cell, *digits)))
    };
    let parts: Option<Vec<String>> = parcel.columns.iter().enumerate().map(part).collect();
    Some(parts?.join(&parcel.joint))
}

/// The number in front with so many digits: `23A` in 3 is `023A`, `07501` in 4 is `7501`.
fn padded(text: &str, digits: usize) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    format!("{:0>digits$}{rest}", number.trim_start_matches('0'))
}

/// A text that can stand in a path: lower case, parts joined by `-`.
fn slug(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_without_what_is_no_address() {
        let suffixes = Lookup::from_iter([("Tr".to_owned(), "TER".to_owned())]);
        let cases = [
            ("303 02nd St", "303 2nd St"),
            ("100 0 ST", "100 0 ST"),
            ("89 Alpine Tr", "89 Alpine TER"),
            ("5660 New England Dr [Mary's Planet Of Fashions]", "5660 New England Dr"),
        ];
        for (line, expected) in cases {
            assert_eq!(comparable(line, &suffixes), expected);
        }
    }

    #[test]
    fn parcels_have_their_full_width() {
        let cases = [("23A", 3, "023A"), ("07501", 4, "7501"), ("7501", 4, "7501"), ("326", 4, "0326"), ("023A", 3, "023A")];
        for (text, digits, expected) in cases {
            assert_eq!(padded(text, digits), expected, "{text}");
        }
    }

    #[test]
    fn units_are_told_from_remarks() {
        for unit in ["203", "12B", "B-4"] {
            assert!(is_unit(unit), "{unit}");
        }
        for remark in ["TEMP", "3rd Floor", "TYPE 3B"] {
            assert!(!is_unit(remark), "{remark}");
        }
    }
}
