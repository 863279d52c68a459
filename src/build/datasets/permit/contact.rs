//! The parties of a permit. Names of owners and applicants who are persons are never published, nor the telephones of persons.

use super::cells::Reader;
use super::settings::{ContactGroup, Names, normalized_word};
use pubdata_core::canonical::{license_number, name, phone, state};

/// Words that no person's name holds. A name without one of them and without a legal form may be a person's.
const ORGANIZATION_WORDS: &[&str] = &[
    "AGENCY",
    "APARTMENTS",
    "ARCHITECTS",
    "ARCHITECTURE",
    "ASSOCIATES",
    "ASSOCIATION",
    "ASSOC",
    "AUTHORITY",
    "BANK",
    "BROTHERS",
    "BROS",
    "BUILDERS",
    "BUILDINGS",
    "CENTER",
    "CENTERS",
    "CENTRE",
    "CHURCH",
    "CITY",
    "COLLEGE",
    "COMMUNITIES",
    "CONCRETE",
    "CONDO",
    "CONDOMINIUM",
    "CONGREGATION",
    "CONST",
    "CONSTRUCTION",
    "CONSTRUCTORS",
    "CONSULTANTS",
    "CONSULTING",
    "CONTRACTING",
    "CONTRACTORS",
    "COOLING",
    "COUNTY",
    "DEMOLITION",
    "DEPARTMENT",
    "DEPT",
    "DESIGN",
    "DESIGNS",
    "DEVELOPERS",
    "DEVELOPMENT",
    "DEVELOPMENTS",
    "DEVELOPEMENT",
    "ELECTRIC",
    "ELECTRICAL",
    "ENGINEERING",
    "ENTERPRISE",
    "ENTERPRISES",
    "EQUIPMENT",
    "EXTERIORS",
    "FOUNDATION",
    "GROUP",
    "HEATING",
    "HOLDINGS",
    "HOMES",
    "HOSPITAL",
    "HOTEL",
    "HOUSING",
    "IMPROVEMENTS",
    "INDUSTRIES",
    "INSTALLATION",
    "INSTALLATIONS",
    "INVESTMENTS",
    "INVESTORS",
    "LANDSCAPING",
    "LIBRARY",
    "MAINTENANCE",
    "MANAGEMENT",
    "MASONRY",
    "MECHANICAL",
    "MINISTRIES",
    "NYCHA",
    "PARKS",
    "PARTNERS",
    "PARTNERSHIP",
    "PLBG",
    "PLUMBING",
    "POOLS",
    "PROPERTIES",
    "REALTY",
    "REHAB",
    "REMODELING",
    "RENOVATIONS",
    "RESTORATION",
    "ROOFING",
    "SCA",
    "SCAFFOLDING",
    "SCHOOL",
    "SCHOOLS",
    "SERVICE",
    "SERVICES",
    "SIGNS",
    "SIGNAGE",
    "SOCIETY",
    "SOLAR",
    "SOLUTIONS",
    "SONS",
    "STORES",
    "SUPPLY",
    "SYSTEMS",
    "TECHNOLOGIES",
    "UNIVERSITY",
    "VENTURES",
    "WRECKING",
];

/// What is written where there is no name.
const NO_NAMES: &[&str] = &["n/a", "na", "n-a", "n\\a", "none", "null", "unknown", "owner", "owne", "homeowner", "home owner", "same", "tbd", "pr"];

/// A party of a permit.
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
}

/// The parties of a row in the order of the declaration, and of the blocks in it.
pub(super) fn read(reader: &mut Reader<'_>) -> Vec<Contact> {
    let settings = reader.settings;
    let blocks = settings.contacts.iter().flat_map(|group| (1..=group.blocks.max(1)).map(move |number| (group, group.block(number))));
    blocks.filter_map(|(group, prefix)| party(reader, group, &prefix)).collect()
}

