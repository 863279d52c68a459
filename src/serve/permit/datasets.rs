//! Defines the permit, party and link rows that answers show.

use crate::answer::{Date, Decimal, Float};
use crate::release::row::{Columns, row};
use crate::release::row_cells::Texts;
use crate::release::rows::Dataset;

pub const PERMITS: &str = Permit::ID;
pub const CONTACTS: &str = Contact::ID;
pub const LINKS: &str = Link::ID;

/// Dataset of permits.
#[derive(Debug)]
pub struct Permit;

impl Permit {
    const ALL: &'static Columns = &PermitFields::COLUMNS
        .and(PermitNotes::COLUMNS.names())
        .and(&["record_id", "address_key", "validation_status"]);
}

impl Dataset for Permit {
    const ID: &'static str = "permit.permit";
    const KEY: &'static str = "permit_id";
    const COLUMNS: &'static [&'static str] = Self::ALL.names();
}

/// Dataset of permit parties.
#[derive(Debug)]
pub struct Contact;

impl Contact {
    const ALL: &'static Columns = &PermitContractor::COLUMNS.and(&[
        "permit_id",
        "seq",
        "license_number_normalized",
        "other_license_number_normalized?",
        "name_normalized",
    ]);
}

impl Dataset for Contact {
    const ID: &'static str = "permit.contact";
    const KEY: &'static str = "permit_id";
    const COLUMNS: &'static [&'static str] = Self::ALL.names();
}

/// Dataset of links between parties and licenses.
#[derive(Debug)]
pub struct Link;

impl Dataset for Link {
    const ID: &'static str = "permit.license_link";
    const KEY: &'static str = "permit_id";
    const COLUMNS: &'static [&'static str] = &[
        "record_id",
        "permit_id",
        "seq",
        "license_id",
        "method",
        "evidence",
    ];
}

row! {
    pub struct PermitFields<'a> of Permit {
        permit_id: &'a str,
        permit_number: Option<&'a str>,
        /// City or county that issued the permit.
        jurisdiction: PermitJurisdiction<'a>,
        r#type: &'a str,
        type_raw: Option<&'a str>,
        sub_type_raw: Option<&'a str>,
        type_basis "?": Option<&'a str>,
        work_class: Option<&'a str>,
        work_class_raw: Option<&'a str>,
        property_class: Option<&'a str>,
        property_class_raw: Option<&'a str>,
        description: Option<&'a str>,
        status: &'a str,
        status_detail: Option<&'a str>,
        status_raw: Option<&'a str>,
        status_basis "?": Option<&'a str>,
        /// Date of the current status; null if the list does not state it.
        status_date: Option<Date>,
        /// Date of the application; null if the list does not state it.
        applied_date: Option<Date>,
        /// Date on which the permit was issued; null if the list does not state it.
        issued_date: Option<Date>,
        /// Date on which the permit was completed; null if the list does not state it.
        completed_date: Option<Date>,
        /// Date on which the permit expires; null if the list does not state it.
        expires_date: Option<Date>,
        /// True if expires_date had passed on the date of the list; some lists still call such
        /// permits issued. Null if the permit has no expires_date.
        is_expired: Option<bool> = None,
        job_value: Option<Decimal>,
        /// Permit fees in US dollars; null if the list does not state them.
        fees: Option<Decimal>,
        square_feet: Option<Decimal>,
        housing_units: Option<Decimal>,
        stories "?": Option<Decimal>,
        renewals: Option<i64>,
        /// Address of the work.
        address: PermitAddress<'a>,
        /// Parcel on which the work takes place; null if the list has none.
        parcel: Option<PermitParcel<'a>>,
        property_id: Option<&'a str>,
    }
}

row! {
    pub struct PermitNotes<'a> of Permit {
        tags: Texts<'a>,
        /// `derived`: pubdata derives the tags from words in the description.
        #[schemars(extend("enum" = ["derived"]))]
        tags_basis: &'static str = "derived",
        source_url: Option<&'a str>,
        warnings: Texts<'a>,
    }
}

row! {
    pub struct PermitJurisdiction<'a> of Permit {
        #[serde(rename = "id")]
        jurisdiction: &'a str,
        #[serde(rename = "name")]
        jurisdiction_name: &'a str,
        state: &'a str,
    }
}

row! {
    pub struct PermitAddress<'a> of Permit {
        line1: Option<&'a str>,
        line2: Option<&'a str>,
        city: Option<&'a str>,
        #[serde(rename = "state")]
        address_state: Option<&'a str>,
        zip: Option<&'a str>,
        #[serde(rename = "normalized")]
        address_normalized: Option<&'a str>,
        lat: Option<Float>,
        lon: Option<Float>,
        /// `source`: the jurisdiction publishes the coordinates. Null without coordinates.
        #[schemars(extend("enum" = ["source", null]))]
        geocode_source: Option<&'static str> = None,
    }
}

row! {
    pub struct PermitParcel<'a> of Permit {
        /// Kind of parcel number, such as `pin`, `bbl` or `bin`; null if it is not known.
        #[serde(rename = "scheme")]
        parcel_scheme: Option<&'a str>,
        /// Parcel number; null if the list has none.
        #[serde(rename = "value")]
        parcel: Option<&'a str>,
    }
}

row! {
    pub struct PermitContractor<'a> of Contact {
        role_raw: Option<&'a str>,
        role: &'a str,
        name: Option<&'a str>,
        license_number: Option<&'a str>,
        license_scheme "?": Option<&'a str>,
        other_license_number "?": Option<&'a str>,
        other_license_scheme "?": Option<&'a str>,
        /// Identifier of the license to which the party is linked; null without a link.
        license_id: Option<&'a str> = None,
        /// How the party was linked: the permit states the license number in the same scheme, or
        /// only one contractor's license in the state has the name.
        #[schemars(extend("enum" = ["exact_number", "name_and_state", null]))]
        link_method: Option<&'a str> = None,
        /// `stated`: the permit names the license. `likely`: the permit names a business, and only
        /// one contractor's license in the state has that name.
        #[schemars(extend("enum" = ["stated", "likely", null]))]
        link_confidence: Option<&'static str> = None,
        /// Id of the link's record, whose provenance contains the rows of the permit and the
        /// license; null if the party is not linked to a license.
        link_record_id: Option<&'a str> = None,
        phone: Option<&'a str>,
        /// Id of the party's record in `permit.contact`, for `/v1/provenance/{record_id}`.
        record_id: &'a str,
    }
}
