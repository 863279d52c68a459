//! Splits one-line addresses into street, city, state and ZIP Code.

use super::address::{Address, AddressKind, city, zip};
use super::street::parse_street;
use super::suffix::{directional, suffix};
use super::{state, upper};

/// Parses an address on one line: `618 W ELMIRA ST APT 3, City of San Antonio, TX 78212-1234`, with
/// or without commas. If no comma precedes the city, it starts after the first street suffix.
pub fn parse_line(line: &str) -> Address {
    split_line(line).1
}

/// Parses a city, state and ZIP Code given separately from the street: `RUSTON,WA 98407`.
pub fn parse_place(place: &str) -> Address {
    Address {
        kind: AddressKind::Unparsed,
        street: String::new(),
        ..parse_line(&format!("-, {place}"))
    }
}

/// Parses an address as [`parse_line`] does, and also returns the street line as written, including
/// the unit.
pub fn split_line(line: &str) -> (String, Address) {
    let mut segments: Vec<Vec<&str>> = line
        .split(',')
        .map(|segment| segment.split_whitespace().collect::<Vec<_>>())
        .filter(|segment| !segment.is_empty())
        .collect();
    if segments.last().is_some_and(|last| {
        matches!(
            upper(&last.join(" ")).replace('.', "").as_str(),
            "USA" | "US" | "UNITED STATES" | "UNITED STATES OF AMERICA"
        )
    }) {
        segments.pop();
    }
    let (mut zip5, mut zip4) = (String::new(), String::new());
    let is_number_alone = segments.len() == 1 && segments[0].len() == 1;
    if !is_number_alone
        && let Some((five, four)) = segments
            .last()
            .and_then(|last| last.last())
            .filter(|word| word.len() >= 5)
            .and_then(|word| zip(word))
    {
        (zip5, zip4) = (five, four.unwrap_or_default());
        drop_last_words(&mut segments, 1);
    }
    let state = take_state(&mut segments, !zip5.is_empty());
    let mut place = String::new();
    if segments.len() > 1 {
        place = segments.pop().unwrap_or_default().join(" ");
    } else if let Some(words) = segments.first_mut()
        && let Some(end) = street_end(words)
    {
        place = words.split_off(end).join(" ");
    }
    let street: Vec<String> = segments.iter().map(|segment| segment.join(" ")).collect();
    let street = street.join(" ");
    let address = Address {
        city: city(&place),
        state,
        zip: zip5,
        zip4,
        ..parse_street(&street)
    };
    (street, address)
}

/// Removes the state from the end of the segments. A full name (`New York`) counts as a state only
/// before a ZIP Code or after a city.
fn take_state(segments: &mut Vec<Vec<&str>>, has_zip: bool) -> String {
    let count = segments.len();
    let Some(last) = segments.last() else {
        return String::new();
    };
    for length in (1..=last.len().min(4)).rev() {
        let text = last[last.len() - length..].join(" ");
        let is_whole_address = count == 1 && length == last.len();
        let in_full = text.replace('.', "").len() > 2;
        let leaves_a_city = count > 2 || (count == 2 && length < last.len());
        if let Some(code) = state::usps(&text)
            && !is_whole_address
            && (!in_full || leaves_a_city || (has_zip && count > 1))
        {
            drop_last_words(segments, length);
            return code.to_owned();
        }
    }
    String::new()
}

fn drop_last_words(segments: &mut Vec<Vec<&str>>, words: usize) {
    if let Some(last) = segments.last_mut() {
        last.truncate(last.len() - words);
        if last.is_empty() {
            segments.pop();
        }
    }
}

/// Street types that are rarely part of a street name. `BAY` and `PARK` are also street types, but
/// belong to the name in `KANEOHE BAY DR` and `PARK RIDGE ST`.
const PLAIN_TYPES: &[&str] = &[
    "AVE", "BLVD", "CIR", "CT", "DR", "HWY", "LN", "LOOP", "PKWY", "PL", "RD", "ST", "TER", "WAY",
];

