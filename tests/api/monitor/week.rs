//! Runs a week of nightly runs in which everything happens once, and checks each morning's metrics
//! and messages. With `PUBDATA_WEEK_DIR` the metrics stay on disk for
//! `integrations/prometheus/week.py`, which has a real Prometheus evaluate them by the rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use pubdata_fetch::FetchSettings;
use pubdata_run::RunSettings;
use pubdata_serve::freshness_of;
use pubdata_store::monitor::{History, Message, Readings, ReleaseFreshness};
use pubdata_store::read_ledger;
use serde_json::Value;

use super::number;
use pubdata_testing::desk::gazetteer;
use pubdata_testing::{ClockAt, Place, files_below, run_here, settings};

const TASK: &str = "census.gazetteer";
const RELATIONSHIPS: &str = "tab20_zcta520_county20_natl.txt";

/// Outcome of the run, and events of the morning.
type Morning = (&'static str, &'static [&'static str]);

/// A home, the publisher's files, and the mornings' metrics so far.
struct Week {
    place: Place,
    nights: usize,
}

impl Week {
    /// Runs at nine o'clock on a day.
    async fn night(&mut self, day: &str, (outcome, events): Morning) -> String {
        let now: Timestamp = format!("{day}T09:00:00Z").parse().unwrap();
        // No publisher has files with a future date.
        for path in files_below(&self.place.mirror()) {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            let modified = file.metadata().unwrap().modified().unwrap();
            file.set_modified(modified.min(now.into())).unwrap();
        }
        let settings = settings(
            &self.place.home(),
            vec![self.place.mirror().to_str().unwrap().to_owned()],
            gazetteer(),
        );
        let fetch = FetchSettings {
            clock: Arc::new(ClockAt(now)),
            ..settings.fetch
        };
        let settings = RunSettings {
            fetch,
            selectors: vec![TASK.to_owned()],
            ..settings
        };
        let report = run_here(&settings).await;
        assert_eq!(report.tasks[0].outcome, outcome, "{day}: {report:#?}");
        self.date_the_last_entry(now);
        let entries = read_ledger(&settings.home).unwrap();
        let reported = Message::for_last_run(&entries)
            .map(|message| message.events)
            .unwrap_or_default();
        assert_eq!(
            reported
                .iter()
                .map(|event| event.event.name())
                .collect::<Vec<_>>(),
            events,
            "{day}: {reported:#?}"
        );
        let manifest = settings.releases.present("nightly").await.unwrap().unwrap();
        let today = day.parse().unwrap();
        let freshness = manifest
            .datasets
            .iter()
            .map(|(id, dataset)| (id.clone(), freshness_of(&manifest, dataset, today).name()))
            .collect::<BTreeMap<_, _>>();
        let release = ReleaseFreshness {
            channel: "nightly",
            manifest: &manifest,
            freshness,
        };
        let text = Readings::of_home(
            &settings.home,
            &History::from_entries(&entries),
            Some(&release),
        )
        .prometheus_text();
        self.nights += 1;
        if let Some(folder) = std::env::var_os("PUBDATA_WEEK_DIR") {
            let path = std::path::Path::new(&folder).join(format!("night-{}.prom", self.nights));
            std::fs::write(path, format!("# at {}\n{text}", now.as_second())).unwrap();
        }
        text
    }

    /// Sets the date of the last entry: the run used the machine's clock, the test's day is
    /// another.
    fn date_the_last_entry(&self, now: Timestamp) {
        let path = self.place.home().join("ledger.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut entry: Value = serde_json::from_str(&lines.pop().unwrap()).unwrap();
        entry["started_at"] = now.to_string().into();
        entry["ended_at"] = now.to_string().into();
        lines.push(entry.to_string());
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }

    /// Changes each line of the list of counties.
    fn relationships(&self, change: impl Fn(usize, &str) -> String) {
        self.place.edit(RELATIONSHIPS, |text| {
            text.lines()
                .enumerate()
                .map(|(number, line)| change(number, line) + "\n")
                .collect()
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn week_of_runs_gives_the_expected_metrics_and_messages() {
    let mut week = Week {
        place: Place::new(),
        nights: 0,
    };
    std::fs::remove_file(week.place.file(".pubdata-mirror")).unwrap();
    let first = week.night("2026-10-28", ("built", &[])).await;
    assert_eq!(number(&first, "pubdata_task_findings{"), 0.0);

    // A new column is worth a look, and no alarm.
    week.relationships(|number, line| format!("{line}|{}", if number == 0 { "FLAG" } else { "" }));
    let text = week.night("2026-10-29", ("built", &[])).await;
    assert!(number(&text, "pubdata_task_findings{") >= 1.0);
    assert_eq!(
        number(
            &text,
            "pubdata_dataset_freshness{channel=\"nightly\",dataset=\"geo.county\""
        ),
        1.0
    );

    let quiet = week.night("2026-10-30", ("fresh", &[])).await;
    // The edition of 2026 is late from midnight of 1 November.
    assert_eq!(
        number(
            &quiet,
            "pubdata_dataset_due_timestamp_seconds{channel=\"nightly\",dataset=\"geo.county\"}"
        ),
        1_793_491_200.0
    );

    week.relationships(|_, line| line.replace("AREALAND_PART", "LAND_PART"));
    let text = week.night("2026-10-31", ("blocked", &["blocked"])).await;
    assert_eq!(
        (
            number(&text, "pubdata_run_exit_code{"),
            number(&text, "pubdata_task_failed_runs{")
        ),
        (20.0, 1.0)
    );
    // No source was confirmed since the quiet night.
    assert_eq!(
        number(&text, "pubdata_task_confirmed_timestamp_seconds{"),
        number(&quiet, "pubdata_run_end_timestamp_seconds{")
    );

    // The old name is back with another figure, so the task is built again. The next edition is
    // late since midnight.
    week.relationships(|_, line| {
        line.replace("LAND_PART", "AREALAND_PART")
            .replace("|22133|0", "|22134|0")
    });
    let text = week.night("2026-11-01", ("built", &["late"])).await;
    assert_eq!(
        number(&text, "pubdata_task_late_since_timestamp_seconds{"),
        1_793_491_200.0
    );

    let lists = std::fs::read(week.place.file(RELATIONSHIPS)).unwrap();
    let path = week.place.file(RELATIONSHIPS);
    std::fs::remove_file(&path).unwrap();
    week.night("2026-11-02", ("missing", &["missing"])).await;
    let text = week.night("2026-11-03", ("missing", &[])).await;
    assert_eq!(
        (
            number(&text, "pubdata_run_exit_code{"),
            number(&text, "pubdata_task_failed_runs{")
        ),
        (30.0, 2.0)
    );
    assert_eq!(
        number(
            &text,
            "pubdata_dataset_freshness{channel=\"nightly\",dataset=\"geo.county\",freshness=\"stale\"}"
        ),
        1.0
    );

    std::fs::write(&path, lists).unwrap();
    let folder = week
        .place
        .file("2025_Gaz_zcta_national.zip")
        .parent()
        .unwrap()
        .to_owned();
    let next = folder.parent().unwrap().join("2026_Gazetteer");
    std::fs::create_dir_all(&next).unwrap();
    for name in ["Gaz_zcta_national.zip", "Gaz_counties_national.zip"] {
        std::fs::copy(
            folder.join(format!("2025_{name}")),
            next.join(format!("2026_{name}")),
        )
        .unwrap();
    }
    let text = week.night("2026-11-04", ("built", &["recovered"])).await;
    assert_eq!(
        (
            number(&text, "pubdata_task_failed_runs{"),
            super::numbers(&text, "pubdata_task_late_since").len()
        ),
        (0.0, 0)
    );
    assert!(
        number(&text, "pubdata_home_bytes{room=\"releases\"}") > 0.0
            && number(&text, "pubdata_home_free_bytes") > 0.0
    );
}
