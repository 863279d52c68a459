//! Parses the street line of an address into number, directionals, name, suffix and unit, according
//! to USPS Publication 28.

use super::address::{Address, AddressKind};
use super::suffix::{
    compound_ordinal, directional, is_ordinal, is_road_owner, numbered_unit, ordinal, plain_unit,
    suffix, with_ordinal_ending,
};
use super::{is_apostrophe, upper};

/// Parses a street line with or without a unit. A line without a number becomes a single normalised
/// string of kind [`AddressKind::Unparsed`].
pub fn parse_street(line: &str) -> Address {
    let tokens = tokens(line);
    if let Some(address) = box_or_route(&tokens) {
        return address;
    }
    let Some((number, mut rest)) = take_number(&tokens) else {
        return Address {
            street: tokens.join(" ").replace("# ", "#"),
            ..Address::default()
        };
    };
    let mut address = Address {
        kind: AddressKind::Street,
        number,
        ..Address::default()
    };
    take_unit(&mut rest, &mut address);
    // Matches `BROADWAY E`, but not `AVENUE E`, where the letter is the street name.
    let is_lettered_avenue = rest.len() == 2 && suffix(&rest[0]).is_some() && rest[1].len() == 1;
    if rest.len() > 1
        && !is_lettered_avenue
        && let Some(short) = rest.last().and_then(|word| directional(word))
    {
        rest.pop();
        short.clone_into(&mut address.postdirectional);
    }
    if rest.len() > 1
        && !is_lettered_avenue
        && let Some(short) = rest.last().and_then(|word| suffix(word))
    {
        rest.pop();
        short.clone_into(&mut address.suffix);
    }
    // A directional belongs to the name if no other words remain: `100 NORTH ST`.
    if rest.len() > 2 && matches!((rest[0].as_str(), rest[1].as_str()), ("N" | "S", "E" | "W")) {
        address.predirectional = format!("{}{}", rest[0], rest[1]);
        rest.drain(..2);
    } else if rest.len() > 1
        && let Some(short) = directional(&rest[0])
    {
        rest.remove(0);
        short.clone_into(&mut address.predirectional);
    }
    // `6015 A PENNSYLVANIA AVE` means unit A at number 6015.
    if rest.len() > 1
        && rest[0].len() == 1
        && rest[1].len() > 1
        && address.unit.is_empty()
        && rest[0].bytes().all(|byte| byte.is_ascii_alphabetic())
    {
        "UNIT".clone_into(&mut address.unit_kind);
        address.unit = rest.remove(0);
        if rest.len() > 1
            && let Some(short) = directional(&rest[0])
            && address.predirectional.is_empty()
        {
            rest.remove(0);
            short.clone_into(&mut address.predirectional);
        }
    }
    address.street = street_name(&rest, !address.suffix.is_empty());
    address
}