/// Returns where the street ends in a line without commas: after the first suffix that has a name
/// before it, including any directional and unit that follow. Plain types take precedence.
fn street_end(words: &[&str]) -> Option<usize> {
    let spelled: Vec<String> = words
        .iter()
        .map(|word| upper(word).replace('.', ""))
        .collect();
    let has_name = |place: usize| {
        spelled[1..place]
            .iter()
            .any(|word| directional(word).is_none())
    };
    let is_plain =
        |place: usize| suffix(&spelled[place]).is_some_and(|short| PLAIN_TYPES.contains(&short));
    let first =
        (2..words.len()).find(|&place| suffix(&spelled[place]).is_some() && has_name(place))?;
    // The city begins after two words that are not suffixes.
    let plain = (first..words.len())
        .take_while(|&place| place < first + 3)
        .find(|&place| is_plain(place));
    let mut end = plain.unwrap_or(first) + 1;
    let is_numbered =
        |word: &String| word.len() == 1 || word.bytes().any(|byte| byte.is_ascii_digit());
    if spelled
        .get(end)
        .is_some_and(|word| word.len() <= 2 && directional(word).is_some())
    {
        end += 1;
    }
    while let Some(word) = spelled.get(end) {
        let designates = super::suffix::numbered_unit(word).is_some()
            && spelled.get(end + 1).is_some_and(is_numbered);
        match (designates, is_numbered(word) || word.starts_with('#')) {
            (true, _) => end += 2,
            (false, true) => end += 1,
            (false, false) => break,
        }
    }
    (end < words.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::{parse_line, parse_place, split_line};

    /// A second address line from Tacoma data, and variants of that line.
    #[test]
    fn places_apart_from_their_street() {
        for (text, city, state, zip) in [
            ("RUSTON,WA 98407", "RUSTON", "WA", "98407"),
            ("San Antonio TX", "SAN ANTONIO", "TX", ""),
            ("BOISE, ID 83702-1234", "BOISE", "ID", "83702"),
            ("98444", "", "", "98444"),
            ("", "", "", ""),
        ] {
            let place = parse_place(text);
            assert_eq!(
                (
                    place.city.as_str(),
                    place.state.as_str(),
                    place.zip.as_str(),
                    place.key()
                ),
                (city, state, zip, None),
                "{text}"
            );
        }
    }

    #[test]
    fn street_lines_are_split_off_as_written() {
        for (line, street) in [
            ("6010 E Example Cir Anaheim, Ca 92899", "6010 E Example Cir"),
            (
                "618  EXAMPLE ST  , SAN JOSE CA 95199-1234",
                "618 EXAMPLE ST",
            ),
            ("141 W ELVERTA RD, ELVERTA, CA 95626", "141 W ELVERTA RD"),
        ] {
            assert_eq!(split_line(line).0, street, "{line}");
        }
    }

    #[test]
    fn whole_lines() {
        let cases = [
            (
                "618 W ELMIRA ST APT 3, City of San Antonio, TX 78212-1234",
                "618 W ELMIRA ST APT 3, SAN ANTONIO, TX 78212-1234",
            ),
            (
                "618 W ELMIRA ST, City of San Antonio, TX 78212",
                "618 W ELMIRA ST, SAN ANTONIO, TX 78212",
            ),
            (
                "618 West Elmira Street, San Antonio TX 78212",
                "618 W ELMIRA ST, SAN ANTONIO, TX 78212",
            ),
            (
                "618 W Elmira St San Antonio TX 78212",
                "618 W ELMIRA ST, SAN ANTONIO, TX 78212",
            ),
            (
                "114 S 11th St Apt 104 Nashville TN",
                "114 S 11TH ST APT 104, NASHVILLE, TN",
            ),
            (
                "435 West 50th Street, New York, New York 10019, USA",
                "435 W 50TH ST, NEW YORK, NY 10019",
            ),
            ("435 West 50th Street, New York", "435 W 50TH ST, NEW YORK"),
            (
                "435 West 50th Street, New York, NY, 10019",
                "435 W 50TH ST, NEW YORK, NY 10019",
            ),
            (
                "110 N. SECOND STREET, UNIT 5, WEST DUNDEE, IL 60118",
                "110 N 2ND ST UNIT 5, WEST DUNDEE, IL 60118",
            ),
            ("618 W ELMIRA ST 78212", "618 W ELMIRA ST, 78212"),
            (
                "PO Box 427, Oroville, WA 98844",
                "PO BOX 427, OROVILLE, WA 98844",
            ),
            ("201 BROADWAY, NASHVILLE, TN", "201 BROADWAY, NASHVILLE, TN"),
            (
                "44-329A KANEOHE BAY DR Kaneohe 96744",
                "44-329A KANEOHE BAY DR, KANEOHE, 96744",
            ),
            (
                "92-395 WAIOMEA ST Kapolei 96707",
                "92-395 WAIOMEA ST, KAPOLEI, 96707",
            ),
        ];
        for (line, normalized) in cases {
            assert_eq!(parse_line(line).normalized(), normalized, "{line}");
        }
        let address = parse_line("618 W ELMIRA ST APT 3, City of San Antonio, TX 78212-1234");
        assert_eq!(address.key().as_deref(), Some("618|W|ELMIRA|ST||78212"));
        assert_eq!(address.loose_key().as_deref(), Some("618|ELMIRA|78212"));
    }
}
