//! Links between permits and licenses, made when answering from what both sides publish: the number of a license, or a contractor's name that only one
//! contractor's license of the state has. Never a likeness.

use std::collections::{BTreeSet, HashMap};

use crate::canonical::license_number::normalized;
use crate::canonical::name::organization;
use crate::serve::http::endpoint::Call;
use crate::serve::http::problem::Result;
use crate::serve::json::Json;
use crate::serve::license::datasets::License;
use crate::serve::license::record::person_of;
use crate::serve::license::table::{Licenses, is_persons_name};
use crate::serve::permit::datasets::Contact;
use crate::serve::permit::datasets::Permit;
use crate::serve::permit::table::Permits;
use crate::serve::release::rows::Record;

pub const EXACT_NUMBER: &str = "exact_number";
pub const NAME_AND_STATE: &str = "name_and_state";

/// How sure a link is: the permit states the license, or names a business that is likely the same.
fn confidence(method: &str) -> &'static str {
    if method == EXACT_NUMBER { "stated" } else { "likely" }
}

/// A party of a permit, with the license it is linked to.
pub struct Party<'a> {
    contact: Record<'a, Contact>,
    /// Id of the license, and how it is linked.
    license: Option<(String, &'static str)>,
}

impl Party<'_> {
    pub fn write(&self, json: &mut Json) {
        json.object(|json| {
            self.contact.members(json, &["role_raw", "role", "name", "license_number"]);
            json.key("license_id").optional_text(self.license.as_ref().map(|(id, _)| id.as_str()));
            json.key("link_method").optional_text(self.license.as_ref().map(|(_, method)| *method));
            json.key("link_confidence").optional_text(self.license.as_ref().map(|(_, method)| confidence(method)));
            self.contact.members(json, &["phone", "record_id"]);
        });
    }
}

/// The license that a number names: the only one with it or, of several trades, the only contractor's.
fn of_number(licenses: &Licenses, state: &str, number: &str) -> Option<u32> {
    let rows = licenses.with_number(state, number);
    if let [only] = rows {
        return Some(*only);
    }
    let mut contractors = rows.iter().copied().filter(|row| licenses.is_contractor(*row));
    contractors.next().filter(|_| contractors.next().is_none())
}

/// The license of a party: by its number, else by the name of a contractor who states none.
fn license_of(licenses: &Licenses, permit: &Record<'_, Permit>, contact: &Record<'_, Contact>) -> Option<(u32, &'static str)> {
    if let Some((state, number)) = contact.text("license_state").zip(contact.text("license_number_normalized")) {
        return of_number(licenses, state, number).map(|row| (row, EXACT_NUMBER));
    }
    let name = contact.text("name_normalized").filter(|_| contact.text("role") == Some("contractor"))?;
    licenses.only_contractor(permit.at("state"), name).map(|row| (row, NAME_AND_STATE))
}

/// The parties of permits with their licenses, in the order of the permits.
///
/// # Errors
/// `internal_error`, when a part cannot be read.
pub async fn parties<'a>(call: &Call<'_>, permits: &'a Permits, records: &[Record<'_, Permit>]) -> Result<Vec<Vec<Party<'a>>>> {
    let licenses = call.release.table::<Licenses>();
    let mut found = Vec::with_capacity(records.len());
    let mut linked: Vec<Vec<Option<(u32, &'static str)>>> = Vec::with_capacity(records.len());
    for record in records {
        let contacts = permits.contacts.about(call.reader(), record).await?;
        linked.push(contacts.iter().map(|contact| license_of(licenses?, record, contact)).collect());
        found.push(contacts);
    }
    let rows: Vec<u32> = linked.iter().flatten().flatten().map(|(row, _)| *row).collect::<BTreeSet<u32>>().into_iter().collect();
    let mut ids: HashMap<u32, String> = HashMap::new();
    if let Some(licenses) = licenses {
        let records = licenses.rows.fetch(call.reader(), &rows).await?;
        ids.extend(rows.iter().zip(&records).map(|(row, record)| (*row, record.at("license_id").to_owned())));
    }
    let party = |(contact, link): (Record<'a, Contact>, Option<(u32, &'static str)>)| Party {
        contact,
        license: link.and_then(|(row, method)| Some((ids.get(&row)?.clone(), method))),
    };
    Ok(found.into_iter().zip(linked).map(|(contacts, links)| contacts.into_iter().zip(links).map(party).collect()).collect())
}

/// The permits that a license is linked to.
#[derive(Debug, Default)]
pub struct Linked {
    pub by_number: BTreeSet<u32>,
    pub by_name: BTreeSet<u32>,
}

/// Finds a license's permits by the same rules, from the other side.
pub fn permits_of(licenses: &Licenses, permits: &Permits, row: u32, license: &Record<'_, License>) -> Linked {
    let mut linked = Linked::default();
    let state = license.at("state");
    // A permit states the number as it is written on the license, or without what the board writes before it.
    let numbers = BTreeSet::from([license.at("number_normalized").to_owned(), normalized(license.at("number"), &[])]);
    for number in numbers.iter().filter(|number| of_number(licenses, state, number) == Some(row)) {
        linked.by_number.extend(permits.with_license(state, number));
    }
    let is_own_name = license.text("holder_type") == Some("person") && is_persons_name(license.at("holder_name"), person_of(license));
    let own = (!is_own_name).then(|| license.at("holder_name_normalized").to_owned());
    let others = ["business_name", "dba"].into_iter().filter_map(|column| license.text(column)).map(|name| organization(name).normalized);
    let names: BTreeSet<String> = own.into_iter().chain(others).collect();
    for name in names.iter().filter(|name| licenses.only_contractor(state, name) == Some(row)) {
        linked.by_name.extend(permits.of_contractor(state, name));
    }
    linked.by_name.retain(|row| !linked.by_number.contains(row));
    linked
}
