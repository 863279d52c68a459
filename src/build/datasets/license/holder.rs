//! Reads a license's holder, which is either a person with a name in parts or an organisation.

use super::cells::Row;
use super::settings::{HolderKind, Settings};
use pubdata_core::canonical::name::{self, Order, Person};

/// A holder as published.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) name: String,
    pub(super) normalized: String,
    /// `person`, `organization`, or `None` if the row does not show it.
    pub(super) party: Option<&'static str>,
    pub(super) person: Option<Person>,
    pub(super) business_name: Option<String>,
}

/// Reads a row's holder, or returns `None` if the row has no name. `principal` is the person that
/// the source names for the business, and `kind` comes from the publisher's code table.
pub(super) fn holder(
    row: Row<'_>,
    settings: &Settings,
    principal: Option<&str>,
    kind: Option<HolderKind>,
) -> Option<Holder> {
    let organization = row.text("organization_name");
    let parts =
        parts(row).filter(|_| kind != Some(HolderKind::Organization) || organization.is_none());
    let full = row.text("full_name");
    let written = row.text("holder_name").map(str::to_owned);
    let name = match (&parts, organization) {
        (Some(person), _) => written
            .or_else(|| full.map(str::to_owned))
            .unwrap_or_else(|| person.in_order()),
        (None, Some(organization)) => organization.to_owned(),
        (None, None) => written.or_else(|| full.map(str::to_owned))?,
    };
    let stated = row
        .text("holder_kind")
        .and_then(|text| settings.holder_kind.get(text))
        .copied();
    let declared = settings
        .without_last_name
        .filter(|_| row.text("last_name").is_none())
        .or(stated)
        .or(kind);
    let order = Order::from(settings.name_order);
    let designator = name::organization(&name).designator;
    let (party, person) = match declared {
        _ if parts.is_some() => (Some("person"), parts),
        _ if organization.is_some() => (Some("organization"), None),
        Some(HolderKind::Person) => (Some("person"), name::person(&name, order)),
        Some(HolderKind::Organization) => (Some("organization"), None),
        Some(HolderKind::SoleOwner) => {
            let person = principal
                .and_then(|principal| name::person(principal, order))
                .or_else(|| full.and_then(|full| turned(&name, full)));
            (Some("person"), person)
        }
        Some(HolderKind::Business) | None if designator.is_some() => (Some("organization"), None),
        Some(HolderKind::Business) | None
            if principal.is_some_and(|principal| is_own_principal(&name, principal)) =>
        {
            (Some("person"), name::person(&name, order))
        }
        Some(HolderKind::Business) | None
            if is_person_with_comma(&name) || (settings.comma_is_person && name.contains(',')) =>
        {
            (Some("person"), name::person(&name, Order::LastFirst))
        }
        Some(HolderKind::Business) | None => (None, None),
    };
    let is_own_name = person
        .as_ref()
        .is_some_and(|person| same_words(&person.in_order(), &name));
    let normalized = match &person {
        Some(person) if is_own_name => name::words(&person.in_order()).join(" "),
        _ => name::organization(&name).normalized,
    };
    let differs = |other: &&str| !same_words(other, &name);
    let business_name = row
        .text("business_name")
        .filter(differs)
        .or_else(|| full.filter(differs))
        .map(str::to_owned);
    Some(Holder {
        normalized,
        party,
        person,
        business_name,
        name,
    })
}

/// Reads a name that is in several columns in the source.
fn parts(row: Row<'_>) -> Option<Person> {
    let part = |name: &str| row.text(name).unwrap_or_default().to_owned();
    let person = Person {
        first: part("first_name"),
        middle: part("middle_name"),
        last: part("last_name"),
        suffix: part("suffix"),
    };
    if person.first.is_empty()
        && let Some(identified) = row
            .text("holder_name")
            .and_then(|name| around(name, &person.last))
    {
        return Some(identified);
    }
    (!person.last.is_empty()).then_some(person)
}

/// Splits `ROBERT L POSEY SR` around the last name `POSEY` from another column. The words before
/// the last name are given names, and a word after it is a suffix.
fn around(name: &str, last: &str) -> Option<Person> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let last: Vec<&str> = last.split_whitespace().collect();
    let plain = |word: &str| word.trim_matches(',').to_uppercase();
    let is_last = |place: &usize| {
        !last.is_empty()
            && words[*place..]
                .iter()
                .zip(&last)
                .all(|(one, other)| plain(one) == plain(other))
    };
    let place = (1..=words.len().checked_sub(last.len())?)
        .rev()
        .find(is_last)?;
    let suffix = words[place + last.len()..].join(" ");
    Some(Person {
        first: words[0].to_owned(),
        middle: words[1..place].join(" "),
        last: last.join(" "),
        suffix: suffix.trim_start_matches([',', ' ']).to_owned(),
    })
}