fn party(reader: &mut Reader<'_>, group: &ContactGroup, prefix: &str) -> Option<Contact> {
    let cell = |name: &str| reader.text(&format!("{prefix}{name}"));
    let (kind, party, name) = (cell("type"), cell("party"), stated_name(reader, prefix));
    let stated_number = |name: &str| cell(name).filter(|number| number.bytes().any(|byte| byte.is_ascii_alphanumeric() && byte != b'0'));
    let (number, other_number) = (stated_number("license_number"), stated_number("other_license_number"));
    if name.is_none() && number.is_none() && other_number.is_none() && kind.is_none() && party.is_none() {
        return None;
    }
    let license_type = cell("license_type");
    let number = number.filter(|_| license_type.is_none_or(|kind| !group.no_license_types.contains(kind)));
    let license_state = cell("license_state").and_then(state::usps).map(str::to_owned).or_else(|| group.license_state.clone());
    let telephone = cell("phone").and_then(|text| phone::phone(text.trim_end_matches(".0")));
    if let Some(said) = name.as_ref().filter(|name| group.owner_names.contains(&name.text)) {
        return Some(Contact { role: "owner".to_owned(), role_raw: Some(said.text.clone()), ..Contact::without_name() });
    }
    let role = match (&group.role, kind) {
        (Some(role), _) => role.clone(),
        (None, Some(kind)) => role_of(reader, kind),
        (None, None) => "unknown".to_owned(),
    };
    let is_a_person = party.is_some_and(|party| group.persons.contains(party));
    let is_organization = name.as_ref().is_some_and(|name| !name.is_of_a_person && !is_a_person && is_organization(&name.text));
    let is_trade = matches!(role.as_str(), "contractor" | "architect" | "engineer" | "expediter");
    let is_public = match group.names {
        // A person who is named without a license may as well be the owner.
        Names::Trade => is_trade && (number.is_some() || !name.as_ref().is_some_and(|name| name.is_of_a_person)),
        Names::Organizations => is_organization,
    };
    let role_raw = kind.map(str::to_owned);
    if !is_public {
        return Some(Contact { role: group.person_role.clone().unwrap_or(role), role_raw, ..Contact::without_name() });
    }
    Some(Contact {
        role,
        role_raw,
        name_normalized: name.as_ref().map(|name| name::organization(&name.text).normalized).filter(|text| !text.is_empty()),
        name: name.map(|name| name.text),
        license_number: number.map(str::to_owned),
        license_number_normalized: number.map(|number| license_number::normalized(number, &[])),
        license_type_raw: license_type.filter(|_| number.is_some()).map(str::to_owned),
        license_state: license_state.filter(|_| number.is_some() || other_number.is_some()),
        license_scheme: group.license_scheme.clone().filter(|_| number.is_some()),
        other_license_number: other_number.map(str::to_owned),
        other_license_number_normalized: other_number.map(|number| license_number::normalized(number, &[])),
        other_license_scheme: group.other_license_scheme.clone().filter(|_| other_number.is_some()),
        phone: telephone.filter(|_| is_organization),
    })
}

fn role_of(reader: &mut Reader<'_>, kind: &str) -> String {
    let role = reader.settings.role.get(kind).map(str::to_owned);
    role.unwrap_or_else(|| {
        reader.warn("unmapped_role", format!("a party is `{kind}`"));
        "unknown".to_owned()
    })
}

struct StatedName {
    text: String,
    /// Whether it comes from columns that hold names of persons only.
    is_of_a_person: bool,
}

/// The business name, else the name, else the parts of a person's name.
fn stated_name(reader: &Reader<'_>, prefix: &str) -> Option<StatedName> {
    let cell = |name: &str| reader.text(&format!("{prefix}{name}"));
    let one = [cell("business_name"), cell("name")].into_iter().flatten().find(|text| is_name(text));
    if let Some(text) = one {
        return Some(StatedName { text: text.to_owned(), is_of_a_person: false });
    }
    let parts: Vec<&str> = ["first_name", "middle_name", "last_name"].into_iter().filter_map(cell).collect();
    let text = parts.join(" ");
    is_name(&text).then_some(StatedName { text, is_of_a_person: true })
}

/// Not a placeholder, and not the key of a database (`{CDEEE3D5-1DB0-E611-8111-005056B627E6}`).
fn is_name(text: &str) -> bool {
    text.chars().any(char::is_alphabetic) && !text.starts_with('{') && !NO_NAMES.contains(&normalized_word(text).as_str())
}

fn is_organization(text: &str) -> bool {
    let name = name::organization(text);
    name.designator.is_some() || name.normalized.split(' ').any(|word| ORGANIZATION_WORDS.contains(&word))
}

impl Contact {
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of real permits.
    #[test]
    fn persons_are_not_taken_for_organizations() {
        for person in ["TEST NILS E", "IDA EXAMA", "ludwg samphampton", "SAMPI, KONRAD PIA", "FAKEE ENNO", "WANDA FAKETON", "NADIA DUMMWOOD"] {
            assert!(!is_organization(person), "{person}");
        }
        for organization in ["BULLEY & ANDREWS, L.L.C.", "NYC SCHOOL CONSTRUCTION AUTHORIT", "JACKSON BUILDERS", "SEATTLE UNIVERSITY", "A.D.T. INC."] {
            assert!(is_organization(organization), "{organization}");
        }
        assert!(!is_name("{CDEEE3D5-1DB0-E611-8111-005056B627E6}") && !is_name("N/A") && !is_name("-") && is_name("HINES"));
    }
}
