//! Reads the location of the work: the normalised address, the parcel, and the property identified
//! by either.

use super::cells::Reader;
use super::settings::{Lookup, Parcel, Settings};
use crate::datasets::placeholders::{Holds, PLACEHOLDER, is_placeholder};
use pubdata_core::canonical::address::{Address, AddressKind};
use pubdata_core::canonical::{address, line, state, street};

/// A permit's address and parcel.
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
    let unit = joined(reader, &settings.line2)
        .filter(|unit| unit != "0" && !is_placeholder(Holds::Number, unit));
    let (mut street, mut address) =
        match joined(reader, &settings.line1).and_then(|text| without_notes(reader, &text)) {
            Some(line) if settings.has_whole_addresses => whole_address(&line, settings),
            Some(street) => (
                street.clone(),
                street::parse_street(&comparable(&street, &settings.suffix)),
            ),
            None => (String::new(), street::parse_street("")),
        };
    let is_composed = settings.line1.len() > 1;
    if !street.is_empty() && !is_composed && !is_address(&street, &address) {
        // The text may name a person, so warnings do not quote it.
        reader.warn(
            "no_address",
            "the address column does not hold an address".to_owned(),
        );
        (street, address) = (String::new(), Address::default());
    }
    read_place(reader, &mut address);
    if let Some(city) = settings.city.get(&address.city) {
        city.clone_into(&mut address.city);
    }
    if !street.is_empty() && address.city.is_empty() {
        address.city = settings.jurisdiction.city.clone().unwrap_or_default();
    }
    if !street.is_empty() && address.state.is_empty() {
        address.state.clone_from(&settings.jurisdiction.state);
    }
    let has_unit = !address.unit.is_empty() || !address.unit_kind.is_empty();
    let (line1, written) = match has_unit.then(|| street::split_unit(&street)).flatten() {
        Some((street, unit)) => (street.to_owned(), Some(unit.to_owned())),
        None => (street, None),
    };
    if address.unit.is_empty()
        && let Some((kind, number)) = unit.as_deref().and_then(stated_unit)
    {
        (address.unit_kind, address.unit) = (kind, number);
    }
    // In some cities, a lot without a building has the number 0. The lots on a street are not a
    // single property.
    let key = address.key().filter(|_| {
        address
            .number
            .bytes()
            .any(|byte| byte.is_ascii_alphanumeric() && byte != b'0')
    });
    let parcel = settings
        .parcel
        .as_ref()
        .and_then(|parcel| parcel_number(reader, parcel));
    let property = key.as_ref().map(|key| {
        let city = if address.zip.is_empty() {
            address.city.as_str()
        } else {
            ""
        };
        format!(
            "{}:{}",
            settings.jurisdiction.id,
            slug(&format!("{key}|{city}"))
        )
    });
    let present = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let inner = present(address.unit.trim()).filter(|_| settings.has_whole_addresses);
    let location = Location {
        normalized: present(&line1)
            .map(|_| address.normalized())
            .filter(|text| !text.is_empty()),
        city: present(&address.city),
        state: present(&address.state),
        zip: present(&address.zip),
        line2: both_units(written, unit).or(inner),
        property_id: property,
        line1: present(&line1),
        key,
        parcel,
    };
    location.with_parcel(settings)
}

/// Returns a cell for use in a permit's key, or an empty text if the address column does not
/// contain an address. Such text may name a person, and keys are published.
pub(super) fn key_cell<'r>(settings: &Settings, column: &str, cell: &'r str) -> &'r str {
    let is_street = settings.line1.len() == 1
        && settings.line1[0] == column
        && !cell.starts_with(|c: char| c.is_ascii_digit());
    if !is_street {
        return cell;
    }
    let (street, address) = match settings.has_whole_addresses {
        true => whole_address(cell, settings),
        false => (cell.to_owned(), street::parse_street(cell)),
    };
    if is_address(&street, &address) {
        cell
    } else {
        ""
    }
}

impl Location {
    /// Returns the location, using its parcel as the property if no address identifies one.
    fn with_parcel(mut self, settings: &Settings) -> Self {
        if let (None, Some(parcel), Some(number)) =
            (&self.property_id, &settings.parcel, &self.parcel)
        {
            self.property_id = Some(format!(
                "{}:{}",
                settings.jurisdiction.id,
                slug(&format!("{}|{number}", parcel.scheme))
            ));
        }
        self
    }
}

