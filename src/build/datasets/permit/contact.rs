//! Reads a permit's parties. Never publishes the names of owners and applicants who are persons, or
//! persons' telephone numbers.

use polars::prelude::*;

use super::CONTACT;
use super::cells::Reader;
use super::frame_columns::{Feed, constant, made, texts};
use super::organizations::{self, NamesOf, Party};
use super::settings::{ContactGroup, Names, Settings, lower_case};
use crate::datasets::placeholders::{Holds, is_placeholder};
use crate::datasets::vocabulary::{UNKNOWN, unknown_value};
use crate::normalise::{list_column, pointer_column};
use pubdata_core::canonical::{license_number, name, phone, state};
use pubdata_core::error::Result;

/// Columns that describe a party. A column name is the group's prefix followed by one of these.
#[rustfmt::skip]
pub(super) const COLUMNS: &[&str] = &[
    "name", "business_name", "first_name", "middle_name", "last_name", "type", "party", "phone", "license_number", "license_type", "license_state",
    "other_license_number",
];

/// A party to a permit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contact {
    pub(super) role: String,
    pub(super) role_raw: Option<String>,
    pub(super) name: Option<String>,
    pub(super) name_normalized: Option<String>,
    pub(super) license_number: Option<String>,
    pub(super) license_number_normalized: Option<String>,
    pub(super) license_type_raw: Option<String>,
    pub(super) license_state: Option<String>,
    pub(super) license_scheme: Option<String>,
    pub(super) other_license_number: Option<String>,
    pub(super) other_license_number_normalized: Option<String>,
    pub(super) other_license_scheme: Option<String>,
    pub(super) phone: Option<String>,
    pub(super) unknown_values: Vec<String>,
}

/// Reads a row's parties, in the order of the declaration and of its blocks.
pub(super) fn read(reader: &mut Reader<'_>) -> Vec<Contact> {
    let settings = reader.settings;
    let blocks = settings.contacts.iter().flat_map(|group| {
        (1..=group.blocks.max(1)).map(move |number| (group, group.block(number)))
    });
    blocks
        .flat_map(|(group, prefix)| parties(reader, group, &prefix))
        .collect()
}

/// Builds the frame for `permit.contact` from permit ids, parties and row pointers.
pub(super) fn frame<'a>(
    permits: impl Iterator<Item = (&'a str, &'a [Contact], &'a [u64])>,
    settings: &Settings,
    feed: &Feed<'_>,
) -> Result<DataFrame> {
    type Numbered<'a> = (i32, &'a Contact, &'a str, &'a [u64]);
    let items: Vec<Numbered<'a>> = permits
        .flat_map(|(permit_id, contacts, pointers)| {
            contacts
                .iter()
                .zip(1..)
                .map(move |(contact, seq)| (seq, contact, permit_id, pointers))
        })
        .collect();
    let height = items.len();
    let items = items.as_slice();
    macro_rules! text {
        ($name:literal, $field:ident) => {
            texts($name, items, |(_, contact, ..)| contact.$field.as_deref())
        };
    }
    let columns = vec![
        made("record_id", items, |(seq, _, permit_id, _)| {
            Some(format!("{CONTACT}:{permit_id}:{seq}"))
        }),
        constant("jurisdiction", &settings.jurisdiction.id, height),
        constant("source_id", feed.source_id, height),
        constant("bucket", feed.bucket, height),
        texts("permit_id", items, |(_, _, permit_id, _)| Some(*permit_id)),
        items
            .iter()
            .map(|(seq, ..)| Some(*seq))
            .collect::<Int32Chunked>()
            .with_name("seq".into())
            .into_column(),
        texts("role", items, |(_, contact, ..)| Some(&contact.role)),
        text!("role_raw", role_raw),
        text!("name", name),
        text!("name_normalized", name_normalized),
        text!("license_number", license_number),
        text!("license_number_normalized", license_number_normalized),
        text!("license_type_raw", license_type_raw),
        text!("license_state", license_state),
        text!("license_scheme", license_scheme),
        text!("other_license_number", other_license_number),
        text!(
            "other_license_number_normalized",
            other_license_number_normalized
        ),
        text!("other_license_scheme", other_license_scheme),
        text!("phone", phone),
        list_column(
            "unknown_values",
            items.iter().map(|(_, contact, ..)| &contact.unknown_values),
        ),
        pointer_column(items.iter().map(|(.., pointers)| *pointers)),
    ];
    Ok(DataFrame::new(height, columns)?)
}

