//! Lists the columns that a registry may map.

use std::collections::BTreeSet;

const COLUMNS: &[&str] = &[
    "county",
    "entity_number",
    "entity_type",
    "formation_date",
    "jurisdiction",
    "last_transaction_date",
    "link_number",
    "name",
    "officers_flag",
    "other_number",
    "status",
];

/// Parts of an address. A column name is the role's prefix followed by one of these.
const ADDRESS: &[&str] = &["line1", "line2", "city", "state", "zip", "zip4", "country"];

/// Parts of a party. A column name is the role's prefix followed by one of these.
const PARTY: &[&str] = &[
    "type",
    "name",
    "organization",
    "organization_of_record",
    "first",
    "middle",
    "last",
    "suffix",
    "rest",
    "title",
];

/// Numbers of the officer columns in an entity's row. No registry has this many.
const OFFICERS: std::ops::RangeInclusive<u8> = 1..=40;

/// Returns every column name that the builder reads.
pub(super) fn known() -> BTreeSet<String> {
    let behind = |prefix: &str, parts: &[&str]| {
        parts
            .iter()
            .map(|part| format!("{prefix}_{part}"))
            .collect::<Vec<_>>()
    };
    let parties = ["agent".to_owned(), "party".to_owned()]
        .into_iter()
        .chain(OFFICERS.map(|place| format!("officer_{place}")));
    let of_parties =
        parties.flat_map(|prefix| [behind(&prefix, PARTY), behind(&prefix, ADDRESS)].concat());
    let of_addresses = ["principal", "mailing"]
        .into_iter()
        .flat_map(|role| behind(role, ADDRESS));
    let reports = super::entities::REPORTS
        .flat_map(|place| ["year", "date"].map(|part| format!("report_{part}_{place}")));
    let plain = COLUMNS
        .iter()
        .copied()
        .chain(["mailing_name"])
        .map(str::to_owned);
    plain
        .chain(of_parties)
        .chain(of_addresses)
        .chain(reports)
        .collect()
}
