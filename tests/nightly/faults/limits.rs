//! Checks commands with too little memory and with too few open files.

use std::os::unix::process::ExitStatusExt;

use super::{Ground, assert_helpful};
use pubdata_testing::answer;
use pubdata_testing::publisher::Publisher;

/// The system or the process itself ends a process without memory, at any point. Its files look
/// like those of a killed process.
#[test]
fn run_without_memory_ends_as_if_killed_and_the_next_run_finishes_it() {
    let ground = Ground::new();
    let expected = ground.expected();
    let arguments = ground.tonight();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut ends = Vec::new();
    for kilobytes in [40_000, 150_000, 200_000, 250_000, 300_000, 400_000, 600_000] {
        ground.back();
        let output = ground
            .limited(&format!("ulimit -c 0; ulimit -v {kilobytes}"), &arguments)
            .output()
            .unwrap();
        let end = (output.status.code(), output.status.signal());
        ends.push((kilobytes, end));
        ground.heals(&expected, &format!("{kilobytes} kB of memory: {end:?}"));
    }
    assert!(
        ends.iter().any(|(_, end)| *end != (Some(0), None)),
        "some of the runs had too little memory: {ends:?}"
    );
}

/// Goes from "too few for the runtime" to "enough", through each number of files in between.
#[test]
fn run_with_few_files_works_or_names_the_limit_and_the_next_finishes() {
    let ground = Ground::new();
    let expected = ground.expected();
    let arguments = ground.tonight();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut codes = Vec::new();
    for files in 5..20 {
        ground.back();
        let few = answer(&mut ground.limited(&format!("ulimit -n {files}"), &arguments));
        let what = format!("{files} files");
        if few.code != Some(0) {
            assert_eq!(few.code, Some(60), "{what}: {few:#?}");
            assert!(
                few.stderr.contains("Too many open files")
                    && few.stderr.contains("raise the limit of open files"),
                "{what}: {few:#?}"
            );
            assert!(
                !few.stderr.contains("panicked")
                    && !few.stderr.contains("a source is not available"),
                "no publisher is blamed: {few:#?}"
            );
        }
        codes.push(few.code);
        ground.heals(&expected, &what);
    }
    assert!(
        codes.contains(&Some(0)) && codes.contains(&Some(60)),
        "{codes:?}"
    );
}

/// Connections count as files: a failure to open one is not the publisher's fault.
#[tokio::test(flavor = "multi_thread")]
async fn connection_that_cannot_be_opened_is_not_blamed_on_the_publisher() {
    let (ground, publisher) = (Ground::new(), Publisher::start().await);
    publisher.serve_folder(&ground.mirror());
    let url = publisher.base_url();
    let tried = move || {
        let mut codes = Vec::new();
        for files in 9..22 {
            let few = answer(
                &mut ground.limited(&format!("ulimit -n {files}"), &["fetch", "--mirror", &url]),
            );
            let is_told = few.code == Some(60)
                && few.stderr.contains("Too many open files")
                && few.stderr.contains("raise the limit of open files");
            assert!(few.code == Some(0) || is_told, "{files} files: {few:#?}");
            codes.push(few.code);
        }
        assert!(
            codes.contains(&Some(0)) && codes.contains(&Some(60)),
            "{codes:?}"
        );
    };
    tokio::task::spawn_blocking(tried).await.unwrap();
}

#[test]
fn each_command_with_too_few_files_names_the_limit() {
    let ground = Ground::new();
    let current = ground.current();
    for (name, arguments) in ground.commands() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        for files in [5, 9] {
            let few = answer(&mut ground.limited(&format!("ulimit -n {files}"), &arguments));
            assert_eq!(few.code, Some(60), "{name} with {files}: {few:#?}");
            assert_helpful(&few, "Too many open files", name);
        }
        assert_eq!(ground.current(), current, "{name}");
    }
}