/// Reads the parties in a block: none, one, or several that share the name cell. Returns no party
/// if only values that cannot be published are known about it.
fn parties(reader: &mut Reader<'_>, group: &ContactGroup, prefix: &str) -> Vec<Contact> {
    let cell = |name: &str| reader.text(&format!("{prefix}{name}"));
    let (kind, party) = (cell("type"), cell("party"));
    let stated_number = |name: &str| {
        cell(name).filter(|number| {
            number
                .bytes()
                .any(|byte| byte.is_ascii_alphanumeric() && byte != b'0')
        })
    };
    let (number, other_number) = (
        stated_number("license_number"),
        stated_number("other_license_number"),
    );
    let license_type = cell("license_type");
    let number =
        number.filter(|_| license_type.is_none_or(|kind| !group.no_license_types.contains(kind)));
    let license_state = cell("license_state")
        .and_then(state::usps)
        .map(str::to_owned)
        .or_else(|| group.license_state.clone());
    let telephone = cell("phone").and_then(|text| phone::phone(text.trim_end_matches(".0")));
    let stated = stated_name(reader, group, prefix);
    if let Some(Stated::Owner(word)) = stated {
        return vec![Contact {
            role: "owner".to_owned(),
            role_raw: Some(word.to_owned()),
            ..Contact::without_name()
        }];
    }
    let role = match (&group.role, kind) {
        (Some(role), _) => Some(role.clone()),
        (None, Some(kind)) => role_of(reader, kind),
        (None, None) => Some(UNKNOWN.to_owned()),
    };
    let unknown_values: Vec<String> = kind
        .filter(|_| role.is_none())
        .map(|kind| unknown_value("role", kind))
        .into_iter()
        .collect();
    let role = role.unwrap_or_else(|| UNKNOWN.to_owned());
    let is_a_person = party.is_some_and(|party| group.persons.contains(party));
    let is_trade = matches!(
        role.as_str(),
        "contractor" | "architect" | "engineer" | "expediter"
    );
    let is_licensed_trade = group.names == Names::Trade && is_trade && number.is_some();
    let named = match stated {
        Some(Stated::Name(name)) if is_a_person => vec![Party {
            name: name.to_owned(),
            is_organization: false,
        }],
        Some(Stated::Name(name)) => organizations::parties(
            name,
            if is_trade {
                NamesOf::Trade
            } else {
                NamesOf::Anyone
            },
        ),
        _ => Vec::new(),
    };
    let is_public = |party: &Party| match group.names {
        _ if party.is_organization => group.names == Names::Organizations || is_trade,
        Names::Trade if named.len() == 1 => is_trade,
        // A person listed along with a firm is published without a license, because the license may
        // be the firm's.
        _ => is_licensed_trade,
    };
    let person = match &stated {
        // A person named without a license may be the owner.
        Some(Stated::Person(name)) if is_licensed_trade => Some(name.clone()),
        _ => None,
    };
    let names: Vec<(String, bool)> = named
        .iter()
        .filter(|party| is_public(party))
        .map(|party| (party.name.clone(), party.is_organization))
        .chain(person.map(|name| (name, false)))
        .collect();
    let role_raw = kind.map(str::to_owned);
    let is_withheld = stated.is_some() && names.is_empty();
    if is_withheld
        || (group.names == Names::Organizations && names.is_empty())
        || (group.names == Names::Trade && !is_trade)
    {
        let contact = Contact {
            role: group.person_role.clone().unwrap_or(role),
            role_raw,
            unknown_values,
            ..Contact::without_name()
        };
        return Some(contact)
            .filter(|contact| contact.role_raw.is_some())
            .into_iter()
            .collect();
    }
    let first = names.first().cloned();
    let is_organization = first
        .as_ref()
        .is_some_and(|(_, is_organization)| *is_organization);
    let contact = Contact {
        role,
        role_raw,
        license_number: number.map(str::to_owned),
        license_number_normalized: number.map(|number| license_number::normalized(number, &[])),
        license_type_raw: license_type.filter(|_| number.is_some()).map(str::to_owned),
        license_state: license_state.filter(|_| number.is_some() || other_number.is_some()),
        license_scheme: group.license_scheme.clone().filter(|_| number.is_some()),
        other_license_number: other_number.map(str::to_owned),
        other_license_number_normalized: other_number
            .map(|number| license_number::normalized(number, &[])),
        other_license_scheme: group
            .other_license_scheme
            .clone()
            .filter(|_| other_number.is_some()),
        phone: telephone.filter(|_| is_organization),
        unknown_values,
        ..Contact::without_name()
    }
    .named(first.map(|(name, _)| name));
    if [
        &contact.name,
        &contact.license_number,
        &contact.other_license_number,
        &contact.phone,
        &contact.role_raw,
    ]
    .iter()
    .all(|value| value.is_none())
    {
        return Vec::new();
    }
    // The license number and telephone number belong to the first party.
    let others = names.into_iter().skip(1).map(|(name, _)| {
        let (role, role_raw, unknown_values) = (
            contact.role.clone(),
            contact.role_raw.clone(),
            contact.unknown_values.clone(),
        );
        Contact {
            role,
            role_raw,
            unknown_values,
            ..Contact::without_name()
        }
        .named(Some(name))
    });
    let others: Vec<Contact> = others.collect();
    std::iter::once(contact).chain(others).collect()
}

