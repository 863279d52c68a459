//! Reads the parties of permits and their links to licenses. A link is a record in the release,
//! built together with the permits.

use std::collections::BTreeSet;

use crate::http::endpoint::Call;
use crate::http::problem::Result;
use crate::permit::datasets::Contact;
use crate::permit::datasets::Link;
use crate::permit::datasets::Permit;
use crate::permit::datasets::PermitContractor;
use crate::permit::table::Permits;
use crate::release::rows::Record;

pub const EXACT_NUMBER: &str = "exact_number";
pub const NAME_AND_STATE: &str = "name_and_state";

/// Returns the confidence of a link: the permit states the license, or names a business that is
/// likely the license holder.
fn confidence(method: &str) -> &'static str {
    if method == EXACT_NUMBER {
        "stated"
    } else {
        "likely"
    }
}

/// A party of a permit, with its link to a license.
pub struct Party<'a> {
    contact: Record<'a, Contact>,
    link: Option<Record<'a, Link>>,
}

impl Party<'_> {
    /// Returns the party as shown in answers.
    pub fn shown(&self) -> PermitContractor<'_> {
        let link = |name: &str| self.link.as_ref().and_then(|link| link.text(name));
        PermitContractor {
            license_id: link("license_id"),
            link_method: link("method"),
            link_confidence: link("method").map(confidence),
            link_record_id: link("record_id"),
            ..PermitContractor::from_record(&self.contact)
        }
    }
}

/// Columns of a party that may be evidence for a link.
const EVIDENCE: [&str; 3] = [
    "license_number_normalized",
    "other_license_number_normalized",
    "name_normalized",
];

/// Returns true if a link belongs to a party and still matches its evidence. Links that could not
/// be rebuilt may be older than the permits.
fn is_of(link: &Record<'_, Link>, contact: &Record<'_, Contact>) -> bool {
    link.integer("seq") == contact.integer("seq")
        && EVIDENCE
            .iter()
            .any(|column| contact.text(column) == link.text("evidence"))
}

/// Reads the parties of permits with their licenses, in the order of the permits.
pub async fn parties<'a>(
    call: &Call<'_>,
    permits: &'a Permits,
    records: &[Record<'_, Permit>],
) -> Result<Vec<Vec<Party<'a>>>> {
    let mut found = Vec::with_capacity(records.len());
    for record in records {
        let mut links = permits.links.about(call.reader(), record).await?;
        let contacts = permits.contacts.about(call.reader(), record).await?;
        let mut party = |contact: Record<'a, Contact>| {
            let place = links.iter().position(|link| is_of(link, &contact));
            Party {
                link: place.map(|place| links.swap_remove(place)),
                contact,
            }
        };
        found.push(contacts.into_iter().map(&mut party).collect());
    }
    Ok(found)
}

/// Permits linked to a license.
#[derive(Debug, Default)]
pub struct Linked {
    pub by_number: BTreeSet<u32>,
    pub by_name: BTreeSet<u32>,
}

/// Finds a license's permits.
pub fn permits_of(permits: &Permits, license_id: &str) -> Linked {
    let of = |method: &str| {
        permits
            .linked_to(license_id, method)
            .iter()
            .copied()
            .collect::<BTreeSet<u32>>()
    };
    let by_number = of(EXACT_NUMBER);
    let by_name = of(NAME_AND_STATE).difference(&by_number).copied().collect();
    Linked { by_number, by_name }
}
