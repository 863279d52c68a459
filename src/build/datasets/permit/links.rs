//! Links permits to contractors' licenses using both tables. A link requires either the same number
//! in the same scheme, or the state's only contractor's license under a business name. Never links
//! by similarity, and never to a license that only its holder states. Grain: one row per linked
//! party to a permit.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use polars::prelude::*;

use super::CONTACT;
use super::frame_columns::{constant, texts};
use crate::datasets::{Build, Builder, Context, Fault, Table};
use crate::normalise::{pointer_column, pointers};
use pubdata_core::canonical::license_number;
use pubdata_core::canonical::name::organization;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const LINK: &str = "permit.license_link";
const LICENSE: &str = "license.license";

/// Professions of the people who take out permits. Other license holders with numbers in the same
/// scheme do not take out permits, such as a barber licensed by a board for all trades.
pub(in crate::datasets) const CONTRACTORS: [&str; 8] = [
    "general_contractor",
    "specialty_contractor",
    "electrician",
    "plumber",
    "hvac",
    "roofer",
    "elevator",
    "boiler",
];

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 2,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    let of = |family: &str| {
        declaration
            .builds_on
            .iter()
            .filter(|id| id.starts_with(family))
            .count()
    };
    if of("permit.") == 1 && of("license.") > 0 {
        return Ok(());
    }
    Err(Fault::in_settings(
        "",
        "links need one list of permits and some of licenses under `builds_on`".to_owned(),
    ))
}

/// Licenses that can be linked: contractors' licenses from the boards' own sources.
#[derive(Default)]
struct Licenses {
    ids: Vec<String>,
    pointers: Vec<Vec<u64>>,
    places: HashMap<String, usize>,
    by_number: HashMap<(String, String), BTreeSet<usize>>,
    by_name: HashMap<(String, String), BTreeSet<usize>>,
}

impl Licenses {
    fn add(&mut self, table: &Table) -> Result<()> {
        let column = |name: &str| Ok::<_, Error>(table.frame.column(name)?.str()?.clone());
        let (ids, states, professions, evidence) = (
            column("license_id")?,
            column("state")?,
            column("profession")?,
            column("evidence")?,
        );
        let (numbers, written, schemes) = (
            column("number_normalized")?,
            column("number")?,
            column("number_scheme")?,
        );
        let (holders, normalized, kinds) = (
            column("holder_name")?,
            column("holder_name_normalized")?,
            column("holder_type")?,
        );
        let others = [column("business_name")?, column("dba")?];
        let persons = [
            "holder_first",
            "holder_middle",
            "holder_last",
            "holder_suffix",
        ]
        .map(column)
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
        let rows = pointers(&table.frame, POINTERS)?;
        for (row, pointers) in rows.into_iter().enumerate() {
            let is_contractor = professions
                .get(row)
                .is_some_and(|profession| CONTRACTORS.contains(&profession));
            let (Some(id), Some(state)) = (
                ids.get(row)
                    .filter(|_| is_contractor && evidence.get(row) == Some("registry")),
                states.get(row),
            ) else {
                continue;
            };
            // Rows that repeat the same license count once.
            let place = *self.places.entry(id.to_owned()).or_insert(self.ids.len());
            if place < self.ids.len() {
                continue;
            }
            self.ids.push(id.to_owned());
            self.pointers.push(pointers.unwrap_or_default());
            if let Some(scheme) = schemes.get(row) {
                // A permit states the number either as it appears on the license, or without the
                // board's prefix.
                let forms = [
                    numbers.get(row).map(str::to_owned),
                    written
                        .get(row)
                        .map(|number| license_number::normalized(number, &[])),
                ];
                for number in forms.into_iter().flatten() {
                    self.by_number
                        .entry((scheme.to_owned(), number))
                        .or_default()
                        .insert(place);
                }
            }
            let parts: Vec<&str> = persons
                .iter()
                .filter_map(|column| column.get(row))
                .collect();
            let is_own_name = kinds.get(row) == Some("person")
                && holders
                    .get(row)
                    .is_some_and(|name| has_same_words(name, &parts.join(" ")));
            let own = normalized
                .get(row)
                .filter(|_| !is_own_name)
                .map(str::to_owned);
            let assumed = others
                .iter()
                .filter_map(|column| column.get(row))
                .map(|name| organization(name).normalized);
            for name in own.into_iter().chain(assumed) {
                self.by_name
                    .entry((state.to_owned(), name))
                    .or_default()
                    .insert(place);
            }
        }
        Ok(())
    }

    /// Returns the only license with a number or name, or `None` if there are several.
    fn only(found: Option<&BTreeSet<usize>>) -> Option<usize> {
        found.filter(|found| found.len() == 1)?.first().copied()
    }
}

/// Returns true if two names have the same words in any order.
fn has_same_words(name: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let normalized = organization(text).normalized;
        let mut words: Vec<String> = normalized.split(' ').map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    !other.is_empty() && sorted(name) == sorted(other)
}