/// Splits a cell that also contains the city, state and ZIP Code into the street as written and the
/// address. Omits a neighbourhood after the city (`2444 DOLE ST Honolulu / Makiki 96822`).
fn whole_address(line: &str, settings: &Settings) -> (String, Address) {
    let city = settings.jurisdiction.city.as_deref().unwrap_or_default();
    let mut line = with_city_apart(line, city);
    if let Some((before, after)) = line.split_once(" / ") {
        let before = with_city_apart(before, city);
        let zip = after
            .split_whitespace()
            .next_back()
            .filter(|word| word.len() >= 5 && address::zip(word).is_some())
            .unwrap_or_default();
        if !line::parse_line(&before).city.is_empty() {
            line = format!("{before} {zip}");
        }
    }
    let (mut street, place) = line::split_line(&line);
    // A unit or a note may stand between the street and the city.
    let first = line
        .split(',')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let is_longer = street.len() > first.len() && street.starts_with(&first);
    if is_longer && street::parse_unit(&street[first.len()..]).is_none() {
        street = first;
    }
    let parsed = street::parse_street(&comparable(&street, &settings.suffix));
    // Words after the street are a city only if the text has a comma, a state or a ZIP Code.
    // Otherwise they may be a note.
    let is_place = line.contains(',') || !place.zip.is_empty() || !place.state.is_empty();
    let city = if is_place { place.city } else { String::new() };
    (
        street,
        Address {
            city,
            state: place.state,
            zip: place.zip,
            zip4: place.zip4,
            ..parsed
        },
    )
}

/// Inserts a comma before the source's city if the city follows the street without a comma: `6010 E
/// Example Cir Anaheim, Ca 92899`.
fn with_city_apart(line: &str, city: &str) -> String {
    let upper = line.to_ascii_uppercase();
    let Some(start) = upper
        .rfind(city)
        .filter(|start| *start > 0 && !city.is_empty())
    else {
        return line.to_owned();
    };
    let (before, rest) = (&upper[..start], &upper[start + city.len()..]);
    let word = rest
        .split([' ', ','])
        .find(|word| !word.is_empty())
        .unwrap_or_default();
    let ends_the_line = rest.is_empty()
        || rest.starts_with(',')
        || (rest.starts_with(' ')
            && (word == "/" || word.len() == 2 || address::zip(word).is_some()));
    // Text after a comma is already separate. It is the city (`City of San Antonio`), or a unit
    // before the city.
    let is_behind_street = before
        .rsplit_once(',')
        .is_none_or(|(_, unit)| street::parse_unit(unit).is_some());
    let has_street =
        before.ends_with(' ') && before.split_whitespace().count() > 1 && is_behind_street;
    match ends_the_line && has_street && line.is_char_boundary(start) {
        true => format!("{}, {}", line[..start].trim_end(), &line[start..]),
        false => line.to_owned(),
    }
}

/// Fills in a missing city, state and ZIP Code, first from separate columns and then from the
/// column `place`.
fn read_place(reader: &mut Reader<'_>, address: &mut Address) {
    let place = reader
        .text("place")
        .map(line::parse_place)
        .unwrap_or_default();
    if address.zip.is_empty() {
        address.zip = zip(reader).unwrap_or(place.zip);
    }
    if address.city.is_empty()
        && let Some(text) = reader.text("city").filter(|text| !text.trim().is_empty())
    {
        match is_placeholder(Holds::Place, text) {
            true => reader.warn(PLACEHOLDER, format!("city is `{text}`")),
            false => address.city = address::city(text),
        }
    }
    if address.city.is_empty() {
        address.city = place.city;
    }
    if address.state.is_empty() {
        address.state = reader
            .text("address_state")
            .and_then(state::usps)
            .map_or(place.state, str::to_owned);
    }
}

/// Returns an address without clerks' notes (`12 DOLE ST ***TEMP ADDRESS***`, `5660 New England Dr
/// [Mary's Planet]`), or `None` if only notes are left.
fn without_notes(reader: &mut Reader<'_>, text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | ','));
    let street = text.split(['[', '*']).next().unwrap_or_default().trim();
    // The number 0 stands for a missing number: `0 UNKNOWN`.
    let name = street.trim_start_matches(['0', ' ']);
    if is_placeholder(Holds::Place, if name.is_empty() { street } else { name }) {
        if street.chars().any(char::is_alphanumeric) {
            reader.warn(PLACEHOLDER, format!("line1 is `{street}`"));
        }
        return None;
    }
    if street.len() < text.len() {
        reader.warn(
            "address_note",
            "a note follows the street; it is not published".to_owned(),
        );
    }
    Some(street.to_owned())
}

