//! Too little memory, and too few files that may be open at a time.

use std::os::unix::process::ExitStatusExt;

use super::{Ground, assert_helpful};
use pubdata_testing::answer;
use pubdata_testing::publisher::Publisher;

/// A process without memory is ended by the system or by itself, wherever it is: what it leaves is
/// what a kill leaves.
#[test]
fn a_run_without_memory_ends_like_a_killed_one_and_the_next_run_finishes_it() {
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
        "some of them had not enough: {ends:?}"
    );
}

/// From "not even the runtime" to "enough": each number of files in between.
#[test]
fn with_few_files_a_run_works_or_names_the_limit_with_60_and_the_next_run_finishes_it() {
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
                "no publisher is to blame: {few:#?}"
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

/// Connections count as files: that none can be opened is no word of a publisher.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_cannot_be_opened_is_not_told_as_a_publishers_fault() {
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
