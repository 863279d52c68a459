//! Lists the ids of a dataset's quarantined records, so that an answer can distinguish them from
//! unknown ids.

use crate::release::key_columns::read_part;
use crate::release::part_reader::PartReader;
use crate::release::rows::Dataset;
use crate::release::table::Table;
use pubdata_core::error::Result;

/// Dataset of published quarantined records: `pubdata.quarantine:{dataset}:…`.
pub const QUARANTINE: &str = "pubdata.quarantine";

/// Returns the ids of a dataset's quarantined records in upper case. The format is
/// `pubdata.quarantine:{dataset}:{partition}:{dataset}:{id}:{rule}`. Skips records without an id,
/// which are named by their position in the source.
pub async fn ids<D: Dataset>(reader: PartReader<'_>) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    let quarantine = reader.parts_of(QUARANTINE);
    for part in quarantine.filter(|part| {
        part.rows > 0
            && part
                .partition
                .get("dataset_id")
                .is_some_and(|id| id == D::ID)
    }) {
        ids = read_part(reader, part, &["record_id"], ids, |ids, _, table| {
            add::<D>(ids, table)
        })
        .await?;
    }
    Ok(ids)
}

fn add<D: Dataset>(ids: &mut Vec<String>, table: &Table) -> Result<()> {
    let records = table.texts("record_id")?;
    let marker = format!(":{}:", D::ID);
    for row in 0..table.rows() {
        let record = records.at(row);
        let id = record
            .rmatch_indices(&marker)
            .next()
            .filter(|(at, _)| *at > QUARANTINE.len())
            .map(|(at, marker)| &record[at + marker.len()..]);
        ids.extend(
            id.and_then(|id| id.rsplit_once(':'))
                .map(|(id, _rule)| id.to_ascii_uppercase()),
        );
    }
    Ok(())
}
