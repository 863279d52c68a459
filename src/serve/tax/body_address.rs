//! Reads the address of a place from the body of a request.

use super::fields::Fields;
use super::location::{Asked, Location};
use crate::http::endpoint::Call;
use crate::http::problem::Result;
use crate::place::zips::Zips;

/// Fields of an address.
pub const ADDRESS: [&str; 7] = ["address", "street", "city", "state", "zip", "county_fips", "unincorporated"];

/// Reads an address of the body.
///
/// # Errors
/// As for [`Location::of`].
pub fn location_of(call: &Call<'_>, fields: &Fields<'_>) -> Result<Location> {
    let text = |name: &str| fields.text(name, 200);
    let (address, street, city, state, zip) = (text("address")?, text("street")?, text("city")?, text("state")?, text("zip")?);
    let is_unincorporated = fields.flag("unincorporated")?.unwrap_or(false);
    let county_fips = text("county_fips")?;
    let (address, street, city, state, zip) = (address.as_deref(), street.as_deref(), city.as_deref(), state.as_deref(), zip.as_deref());
    let asked = Asked { address, street, city, state, zip, county_fips: county_fips.as_deref(), is_unincorporated };
    Location::of(call.release.table::<Zips>(), asked, fields.place())
}
