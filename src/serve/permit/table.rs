//! Indexes permits in memory as far as searches and totals need them. All other values that an
//! answer shows are read from the parts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use arrow::array::{Array, Decimal128Array, Float64Array, Int32Array};

use crate::index::hash_index::{HashIndex, HashIndexBuilder};
use crate::index::key_hash::hash;
use crate::permit::datasets::Contact;
use crate::permit::datasets::Link;
use crate::permit::datasets::Permit;
use crate::place::distance::Point;
use crate::release::dictionary::DictionaryColumn;
use crate::release::dictionary_codes::DictionaryCodes;
use crate::release::freshness::source_date;
use crate::release::key_columns::{Days, NO_DAY, indexed, key_columns, known_day, read_part};
use crate::release::part_reader::PartReader;
use crate::release::quarantined;
use crate::release::rows::{ChildParts, Numbered};
use crate::release::table::{Table, TextLists, Texts};
use crate::search::row_names::{SharedBuilder, SharedNames};
use pubdata_core::canonical::address::city_key;
use pubdata_core::canonical::license_number;
use pubdata_core::error::{Error, Result};
use pubdata_store::Part;

key_columns! {
    /// Columns from which the index is built.
    struct Keys {
        permit_id: Texts,
        jurisdiction_name: Texts,
        state: Texts,
        permit_number: Texts,
        r#type: Texts,
        work_class: Texts,
        property_class: Texts,
        status: Texts,
        issued_date: Days,
        applied_date: Days,
        completed_date: Days,
        status_date: Days,
        job_value: Decimal128Array,
        city: Texts,
        zip: Texts,
        address_key: Texts,
        lat: Float64Array,
        lon: Float64Array,
        parcel: Texts,
        property_id: Texts,
        tags: TextLists,
    }
}

key_columns! {
    struct ContactKeys {
        permit_id: Texts,
        seq: Int32Array,
        role: Texts,
        name: Texts,
        name_normalized: Texts,
        license_number_normalized: Texts,
        other_license_number_normalized "?": Texts,
        license_state: Texts,
    }
}

key_columns! {
    struct LinkKeys {
        permit_id: Texts,
        seq: Int32Array,
        license_id: Texts,
        method: Texts,
        evidence: Texts,
    }
}

/// Dates by which permits can be searched, in storage order.
pub const DATES: [&str; 4] = [
    "issued_date",
    "applied_date",
    "completed_date",
    "status_date",
];
/// Sentinel for a missing value.
pub const NO_VALUE: i64 = i64::MIN;

/// Facts about all permits of a jurisdiction.
#[derive(Debug, Default)]
pub struct PermitList {
    pub name: String,
    pub state: String,
    pub permits: u64,
    /// Number of permits without a ZIP code.
    pub without_zip: u64,
    /// Number of permits with coordinates.
    pub with_point: u64,
    /// Number of permits with each date in [`DATES`].
    pub with_date: [u64; 4],
    /// First and last day for each date in [`DATES`], ignoring days after the source's own date.
    pub days: [Option<(i32, i32)>; 4],
    /// Types of the jurisdiction's permits.
    pub types: BTreeSet<String>,
    /// Cities of the permits, normalised for comparison.
    pub cities: BTreeSet<String>,
    city_codes: HashSet<u32>,
}

/// Permits of a release.
#[derive(Debug, Default)]
pub struct Permits {
    pub rows: Numbered<Permit>,
    pub contacts: ChildParts<Contact>,
    pub links: ChildParts<Link>,
    by_number: HashIndex,
    by_property: HashIndex,
    /// Permits by house number and street name.
    by_street: HashIndex,
    by_parcel: HashIndex,
    /// Permits by state and normalised license number of a party.
    by_license: HashIndex,
    /// Permits linked to a license, by license id and link method.
    linked: HashIndex,
    pub contractors: SharedNames,
    pub types: DictionaryColumn,
    pub work_classes: DictionaryColumn,
    pub property_classes: DictionaryColumn,
    pub statuses: DictionaryColumn,
    /// Days, in the order of [`DATES`].
    pub dates: [Vec<i32>; 4],
    /// Stated values in cents.
    pub values: Vec<i64>,
    pub cities: DictionaryCodes,
    pub zips: DictionaryCodes,
    pub tag_words: Vec<String>,
    /// One bit for each word of `tag_words`.
    pub tags: Vec<u32>,
    /// Coordinates in ascending order of latitude.
    pub points: Vec<Point>,
    /// Facts about each jurisdiction, by its id.
    pub lists: BTreeMap<String, PermitList>,
    /// Jurisdictions whose permits carry license numbers.
    pub with_license_numbers: BTreeSet<String>,
    /// Upper-case ids of quarantined permits.
    quarantined: Vec<String>,
}

