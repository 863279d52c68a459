//! Checks that unusable parts of a declaration are reported with file, line and key, and that no
//! build uses them.

use pubdata_core::declared::{DeclarationFiles, Finding};
use pubdata_core::pipeline::Declarations;
use pubdata_run::declaration_faults;

use pubdata_testing::Place;

fn faults(declarations: &Declarations) -> Vec<Finding> {
    declarations
        .pipelines
        .values()
        .flat_map(|declaration| declaration_faults(declarations, declaration))
        .collect()
}

/// Returns the fault that `pubdata check` reports after a change to a built-in file, without file
/// and line, which are checked here.
#[track_caller]
fn fault_after(path: &str, from: &str, to: &str) -> String {
    let files = DeclarationFiles::built_in();
    let original = String::from_utf8(files.read(path).unwrap().to_vec()).unwrap();
    assert!(
        original.contains(from),
        "no `{from}` in {path}: the case would test no change"
    );
    let changed = original.replacen(from, to, 1);
    let (declarations, findings) = Declarations::check(files.with(&[(path, &changed)]));
    assert_eq!(findings, Vec::new());
    let faults: Vec<String> = faults(&declarations)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(faults.len(), 1, "{faults:#?}");
    let line = 1 + changed.lines().position(|line| line.contains(to)).unwrap();
    faults[0]
        .strip_prefix(&format!("{path}:{line}: "))
        .unwrap_or_else(|| panic!("not at line {line}: {}", faults[0]))
        .to_owned()
}

#[test]
fn built_in_declarations_contain_only_understood_settings() {
    let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
    assert_eq!(faults(&declarations), Vec::new());
}

#[test]
fn column_that_no_code_reads_is_named_with_the_nearest_known_one() {
    let unread = |source: &str, name: &str, hint: &str| {
        format!(
            "source.columns.{name}: source `{source}`: neither the code nor a setting reads a column `{name}`; {hint}"
        )
    };
    for (path, from, to, expected) in [
        // A separate table.
        (
            "pipelines/permit/austin.toml",
            "zip = [\"original_zip\"]",
            "zipp = [\"original_zip\"]",
            unread("permit.austin", "zipp", "did you mean `zip`?"),
        ),
        (
            "pipelines/permit/austin.toml",
            "housing_units = [",
            "typo_column = [",
            unread(
                "permit.austin",
                "typo_column",
                "list the publisher's column under `ignore`, or name ours in a setting",
            ),
        ),
        (
            "pipelines/permit/austin.toml",
            "contractor_phone = [",
            "contractor_fone = [",
            unread(
                "permit.austin",
                "contractor_fone",
                "did you mean `contractor_phone`?",
            ),
        ),
        // A table in one line.
        (
            "pipelines/license/ct_elicense.toml",
            "business_name = [",
            "busines_name = [",
            unread(
                "license.ct_elicense",
                "busines_name",
                "did you mean `business_name`?",
            ),
        ),
        // One number too many.
        (
            "pipelines/license/nppes.toml",
            "license_state_15 = [",
            "license_state_16 = [",
            unread(
                "license.nppes",
                "license_state_16",
                "did you mean `license_state`?",
            ),
        ),
        (
            "pipelines/business/or_sos.toml",
            "formation_date = [",
            "formation_dat = [",
            unread(
                "business.or_sos",
                "formation_dat",
                "did you mean `formation_date`?",
            ),
        ),
    ] {
        assert_eq!(
            fault_after(path, from, to),
            expected,
            "after {from:?} became {to:?}"
        );
    }
}

