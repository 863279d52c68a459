//! Reads the address of a place from a request body.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde_json::value::RawValue;

use super::fields::{Fields, text_of};
use super::limits::MAX_CLIENT_ID;
use super::location::{AddressQuery, Location, zip_of};
use crate::http::body::request;
use crate::http::endpoint::Call;
use crate::http::problem::Result;
use crate::place::zips::Zips;

/// Maximum number of characters of an address and of each of its fields.
pub const MAX_TEXT: usize = 200;

request! {
    /// Address on one line or in parts. It requires a ZIP code, or a city and a state.
    pub struct TaxAddress {
        /// The address on one line, instead of the other fields.
        #[schemars(length(max = MAX_TEXT))]
        address: Option<String>,
        /// House number and street of the place.
        #[schemars(length(max = MAX_TEXT))]
        street: Option<String>,
        /// Name of the place's city; with `state` it replaces a ZIP code.
        #[schemars(length(max = MAX_TEXT))]
        city: Option<String>,
        /// State of the place, by postal code or name.
        #[schemars(length(max = MAX_TEXT))]
        state: Option<String>,
        /// Five-digit ZIP code, with or without the ZIP+4 extension.
        #[schemars(regex(pattern = "^[0-9]{5}(-?[0-9]{4})?$"))]
        zip: Option<String>,
        /// FIPS code of the county, if the ZIP code or city lies in several.
        #[schemars(regex(pattern = "^[0-9]{5}$"))]
        county_fips: Option<String>,
        /// True if the place is outside every city, whatever its postal city.
        unincorporated: Option<bool>,
    }
}

request! {
    pub struct TaxBatchAddress {
        /// Your identifier of the address, repeated in `input` of the answer.
        // This field is only checked, because the answer repeats the value as sent.
        #[expect(dead_code, reason = "only checked")]
        #[schemars(length(max = MAX_CLIENT_ID))]
        id: Option<String>,
        /// The address on one line, instead of the other fields.
        #[schemars(length(max = MAX_TEXT))]
        address: Option<String>,
        /// House number and street of the place.
        #[schemars(length(max = MAX_TEXT))]
        street: Option<String>,
        /// Name of the place's city; with `state` it replaces a ZIP code.
        #[schemars(length(max = MAX_TEXT))]
        city: Option<String>,
        /// Postal code or name of the state.
        #[schemars(length(max = MAX_TEXT))]
        state: Option<String>,
        /// Five-digit ZIP code, with or without the ZIP+4 extension.
        // The schema does not constrain the value, because an invalid value is a problem of this
        // address alone.
        zip: Option<String>,
        /// FIPS code of the county, if the ZIP code or city lies in several.
        #[schemars(regex(pattern = "^[0-9]{5}$"))]
        county_fips: Option<String>,
        /// True if the place is outside every city, whatever its postal city.
        unincorporated: Option<bool>,
    }
}

/// An address in parts.
pub trait Parts: JsonSchema + Sized {
    const FIELDS: &'static [&'static str];

    /// Reads the fields of the address.
    fn read(fields: &Fields<'_>) -> Result<Self>;

    fn query(&self) -> AddressQuery<'_>;
}

macro_rules! parts {
    ($($name:ident $($id:ident)?;)*) => {
        $(impl Parts for $name {
            const FIELDS: &'static [&'static str] = Self::FIELDS;

            fn read(fields: &Fields<'_>) -> Result<Self> {
                let text = |name: &str| fields.text(name, MAX_TEXT);
                Ok(Self {
                    $($id: fields.text(Self::$id, MAX_CLIENT_ID)?,)?
                    address: text(Self::address)?,
                    street: text(Self::street)?,
                    city: text(Self::city)?,
                    state: text(Self::state)?,
                    zip: text(Self::zip)?,
                    unincorporated: fields.flag(Self::unincorporated)?,
                    county_fips: text(Self::county_fips)?,
                })
            }

            fn query(&self) -> AddressQuery<'_> {
                AddressQuery {
                    address: self.address.as_deref(),
                    street: self.street.as_deref(),
                    city: self.city.as_deref(),
                    state: self.state.as_deref(),
                    zip: self.zip.as_deref(),
                    county_fips: self.county_fips.as_deref(),
                    is_unincorporated: self.unincorporated.unwrap_or(false),
                }
            }
        })*
    };
}

parts! {
    TaxAddress;
    TaxBatchAddress id;
}

/// A place in a request body.
#[derive(JsonSchema)]
#[schemars(untagged, inline, description = "", bound = "P: Parts")]
pub enum Place<'a, P> {
    Parts(#[schemars(with = "P")] AddressFields<'a, P>),
    /// A ZIP code, or an address on one line.
    Line(#[schemars(with = "String", length(max = MAX_TEXT))] Line),
}

/// Fields of a `P`, which are read only after the entire body has been recognised as an address.
pub struct AddressFields<'a, P> {
    pub fields: Fields<'a>,
    of: PhantomData<P>,
}

/// A string, and the prefix of its field names in messages.
pub struct Line {
    text: String,
    place: String,
}

impl<'a, P: Parts> Place<'a, P> {
    /// Reads a ZIP code, an address on one line, or an object with address fields. `place` is the
    /// prefix of field names in messages, such as `to.`.
    pub fn read(value: &'a RawValue, place: String) -> Result<Self> {
        if value.get().starts_with('"') {
            let text = text_of(value, place.trim_end_matches('.'), MAX_TEXT)?;
            return Ok(Self::Line(Line { text, place }));
        }
        Ok(Self::Parts(AddressFields {
            fields: Fields::read(value, place, P::FIELDS)?,
            of: PhantomData,
        }))
    }

    /// Reads the place in a field. Returns `None` if the field is absent or null.
    pub fn of_field(fields: &Fields<'a>, name: &str) -> Result<Option<Self>> {
        fields
            .get(name)
            .map(|value| Self::read(value, format!("{}{name}.", fields.place())))
            .transpose()
    }

    /// Finds the state of the place.
    pub fn locate(&self, call: &Call<'_>) -> Result<Location> {
        let zips = call.release.table::<Zips>();
        match self {
            Self::Line(Line { text, place }) => {
                let is_zip = zip_of(text).is_some();
                let query = AddressQuery {
                    zip: Some(text.as_str()).filter(|_| is_zip),
                    address: Some(text.as_str()).filter(|_| !is_zip),
                    ..AddressQuery::default()
                };
                Location::from_query(zips, query, place)
            }
            Self::Parts(AddressFields { fields, .. }) => {
                Location::from_query(zips, P::read(fields)?.query(), fields.place())
            }
        }
    }
}
