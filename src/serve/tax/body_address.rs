//! Reads the address of a place from the body of a request.

use serde_json::value::RawValue;

use super::fields::{Fields, text_of};
use super::location::{Asked, Location, zip_of};
use crate::http::endpoint::Call;
use crate::http::problem::Result;
use crate::place::zips::Zips;

/// Fields of an address.
pub const ADDRESS: [&str; 7] = ["address", "street", "city", "state", "zip", "county_fips", "unincorporated"];

/// The most characters of an address, and of each of its fields.
const MAX_TEXT: usize = 200;

/// A place as a body has it.
pub enum Place<'a> {
    /// On one line, and what stands before the names of its parts in messages.
    Text {
        text: String,
        place: String,
    },
    Parts(Fields<'a>),
}

impl<'a> Place<'a> {
    /// Reads a ZIP code, an address on one line, or an object of these fields; `place` stands before their names in messages, such as `to.`.
    ///
    /// # Errors
    /// `invalid_parameter`, when it is none of these; `unknown_parameter`, when the object has other fields.
    pub fn read(value: &'a RawValue, place: String, known: &[&str]) -> Result<Self> {
        if value.get().starts_with('"') {
            let text = text_of(value, place.trim_end_matches('.'), MAX_TEXT)?;
            return Ok(Self::Text { text, place });
        }
        Fields::read(value, place, known).map(Self::Parts)
    }

    /// Reads the place of a field; none when it is absent or null.
    ///
    /// # Errors
    /// As for [`Place::read`].
    pub fn of_field(fields: &Fields<'a>, name: &str) -> Result<Option<Self>> {
        fields.get(name).map(|value| Self::read(value, format!("{}{name}.", fields.place()), &ADDRESS)).transpose()
    }

    /// Finds the state of the place.
    ///
    /// # Errors
    /// As for [`Location::of`].
    pub fn locate(&self, call: &Call<'_>) -> Result<Location> {
        let zips = call.release.table::<Zips>();
        let fields = match self {
            Self::Text { text, place } => {
                let is_zip = zip_of(text).is_some();
                let asked = Asked { zip: Some(text.as_str()).filter(|_| is_zip), address: Some(text.as_str()).filter(|_| !is_zip), ..Asked::default() };
                return Location::of(zips, asked, place);
            }
            Self::Parts(fields) => fields,
        };
        let text = |name: &str| fields.text(name, MAX_TEXT);
        let (address, street, city, state, zip) = (text("address")?, text("street")?, text("city")?, text("state")?, text("zip")?);
        let is_unincorporated = fields.flag("unincorporated")?.unwrap_or(false);
        let county_fips = text("county_fips")?;
        let (address, street, city, state, zip) = (address.as_deref(), street.as_deref(), city.as_deref(), state.as_deref(), zip.as_deref());
        let asked = Asked { address, street, city, state, zip, county_fips: county_fips.as_deref(), is_unincorporated };
        Location::of(zips, asked, fields.place())
    }
}
