//! Fetches, builds, traces and counts a source that only a folder of declarations knows, with the
//! unchanged program.

use pubdata_testing::{Place, copy_folder, project};

#[test]
fn city_declared_only_in_a_folder_is_published_and_traced() {
    let place = Place::new();
    let folder = place.root().join("declarations");
    copy_folder(&project("pipelines"), &folder.join("pipelines"));
    copy_folder(&project("schemas"), &folder.join("schemas"));
    let known = std::fs::read_to_string(folder.join("pipelines/permit/cincinnati.toml")).unwrap();
    let own = known
        .replace("permit.cincinnati", "permit.elsewhere")
        .replace("us-oh-cincinnati", "us-oh-elsewhere");
    std::fs::write(folder.join("pipelines/permit/elsewhere.toml"), own).unwrap();
    let declared = ["--declarations", folder.to_str().unwrap()];
    place
        .run(&[&["permit.elsewhere"], &declared[..]].concat())
        .expect(0);
    assert_eq!(place.rows("permit.permit").len(), 4);
    let trace = place
        .pubdata(
            &[
                &[
                    "trace",
                    "permit.permit:us-oh-elsewhere:2099P00001",
                    "--json",
                ],
                &declared[..],
            ]
            .concat(),
        )
        .expect(0)
        .json();
    assert_eq!(trace["is_match"], true, "{trace:#}");

    // The folder may contain only this source.
    let alone = place.root().join("alone");
    copy_folder(&project("schemas"), &alone.join("schemas"));
    std::fs::create_dir_all(alone.join("pipelines/permit")).unwrap();
    std::fs::copy(
        folder.join("pipelines/permit/elsewhere.toml"),
        alone.join("pipelines/permit/elsewhere.toml"),
    )
    .unwrap();
    place
        .pubdata(&["check", "--declarations", alone.to_str().unwrap()])
        .expect(0);

    let path = folder.join("pipelines/permit/elsewhere.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let without = text.replace("builder = \"permit\"\n", "");
    for (changed, reason) in [
        (
            &text.replace("builder = \"permit\"", "builder = \"permits\""),
            "there is no builder `permits`",
        ),
        (&without, "no builder is named"),
    ] {
        std::fs::write(&path, changed).unwrap();
        let answer = place
            .run(&[&["permit.elsewhere"], &declared[..]].concat())
            .expect(20);
        assert!(
            answer.reasons("permit.elsewhere").contains(reason),
            "{answer:#?}"
        );
    }
}