/// Maximum number of words in a street name without a suffix.
const MAX_STREET_WORDS: usize = 5;

/// Street types that are not personal names.
const STREET_TYPES: &[&str] = &[
    "AV",
    "AVE",
    "AVENUE",
    "BLVD",
    "BOULEVARD",
    "CIR",
    "CIRCLE",
    "CT",
    "DRIVE",
    "EXPY",
    "FREEWAY",
    "FWY",
    "HIGHWAY",
    "HWY",
    "LN",
    "PKWY",
    "PARKWAY",
    "PL",
    "RD",
    "ROAD",
    "ST",
    "TER",
    "TERRACE",
    "TPKE",
    "WY",
];

/// Returns true if a text is an address rather than a note or a person's name. Text without a
/// number must contain a street type. Without a digit or a direction, the street type must not also
/// be a personal name.
fn is_address(street: &str, address: &Address) -> bool {
    let words: Vec<String> = street
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_uppercase)
        .collect();
    let has_suffix = words.iter().skip(1).any(|word| street::is_suffix(word));
    match address.kind {
        AddressKind::PoBox | AddressKind::RuralRoute | AddressKind::HighwayContract => true,
        AddressKind::Street => has_suffix || words.len() <= MAX_STREET_WORDS + 1,
        AddressKind::Unparsed => {
            let has_digit = street.bytes().any(|byte| byte.is_ascii_digit());
            // `0 HAMILTON CROSSINGS` refers to a lot without a building.
            let has_number = words.len() <= MAX_STREET_WORDS + 1
                && words
                    .first()
                    .is_some_and(|word| word.bytes().all(|byte| byte == b'0'));
            let begins_with_direction = words.len() > 2 && street::is_directional(&words[0]);
            has_number
                || (has_suffix && (has_digit || begins_with_direction))
                || words
                    .iter()
                    .skip(1)
                    .any(|word| STREET_TYPES.contains(&word.as_str()))
        }
    }
}

/// Reads a unit from its column. Ignores remarks (`TEMP`, `3rd Floor`).
fn stated_unit(text: &str) -> Option<(String, String)> {
    let is_plain = text.len() <= 6
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && text.bytes().any(|byte| byte.is_ascii_digit());
    match is_plain {
        true => Some(("UNIT".to_owned(), text.to_uppercase())),
        false => street::parse_unit(text),
    }
}

/// Combines the units from the street line and the unit column, without repetition.
fn both_units(written: Option<String>, column: Option<String>) -> Option<String> {
    let (Some(written), Some(column)) = (&written, &column) else {
        return written.or(column);
    };
    let [a, b] = [written, column].map(|text| text.to_uppercase());
    Some(match (a.contains(&b), b.contains(&a)) {
        (true, _) => written.clone(),
        (_, true) => column.clone(),
        _ => format!("{written} {column}"),
    })
}

