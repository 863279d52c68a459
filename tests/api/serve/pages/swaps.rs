use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{browse, text};
use crate::serve::World;
use crate::serve::geo::draft;
use crate::serve::home::{Draft, point};

/// A release whose area and schools contain its number.
fn numbered(number: u32) -> Draft {
    let mut draft = draft(f64::from(number) * 1_000.0);
    let schools = draft
        .tables
        .iter_mut()
        .find(|table| table.dataset_id == "geo.school")
        .unwrap();
    for school in &mut schools.rows {
        school["name"] = format!("School of release {number}").into();
    }
    draft
}

/// A page combines several answers: all of them belong to the release that it names, even if the
/// channel moves meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn page_is_built_from_one_release() {
    let world = Arc::new(World::empty(|_| {}).await);
    let mut ids = Vec::new();
    for number in 1..4 {
        ids.push(world.publish(&numbered(number)).await);
    }
    world.service.refresh().await.unwrap();
    let (ids, stop) = (Arc::new(ids), Arc::new(AtomicBool::new(false)));
    let askers: Vec<_> = (0..2)
        .map(|_| {
            let (world, ids, stop) = (world.clone(), ids.clone(), stop.clone());
            tokio::spawn(async move {
                let mut pages = 0;
                while !stop.load(Ordering::Relaxed) {
                    let page = text(
                        &browse(
                            &world.router,
                            "/zip/90210",
                            &format!("pubdata_key={}", world.key),
                        )
                        .await,
                    );
                    let footer = page.rsplit("<footer").next().unwrap();
                    let number = 1 + ids
                        .iter()
                        .position(|id| footer.contains(id.as_str()))
                        .unwrap();
                    let population = page
                        .split("id=\"population\"")
                        .nth(1)
                        .unwrap()
                        .split("</h3>")
                        .nth(1)
                        .unwrap()
                        .split("</p>")
                        .next()
                        .unwrap();
                    assert!(
                        population.contains(&format!(">{number},000<")),
                        "{number}: {population}"
                    );
                    let schools: Vec<&str> = page
                        .split("School of release ")
                        .skip(1)
                        .map(|rest| &rest[..1])
                        .collect();
                    assert!(
                        !schools.is_empty()
                            && schools.iter().all(|school| *school == number.to_string()),
                        "{number}: {schools:?}"
                    );
                    pages += 1;
                }
                pages
            })
        })
        .collect();
    for round in 0..60 {
        point(
            &world.releases(),
            &ids[round % ids.len()],
            "2026-01-13T00:00:00Z",
        )
        .await;
        world.service.refresh().await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let mut total = 0;
    for asker in askers {
        total += asker.await.unwrap();
    }
    assert!(total > 0);
}
