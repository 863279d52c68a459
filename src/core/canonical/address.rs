//! Normalises addresses according to USPS Publication 28, without validating them against delivery
//! points.

use super::upper;

/// Kind of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressKind {
    Street,
    PoBox,
    RuralRoute,
    HighwayContract,
    /// An address that does not start with a number: an intersection or a place name.
    #[default]
    Unparsed,
}

/// An address in standard form; missing fields are empty. For a PO box or rural route, `number` is
/// the box or route number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Address {
    pub kind: AddressKind,
    pub number: String,
    pub predirectional: String,
    pub street: String,
    pub suffix: String,
    pub postdirectional: String,
    pub unit_kind: String,
    pub unit: String,
    pub city: String,
    pub state: String,
    pub zip: String,
    pub zip4: String,
}

impl Address {
    /// Formats the address on one line: `618 W ELMIRA ST APT 3, SAN ANTONIO, TX 78212-1234`.
    pub fn normalized(&self) -> String {
        let zip = if self.zip4.is_empty() {
            self.zip.clone()
        } else {
            format!("{}-{}", self.zip, self.zip4)
        };
        let place = joined(&[&self.state, &zip], " ");
        joined(&[&self.line(), &self.city, &place], ", ")
    }

    /// Formats the street line with the unit.
    pub fn line(&self) -> String {
        let kind = match self.kind {
            AddressKind::PoBox => "PO BOX",
            AddressKind::RuralRoute => "RR",
            AddressKind::HighwayContract => "HC",
            AddressKind::Street | AddressKind::Unparsed => "",
        };
        joined(
            &[
                kind,
                &self.number,
                &self.predirectional,
                &self.street,
                &self.suffix,
                &self.postdirectional,
                &self.unit_kind,
                &self.unit,
            ],
            " ",
        )
    }

    /// Returns `number|predirectional|street|suffix|postdirectional|zip`, without the unit. Returns
    /// `None` if this is not a street address.
    pub fn key(&self) -> Option<String> {
        self.is_street().then(|| {
            [
                &*self.number,
                &self.predirectional,
                &self.street,
                &self.suffix,
                &self.postdirectional,
                &self.zip,
            ]
            .join("|")
        })
    }

    /// Returns `number|street|zip`, for queries that omit the suffix and directionals. A match is
    /// valid only if exactly one address has this key.
    pub fn loose_key(&self) -> Option<String> {
        self.is_street()
            .then(|| [&*self.number, &self.street, &self.zip].join("|"))
    }

    fn is_street(&self) -> bool {
        self.kind == AddressKind::Street && !self.number.is_empty() && !self.street.is_empty()
    }
}

fn joined(parts: &[&str], between: &str) -> String {
    parts
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(between)
}

/// Normalises a city name: upper case, no punctuation, and no `City of` prefix, except for the City
/// of Industry.
pub fn city(text: &str) -> String {
    let plain: String = upper(text)
        .chars()
        .filter(|c| !super::is_apostrophe(*c))
        .map(|c| {
            if c.is_alphanumeric() || c == '-' {
                c
            } else {
                ' '
            }
        })
        .collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    match words.as_slice() {
        ["CITY", "OF", "INDUSTRY"] => "CITY OF INDUSTRY".to_owned(),
        ["CITY" | "TOWN" | "VILLAGE", "OF", name @ ..] if !name.is_empty() => name.join(" "),
        _ => words.join(" "),
    }
}

/// Returns a city name in a form suitable for comparison: `St. Paul`, `ST PAUL` and `Saint Paul`
/// compare equal, as do `Winston-Salem` and `Winston Salem`.
pub fn city_key(text: &str) -> String {
    let name = city(text);
    let mut words: Vec<&str> = name
        .split([' ', '-'])
        .filter(|word| !word.is_empty())
        .collect();
    if let [first, _, ..] = words.as_mut_slice() {
        *first = match *first {
            "ST" => "SAINT",
            "STE" => "SAINTE",
            "FT" => "FORT",
            "MT" => "MOUNT",
            other => other,
        };
    }
    words.join(" ")
}