/// Index under construction.
#[derive(Default)]
struct Builder {
    by_number: HashIndexBuilder,
    by_property: HashIndexBuilder,
    by_street: HashIndexBuilder,
    by_parcel: HashIndexBuilder,
    by_license: HashIndexBuilder,
    linked: HashIndexBuilder,
    contractors: SharedBuilder,
    /// Fields of the index that need no separate builder.
    permits: Permits,
    /// Rows of the permits in the current part, used to find the permits of parties.
    of_part: HashMap<u64, u32>,
    /// Evidence for links, collected from the parties in the current part.
    evidence: HashSet<u64>,
}

impl Builder {
    fn add(
        &mut self,
        jurisdiction: &str,
        list_day: Option<i32>,
        first: u32,
        table: &Table,
    ) -> Result<()> {
        let keys = Keys::open(table)?;
        let dates: [&Days; DATES.len()] = [
            &keys.issued_date,
            &keys.applied_date,
            &keys.completed_date,
            &keys.status_date,
        ];
        let permits = &mut self.permits;
        let mut list = permits.lists.remove(jurisdiction).unwrap_or_default();
        for index in 0..table.rows() {
            let (row, id) = (first + index as u32, keys.permit_id.at(index));
            if list.permits == 0 {
                list.name = keys.jurisdiction_name.at(index).to_owned();
                list.state = keys.state.at(index).to_owned();
            }
            list.permits += 1;
            self.of_part.insert(hash(&[id]), row);
            let key = id.split_once(':').map_or(id, |(_, key)| key);
            self.by_number.add(
                &[&license_number::display(
                    keys.permit_number.get(index).unwrap_or(key),
                )],
                row,
            );
            if let Some(property) = keys.property_id.get(index) {
                self.by_property.add(&[&property.to_ascii_lowercase()], row);
            }
            if let Some([number, street]) = keys.address_key.get(index).and_then(street_key) {
                self.by_street.add(&[number, street], row);
            }
            if let Some(parcel) = keys.parcel.get(index) {
                self.by_parcel.add(&[&comparable_parcel(parcel)], row);
            }
            permits.types.push(keys.r#type.get(index))?;
            permits.statuses.push(keys.status.get(index))?;
            permits.work_classes.push(keys.work_class.get(index))?;
            permits
                .property_classes
                .push(keys.property_class.get(index))?;
            if !list.types.contains(keys.r#type.at(index)) {
                list.types.insert(keys.r#type.at(index).to_owned());
            }
            for (((kept, column), with_date), days) in permits
                .dates
                .iter_mut()
                .zip(dates)
                .zip(&mut list.with_date)
                .zip(&mut list.days)
            {
                let day = column.at(index);
                kept.push(day);
                *with_date += u64::from(day != NO_DAY);
                // A day after the source's own date is a typing error, such as 2109.
                if let Some(day) =
                    known_day(day).filter(|day| list_day.is_none_or(|last| *day <= last))
                {
                    *days = Some(
                        days.map_or((day, day), |(first, last)| (first.min(day), last.max(day))),
                    );
                }
            }
            let has_value = !keys.job_value.is_null(index);
            permits.values.push(if has_value {
                i64::try_from(keys.job_value.value(index)).unwrap_or(i64::MAX)
            } else {
                NO_VALUE
            });
            permits.cities.push(keys.city.get(index), city_key)?;
            list.city_codes.insert(permits.cities.at(row));
            permits.zips.push(keys.zip.get(index), str::to_owned)?;
            list.without_zip += u64::from(keys.zip.get(index).is_none());
            let mut bits = 0;
            for tag in keys.tags.at(index) {
                bits |= 1 << permits.tag(tag)?;
            }
            permits.tags.push(bits);
            if !keys.lat.is_null(index) && !keys.lon.is_null(index) {
                permits.points.push(Point {
                    lat: keys.lat.value(index),
                    lon: keys.lon.value(index),
                    row,
                });
                list.with_point += 1;
            }
        }
        permits.lists.insert(jurisdiction.to_owned(), list);
        Ok(())
    }

    fn add_contacts(&mut self, jurisdiction: &str, table: &Table) -> Result<()> {
        let keys = ContactKeys::open(table)?;
        let (number, other) = (
            &keys.license_number_normalized,
            &keys.other_license_number_normalized,
        );
        for index in 0..table.rows() {
            let id = keys.permit_id.at(index);
            let Some(row) = self.of_part.get(&hash(&[id])).copied() else {
                continue;
            };
            let seq = keys.seq.value(index).to_string();
            let evidence = [number, other, &keys.name_normalized]
                .into_iter()
                .filter_map(|column| column.get(index));
            self.evidence
                .extend(evidence.map(|text| hash(&[id, &seq, text])));
            let stated = [number, other]
                .into_iter()
                .filter_map(|column| column.get(index));
            for (state, number) in
                stated.filter_map(|number| Some((keys.license_state.get(index)?, number)))
            {
                self.by_license.add(&[state, number], row);
                if !self.permits.with_license_numbers.contains(jurisdiction) {
                    self.permits
                        .with_license_numbers
                        .insert(jurisdiction.to_owned());
                }
            }
            if let Some(name) = keys
                .name
                .get(index)
                .filter(|_| keys.role.get(index) == Some("contractor"))
            {
                self.contractors.add(name, row)?;
            }
        }
        Ok(())
    }

    fn add_links(&mut self, table: &Table) -> Result<()> {
        let keys = LinkKeys::open(table)?;
        for index in 0..table.rows() {
            let id = keys.permit_id.at(index);
            let Some(row) = self.of_part.get(&hash(&[id])).copied() else {
                continue;
            };
            if self.evidence.contains(&hash(&[
                id,
                &keys.seq.value(index).to_string(),
                keys.evidence.at(index),
            ])) {
                self.linked
                    .add(&[keys.license_id.at(index), keys.method.at(index)], row);
            }
        }
        Ok(())
    }
}

/// Returns the house number and street name from a published address key.
fn street_key(key: &str) -> Option<[&str; 2]> {
    let mut fields = key.split('|');
    let (number, street) = (fields.next()?, fields.nth(1)?);
    (!number.is_empty() && !street.is_empty()).then_some([number, street])
}

/// Normalises a parcel number for comparison: letters and digits only.
pub fn comparable_parcel(parcel: &str) -> String {
    parcel
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

impl Permits {
    /// Reads the key columns of every part; returns `None` if the release lacks the dataset.
    pub async fn load(reader: PartReader<'_>) -> Result<Option<Self>> {
        let manifest = reader.manifest();
        let Some(rows) = Numbered::<Permit>::from_manifest(manifest)? else {
            return Ok(None);
        };
        let (contacts, links) = (
            ChildParts::<Contact>::from_manifest(manifest),
            ChildParts::<Link>::from_manifest(manifest),
        );
        let mut made = Builder::default();
        for (number, part) in rows.parts().iter().enumerate() {
            let (jurisdiction, start) = (
                rows.partition_of(number, "jurisdiction").to_owned(),
                rows.rows_of_part(number).start,
            );
            made = made
                .read(
                    reader,
                    [Some(part), contacts.beside(part), links.beside(part)],
                    jurisdiction,
                    start,
                )
                .await?;
        }
        let quarantined = quarantined::ids::<Permit>(reader).await?;
        indexed(move || {
            let mut permits = made.permits;
            for (name, code) in permits.cities.compared() {
                for list in permits
                    .lists
                    .values_mut()
                    .filter(|list| list.city_codes.contains(&code))
                {
                    list.cities.insert(city_key(name));
                }
            }
            permits
                .points
                .sort_unstable_by(|a, b| a.lat.total_cmp(&b.lat).then(a.row.cmp(&b.row)));
            Ok(Some(Self {
                rows,
                contacts,
                links,
                by_number: made.by_number.finish(),
                by_property: made.by_property.finish(),
                by_street: made.by_street.finish(),
                by_parcel: made.by_parcel.finish(),
                by_license: made.by_license.finish(),
                linked: made.linked.finish(),
                contractors: made.contractors.finish()?,
                quarantined,
                ..permits
            }))
        })
        .await
    }

    /// Returns the bit of a tag.
    fn tag(&mut self, tag: &str) -> Result<usize> {
        let known = self.tag_words.iter().position(|known| known == tag);
        let bit = known.unwrap_or_else(|| {
            self.tag_words.push(tag.to_owned());
            self.tag_words.len() - 1
        });
        if bit < 32 {
            Ok(bit)
        } else {
            Err(Error::store("more than 32 different tags of permits"))
        }
    }

    /// Returns the ids of quarantined permits whose key is the number or begins with it. Ids of
    /// permits with several rows have further parts after the number.
    pub fn quarantined_with_number(&self, number: &str) -> Vec<&str> {
        let plain = |text: &str| {
            text.chars()
                .filter(char::is_ascii_alphanumeric)
                .flat_map(char::to_uppercase)
                .collect::<String>()
        };
        let number = plain(number);
        let is_of = |id: &&String| {
            id.split_once(':').is_some_and(|(_, key)| {
                plain(key) == number
                    || key
                        .split('-')
                        .next()
                        .is_some_and(|first| plain(first) == number)
            })
        };
        self.quarantined
            .iter()
            .filter(is_of)
            .map(String::as_str)
            .collect()
    }

    pub fn with_number(&self, number: &str) -> &[u32] {
        self.by_number.find(&[&license_number::display(number)])
    }

    /// Returns the permits for a property by its id, ignoring case.
    pub fn of_property(&self, property_id: &str) -> &[u32] {
        self.by_property.find(&[&property_id.to_ascii_lowercase()])
    }

    /// Returns the permits with a house number in streets with a name.
    pub fn at_street(&self, number: &str, street: &str) -> &[u32] {
        self.by_street.find(&[number, street])
    }

    pub fn with_parcel(&self, parcel: &str) -> &[u32] {
        self.by_parcel.find(&[&comparable_parcel(parcel)])
    }

    /// Returns the permits with a party that has this license.
    pub fn with_license(&self, state: &str, normalized: &str) -> &[u32] {
        self.by_license.find(&[state, normalized])
    }

    /// Returns the permits linked to a license by the given method.
    pub fn linked_to(&self, license_id: &str, method: &str) -> &[u32] {
        self.linked.find(&[license_id, method])
    }

    pub fn jurisdiction(&self, row: u32) -> &str {
        self.rows.partition(row, "jurisdiction")
    }

    /// Returns the memory size of the index in bytes.
    pub fn size_bytes(&self) -> usize {
        let keys = [
            &self.by_number,
            &self.by_property,
            &self.by_street,
            &self.by_parcel,
            &self.by_license,
            &self.linked,
        ];
        let keys: usize = keys.into_iter().map(HashIndex::size_bytes).sum();
        let columns = 36 * self.values.capacity()
            + self.cities.size_bytes()
            + self.zips.size_bytes()
            + 24 * self.points.capacity();
        keys + columns + self.contractors.size_bytes()
    }
}

impl Builder {
    /// Adds a part, its parties and their links.
    async fn read(
        mut self,
        reader: PartReader<'_>,
        [part, contacts, links]: [Option<&Part>; 3],
        jurisdiction: String,
        start: u32,
    ) -> Result<Self> {
        self.of_part.clear();
        self.evidence.clear();
        let (name, mut made) = (jurisdiction.clone(), self);
        let list_day = part
            .and_then(|part| source_date(reader.manifest(), part))
            .map(crate::days::since_epoch);
        if let Some(part) = part {
            made = read_part(
                reader,
                part,
                Keys::COLUMNS,
                made,
                move |made, first, table| made.add(&name, list_day, start + first, table),
            )
            .await?;
        }
        if let Some(contacts) = contacts {
            made = read_part(
                reader,
                contacts,
                ContactKeys::COLUMNS,
                made,
                move |made, _, table| made.add_contacts(&jurisdiction, table),
            )
            .await?;
        }
        if let Some(links) = links {
            made = read_part(reader, links, LinkKeys::COLUMNS, made, |made, _, table| {
                made.add_links(table)
            })
            .await?;
        }
        Ok(made)
    }
}
