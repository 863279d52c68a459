//! Holds a small release of businesses, licenses and permits, whose families refer to each other.
//! All rows are invented.

use pubdata_store::PartReport;

use super::home::{Draft, Table};
use super::{World, business, license, permit};

pub async fn world() -> World {
    let world = World::empty(|_| {}).await;
    world.publish(&draft()).await;
    world.service.refresh().await.unwrap();
    world
}

pub type Folders = &'static [(&'static str, &'static str)];

pub fn draft() -> Draft {
    let table = |dataset_id, folders, rows| Table {
        dataset_id,
        vintage_year: None,
        bucket: None,
        folders,
        rows,
        report: PartReport::default(),
    };
    let tables = vec![
        table("business.entity", business::FL, business::florida()),
        table("business.entity", business::NY, business::new_york()),
        table("business.officer", business::FL, business::officers()),
        table("license.license", license::TDLR, license::texas()),
        table("license.license", license::LNI, license::washington()),
        table("license.license", license::ELICENSE, license::connecticut()),
        table(
            "license.license",
            license::NPPES,
            license::stated_in_connecticut(),
        ),
        table("license.action", license::TDLR, license::actions()),
        table("permit.permit", permit::CHICAGO, permit::chicago()),
        table("permit.permit", permit::AUSTIN, permit::austin()),
        table(
            "permit.contact",
            permit::CHICAGO,
            permit::chicago_contacts(),
        ),
        table("permit.contact", permit::AUSTIN, permit::austin_contacts()),
        table(
            "permit.license_link",
            permit::AUSTIN,
            permit::austin_links(),
        ),
    ];
    Draft {
        tables,
        is_sample: false,
        published_at: "2026-01-10T01:00:00Z",
        due: None,
    }
}
