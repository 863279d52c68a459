//! Tests ZIP codes: a few of them, and requests about them.

mod lookup;

use serde_json::{Value, json};

use super::{World, geo, tax};

/// ZIP codes of GeoNames' file of 2024: code, city, state, county and point. Their types, names and
/// areas are invented.
pub const MADE_UP: [&str; 26] = [
    "00501|Holtsville|NY|36103|40.8154|-73.0451|po_box_or_unique|11742|spatial_join",
    "05401|Burlington|VT|50007|44.484|-73.2199|standard|05401|same_code",
    "06101|Hartford|CT|09003|41.7801|-72.6771|standard||none",
    "07001|Avenel|NJ|34023|40.5827|-74.2713|standard|07001|same_code",
    "09001|APO|AA||38.1105|15.6613|military||none",
    "09007|APO|AE||49.4077|8.6908|military||none",
    "10001|New York|NY|36061|40.7484|-73.9967|standard|10001|same_code",
    "10002|New York|NY|36061|40.7152|-73.9877|standard|10002|same_code",
    "37072|Goodlettsville|TN|47037|36.3623|-86.7269|standard|37072|same_code",
    "53202|Milwaukee|WI|55079|43.0506|-87.8968|standard|53202|same_code",
    "53224|Milwaukee|WI|55079|43.1594|-88.0327|standard|53224|same_code",
    "55049|Medford|MN|27147|44.1742|-93.2463|standard|55049|same_code",
    "55101|Saint Paul|MN|27123|44.9512|-93.0902|standard|55101|same_code",
    "55103|Saint Paul|MN|27123|44.9608|-93.1216|standard|55103|same_code",
    "55401|Minneapolis|MN|27053|44.9835|-93.2683|standard|55401|same_code",
    "70112|New Orleans|LA|22071|29.9605|-90.0753|standard|70112|same_code",
    "75001|Addison|TX|48113|32.96|-96.8385|standard|75001|same_code",
    "75099|Coppell|TX|48113|32.7673|-96.7776|po_box_or_unique||none",
    "77044|Houston|TX|48201|29.8617|-95.1976|standard|77044|same_code",
    "80201|Denver|CO|08031|39.7263|-104.8568|po_box_or_unique||none",
    "83856|Priest River|ID|16017|48.1664|-116.9066|standard|83856|same_code",
    "89101|Las Vegas|NV|32003|36.1721|-115.1224|standard|89101|same_code",
    "90210|Beverly Hills|CA|06037|34.0901|-118.4065|standard|90210|same_code",
    "97201|Portland|OR|41051|45.4989|-122.6914|standard|97201|same_code",
    "98001|Auburn|WA|53033|47.3099|-122.2653|standard|98001|same_code",
    "98002|Auburn|WA|53033|47.3083|-122.2168|standard|98002|same_code",
];

pub fn zip(line: &str) -> Value {
    let cells: Vec<&str> = line.split('|').collect();
    let filled = |cell: &str| Some(cell.to_owned()).filter(|cell| !cell.is_empty());
    let degrees = |cell: &str| cell.parse::<f64>().ok();
    json!({
        "record_id": format!("zip.zip:{}", cells[0]), "zip": cells[0], "type": cells[6], "type_raw": null, "city": cells[1], "other_cities": if cells[0] == "10001" { vec!["Manhattan"] } else { vec![] },
        "state": cells[2], "military_region": cells[0].starts_with("09").then_some("AE"), "county_fips": filled(cells[3]), "county_name": null, "lat": degrees(cells[4]), "lon": degrees(cells[5]), "coordinate_accuracy": "4",
        "zcta": filled(cells[7]), "zcta_match": cells[8],
    })
}

pub fn zip_county(zip: &str, fips: &str, name: &str, share: f64) -> Value {
    json!({
        "record_id": format!("zip.county:{zip}:{fips}"), "zip": zip, "county_fips": fips, "county_name": name, "share": share, "basis": "land_area",
    })
}

/// A release with ZIP codes, taxes and the geographic family.
pub async fn world() -> World {
    let world = World::empty(|_| {}).await;
    let mut draft = tax::draft();
    draft.tables.extend(geo::draft(19_652.0).tables);
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    world
}