#[test]
fn word_outside_its_column_is_named_with_the_nearest_value() {
    let wrong = |key: &str, word: &str, column: &str, dataset_id: &str, hint: &str| {
        format!("{key}: `{word}` is no value of `{column}` in `{dataset_id}`; {hint}")
    };
    for (path, from, to, expected) in [
        (
            "pipelines/permit/austin.toml",
            "\"EP\" = \"electrical\"",
            "\"EP\" = \"electricl\"",
            wrong(
                "settings.type.EP",
                "electricl",
                "type",
                "permit.permit",
                "did you mean `electrical`?",
            ),
        ),
        (
            "pipelines/permit/austin.toml",
            "\"Shell\" = \"new\"",
            "\"Shell\" = \"brandnew\"",
            wrong(
                "settings.work_class.Shell",
                "brandnew",
                "work_class",
                "permit.permit",
                "expected one of `new`, `existing`",
            ),
        ),
        (
            "pipelines/permit/austin.toml",
            "role = \"applicant\"",
            "role = \"aplicant\"",
            wrong(
                "settings.contact.role",
                "aplicant",
                "role",
                "permit.contact",
                "did you mean `applicant`?",
            ),
        ),
        (
            "pipelines/license/ct_elicense.toml",
            "\"ACTIVE/PROBATION\" = \"probation\"",
            "\"ACTIVE/PROBATION\" = \"probatoin\"",
            wrong(
                "settings.status.ACTIVE/PROBATION",
                "probatoin",
                "status",
                "license.license",
                "did you mean `probation`?",
            ),
        ),
        (
            "pipelines/license/ct_elicense.toml",
            "evidence = \"registry\"",
            "evidence = \"registri\"",
            wrong(
                "settings.evidence",
                "registri",
                "evidence",
                "license.license",
                "did you mean `registry`?",
            ),
        ),
        (
            "pipelines/business/or_sos.toml",
            "\"DOMESTIC COOPERATIVE\" = { value = \"cooperative\"",
            "\"DOMESTIC COOPERATIVE\" = { value = \"cooperativ\"",
            wrong(
                "settings.entity_types.DOMESTIC COOPERATIVE",
                "cooperativ",
                "entity_type",
                "business.entity",
                "did you mean `cooperative`?",
            ),
        ),
        (
            "pipelines/business/or_sos.toml",
            "TRUSTEE = \"trustee\"",
            "TRUSTEE = \"trusty\"",
            wrong(
                "settings.titles.TRUSTEE",
                "trusty",
                "title",
                "business.officer",
                "did you mean `trustee`?",
            ),
        ),
    ] {
        assert_eq!(
            fault_after(path, from, to),
            expected,
            "after {from:?} became {to:?}"
        );
    }
}

#[test]
fn unreadable_setting_is_named_with_the_nearest_valid_one() {
    for (path, from, to, expected) in [
        (
            "pipelines/permit/austin.toml",
            "role = \"contractor\"",
            "rol = \"contractor\"",
            &[
                "settings.contact.rol: unknown field `rol`, expected one of ",
                "; did you mean `role`?",
            ][..],
        ),
        (
            "pipelines/permit/austin.toml",
            "names = \"organizations\"",
            "names = \"organisation\"",
            &["settings.contact.names: unknown variant `organisation`"],
        ),
        (
            "pipelines/business/fl_sunbiz.toml",
            "title_codes = [",
            "title_code = [",
            &[
                "settings.title_code: unknown field `title_code`",
                "did you mean `title_codes`?",
            ],
        ),
        (
            "pipelines/business/fl_sunbiz.toml",
            "title_codes = [\"P\"",
            "title_codes = [7",
            &["settings.title_codes.[0]: invalid type: integer `7`, expected a string"],
        ),
        (
            "pipelines/business/fl_sunbiz.toml",
            "title_codes = [\"P\"",
            "title_codes = [\"PX\"",
            &["settings.title_codes: every entry of `title_codes` must be in `titles` too"],
        ),
        (
            "pipelines/tax/california.toml",
            "state_rate = \"0.06\"",
            "state_rate = \"6 %\"",
            &["settings.state_rate: `6 %` is no rate"],
        ),
    ] {
        let fault = fault_after(path, from, to);
        assert!(
            fault.starts_with(expected[0]) && expected.iter().all(|part| fault.contains(part)),
            "after {from:?} became {to:?}: {fault}"
        );
    }
}

#[test]
fn faulty_declaration_builds_no_part_and_the_last_build_stays() {
    const TASK: &str = "permit.austin";
    let path = "pipelines/permit/austin.toml";
    let place = Place::new();
    place.run(&[TASK]).expect(0);
    let before = place.manifest();
    let files = DeclarationFiles::built_in();
    let changed = String::from_utf8(files.read(path).unwrap().to_vec())
        .unwrap()
        .replacen("\"EP\" = \"electrical\"", "\"EP\" = \"electricl\"", 1);
    let line = 1 + changed
        .lines()
        .position(|line| line.contains("electricl"))
        .unwrap();
    let folder = place.root().join("declarations");
    files.with(&[(path, &changed)]).write_to(&folder).unwrap();
    let answer = place
        .run(&[TASK, "--declarations", folder.to_str().unwrap()])
        .expect(20);
    let fault = format!(
        "{path}:{line}: settings.type.EP: `electricl` is no value of `type` in `permit.permit`; did you mean `electrical`?"
    );
    assert_eq!(answer.task(TASK)["outcome"], "blocked");
    assert!(answer.reasons(TASK).contains(&fault), "{}", answer.stdout);
    assert_eq!(place.manifest()["datasets"], before["datasets"]);
}
