//! Defines the license and action rows that answers show.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal};
use crate::release::row::{Columns, row};
use crate::release::row_cells::Texts;
use crate::release::rows::Dataset;

pub const LICENSES: &str = License::ID;
pub const ACTIONS: &str = Action::ID;

/// Dataset of licenses.
#[derive(Debug)]
pub struct License;

impl License {
    const ALL: &'static Columns = &LicenseFields::COLUMNS.and(&[
        "record_id",
        "classifications",
        "source",
        "source_id",
        "number_normalized",
        "holder_name_normalized",
        "validation_status",
    ]);
}

impl Dataset for License {
    const ID: &'static str = "license.license";
    const KEY: &'static str = "license_id";
    const COLUMNS: &'static [&'static str] = Self::ALL.names();
}

/// Dataset of disciplinary actions.
#[derive(Debug)]
pub struct Action;

impl Action {
    const ALL: &'static Columns =
        &DisciplinaryAction::COLUMNS.and(&["license_id", "validation_status"]);
}

impl Dataset for Action {
    const ID: &'static str = "license.action";
    const KEY: &'static str = "license_id";
    const COLUMNS: &'static [&'static str] = Self::ALL.names();
}

row! {
    pub struct LicenseFields<'a> of License {
        license_id: &'a str,
        number: &'a str,
        number_raw: &'a str,
        state: &'a str,
        board: &'a str,
        profession: &'a str,
        profession_raw: &'a str,
        profession_basis: Option<&'a str>,
        license_class: Option<&'a str>,
        /// Classes of work that the license covers; empty if the list has none.
        classifications: Vec<LicenseClassification<'a>> = Vec::new(),
        /// Person or business that holds the license.
        holder: LicenseHolder<'a>,
        status: Option<&'a str>,
        status_raw: Option<&'a str>,
        #[schemars(title = "StatusBasis")]
        status_basis: &'a str,
        secondary_status_raw: Option<&'a str>,
        evidence: &'a str,
        /// Date on which the license was first issued; null if the list does not state it.
        issue_date: Option<Date>,
        /// Date from which the license is in effect; null if the list does not state it.
        effective_date: Option<Date>,
        /// Date on which the license expires; null if the list does not state it.
        expiration_date: Option<Date>,
        /// Date of the last renewal; null if the list does not state it.
        last_renewed_date: Option<Date>,
        /// Date from which the license is suspended; null if the list does not state one.
        suspended_date: Option<Date>,
        /// Address of the license holder, without the street; null if the list has none.
        address: Option<LicenseAddress<'a>>,
        phone: Option<&'a str>,
        /// The board's actions against the license, as published in its list; empty if the list has
        /// none.
        disciplinary_actions: Vec<DisciplinaryAction<'a>> = Vec::new(),
        /// Surety bond that the list states; null if it states none.
        bond: Option<LicenseBond<'a>>,
        /// Liability insurance that the list states; null if it states none.
        insurance: Option<LicenseInsurance<'a>>,
        /// Workers' compensation coverage that the list states; null if it states none.
        workers_comp: Option<WorkersComp<'a>>,
        verify_url: Option<&'a str>,
        warnings: Texts<'a>,
    }
}

row! {
    pub struct LicenseHolder<'a> of License {
        #[serde(rename = "name")]
        holder_name: &'a str,
        #[serde(rename = "type")]
        #[schemars(title = "PartyType")]
        holder_type: Option<&'a str>,
        #[serde(rename = "first")]
        holder_first: Option<&'a str>,
        #[serde(rename = "middle")]
        holder_middle: Option<&'a str>,
        #[serde(rename = "last")]
        holder_last: Option<&'a str>,
        #[serde(rename = "suffix")]
        holder_suffix: Option<&'a str>,
        business_name: Option<&'a str>,
        dba: Option<&'a str>,
        principals: Texts<'a>,
    }
}

row! {
    pub struct LicenseAddress<'a> of License {
        /// City as published; null if the list has none.
        city: Option<&'a str>,
        /// Two-letter postal code of the state, or the text as published; null if the list has
        /// none.
        #[serde(rename = "state")]
        address_state: Option<&'a str>,
        /// ZIP code; null if the list has none.
        zip: Option<&'a str>,
        /// County as published; null if the list has none.
        county: Option<&'a str>,
    }
}

row! {
    pub struct LicenseBond<'a> of License {
        #[serde(rename = "surety")]
        bond_surety: Option<&'a str>,
        /// Amount of the bond in US dollars; null if the list does not state it.
        #[serde(rename = "amount")]
        bond_amount: Option<Decimal>,
        /// First day of the bond, YYYY-MM-DD; null if the list does not state it.
        #[serde(rename = "effective_date")]
        bond_effective_date: Option<Date>,
        /// Date on which the bond expires, YYYY-MM-DD; null if the list does not state it.
        #[serde(rename = "expiration_date")]
        bond_expiration_date: Option<Date>,
        /// Date on which the bond was cancelled, YYYY-MM-DD; null if the list does not state one.
        #[serde(rename = "cancelled_date")]
        bond_cancelled_date: Option<Date>,
    }
}

row! {
    pub struct LicenseInsurance<'a> of License {
        #[serde(rename = "insurer")]
        insurance_insurer: Option<&'a str>,
        /// Amount of the insurance in US dollars; null if the list does not state it.
        #[serde(rename = "amount")]
        insurance_amount: Option<Decimal>,
        /// First day of the insurance, YYYY-MM-DD; null if the list does not state it.
        #[serde(rename = "effective_date")]
        insurance_effective_date: Option<Date>,
        /// Date on which the insurance expires, YYYY-MM-DD; null if the list does not state it.
        #[serde(rename = "expiration_date")]
        insurance_expiration_date: Option<Date>,
        /// Date on which the insurance was cancelled, YYYY-MM-DD; null if the list does not state
        /// one.
        #[serde(rename = "cancelled_date")]
        insurance_cancelled_date: Option<Date>,
    }
}

row! {
    pub struct WorkersComp<'a> of License {
        #[serde(rename = "coverage")]
        workers_comp_coverage: Option<&'a str>,
        /// Insurer as published; null if the list does not state one.
        #[serde(rename = "insurer")]
        workers_comp_insurer: Option<&'a str>,
        /// Date on which the coverage expires, YYYY-MM-DD; null if the list does not state it.
        #[serde(rename = "expiration_date")]
        workers_comp_expiration_date: Option<Date>,
    }
}

row! {
    pub struct DisciplinaryAction<'a> of Action {
        case_number: Option<&'a str>,
        action: &'a str,
        /// First day of the action; null if the list does not state it.
        effective_date: Option<Date>,
        /// Last day of the action; null if the list does not state it.
        end_date: Option<Date>,
        /// Id of the action's record in `license.action`, for `/v1/provenance/{record_id}`.
        record_id: &'a str,
    }
}

/// A class of work as a list writes it: `C-10=Electrical`, or the code alone.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LicenseClassification<'a> {
    /// Code of the class as published, such as `C-10`.
    code: &'a str,
    /// Meaning of the code; null if the list contains only the code.
    description: Option<&'a str>,
}

impl<'a> LicenseClassification<'a> {
    pub fn parse(text: &'a str) -> Self {
        let (code, description) = text
            .split_once('=')
            .map_or((text, None), |(code, description)| {
                (code, Some(description))
            });
        Self { code, description }
    }
}
