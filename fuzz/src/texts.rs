//! Checks the normalisation of names, addresses and numbers: normalising a normalised form must not
//! change it.

use pubdata_build::normalise;
use pubdata_core::canonical::{address, email, license_number, line, name, phone, state, street};
use pubdata_core::pipeline::normalized_name;
use pubdata_core::printable::{is_unprintable, printable};
use pubdata_run::fuzzing::quoted;

/// Normalises any text in every way.
pub fn names(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let text = text.as_ref();
    let parsed = [street::parse_street(text), line::parse_line(text)];
    for address in &parsed {
        let _ = (address.normalized(), address.line(), address.key(), address.loose_key());
    }
    let _ = (address::city(text), address::city_key(text), address::zip(text), address::zip_in_country(text));
    let _ = (license_number::display(text), license_number::normalized(text, &["CA".to_owned(), String::new()]));
    let _ = (name::organization(text), name::split_status(text), name::words(text), name::comparable(text));
    for order in [name::Order::FirstLast, name::Order::LastFirst, name::Order::Columns] {
        if let Some(person) = name::person(text, order) {
            let _ = person.in_order();
        }
    }
    let _ = (state::usps(text), email::is_in(text));
    if let Some(number) = phone::phone(text) {
        assert_eq!(phone::phone(&number).as_ref(), Some(&number), "a telephone number in its form stays as it is");
    }
    let shown = printable(text);
    assert!(!shown.contains(is_unprintable), "a terminal obeys nothing of it");
    assert_eq!(printable(&shown), shown, "what is shown stays as it is");
    let quoted = quoted(text);
    assert_eq!(quoted.lines().count(), 1);
    let read: toml::Table = format!("{quoted} = {quoted}").parse().expect("a text is a key and a value");
    assert_eq!(read.iter().next().map(|(key, value)| (key.as_str(), value.as_str())), Some((text, Some(text))));
    let header = normalized_name(text);
    assert_eq!(normalized_name(&header), header, "a normalized name stays as it is");
    let _ = (normalise::unscaled(text, 3), normalise::degrees(text, 180.0), normalise::us_date(text));
    for pattern in ["%m/%d/%Y", "%Y%m%d", text] {
        let _ = normalise::day_from_pattern(text, pattern);
    }
    let _ = (normalise::day_from_epoch(text, 86_400_000), normalise::Day::from_iso(text.as_bytes()), normalise::utc_from_rfc3339(text));
}
