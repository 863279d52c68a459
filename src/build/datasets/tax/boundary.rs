//! Builds the rows of `tax.boundary`.

use polars::prelude::*;

use super::BOUNDARY;
use crate::normalise::{list_column, pointer_column, text_column};
use pubdata_core::canonical::address::AddressKind;
use pubdata_core::canonical::street::parse_street;
use pubdata_core::error::Result;

/// An area in which jurisdictions apply, for a period.
#[derive(Default)]
pub(super) struct Boundary {
    pub(super) state: String,
    pub(super) source_id: String,
    /// The record's own key fields. A smaller number of fields would not distinguish every record.
    pub(super) key: Vec<String>,
    pub(super) record_type: &'static str,
    pub(super) begin_date: String,
    pub(super) end_date: Option<String>,
    pub(super) zip_low: Option<String>,
    pub(super) zip_high: Option<String>,
    pub(super) plus4_low: Option<String>,
    pub(super) plus4_high: Option<String>,
    pub(super) number_low: Option<String>,
    pub(super) number_high: Option<String>,
    pub(super) parity: Option<&'static str>,
    pub(super) street: Street,
    pub(super) secondary_kind: Option<String>,
    pub(super) secondary_low: Option<String>,
    pub(super) secondary_high: Option<String>,
    pub(super) secondary_parity: Option<&'static str>,
    pub(super) city: Option<String>,
    pub(super) county_fips: Option<String>,
    pub(super) has_state_tax: bool,
    pub(super) county_code: Option<String>,
    pub(super) place_code: Option<String>,
    /// Type and code of each special district.
    pub(super) special_codes: Vec<(String, String)>,
    pub(super) pointers: Vec<u64>,
}

/// A street name in the same format as the addresses in queries.
#[derive(Default)]
pub(super) struct Street {
    predirectional: Option<String>,
    name: Option<String>,
    suffix: Option<String>,
    postdirectional: Option<String>,
}

impl Street {
    /// Parses a street name that is given in parts or as a single text.
    pub(super) fn from_parts(parts: &[Option<&str>]) -> Self {
        let line = parts
            .iter()
            .flatten()
            .copied()
            .collect::<Vec<_>>()
            .join(" ");
        if line.is_empty() {
            return Self::default();
        }
        let address = parse_street(&format!("1 {line}"));
        let some = |text: String| (!text.is_empty()).then_some(text);
        if address.kind != AddressKind::Street || !address.unit.is_empty() {
            return Self {
                name: Some(line.to_uppercase()),
                ..Self::default()
            };
        }
        Self {
            predirectional: some(address.predirectional),
            name: some(address.street),
            suffix: some(address.suffix),
            postdirectional: some(address.postdirectional),
        }
    }
}

/// Returns the parity for `O`, `E` and `B`, or `None` for any other text.
pub(super) fn parity(cell: Option<&str>) -> Option<&'static str> {
    match cell?.to_ascii_uppercase().as_str() {
        "O" => Some("odd"),
        "E" => Some("even"),
        "B" => Some("both"),
        _ => None,
    }
}

impl Boundary {
    /// Joins the fields that distinguish the record into a key that is safe in a URL. Omits
    /// trailing empty fields.
    fn boundary_key(&self) -> String {
        let special = self.special().collect::<Vec<_>>().join("+");
        let codes = [
            self.county_code.as_deref().unwrap_or_default(),
            self.place_code.as_deref().unwrap_or_default(),
            &special,
        ];
        let mut joined = String::new();
        for field in self.key.iter().map(String::as_str).chain(codes) {
            joined.extend(field.chars().map(plain));
            joined.push('~');
        }
        joined.truncate(joined.trim_end_matches('~').len());
        joined
    }

    /// Returns the special districts with their types.
    fn special(&self) -> impl Iterator<Item = String> {
        self.special_codes
            .iter()
            .map(|(kind, code)| format!("{kind}={code}"))
    }
}

fn plain(character: char) -> char {
    if character.is_alphanumeric() || matches!(character, '-' | '.' | '=' | '+' | '_' | ',') {
        character
    } else {
        '_'
    }
}

pub(super) fn frame(rows: &[Boundary], bucket: &str) -> Result<DataFrame> {
    let texts =
        |name: &str, cell: fn(&Boundary) -> Option<&str>| text_column(name, rows.iter().map(cell));
    let keys: Vec<String> = rows.iter().map(Boundary::boundary_key).collect();
    let columns = vec![
        text_column(
            "record_id",
            rows.iter()
                .zip(&keys)
                .map(|(row, key)| Some(format!("{BOUNDARY}:{}:{key}", row.state))),
        ),
        texts("state", |row| Some(row.state.as_str())),
        text_column("bucket", rows.iter().map(|_| Some(bucket))),
        texts("source_id", |row| Some(row.source_id.as_str())),
        text_column("boundary_key", keys.iter().map(Some)),
        texts("record_type", |row| Some(row.record_type)),
        texts("begin_date", |row| Some(row.begin_date.as_str())),
        texts("end_date", |row| row.end_date.as_deref()),
        texts("zip_low", |row| row.zip_low.as_deref()),
        texts("zip_high", |row| row.zip_high.as_deref()),
        texts("plus4_low", |row| row.plus4_low.as_deref()),
        texts("plus4_high", |row| row.plus4_high.as_deref()),
        texts("number_low", |row| row.number_low.as_deref()),
        texts("number_high", |row| row.number_high.as_deref()),
        texts("parity", |row| row.parity),
        texts("predirectional", |row| row.street.predirectional.as_deref()),
        texts("street", |row| row.street.name.as_deref()),
        texts("street_suffix", |row| row.street.suffix.as_deref()),
        texts("postdirectional", |row| {
            row.street.postdirectional.as_deref()
        }),
        texts("secondary_kind", |row| row.secondary_kind.as_deref()),
        texts("secondary_low", |row| row.secondary_low.as_deref()),
        texts("secondary_high", |row| row.secondary_high.as_deref()),
        texts("secondary_parity", |row| row.secondary_parity),
        texts("city", |row| row.city.as_deref()),
        texts("county_fips", |row| row.county_fips.as_deref()),
        Column::new(
            "has_state_tax".into(),
            rows.iter().map(|row| row.has_state_tax).collect::<Vec<_>>(),
        ),
        texts("county_code", |row| row.county_code.as_deref()),
        texts("place_code", |row| row.place_code.as_deref()),
        list_column("special_codes", rows.iter().map(Boundary::special)),
        pointer_column(rows.iter().map(|row| row.pointers.as_slice())),
    ];
    Ok(DataFrame::new(rows.len(), columns)?)
}
