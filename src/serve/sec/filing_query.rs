//! What questions about filings ask for: forms, days, items, numbers.

use super::filing_table::FilingTable;
use crate::http::endpoint::Call;
use crate::http::filter::DayRange;
use crate::http::parameters::{Kind, Parameter, TextForm};
use crate::http::problem::{Code, Problem, Result};

pub const FORM: Parameter = Parameter {
    name: "form",
    kind: Kind::Forms { item: TextForm { pattern: "^[A-Za-z0-9 ./-]{1,20}$", description: "a form type such as `10-K` or `8-K`" }, min: 1, max: None },
    description: "Comma list of form types, such as `10-K,8-K`.",
};
pub const FILED_FROM: Parameter = Parameter { name: "filed_from", kind: Kind::Date, description: "First filing date, inclusive." };
pub const FILED_TO: Parameter = Parameter { name: "filed_to", kind: Kind::Date, description: "Last filing date, inclusive." };
pub const PERIOD_FROM: Parameter = Parameter { name: "period_from", kind: Kind::Date, description: "First period of report, inclusive." };
pub const PERIOD_TO: Parameter = Parameter { name: "period_to", kind: Kind::Date, description: "Last period of report, inclusive." };

/// What the query says of filings.
pub struct Filter<'a> {
    /// Any form when empty.
    pub forms: Vec<String>,
    pub filed: DayRange,
    period: DayRange,
    items: Vec<&'a str>,
    accession_number: Option<&'a str>,
}

impl<'a> Filter<'a> {
    /// Reads the query.
    ///
    /// # Errors
    /// `invalid_parameter`, naming it.
    pub fn read(call: &'a Call<'_>) -> Result<Self> {
        let listed = match (call.query.get("form"), call.query.get("form_type")) {
            (Some(_), Some(_)) => return Err(Problem::of_field(Code::InvalidParameter, "form_type", "give `form` or `form_type`, not both")),
            (form, form_type) => form.or(form_type),
        };
        let listed = listed.into_iter().flat_map(|list| list.split(','));
        let mut forms: Vec<String> = listed.map(|form| form.trim().to_ascii_uppercase()).collect();
        if call.query.get("include_amendments") == Some("true") {
            let amendments: Vec<String> = forms.iter().filter(|form| !form.ends_with("/A")).map(|form| format!("{form}/A")).collect();
            forms.extend(amendments);
        }
        Ok(Self {
            forms,
            filed: DayRange::of(call, "filed_from", "filed_to")?,
            period: DayRange::of(call, "period_from", "period_to")?,
            items: call.query.get("items").map(|list| list.split(',').collect()).unwrap_or_default(),
            accession_number: call.query.get("accession_number"),
        })
    }

    pub fn takes(&self, table: &FilingTable, row: usize) -> bool {
        self.filed.has(Some(table.filed_date.value(row)))
            && (self.forms.is_empty() || self.forms.iter().any(|form| form == table.form.at(row)))
            && self.period.has(table.period_of_report(row))
            && (self.items.is_empty() || table.items.at(row).any(|item| self.items.contains(&item)))
            && self.accession_number.is_none_or(|accession_number| accession_number == table.accession_number.at(row))
    }

    /// Names a filter that only rows of known registrants can be asked for.
    pub fn needs_registrant(&self) -> Option<&'static str> {
        match self {
            Self { accession_number: Some(_), .. } => Some("accession_number"),
            Self { items, .. } if !items.is_empty() => Some("items"),
            Self { period, .. } if !period.is_open() => Some("period_from"),
            _ => None,
        }
    }
}