/// Looks up a role in the source's table, then in the shared vocabulary. Returns `None` for an
/// unknown role.
fn role_of(reader: &mut Reader<'_>, kind: &str) -> Option<String> {
    let settings = reader.settings;
    let role = settings
        .role
        .get(kind)
        .or_else(|| settings.trade.role.get(kind))
        .map(str::to_owned);
    if role.is_none() {
        reader.warn("unmapped_role", format!("a party is `{kind}`"));
    }
    role
}

/// Content of the name columns.
enum Stated<'a> {
    /// Text stating that the owner does the work.
    Owner(&'a str),
    /// A firm or a person, or several of them.
    Name(&'a str),
    /// A person, from columns that contain only parts of personal names.
    Person(String),
}

/// Returns the business name, the name, or the joined parts of a person's name, in this order of
/// preference.
fn stated_name<'a>(reader: &Reader<'a>, group: &ContactGroup, prefix: &str) -> Option<Stated<'a>> {
    let cell = |name: &str| reader.text(&format!("{prefix}{name}"));
    let is_owner = |text: &str| {
        group
            .owner_names
            .iter()
            .any(|name| lower_case(name) == lower_case(text))
    };
    let one = [cell("business_name"), cell("name")]
        .into_iter()
        .flatten()
        .find(|text| is_owner(text) || is_name(text));
    if let Some(text) = one {
        return Some(if is_owner(text) {
            Stated::Owner(text)
        } else {
            Stated::Name(text)
        });
    }
    let parts: Vec<&str> = ["first_name", "middle_name", "last_name"]
        .into_iter()
        .filter_map(cell)
        .collect();
    let text = parts.join(" ");
    is_name(&text).then_some(Stated::Person(text))
}

/// Returns true for text that is neither a placeholder nor a database key
/// (`{CDEEE3D5-1DB0-E611-8111-005056B627E6}`).
fn is_name(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
        && !text.starts_with('{')
        && !is_placeholder(Holds::Name, text)
}

impl Contact {
    fn named(mut self, name: Option<String>) -> Self {
        self.name_normalized = name
            .as_ref()
            .map(|name| name::organization(name).normalized)
            .filter(|text| !text.is_empty());
        self.name = name;
        self
    }