/// Recognises `SAMPON LENA R` and `LENA R SAMPON` as a person's name in both orders. A trade name
/// (`FAKEO DALANDA LANDSCAPING`) does not match in this way.
fn turned(last_first: &str, first_last: &str) -> Option<Person> {
    let words: Vec<&str> = last_first.split_whitespace().collect();
    let turned: Vec<&str> = first_last.split_whitespace().collect();
    let fits = |place: &usize| {
        let (last, given) = words.split_at(*place);
        let ends = (0..=1).filter(|end| given.len() > *end).any(|end| {
            let (given, suffix) = given.split_at(given.len() - end);
            (end == 0
                || name::person(&format!("X, Y {}", suffix[0]), Order::LastFirst)
                    .is_some_and(|person| !person.suffix.is_empty()))
                && turned == [given, last, suffix].concat()
        });
        ends && last.len() + given.len() == turned.len()
    };
    let place = (1..words.len()).find(fits)?;
    let (last, given) = words.split_at(place);
    name::person(
        &format!("{}, {}", last.join(" "), given.join(" ")),
        Order::LastFirst,
    )
}

/// Returns true for a name such as `EXAMINGTON, ROLAND`, with one comma, letters only, and at most
/// three words on each side.
fn is_person_with_comma(name: &str) -> bool {
    let is_words = |part: &str| {
        let words: Vec<&str> = part.split_whitespace().collect();
        (1..=3).contains(&words.len())
            && words.iter().all(|word| {
                word.chars()
                    .all(|c| c.is_alphabetic() || matches!(c, '.' | '\'' | '-'))
            })
    };
    name.split_once(',')
        .is_some_and(|(last, given)| is_words(last) && is_words(given))
}

/// Returns true for a sole owner who trades under the owner's own name, such as `BRUCE FAKEMAN`
/// with the responsible person `BRUCE FAKEMAN`.
fn is_own_principal(name: &str, principal: &str) -> bool {
    let is_word = |word: &str| {
        word.chars()
            .all(|c| c.is_alphabetic() || matches!(c, '.' | '\'' | '-' | ','))
    };
    (2..=5).contains(&name.split_whitespace().count())
        && name.split_whitespace().all(is_word)
        && same_words(name, principal)
}

fn same_words(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut words = name::words(text);
        words.sort();
        words
    };
    sorted(one) == sorted(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_named_in_both_orders_is_a_person() {
        let parts = |one: &str, other: &str| {
            turned(one, other)
                .map(|person| [person.first, person.middle, person.last, person.suffix])
        };
        assert_eq!(
            parts("SAMPON LENA R", "LENA R SAMPON"),
            Some(["LENA", "R", "SAMPON", ""].map(str::to_owned))
        );
        assert_eq!(
            parts("EL - HAWAT MICHEL", "MICHEL EL - HAWAT"),
            Some(["MICHEL", "", "EL - HAWAT", ""].map(str::to_owned))
        );
        assert_eq!(
            parts("MOCA HELMUT JR", "HELMUT MOCA JR"),
            Some(["HELMUT", "", "MOCA", "JR"].map(str::to_owned))
        );
        assert_eq!(
            parts("FAKEO DALANDA LANDSCAPING", "DALANDA FAKEO LANDSCAPING"),
            None
        );
        assert_eq!(
            parts("LIGHTCO SYSTEMS INC", "ENERGY STAR LIGHTING & ELECTRIC INC"),
            None
        );
    }

    #[test]
    fn separate_last_name_splits_the_whole_name() {
        let parts = |name: &str, last: &str| {
            around(name, last)
                .map(|person| [person.first, person.middle, person.last, person.suffix])
        };
        assert_eq!(
            parts("ROBERT L SAMPLEY SR", "SAMPLEY"),
            Some(["ROBERT", "L", "SAMPLEY", "SR"].map(str::to_owned))
        );
        assert_eq!(
            parts("ANA MARIA DE LA FAKE, JR", "De La Fake"),
            Some(["ANA", "MARIA", "De La Fake", "JR"].map(str::to_owned))
        );
        assert_eq!(
            parts("GREEN T GREEN", "GREEN"),
            Some(["GREEN", "T", "GREEN", ""].map(str::to_owned))
        );
        assert_eq!(parts("SAMPLEY", "SAMPLEY"), None);
        assert_eq!(parts("FAKETOWN SCHOOL OF TRADES", ""), None);
    }

    #[test]
    fn holder_who_is_also_the_principal_is_a_person() {
        assert!(
            is_own_principal("BRUCE FAKEMAN", "Bruce Fakeman")
                && is_own_principal("SAMPLE LENA R", "LENA R SAMPLE")
        );
        assert!(
            !is_own_principal("FAKEMAN BUILDERS", "BRUCE FAKEMAN")
                && !is_own_principal("4 U", "4 U")
                && !is_own_principal("ROOFERS", "ROOFERS")
        );
    }

    #[test]
    fn comma_alone_does_not_make_a_person() {
        assert!(
            is_person_with_comma("EXAMINGTON, ROLAND")
                && is_person_with_comma("FAKEFORD JR, ELEANOR")
        );
        assert!(
            !is_person_with_comma("UNION ST SUPERWASH CENTER I, INC")
                && !is_person_with_comma("COL DAL DEMA")
        );
    }
}