/// Joins the cells of several columns with blanks. Columns written as `a+b` are joined without a
/// blank.
fn joined(reader: &Reader<'_>, pieces: &[String]) -> Option<String> {
    let piece = |piece: &String| {
        piece
            .split('+')
            .filter_map(|column| reader.text(column))
            .collect::<String>()
    };
    let texts: Vec<String> = pieces
        .iter()
        .map(piece)
        .filter(|text| !text.is_empty())
        .collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Returns the five digits of the ZIP Code. Warns about an invalid code.
fn zip(reader: &mut Reader<'_>) -> Option<String> {
    let cell = reader.text("zip")?;
    let zip = address::zip(cell).map(|(zip, _)| zip);
    if zip.is_none() {
        reader.warn("bad_zip", format!("zip is `{cell}`"));
    }
    zip
}

/// Normalises a street line for comparison: removes notes (`5660 New England Dr [Mary's Planet]`)
/// and leading zeros (`303 02nd St`), and replaces the source's own suffix.
fn comparable(line: &str, suffixes: &Lookup) -> String {
    let line = line.split('[').next().unwrap_or_default().trim();
    let (street, last) = line.rsplit_once(' ').unwrap_or(("", line));
    let line = suffixes
        .get(last)
        .map_or_else(|| line.to_owned(), |suffix| format!("{street} {suffix}"));
    let word = |word: &str| {
        let number = word.trim_start_matches('0');
        let is_ordinal = number.len() < word.len()
            && number.len() > 2
            && ["ST", "ND", "RD", "TH"]
                .iter()
                .any(|end| number.to_uppercase().ends_with(end));
        if is_ordinal && number.starts_with(|c: char| c.is_ascii_digit()) {
            number.to_owned()
        } else {
            word.to_owned()
        }
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Joins the parts of a parcel number, padded to full width. Returns `None` if a part is missing or
/// zero.
fn parcel_number(reader: &Reader<'_>, parcel: &Parcel) -> Option<String> {
    let part = |(index, column): (usize, &String)| {
        let cell = reader.text(column)?;
        // An asterisk marks a parcel but is not part of the number.
        let cell = cell
            .split(|c| parcel.separators.contains(c))
            .next()
            .unwrap_or_default()
            .trim_matches(['*', ' ']);
        let cell = parcel.codes.get(cell).unwrap_or(cell);
        let is_something = cell
            .bytes()
            .any(|byte| byte.is_ascii_alphanumeric() && byte != b'0')
            && !is_placeholder(Holds::Number, cell);
        is_something.then(|| {
            parcel
                .digits
                .get(index)
                .map_or_else(|| cell.to_owned(), |digits| padded(cell, *digits))
        })
    };
    let parts: Option<Vec<String>> = parcel.columns.iter().enumerate().map(part).collect();
    Some(parts?.join(&parcel.joint))
}

/// Pads the leading number to a width: with width 3, `23A` becomes `023A`; with width 4, `07501`
/// becomes `7501`. A number with separated parts (`01-3119-021`) stays unchanged.
fn padded(text: &str, digits: usize) -> String {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    if !rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return text.to_owned();
    }
    format!("{:0>digits$}{rest}", number.trim_start_matches('0'))
}

/// Makes text safe for use in a path: lowercase, with parts joined by `-`.
fn slug(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                ' '
            }
        })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Rows, one_row};
    use super::*;

    type Cells<'c> = &'c [(&'c str, &'c str)];

    /// Returns a row's `line1`, `line2`, city and ZIP Code, and its warning codes.
    fn parts(settings: &str, cells: &[(&str, &str)]) -> ([String; 4], Vec<&'static str>) {
        let jurisdiction = r#"jurisdiction = { id = "us-xx-list", name = "List", state = "XX", city = "LIST CITY" }"#;
        let jurisdiction = if settings.contains("jurisdiction =") {
            ""
        } else {
            jurisdiction
        };
        let settings: Settings =
            toml::from_str(&format!("{jurisdiction}\ndates = []\n{settings}")).unwrap();
        let frame = one_row(cells);
        let rows = Rows::new(&frame).unwrap();
        let mut reader = Reader::new(&rows, 0, &settings);
        let place = read(&mut reader);
        (
            [place.line1, place.line2, place.city, place.zip].map(Option::unwrap_or_default),
            reader.warnings.iter().map(|warning| warning.code).collect(),
        )
    }

    /// Rows from Los Angeles, Cape Coral, Tacoma, Philadelphia and Spokane.
    #[test]
    fn streets_units_and_places_are_told_apart() {
        let in_parts = r#"line1 = ["number", "direction", "name", "kind"]"#;
        let with_unit = r#"line2 = ["unit"]"#;
        let cases: [(&str, Cells<'_>, [&str; 4]); 6] = [
            (
                "",
                &[("line1", "6081 W CENTER DR 202B-202C"), ("zip", "90045")],
                ["6081 W CENTER DR", "202B-202C", "LIST CITY", "90045"],
            ),
            (
                "",
                &[
                    ("line1", "5207 N WINNIFRED ST"),
                    ("place", "RUSTON,WA 98407"),
                ],
                ["5207 N WINNIFRED ST", "", "RUSTON", "98407"],
            ),
            (
                "",
                &[
                    ("line1", "303 02nd St"),
                    ("city", "Elsewhere"),
                    ("place", "RUSTON,WA 98407"),
                ],
                ["303 02nd St", "", "ELSEWHERE", "98407"],
            ),
            (
                in_parts,
                &[
                    ("number", "2025"),
                    ("direction", "SW"),
                    ("name", "15TH"),
                    ("kind", "PL"),
                ],
                ["2025 SW 15TH PL", "", "LIST CITY", ""],
            ),
            (
                with_unit,
                &[("line1", "210 LOCUST ST"), ("unit", "APT 11GW")],
                ["210 LOCUST ST", "APT 11GW", "LIST CITY", ""],
            ),
            (
                with_unit,
                &[("line1", "210 LOCUST ST APT 11GW"), ("unit", "11GW")],
                ["210 LOCUST ST", "APT 11GW", "LIST CITY", ""],
            ),
        ];
        for (settings, cells, expected) in cases {
            assert_eq!(
                parts(settings, cells),
                (expected.map(str::to_owned), vec![]),
                "{cells:?}"
            );
        }
    }

    /// Rows from Honolulu, Anaheim, San Jose, San Antonio and Sacramento County.
    #[test]
    fn whole_addresses_are_taken_apart() {
        let of_list = |city: &str| {
            format!(
                "has_whole_addresses = true\njurisdiction = {{ id = \"us-xx-list\", name = \"List\", state = \"XX\", city = \"{city}\" }}"
            )
        };
        let cases = [
            (
                "HONOLULU",
                "2444 DOLE ST Honolulu / Makiki 96822",
                ["2444 DOLE ST", "", "HONOLULU", "96822"],
            ),
            (
                "HONOLULU",
                "1050 ALA MOANA Honolulu / Ala Moana 96814",
                ["1050 ALA MOANA", "", "HONOLULU", "96814"],
            ),
            (
                "HONOLULU",
                "92-395 WAIOMEA ST Kapolei 96707",
                ["92-395 WAIOMEA ST", "", "KAPOLEI", "96707"],
            ),
            (
                "HONOLULU",
                "91-1001 EXAMPLE DR UNIT 154 Ewa Beach 96799",
                ["91-1001 EXAMPLE DR", "UNIT 154", "EWA BEACH", "96799"],
            ),
            (
                "ANAHEIM",
                "724 S Sample Pl B Anaheim, Ca 92899",
                ["724 S Sample Pl", "B", "ANAHEIM", "92899"],
            ),
            (
                "ANAHEIM",
                "500 S Park Vista St Anaheim, Ca 92899",
                ["500 S Park Vista St", "", "ANAHEIM", "92899"],
            ),
            (
                "ANAHEIM",
                "500 S Anaheim Blvd, Anaheim, Ca 92899",
                ["500 S Anaheim Blvd", "", "ANAHEIM", "92899"],
            ),
            (
                "SAN JOSE",
                "12 EXAMPLE AV 2 , SAN JOSE CA 95199",
                ["12 EXAMPLE AV", "2", "SAN JOSE", "95199"],
            ),
            ("SAN JOSE", "     ,   ", ["", "", "", ""]),
            (
                "SAN ANTONIO",
                "12 Example St Jane Sample",
                ["12 Example St", "", "SAN ANTONIO", ""],
            ),
            (
                "SAN ANTONIO",
                "9510 Maidenstone Dr 78250",
                ["9510 Maidenstone Dr", "", "SAN ANTONIO", "78250"],
            ),
            (
                "SAN ANTONIO",
                "700 W EXAMPLE ST, Unit 5, City of San Antonio, TX 78299",
                ["700 W EXAMPLE ST", "Unit 5", "SAN ANTONIO", "78299"],
            ),
            (
                "ANAHEIM",
                "724 S Sample Pl, # B Anaheim, Ca 92899",
                ["724 S Sample Pl", "# B", "ANAHEIM", "92899"],
            ),
            (
                "SACRAMENTO",
                "141 W ELVERTA RD, ELVERTA, CA 95626",
                ["141 W ELVERTA RD", "", "ELVERTA", "95626"],
            ),
            (
                "SACRAMENTO",
                "141 W ELVERTA RD, STE 5, ELVERTA, CA 95626",
                ["141 W ELVERTA RD", "STE 5", "ELVERTA", "95626"],
            ),
            (
                "SACRAMENTO",
                "141 W ELVERTA RD, Jane Sample, ELVERTA, CA 95626",
                ["141 W ELVERTA RD", "", "ELVERTA", "95626"],
            ),
        ];
        for (city, line, expected) in cases {
            assert_eq!(
                parts(&of_list(city), &[("line1", line)]),
                (expected.map(str::to_owned), vec![]),
                "{line}"
            );
        }
    }

    /// Cells from San Antonio, Honolulu, Nashville and Spokane; persons are invented.
    #[test]
    fn notes_and_persons_are_no_address() {
        let none = ["", "", "", ""];
        let street = ["44-329A KANEOHE BAY DR", "", "LIST CITY", ""];
        for (line, expected, warnings) in [
            ("Janet Sample", none, vec!["no_address"]),
            ("JANET LANE", none, vec!["no_address"]),
            ("LOT 5 JANET SAMPLE", none, vec!["no_address"]),
            ("Reroof owner residential house", none, vec!["no_address"]),
            ("TEMP ADDRESS", none, vec!["placeholder"]),
            ("***TEMP ADDRESS***", none, vec!["placeholder"]),
            ("0 UNKNOWN", none, vec!["placeholder"]),
            ("NULL", none, vec!["placeholder"]),
            (
                "44-329A KANEOHE BAY DR  ***TEMP ADDRESS***",
                street,
                vec!["address_note"],
            ),
            (
                "44-329A KANEOHE BAY DR [Mary's Planet]",
                street,
                vec!["address_note"],
            ),
            (
                "MAIN ST & 5TH AVE",
                ["MAIN ST & 5TH AVE", "", "LIST CITY", ""],
                vec![],
            ),
            ("N MONROE ST", ["N MONROE ST", "", "LIST CITY", ""], vec![]),
            (
                "0 HAMILTON CROSSINGS",
                ["0 HAMILTON CROSSINGS", "", "LIST CITY", ""],
                vec![],
            ),
            (
                "201 BROADWAY",
                ["201 BROADWAY", "", "LIST CITY", ""],
                vec![],
            ),
        ] {
            assert_eq!(
                parts("", &[("line1", line)]),
                (expected.map(str::to_owned), warnings),
                "{line}"
            );
        }
    }

    #[test]
    fn parcels_are_read_without_marks_and_placeholders() {
        let parcel = |cell: &str| {
            let settings: Settings = toml::from_str(
                "jurisdiction = { id = \"us-xx-list\", name = \"List\", state = \"XX\" }\ndates = []\nparcel = { scheme = \"parcel\", columns = [\"parcel\"], digits = [10] }",
            )
            .unwrap();
            let frame = one_row(&[("parcel", cell)]);
            let rows = Rows::new(&frame).unwrap();
            let location = read(&mut Reader::new(&rows, 0, &settings));
            (
                location.parcel.unwrap_or_default(),
                location.property_id.unwrap_or_default(),
            )
        };
        assert_eq!(
            parcel("303807000"),
            (
                "0303807000".to_owned(),
                "us-xx-list:parcel-0303807000".to_owned()
            )
        );
        assert_eq!(parcel("*168476").0, "0000168476");
        assert_eq!(parcel("NULL").0, "");
    }

    #[test]
    fn lines_are_read_without_what_is_no_address() {
        let suffixes = Lookup::from_iter([("Tr".to_owned(), "TER".to_owned())]);
        let cases = [
            ("303 02nd St", "303 2nd St"),
            ("100 0 ST", "100 0 ST"),
            ("89 Alpine Tr", "89 Alpine TER"),
            (
                "5660 New England Dr [Mary's Planet Of Fashions]",
                "5660 New England Dr",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(comparable(line, &suffixes), expected);
        }
    }

    #[test]
    fn parcels_have_their_full_width() {
        let cases = [
            ("23A", 3, "023A"),
            ("07501", 4, "7501"),
            ("7501", 4, "7501"),
            ("326", 4, "0326"),
            ("023A", 3, "023A"),
            ("303807000", 10, "0303807000"),
            ("01-3119-021-0010", 13, "01-3119-021-0010"),
        ];
        for (text, digits, expected) in cases {
            assert_eq!(padded(text, digits), expected, "{text}");
        }
    }

    #[test]
    fn units_are_told_from_remarks() {
        for (text, number) in [
            ("203", "203"),
            ("12B", "12B"),
            ("B-4", "B-4"),
            ("APT 11GW", "11GW"),
            ("202B-202C", "202B-202C"),
        ] {
            assert_eq!(
                stated_unit(text).map(|(_, number)| number).as_deref(),
                Some(number),
                "{text}"
            );
        }
        for remark in ["TEMP", "3rd Floor", "TYPE 3B"] {
            assert_eq!(stated_unit(remark), None, "{remark}");
        }
        let both = |a: &str, b: &str| both_units(Some(a.to_owned()), Some(b.to_owned()));
        assert_eq!(both("STE 5", "5").as_deref(), Some("STE 5"));
        assert_eq!(
            both("STE 5", "Building C").as_deref(),
            Some("STE 5 Building C")
        );
    }
}
