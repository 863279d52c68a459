//! Checks that manual pages and completions contain every command and flag of `--help`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use pubdata_testing::Place;

/// Returns the words that a shell offers for a partial command line, from the program's script.
fn offered_by_bash(script: &Path, words: &[&str]) -> BTreeSet<String> {
    let typed = words.join("' '");
    let program = format!(
        "source '{}'; COMP_WORDS=('pubdata' '{typed}'); COMP_CWORD={}; _pubdata pubdata '{}' ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.len(),
        words.last().unwrap()
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &program])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_completes_commands_subcommands_and_flags() {
    let place = Place::new();
    let script = place.root().join("pubdata.bash");
    std::fs::write(
        &script,
        place.pubdata(&["completions", "bash"]).expect(0).stdout,
    )
    .unwrap();
    let offered = |words: &[&str]| offered_by_bash(&script, words);
    let set = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<BTreeSet<String>>()
    };
    assert_eq!(offered(&["pro"]), set(&["probe"]));
    assert_eq!(offered(&["releases", "p"]), set(&["promote", "prune"]));
    assert_eq!(
        offered(&["releases", "prune", "--sn"]),
        set(&["--snapshots"])
    );
    assert_eq!(offered(&["completions", "z"]), set(&["zsh"]));
}

#[test]
fn every_shell_has_a_script_that_names_the_commands() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.pubdata(&["completions", shell]).expect(0).stdout;
        for word in ["probe", "rollback", "fetch-minutes"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let answer = place.pubdata(&["completions", "dash"]).expect(40);
    assert!(
        answer
            .stderr
            .contains("possible values: bash, elvish, fish, powershell, zsh"),
        "{}",
        answer.stderr
    );
    assert!(!place.home().exists(), "no file is left behind");
}

#[test]
fn each_command_has_a_page_with_its_flags_and_intact_tables() {
    let place = Place::new();
    let folder = place.root().join("man");
    assert_eq!(
        place
            .pubdata(&["man", "--output", folder.to_str().unwrap()])
            .expect(0)
            .stdout,
        ""
    );
    let page = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut pages: BTreeSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(page("pubdata.1"), place.pubdata(&["man"]).expect(0).stdout);
    // Each name on a page of commands has a page, and each page is named on one.
    let named: BTreeSet<String> = pages
        .iter()
        .flat_map(|name| named_commands(&page(name)))
        .collect();
    assert!(pages.remove("pubdata.1") && named.len() > 30, "{named:?}");
    assert_eq!(pages, named);
    assert!(page("pubdata-run.1").contains("\\-\\-fetch\\-minutes"));
    let root = page("pubdata.1");
    let (_, tables) = root.split_once("\n.SH EXTRA\n.nf\n").unwrap();
    assert!(
        tables
            .split_once("\n.fi\n.SH VERSION\n")
            .unwrap()
            .0
            .contains("\n  30  a source was unavailable\n"),
        "{tables}"
    );
    // A page names an environment variable, never its value: pages are built on an arbitrary
    // machine.
    let mut elsewhere = place.command(&["man"]);
    assert_eq!(
        pubdata_testing::answer(
            elsewhere
                .env("PUBDATA_CONTACT", "me@example.org")
                .env("PUBDATA_STORE", "file:///elsewhere")
        )
        .expect(0)
        .stdout,
        root
    );
}

/// Returns the files of the pages that a page names as its subcommands: `pubdata\-run(1)`.
fn named_commands(page: &str) -> Vec<String> {
    let Some((_, commands)) = page.split_once("\n.SH SUBCOMMANDS\n") else {
        return Vec::new();
    };
    let names = commands
        .lines()
        .take_while(|line| !line.starts_with(".SH"))
        .filter_map(|line| line.strip_suffix("(1)"));
    names
        .map(|name| format!("{}.1", name.replace('\\', "")))
        .collect()
}
