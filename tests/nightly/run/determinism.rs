use std::path::Path;
use std::time::{Duration, SystemTime};

use pubdata_testing::{Place, answer, copy_folder, files_below, project};

/// Copies the declarations with the sources of each one in the opposite order.
fn write_reordered_declarations(to: &Path) {
    copy_folder(&project("pipelines"), &to.join("pipelines"));
    copy_folder(&project("schemas"), &to.join("schemas"));
    let mut reordered = 0;
    for path in files_below(&to.join("pipelines"))
        .into_iter()
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
    {
        let text = std::fs::read_to_string(&path).unwrap();
        let end = text.find("\n[expect").unwrap_or(text.len());
        let mut blocks = text[..end].split("[[source]]");
        let head = blocks.next().unwrap();
        let blocks: Vec<&str> = blocks.collect();
        reordered += usize::from(blocks.len() > 1);
        let sources: String = blocks
            .into_iter()
            .rev()
            .map(|block| format!("[[source]]{block}\n"))
            .collect();
        std::fs::write(&path, format!("{head}{sources}{}", &text[end..])).unwrap();
    }
    assert!(reordered >= 4, "most declarations have several sources");
}

fn run_with_threads(place: &Place, threads: &str, arguments: &[&str]) -> String {
    let mut command = place.run_command(arguments);
    for name in [
        "RAYON_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "TOKIO_WORKER_THREADS",
    ] {
        command.env(name, threads);
    }
    answer(&mut command).expect(0).release_id()
}

/// Mirror names affect no build, and mirror locations stay private.
#[test]
fn release_names_its_mirrors_but_its_id_ignores_the_names() {
    let (one, other) = (
        Place::with(&["census.population"]),
        Place::with(&["census.population"]),
    );
    std::fs::write(
        other.mirror().join(".pubdata-mirror"),
        "sample = true\nname = \"copies of a library\"\n",
    )
    .unwrap();
    for (place, name) in [
        (&one, "fixtures of pubdata"),
        (&other, "copies of a library"),
    ] {
        place.run(&[]).expect(0);
        let manifest = place.manifest();
        let inputs = manifest["tasks"]["census.population"]["inputs"]
            .as_array()
            .unwrap();
        assert!(
            !inputs.is_empty() && inputs.iter().all(|input| input["mirror"] == name),
            "{inputs:#?}"
        );
        assert!(
            !manifest
                .to_string()
                .contains(place.mirror().to_str().unwrap()),
            "the release contains a path of this machine"
        );
    }
    assert_eq!(one.current(), other.current());
}

#[test]
fn threads_folders_times_and_source_order_do_not_affect_the_release() {
    let first = Place::new();
    let one = run_with_threads(&first, "1", &[]);

    let second = Place::new();
    for (age, file) in files_below(&second.mirror()).into_iter().enumerate() {
        let time =
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + 100_000 * age as u64);
        std::fs::File::options()
            .write(true)
            .open(file)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    let declarations = second.root().join("declarations");
    write_reordered_declarations(&declarations);
    let two = run_with_threads(
        &second,
        "2",
        &["--declarations", declarations.to_str().unwrap()],
    );

    assert_eq!(one, two);
    let parts = |place: &Place| -> Vec<(String, Vec<u8>)> {
        let root = place.part("");
        let parts = files_below(&root).into_iter().filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "parquet")
        });
        parts
            .map(|path| {
                (
                    path.strip_prefix(&root).unwrap().display().to_string(),
                    std::fs::read(path).unwrap(),
                )
            })
            .collect()
    };
    assert!(parts(&first).len() > 50, "shards included");
    assert!(
        parts(&first) == parts(&second),
        "the same bytes in every part"
    );
}

#[test]
fn reordered_sources_do_not_make_a_release_stale() {
    let place = Place::published();
    let declarations = place.root().join("declarations");
    write_reordered_declarations(&declarations);
    let again = place
        .run(&["--declarations", declarations.to_str().unwrap()])
        .expect(0);
    assert_eq!(again.json()["outcome"], "unchanged", "{again:#?}");
}