/// A link from a party to a license.
struct Link {
    permit_id: String,
    seq: i32,
    license: usize,
    method: &'static str,
    scheme: Option<String>,
    evidence: String,
    pointers: Vec<u64>,
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let mut licenses = Licenses::default();
    let mut permits: Option<Arc<Vec<Table>>> = None;
    // Skip license sources that were never fetched, as long as at least one exists.
    for pipeline_id in context
        .declaration
        .builds_on
        .iter()
        .filter(|pipeline_id| context.has_required_sources(pipeline_id))
    {
        let tables = context.pipeline_tables(pipeline_id)?;
        for table in tables.iter().filter(|table| table.dataset_id == LICENSE) {
            licenses.add(table)?;
        }
        if tables.iter().any(|table| table.dataset_id == CONTACT) {
            permits = Some(tables);
        }
    }
    let permits = permits.ok_or_else(|| {
        Error::config(format!(
            "{}: its list of permits names no parties",
            context.declaration.pipeline_id
        ))
    })?;
    let mut tables = Vec::new();
    for contacts in permits.iter().filter(|table| table.dataset_id == CONTACT) {
        let state = permits
            .iter()
            .find(|table| {
                table.dataset_id == super::PERMIT && table.partition == contacts.partition
            })
            .map(state_of)
            .transpose()?
            .flatten();
        let links = links(&licenses, state.as_deref().unwrap_or_default(), contacts)?;
        let frame = frame(&links, &licenses, &contacts.partition)?;
        tables.push(Table {
            dataset_id: LINK.to_owned(),
            partition: contacts.partition.clone(),
            frame,
            issues: Vec::new(),
        });
    }
    Ok(tables)
}

/// Returns the state of the source's jurisdiction, or `None` for a source without permits.
fn state_of(permits: &Table) -> Result<Option<String>> {
    Ok(permits
        .frame
        .column("state")?
        .str()?
        .iter()
        .next()
        .flatten()
        .map(str::to_owned))
}

fn links(licenses: &Licenses, state: &str, contacts: &Table) -> Result<Vec<Link>> {
    let column = |name: &str| Ok::<_, Error>(contacts.frame.column(name)?.str()?.clone());
    let (ids, roles, names) = (
        column("permit_id")?,
        column("role")?,
        column("name_normalized")?,
    );
    let numbers = [
        ("license_number_normalized", "license_scheme"),
        ("other_license_number_normalized", "other_license_scheme"),
    ];
    let numbers = numbers
        .into_iter()
        .map(|(number, scheme)| Ok((column(number)?, column(scheme)?)))
        .collect::<Result<Vec<_>>>()?;
    let seqs = contacts.frame.column("seq")?.i32()?.clone();
    let rows = pointers(&contacts.frame, POINTERS)?;
    let mut links = Vec::new();
    for (row, own) in rows.into_iter().enumerate() {
        let stated = || {
            numbers
                .iter()
                .filter_map(|(number, scheme)| Some((number.get(row)?, scheme.get(row))))
        };
        let by_number = stated().find_map(|(number, scheme)| {
            let license = Licenses::only(
                licenses
                    .by_number
                    .get(&(scheme?.to_owned(), number.to_owned())),
            )?;
            Some((
                license,
                "exact_number",
                scheme.map(str::to_owned),
                number.to_owned(),
            ))
        });
        // A party that states a number in any scheme is not looked up by name.
        let name = names
            .get(row)
            .filter(|_| roles.get(row) == Some("contractor") && stated().next().is_none());
        let by_name = || {
            let license =
                Licenses::only(licenses.by_name.get(&(state.to_owned(), name?.to_owned())))?;
            Some((license, "name_and_state", None, name?.to_owned()))
        };
        let Some((license, method, scheme, evidence)) = by_number.or_else(by_name) else {
            continue;
        };
        let (Some(permit_id), Some(seq)) = (ids.get(row), seqs.get(row)) else {
            continue;
        };
        let pointers = own
            .into_iter()
            .flatten()
            .chain(licenses.pointers[license].iter().copied())
            .collect();
        links.push(Link {
            permit_id: permit_id.to_owned(),
            seq,
            license,
            method,
            scheme,
            evidence,
            pointers,
        });
    }
    Ok(links)
}

fn frame(
    links: &[Link],
    licenses: &Licenses,
    partition: &BTreeMap<String, String>,
) -> Result<DataFrame> {
    let height = links.len();
    let record_ids: Vec<String> = links
        .iter()
        .map(|link| format!("{LINK}:{}:{}", link.permit_id, link.seq))
        .collect();
    let mut columns = vec![
        texts("record_id", &record_ids, |id| Some(id.as_str())),
        texts("permit_id", links, |link| Some(&link.permit_id)),
        links
            .iter()
            .map(|link| Some(link.seq))
            .collect::<Int32Chunked>()
            .with_name("seq".into())
            .into_column(),
        texts("license_id", links, |link| {
            Some(&licenses.ids[link.license])
        }),
        texts("method", links, |link| Some(link.method)),
        texts("license_scheme", links, |link| link.scheme.as_deref()),
        texts("evidence", links, |link| Some(&link.evidence)),
        pointer_column(links.iter().map(|link| link.pointers.as_slice())),
    ];
    columns.extend(
        partition
            .iter()
            .map(|(name, value)| constant(name, value, height)),
    );
    Ok(DataFrame::new(height, columns)?)
}

#[cfg(test)]
mod tests {
    use super::has_same_words;

    #[test]
    fn names_with_the_same_words_in_any_order_match() {
        assert!(has_same_words("FICTON, JOHN R", "JOHN R FICTON"));
        assert!(
            !has_same_words("FICTON ELECTRIC", "JOHN R FICTON") && !has_same_words("FICTON", "")
        );
    }
}