/// Parses a ZIP Code of five digits, optionally followed by four more: `98273-1234`, `982731234`,
/// `60616-`, `98102.0`, and `1234` if a spreadsheet dropped the leading zero.
pub fn zip(text: &str) -> Option<(String, Option<String>)> {
    let text = text.trim();
    let text = text.strip_suffix(".0").unwrap_or(text);
    let (five, four) = match text.split_once(['-', ' ']) {
        Some((five, four)) => (five, four.trim_start_matches('-').trim()),
        None if text.len() == 9 => text.split_at_checked(5)?,
        None => (text, ""),
    };
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(five)
        || !is_digits(four)
        || !(3..=5).contains(&five.len())
        || !matches!(four.len(), 0 | 4)
        || five.bytes().all(|byte| byte == b'0')
    {
        return None;
    }
    Some((
        format!("{five:0>5}"),
        (!four.is_empty() && four != "0000").then(|| four.to_owned()),
    ))
}

/// Parses a ZIP Code as [`zip`] does, for an address that is known to be in the United States.
/// Drops an incomplete four-digit extension (`52244-190`, `32765--___`). For other addresses, such
/// a code may be foreign: `01310-100` is Brazilian.
pub fn zip_in_country(text: &str) -> Option<(String, Option<String>)> {
    let five = || {
        text.trim()
            .split_once('-')
            .map(|(five, _)| five)
            .filter(|five| five.len() == 5)
    };
    zip(text).or_else(|| zip(five()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::street::{parse_street, parse_unit, split_unit};

    #[test]
    fn cities_compare_with_their_saints_spelled_out() {
        for (text, key) in [
            ("St. Paul", "SAINT PAUL"),
            ("Saint Paul", "SAINT PAUL"),
            ("Ft. Worth", "FORT WORTH"),
            ("Mt Vernon", "MOUNT VERNON"),
            ("Winston-Salem", "WINSTON SALEM"),
            ("City of St Louis", "SAINT LOUIS"),
            ("St", "ST"),
            ("", ""),
        ] {
            assert_eq!(city_key(text), key, "{text}");
            assert_eq!(city_key(key), key);
        }
    }

    /// Real street lines from DOB, TDLR, CSLB, Sunbiz, Chicago and Nashville permits.
    #[test]
    fn street_lines() {
        let cases = [
            ("83-09 TALBOT STREET", "83-09||TALBOT|ST||"),
            ("408 1/2 47TH STREET", "408 1/2||47TH|ST||"),
            ("123 1/2 Main St.", "123 1/2||MAIN|ST||"),
            ("N6W23001 BLUEMOUND RD", "N6W23001||BLUEMOUND|RD||"),
            ("W156 N8327 PILGRIM ROAD", "W156N8327||PILGRIM|RD||"),
            ("2S440 SENECA DR", "2S440||SENECA|DR||"),
            ("12-14 COLES ST", "12-14||COLES|ST||"),
            ("1234 - 1240 MAIN ST", "1234-1240||MAIN|ST||"),
            ("435 WEST 50TH STREET", "435|W|50TH|ST||"),
            ("435 WEST 50 STREET", "435|W|50TH|ST||"),
            ("301 SOUTH MILLS AVENUE", "301|S|MILLS|AVE||"),
            ("7901 4TH ST N", "7901||4TH|ST|N|"),
            ("6026 SW 191ST AVE", "6026|SW|191ST|AVE||"),
            ("100 S.W. 8TH STREET", "100|SW|8TH|ST||"),
            ("100 N E ST", "100|N|E|ST||"),
            ("100 NORTH ST", "100||NORTH|ST||"),
            ("100 NORTH AVENUE WEST", "100||NORTH|AVE|W|"),
            ("ONE E. PROGRESS ROAD", "1|E|PROGRESS|RD||"),
            ("1 EAST PROGRESS RD.", "1|E|PROGRESS|RD||"),
            ("110 N. SECOND STREET, UNIT 5", "110|N|2ND|ST||"),
            ("5 TWENTY-FIRST AVE", "5||21ST|AVE||"),
            (
                "6409 DR MARTIN LUTHER KING STREET N",
                "6409||DR MARTIN LUTHER KING|ST|N|",
            ),
            ("201 BROADWAY", "201||BROADWAY|||"),
            ("10 AVENUE D", "10||AVENUE D|||"),
            ("10 AVE D", "10||AVENUE D|||"),
            ("5 STATE HWY 9", "5||STATE HIGHWAY 9|||"),
            ("5 COUNTY RD 12", "5||COUNTY ROAD 12|||"),
            ("5 O'BRIEN PKWY", "5||OBRIEN|PKWY||"),
            ("100 PARK PLACE BLVD", "100||PARK PLACE|BLVD||"),
            ("2200 S. CYPRESS BEND DR.", "2200|S|CYPRESS BEND|DR||"),
            ("6015 A PENNSYLVANIA AVE", "6015||PENNSYLVANIA|AVE||"),
            ("123 A ST", "123||A|ST||"),
        ];
        for (line, key) in cases {
            assert_eq!(parse_street(line).key().as_deref(), Some(key), "{line}");
        }
    }

    #[test]
    fn units() {
        let cases = [
            ("8812 W PICO BLVD #211", "8812 W PICO BLVD UNIT 211"),
            ("2761 SATURN ST UNIT P", "2761 SATURN ST UNIT P"),
            ("111 W WASHINGTON SUITE 450", "111 W WASHINGTON STE 450"),
            (
                "100 N BISCAYNE BLVD,SUITE 3000",
                "100 N BISCAYNE BLVD STE 3000",
            ),
            ("60 NE 14TH ST APT# 1509", "60 NE 14TH ST APT 1509"),
            ("114 S 11TH ST 104", "114 S 11TH ST UNIT 104"),
            ("123 MAIN ST 2ND FLOOR", "123 MAIN ST FL 2"),
            ("123 MAIN ST FL 2", "123 MAIN ST FL 2"),
            ("123 MAIN ST REAR", "123 MAIN ST REAR"),
            ("12 FRONT ST", "12 FRONT ST"),
            ("12 SPACE PARK BLVD", "12 SPACE PARK BLVD"),
            ("123 MAIN ST BLDG 3 APT 5", "123 MAIN ST BLDG 3 APT 5"),
            (
                "1150 NW 72ND AVE TOWER 1 STE 455 #13093",
                "1150 NW 72ND AVE TOWER 1 STE 455 13093",
            ),
            ("6015 A PENNSYLVANIA AVE", "6015 PENNSYLVANIA AVE UNIT A"),
            (
                "6081 W CENTER DR 202B-202C",
                "6081 W CENTER DR UNIT 202B-202C",
            ),
            (
                "9421 N SEPULVEDA BLVD 1-5",
                "9421 N SEPULVEDA BLVD UNIT 1-5",
            ),
        ];
        for (line, normalized) in cases {
            assert_eq!(parse_street(line).normalized(), normalized, "{line}");
        }
    }

    /// Real lines from Los Angeles, Anaheim and Pierce County.
    #[test]
    fn units_are_split_off_as_written() {
        for (line, parts) in [
            (
                "6081 W CENTER DR 202B-202C",
                Some(("6081 W CENTER DR", "202B-202C")),
            ),
            (
                "9421 N SEPULVEDA BLVD 1-5",
                Some(("9421 N SEPULVEDA BLVD", "1-5")),
            ),
            ("724 S Sample Pl B", Some(("724 S Sample Pl", "B"))),
            (
                "17416 PACIFIC AVE S SUITE B",
                Some(("17416 PACIFIC AVE S", "SUITE B")),
            ),
            ("12 Sample Way SE # 3", Some(("12 Sample Way SE", "# 3"))),
            (
                "100 N BISCAYNE BLVD,SUITE 3000",
                Some(("100 N BISCAYNE BLVD", "SUITE 3000")),
            ),
            (
                "60 NE 14TH ST APT# 1509",
                Some(("60 NE 14TH ST", "APT# 1509")),
            ),
            ("6015 A PENNSYLVANIA AVE", None),
            ("5 STATE HWY 9", None),
            ("201 BROADWAY", None),
            ("", None),
        ] {
            assert_eq!(split_unit(line), parts, "{line}");
        }
        let unit = |kind: &str, number: &str| Some((kind.to_owned(), number.to_owned()));
        for (text, expected) in [
            ("APT 11GW", unit("APT", "11GW")),
            ("203", unit("UNIT", "203")),
            ("B-4", None),
            ("# B", unit("UNIT", "B")),
            ("202B-202C", unit("UNIT", "202B-202C")),
            ("TEMP", None),
            ("3rd Floor", None),
            ("TYPE 3B", None),
            ("", None),
        ] {
            assert_eq!(parse_unit(text), expected, "{text}");
        }
    }

    #[test]
    fn boxes_routes_and_what_is_neither() {
        let cases = [
            ("PO BOX 427", AddressKind::PoBox, "PO BOX 427"),
            ("P.O. Box 321", AddressKind::PoBox, "PO BOX 321"),
            ("POST OFFICE BOX 12-A", AddressKind::PoBox, "PO BOX 12-A"),
            ("RR 2 BOX 15", AddressKind::RuralRoute, "RR 2 BOX 15"),
            (
                "Rural Route 2, Box 15",
                AddressKind::RuralRoute,
                "RR 2 BOX 15",
            ),
            ("HC 1 BOX 2", AddressKind::HighwayContract, "HC 1 BOX 2"),
            ("0 UNKNOWN", AddressKind::Unparsed, "0 UNKNOWN"),
            (
                "MAIN ST & 5TH AVE",
                AddressKind::Unparsed,
                "MAIN ST 5TH AVE",
            ),
            ("", AddressKind::Unparsed, ""),
        ];
        for (line, kind, normalized) in cases {
            let address = parse_street(line);
            assert_eq!(
                (address.kind, address.normalized().as_str(), address.key()),
                (kind, normalized, None),
                "{line}"
            );
        }
    }

    #[test]
    fn zip_codes() {
        let whole = |five: &str, four: &str| {
            Some((five.to_owned(), (!four.is_empty()).then(|| four.to_owned())))
        };
        for (text, expected) in [
            ("98273", whole("98273", "")),
            ("982450321", whole("98245", "0321")),
            ("063405834", whole("06340", "5834")),
            ("60803-3402", whole("60803", "3402")),
            ("60616-", whole("60616", "")),
            ("98102.0", whole("98102", "")),
            ("501", whole("00501", "")),
            ("6340", whole("06340", "")),
            ("98273-0000", whole("98273", "")),
            ("", None),
            ("-", None),
            ("00000", None),
            ("12", None),
            ("V5K 0A1", None),
            ("98273-12", None),
        ] {
            assert_eq!(zip(text), expected, "{text}");
        }
        for (text, five) in [
            ("52244-190", "52244"),
            ("32771--808", "32771"),
            ("32765--___", "32765"),
            ("33154- US", "33154"),
            ("1234-5", ""),
            ("FL", ""),
        ] {
            assert_eq!(
                zip_in_country(text).map_or_else(String::new, |(five, _)| five),
                five,
                "{text}"
            );
            assert_eq!(zip(text), None, "{text}");
        }
        assert_eq!(zip_in_country("98273-1234"), whole("98273", "1234"));
    }

    #[test]
    fn cities() {
        assert_eq!(city("City of San Antonio"), "SAN ANTONIO");
        assert_eq!(city("St. Paul"), "ST PAUL");
        assert_eq!(city("City of Industry"), "CITY OF INDUSTRY");
    }
}