    fn without_name() -> Self {
        Self {
            role: String::new(),
            role_raw: None,
            name: None,
            name_normalized: None,
            license_number: None,
            license_number_normalized: None,
            license_type_raw: None,
            license_state: None,
            license_scheme: None,
            other_license_number: None,
            other_license_number_normalized: None,
            other_license_scheme: None,
            phone: None,
            unknown_values: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Rows, one_row};
    use super::super::settings::Settings;
    use super::*;

    type Cells<'c> = &'c [(&'c str, &'c str)];

    /// Returns the role, name, normalised name and license number of each party in a row.
    fn parties_of(group: &str, cells: &[(&str, &str)]) -> Vec<[String; 4]> {
        let settings = format!(
            "dates = []\njurisdiction = {{ id = \"us-xx-list\", name = \"List\", state = \"XX\" }}\n[[contact]]\nprefix = \"party\"\n{group}"
        );
        let settings: Settings = toml::from_str(&settings).unwrap();
        let frame = one_row(cells);
        let rows = Rows::new(&frame).unwrap();
        let parts = |contact: Contact| {
            [
                Some(contact.role),
                contact.name,
                contact.name_normalized,
                contact.license_number,
            ]
            .map(Option::unwrap_or_default)
        };
        read(&mut Reader::new(&rows, 0, &settings))
            .into_iter()
            .map(parts)
            .collect()
    }

    /// Cells from East Baton Rouge, Honolulu, Miami-Dade and Columbus; persons are invented.
    #[test]
    fn persons_are_published_only_with_a_license_of_a_trade() {
        let of_firms = "role = \"contractor\"\nnames = \"organizations\"\nperson_role = \"unknown\"\nowner_names = [\"HOMEOWNER\"]";
        let of_owners = "role = \"owner\"\nnames = \"organizations\"";
        let of_trade = "role = \"contractor\"";
        let firm = |name: &str, normalized: &str, number: &str| {
            ["contractor", name, normalized, number].map(str::to_owned)
        };
        let booker = || firm("Booker Mechanical, LLC", "BOOKER MECHANICAL LLC", "");
        let shared = ("party_name", "Booker Mechanical, LLC - Martin Dowell");
        let cases: [(&str, Cells<'_>, Vec<[String; 4]>); 11] = [
            (of_firms, &[shared], vec![booker()]),
            (of_trade, &[shared], vec![booker()]),
            (
                of_trade,
                &[shared, ("party_license_number", "123")],
                vec![
                    firm("Booker Mechanical, LLC", "BOOKER MECHANICAL LLC", "123"),
                    firm("Martin Dowell", "MARTIN DOWELL", ""),
                ],
            ),
            (of_firms, &[("party_name", "Martin Dowell")], vec![]),
            (
                of_firms,
                &[
                    ("party_name", "Martin Dowell"),
                    ("party_phone", "3135550100"),
                ],
                vec![],
            ),
            (of_firms, &[("party_name", "NULL")], vec![]),
            (
                of_firms,
                &[("party_name", "Homeowner")],
                vec![["owner", "", "", ""].map(str::to_owned)],
            ),
            (
                of_firms,
                &[("party_name", "A3 ELECTRIC LLC, R TESDALE LLC")],
                vec![
                    firm("A3 ELECTRIC LLC", "A3 ELECTRIC LLC", ""),
                    firm("R TESDALE LLC", "R TESDALE LLC", ""),
                ],
            ),
            (
                of_owners,
                &[("party_name", "LAKE VISTA CONDO/MARIA ALDERSON")],
                vec![["owner", "LAKE VISTA CONDO", "LAKE VISTA CONDO", ""].map(str::to_owned)],
            ),
            (of_owners, &[("party_name", "MARIA ALDERSON")], vec![]),
            (
                of_trade,
                &[
                    ("party_first_name", "MARTIN"),
                    ("party_last_name", "DOWELL"),
                ],
                vec![],
            ),
        ];
        for (group, cells, expected) in cases {
            assert_eq!(parties_of(group, cells), expected, "{cells:?}");
        }
    }

    #[test]
    fn placeholders_are_no_names() {
        for text in [
            "{CDEEE3D5-1DB0-E611-8111-005056B627E6}",
            "N/A",
            "-",
            "NULL",
            "Owner",
            "No Primary Applicant Available",
            "NOT LISTED",
        ] {
            assert!(!is_name(text), "{text}");
        }
        assert!(is_name("HINES"));
    }
}