/// Splits a line into upper-case words. `-` and `/` are kept inside numbers, and `#` is a separate
/// word.
fn tokens(line: &str) -> Vec<String> {
    let characters: Vec<char> = upper(line).chars().filter(|c| !is_apostrophe(*c)).collect();
    let mut text = String::with_capacity(characters.len());
    let beside = |index: usize, step: isize| {
        let mut index = index.checked_add_signed(step);
        while index.is_some_and(|index| characters.get(index) == Some(&' ')) {
            index = index.and_then(|index| index.checked_add_signed(step));
        }
        index
            .and_then(|index| characters.get(index))
            .is_some_and(char::is_ascii_digit)
    };
    for (index, c) in characters.iter().enumerate() {
        let digit_before = index > 0 && characters[index - 1].is_ascii_digit();
        let follows = characters
            .get(index + 1)
            .is_some_and(|next| next.is_alphanumeric());
        match c {
            '-' | '/' if digit_before && follows => text.push(*c),
            // `202B-202C` is a range of units.
            '-' if is_range(&characters, index) => text.push('-'),
            // `1234 - 1240` is a range and is normalised to have no blanks.
            '-' if beside(index, -1) && beside(index, 1) => {
                text.truncate(text.trim_end().len());
                text.push_str("-\u{0}");
            }
            '#' => text.push_str(" # "),
            ' ' if text.ends_with('\u{0}') => {}
            c if c.is_alphanumeric() => {
                if text.ends_with('\u{0}') {
                    text.pop();
                }
                text.push(*c);
            }
            _ => text.push(' '),
        }
    }
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns whether a hyphen is between two numbers with letters: `202B-202C`.
fn is_range(characters: &[char], hyphen: usize) -> bool {
    let before = characters[..hyphen]
        .iter()
        .rposition(|c| !c.is_alphanumeric())
        .map_or(0, |index| index + 1);
    let is_numbered = |place: usize| characters.get(place).is_some_and(char::is_ascii_digit);
    before < hyphen && is_numbered(before) && is_numbered(hyphen + 1)
}

/// Parses `PO BOX 427`, `RR 2 BOX 15`, `HC 1 BOX 2` and alternative spellings.
fn box_or_route(tokens: &[String]) -> Option<Address> {
    let words: Vec<&str> = tokens
        .iter()
        .map(String::as_str)
        .filter(|word| *word != "#")
        .collect();
    let starts = |begin: &str| {
        begin
            .split(' ')
            .eq(words.iter().take(begin.split(' ').count()).copied())
    };
    let has_digit = |word: &&str| word.bytes().any(|byte| byte.is_ascii_digit());
    for begin in [
        "PO BOX",
        "P O BOX",
        "POST OFFICE BOX",
        "P O BX",
        "PO BX",
        "POB",
        "BOX",
    ] {
        let rest = &words[begin.split(' ').count().min(words.len())..];
        if starts(begin) && rest.first().is_some_and(has_digit) {
            return Some(Address {
                kind: AddressKind::PoBox,
                number: rest.join(" "),
                ..Address::default()
            });
        }
    }
    let routes = [
        (
            AddressKind::RuralRoute,
            ["RR", "R R", "RURAL ROUTE", "RURAL RT", "RFD", "RT", "ROUTE"].as_slice(),
        ),
        (
            AddressKind::HighwayContract,
            [
                "HC",
                "H C",
                "HIGHWAY CONTRACT",
                "HIGHWAY CONTRACT ROUTE",
                "STAR ROUTE",
            ]
            .as_slice(),
        ),
    ];
    for (kind, begins) in routes {
        for begin in begins {
            let rest = &words[begin.split(' ').count().min(words.len())..];
            if starts(begin) && rest.first().is_some_and(has_digit) {
                let (unit_kind, unit) = match rest.get(1..) {
                    Some(["BOX", number @ ..]) if !number.is_empty() => {
                        ("BOX".to_owned(), number.join(" "))
                    }
                    _ => (String::new(), rest[1..].join(" ")),
                };
                return Some(Address {
                    kind,
                    number: rest[0].to_owned(),
                    unit_kind,
                    unit,
                    ..Address::default()
                });
            }
        }
    }
    None
}

/// Splits the words into the house number (`83-09`, `408 1/2`, `N6W23001`, or `W156 N8327`, which
/// is joined) and the remaining words. Returns `None` if the line does not start with a number or
/// consists only of a number.
fn take_number(tokens: &[String]) -> Option<(String, Vec<String>)> {
    let first = tokens.first()?;
    let starts_with_digit = first.starts_with(|c: char| c.is_ascii_digit());
    let mut taken = 1;
    let mut number = first.clone();
    if starts_with_digit && !is_ordinal(first) {
        if first.bytes().all(|byte| byte == b'0') {
            return None;
        }
        if tokens.get(1).is_some_and(|word| is_fraction(word)) {
            number = format!("{first} {}", tokens[1]);
            taken = 2;
        }
    } else if is_half_grid(first) && tokens.get(1).is_some_and(|word| is_half_grid(word)) {
        number = format!("{first}{}", tokens[1]);
        taken = 2;
    } else if first == "ONE" && tokens.len() > 2 {
        "1".clone_into(&mut number);
    } else if !is_grid(first) {
        return None;
    }
    let rest = tokens[taken..].to_vec();
    (!rest.is_empty()).then_some((number, rest))
}

fn is_fraction(word: &str) -> bool {
    word.split_once('/').is_some_and(|(over, under)| {
        [over, under]
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Returns whether a word looks like `N6` or `W23001`.
fn is_half_grid(word: &str) -> bool {
    word.strip_prefix(['N', 'S', 'E', 'W'])
        .is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// Returns whether a word looks like `N6W23001`.
fn is_grid(word: &str) -> bool {
    word.char_indices().skip(1).any(|(index, c)| {
        c.is_ascii_alphabetic() && is_half_grid(&word[..index]) && is_half_grid(&word[index..])
    })
}

/// Moves the unit from the words after the number into the address.
fn take_unit(rest: &mut Vec<String>, address: &mut Address) {
    let looks_numbered =
        |word: &String| word.len() == 1 || word.bytes().any(|byte| byte.is_ascii_digit());
    let designated = (1..rest.len()).find(|&index| {
        let next = rest.get(index + 1);
        rest[index] == "#" && next.is_some()
            || numbered_unit(&rest[index]).is_some()
                && next.is_some_and(|next| next == "#" || looks_numbered(next))
    });
    if let Some(index) = designated {
        let unit: Vec<String> = rest.split_off(index);
        let kind = numbered_unit(&unit[0]).unwrap_or("UNIT");
        let number: Vec<&str> = unit[1..]
            .iter()
            .map(String::as_str)
            .filter(|word| *word != "#")
            .collect();
        kind.clone_into(&mut address.unit_kind);
        address.unit = number.join(" ");
        return;
    }
    let last = rest.len() - 1;
    let street_ends = |index: usize| {
        index > 1
            && (suffix(&rest[index - 1]).is_some()
                || (index > 2
                    && directional(&rest[index - 1]).is_some()
                    && suffix(&rest[index - 2]).is_some()))
    };
    if last > 1
        && numbered_unit(&rest[last]) == Some("FL")
        && is_ordinal(&rest[last - 1])
        && street_ends(last - 1)
    {
        rest.pop();
        "FL".clone_into(&mut address.unit_kind);
        address.unit = rest
            .pop()
            .unwrap_or_default()
            .trim_end_matches(|c: char| c.is_ascii_alphabetic())
            .to_owned();
        return;
    }
    if !street_ends(last) {
        return;
    }
    if let Some(kind) = plain_unit(&rest[last]) {
        rest.pop();
        kind.clone_into(&mut address.unit_kind);
    } else if is_bare_unit(rest, last) {
        "UNIT".clone_into(&mut address.unit_kind);
        address.unit = rest.pop().unwrap_or_default();
    }
}

/// Parses a unit given separately from the street: `APT 11GW`, `# 4`, `202B-202C`. Returns `None`
/// for a remark (`TEMP`, `3rd Floor`, `TYPE 3B`).
pub fn parse_unit(text: &str) -> Option<(String, String)> {
    let tokens = tokens(text);
    let (kind, number) = match tokens.split_first()? {
        (first, rest) if first == "#" => ("UNIT", rest),
        (first, rest) if !rest.is_empty() && numbered_unit(first).is_some() => {
            (numbered_unit(first)?, rest)
        }
        _ => ("UNIT", tokens.as_slice()),
    };
    let number: Vec<&str> = number
        .iter()
        .map(String::as_str)
        .filter(|word| *word != "#")
        .collect();
    let [number] = number.as_slice() else {
        return None;
    };
    let is_number = number.len() <= MAX_UNIT_LENGTH
        && number.bytes().any(|byte| byte.is_ascii_digit())
        && !is_ordinal(number);
    (is_number || (number.len() == 1 && tokens.len() > 1))
        .then(|| (kind.to_owned(), (*number).to_owned()))
}

/// Returns whether a word is a street type in any spelling: `ST`, `Avenue`, `Lake`.
pub fn is_suffix(word: &str) -> bool {
    suffix(&upper(word)).is_some()
}

/// Returns whether a word is a direction in any spelling: `N`, `Southwest`.
pub fn is_directional(word: &str) -> bool {
    directional(&upper(word)).is_some()
}

/// Maximum length of a unit: `202B-202C`.
const MAX_UNIT_LENGTH: usize = 9;

/// Splits a street line before the unit and returns both parts as written: `6081 W CENTER DR
/// 202B-202C` becomes `6081 W CENTER DR` and `202B-202C`. Returns `None` if the line does not end
/// with a unit.
pub fn split_unit(line: &str) -> Option<(&str, &str)> {
    let whole = parse_street(line);
    if whole.kind != AddressKind::Street || (whole.unit_kind.is_empty() && whole.unit.is_empty()) {
        return None;
    }
    let street = |address: &Address| {
        address.unit_kind.is_empty() && address.unit.is_empty() && address.key() == whole.key()
    };
    let ends = line
        .char_indices()
        .filter(|(_, c)| c.is_whitespace() || matches!(c, ',' | '#'))
        .map(|(end, _)| end);
    let end = ends
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .find(|end| street(&parse_street(&line[..*end])))?;
    let is_between = |c: char| c.is_whitespace() || c == ',';
    let (street, unit) = (
        line[..end].trim_end_matches(is_between),
        line[end..].trim_matches(is_between),
    );
    (!unit.is_empty()).then_some((street, unit))
}

/// Returns whether the last word is a unit without a designator: `114 S 11TH ST 104`, but not
/// `COUNTY ROAD 5` or `STATE HWY 9`.
fn is_bare_unit(rest: &[String], last: usize) -> bool {
    let word = &rest[last];
    let numbered = word.starts_with(|c: char| c.is_ascii_digit()) && !is_ordinal(word);
    let lettered = word.len() == 1
        && directional(word).is_none()
        && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_numbered_road = matches!(suffix(&rest[last - 1]), Some("HWY" | "RTE" | "LOOP"))
        || is_road_owner(&rest[last - 2]);
    (numbered || lettered) && !is_numbered_road
}

/// Returns the street name, with ordinals written as digits and the type of a numbered road spelled
/// out.
fn street_name(words: &[String], has_suffix: bool) -> String {
    if let [number] = words
        && has_suffix
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return with_ordinal_ending(number);
    }
    let mut name: Vec<String> = Vec::with_capacity(words.len());
    let mut index = 0;
    while index < words.len() {
        let word = &words[index];
        let next = words.get(index + 1);
        let number_follows = index + 2 == words.len()
            && next.is_some_and(|next| {
                next.len() == 1 || next.bytes().any(|byte| byte.is_ascii_digit())
            });
        if let Some(ordinal) = next.and_then(|next| compound_ordinal(word, next)) {
            name.push(ordinal);
            index += 1;
        } else if let Some(ordinal) = ordinal(word) {
            name.push(ordinal.to_owned());
        } else if number_follows {
            name.push(match suffix(word) {
                Some("HWY") => "HIGHWAY".to_owned(),
                Some("RTE") => "ROUTE".to_owned(),
                Some("RD") => "ROAD".to_owned(),
                Some("AVE") => "AVENUE".to_owned(),
                _ => word.clone(),
            });
        } else {
            name.push(word.clone());
        }
        index += 1;
    }
    name.join(" ")
}
