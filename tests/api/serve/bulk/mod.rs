//! Tests datasets, releases, downloads and histories on small releases with known differences.

mod catalog;
mod croissant;
mod datasets;
mod download;
mod history;
mod releases;

pub use download::many;

use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::{ChannelAction, ChannelMove, Manifest};

use super::World;
use super::geo::draft;
use super::home::{Draft, publish_changed};

/// Contact address.
const CONTACT: &str = "Data desk <desk@example.org>";

/// Requests that together cover each member of an answer.
pub const OF_BULK: [&str; 12] = [
    "/v1/catalog.json",
    "/v1/datasets/geo.zcta_metric/croissant.json",
    "/v1/datasets/geo.county/croissant.json",
    "/v1/datasets",
    "/v1/datasets/geo.zcta_metric",
    "/v1/datasets/geo.county",
    "/v1/releases",
    "/v1/releases/current",
    "/v1/releases/current/changes",
    "/v1/releases/current/datasets/geo.zcta_metric",
    "/v1/records/geo.zcta_metric:2023:90210:population/history",
    "/v1/records/geo.county:06037/history",
];

/// Four releases. The second has another file for its metrics and another figure of 90210. In the
/// third, only the code of the places differs. In the last, only a layout differs and no record.
/// All are late from 31 March on.
pub async fn world() -> (World, [ReleaseId; 4]) {
    let world = World::empty(|settings| settings.contact = Some(CONTACT.to_owned())).await;
    let late = |population, published_at| Draft {
        due: Some("2026-03-31"),
        published_at,
        ..draft(population)
    };
    let first = world.publish(&late(19_652.0, "2026-01-10T01:00:00Z")).await;
    let plain = world.publish(&late(20_000.0, "2026-01-11T01:00:00Z")).await;
    let second = publish_changed(&world.home, &plain, |manifest| {
        let input = &mut task(manifest, "test.metrics/vintage=2023").inputs[0];
        (input.sha256, input.source_date, input.source_version) = (
            Digest::sha256(b"another file"),
            "2025-12-11".to_owned(),
            "2019-2023 again".to_owned(),
        );
    })
    .await;
    world.releases().delete_release(&plain).await.unwrap();
    let third = publish_changed(&world.home, &second, |manifest| {
        task(manifest, "test.places").code_version = "0.2.0".to_owned();
        manifest.published_at = "2026-01-12T01:00:00Z".to_owned();
    })
    .await;
    let fourth = publish_changed(&world.home, &third, |manifest| {
        task(manifest, "test.places").declaration_hash = Digest::sha256(b"another declaration");
        manifest.published_at = "2026-01-13T01:00:00Z".to_owned();
    })
    .await;
    world.service.refresh().await.unwrap();
    (world, [first, second, third, fourth])
}

fn task<'a>(manifest: &'a mut Manifest, task_id: &str) -> &'a mut pubdata_store::TaskEntry {
    manifest.tasks.get_mut(task_id).unwrap()
}

/// Points the channel back at a release, as an operator does.
async fn roll_back(world: &World, release_id: &ReleaseId) {
    let releases = world.releases();
    let generation = releases
        .channel("nightly")
        .await
        .unwrap()
        .map(|entry| entry.generation);
    let to = ChannelMove {
        release_id: release_id.clone(),
        action: ChannelAction::Rollback,
        moved_at: "2026-01-14T00:00:00Z".to_owned(),
        run_id: None,
    };
    releases
        .advance_channel("nightly", generation, to)
        .await
        .unwrap();
    world.service.refresh().await.unwrap();
}
