//! Checks tasks that read files of other tasks: files that those refuse reach no table.

use serde_json::Value;

use pubdata_testing::{Answer, Place};

const OHIO: &str = "license.oh_ocilb";
const OHIO_FILE: &str = "GenerateRoster.aspx";
const LINKS: &str = "permit.cincinnati_links";
const PERMITS: &str = "permit.cincinnati";
const PERMITS_FILE: &str = "uhjb-xac9/rows.csv@accessType=DOWNLOAD";
const SELECTED: &[&str] = &[OHIO, PERMITS, LINKS];
/// A contractor that a permit names.
const COMPANY: &str = "\"SAMPLE BUILDERS, LLC\"";

/// Two of four rows state the same license and contradict each other, and the contractor of a
/// permit has another name: the share of broken rows is refused.
fn broken(text: String) -> String {
    text.replace(COMPANY, "OTHER LLC")
        .replace("PL.90002", "HY.90002")
}

fn outcome(run: &Answer, task_id: &str) -> String {
    run.task(task_id)["outcome"].as_str().unwrap().to_owned()
}

/// Returns the digest of a source's file that a task of the release was built from.
fn input(place: &Place, task_id: &str, source_id: &str) -> Value {
    let manifest = place.manifest();
    let inputs = manifest["tasks"][task_id]["inputs"].as_array().unwrap();
    inputs
        .iter()
        .find(|input| input["source_id"] == source_id)
        .unwrap_or_else(|| panic!("{task_id} has no {source_id}"))["sha256"]
        .clone()
}

fn linked(place: &Place) -> Vec<String> {
    place
        .rows("permit.license_link")
        .into_values()
        .map(|(link, _)| link["permit_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn links_use_the_last_good_licenses_when_the_new_ones_are_refused() {
    let place = Place::with(SELECTED);
    place.run(&[]).expect(0);
    let (good, before) = (input(&place, OHIO, OHIO), place.current());
    assert_eq!(linked(&place), ["us-oh-cincinnati:2099P00001"]);

    let text = place.read(OHIO_FILE);
    place.edit(OHIO_FILE, broken);
    let run = place.run(&[]).expect(20);
    assert_eq!(
        [OHIO, LINKS].map(|task_id| outcome(&run, task_id)),
        ["blocked", "fresh"],
        "{run:#?}"
    );
    assert_eq!(place.current(), before, "a refused file makes no release");

    // New permits are linked to the licenses of the last good build.
    place.edit(PERMITS_FILE, |text| text.replace("JANE EXAMPLE", COMPANY));
    let run = place.run(&[]).expect(20);
    assert_eq!(
        [OHIO, PERMITS, LINKS].map(|task_id| outcome(&run, task_id)),
        ["blocked", "built", "built"],
        "{run:#?}"
    );
    assert_eq!(
        linked(&place),
        ["us-oh-cincinnati:2099P00001", "us-oh-cincinnati:2099P00002"]
    );
    assert_eq!(
        [OHIO, LINKS].map(|task_id| input(&place, task_id, OHIO)),
        [good.clone(), good.clone()]
    );
    assert_eq!(
        place.rows("license.license")["license.license:OH-ocilb-EL90001"].0["business_name"],
        "SAMPLE BUILDERS, LLC"
    );
    place.pubdata(&["verify", "--rebuild"]).expect(0);

    // A run of only the links requests no licenses.
    let run = place.run(&[LINKS]).expect(0);
    assert_eq!(outcome(&run, LINKS), "fresh", "{run:#?}");

    let another = text
        .lines()
        .nth(1)
        .unwrap()
        .replace("EL.90001", "EL.90009")
        .replace(COMPANY, "ANOTHER LLC");
    std::fs::write(place.file(OHIO_FILE), format!("{text}{another}\n")).unwrap();
    let run = place.run(&[]);
    assert_eq!(
        [OHIO, LINKS].map(|task_id| outcome(&run, task_id)),
        ["built", "built"],
        "{run:#?}"
    );
    assert_eq!(input(&place, LINKS, OHIO), input(&place, OHIO, OHIO));
    assert_ne!(
        input(&place, LINKS, OHIO),
        good,
        "the accepted file is read"
    );
}

#[test]
fn links_are_blocked_while_no_licenses_were_ever_accepted() {
    let place = Place::with(SELECTED);
    place.edit(OHIO_FILE, broken);
    let run = place.run(&[]).expect(20);
    assert_eq!(
        [OHIO, PERMITS, LINKS].map(|task_id| outcome(&run, task_id)),
        ["blocked", "built", "blocked"],
        "{run:#?}"
    );
    assert!(run.reasons(LINKS).contains(OHIO), "{run:#?}");
    assert!(place.manifest()["tasks"][LINKS].is_null());
}

/// The permits' own list is the first source of the links.
#[test]
fn links_use_the_last_good_permits_when_the_new_ones_are_refused() {
    let place = Place::with(SELECTED);
    place.run(&[]).expect(0);
    let good = input(&place, PERMITS, PERMITS);
    place.edit(PERMITS_FILE, |text| {
        text.replace(",REPLACE ELECTRICAL PANEL,", ",REPLACE,ELECTRICAL PANEL,")
            .replace("JANE EXAMPLE", COMPANY)
    });
    let run = place.run(&[]).expect(20);
    assert_eq!(
        [PERMITS, LINKS].map(|task_id| outcome(&run, task_id)),
        ["blocked", "fresh"],
        "{run:#?}"
    );
    assert_eq!(input(&place, LINKS, PERMITS), good);
}

/// Figures read the archive of filings, which belongs to another task.
#[test]
fn build_reads_no_source_that_its_own_task_refused() {
    let place = Place::with(&["sec"]);
    place.run(&[]).expect(0);
    let (before, good) = (
        place.current(),
        input(&place, "sec.submissions", "sec.submissions"),
    );
    place.edit_archive("submissions.zip", |members| {
        members
            .values_mut()
            .take(1)
            .for_each(|member| member.insert(0, 'x'));
    });
    let run = place.run(&[]).expect(20);
    assert_eq!(
        ["sec.submissions", "sec.financials"].map(|task_id| outcome(&run, task_id)),
        ["blocked", "fresh"],
        "{run:#?}"
    );
    assert_eq!(place.current(), before);
    assert_eq!(input(&place, "sec.financials", "sec.submissions"), good);
}
