//! Checks `docs/FAULTS.md` against the program and the tests: every promise has a test, and every
//! command and kind of file has a promise.

use std::collections::BTreeSet;
use std::path::Path;

use super::Ground;
use pubdata_testing::{BINARIES, files_below, project};

const WITHOUT: &str = "no test: ";

/// Returns the names of all tests with their modules: those of `tests` as their binaries have them,
/// those of `src` by their layer.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for root in BINARIES
        .iter()
        .map(|binary| format!("tests/{binary}"))
        .chain(["src".to_owned()])
    {
        let root = project(&root);
        for path in files_below(&root)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        {
            let text = std::fs::read_to_string(&path).unwrap();
            let is_unit = root.ends_with("src");
            let module = module_of(path.strip_prefix(&root).unwrap());
            let module = if is_unit {
                below_member(&module)
            } else {
                &module
            };
            for name in tests_of(&text) {
                names.insert(if is_unit {
                    format!("{module}::tests::{name}")
                } else {
                    format!("{module}::{name}")
                });
            }
        }
    }
    names
}

fn module_of(path: &Path) -> String {
    let name = path
        .with_extension("")
        .display()
        .to_string()
        .replace('/', "::");
    name.strip_suffix("::mod").unwrap_or(&name).to_owned()
}

/// Returns a module's path below its workspace member: `publish::commit` for
/// `build::publish::commit`.
fn below_member(module: &str) -> &str {
    const MEMBERS: [&str; 7] = [
        "core",
        "build",
        "store::receipts",
        "store::monitor",
        "fetch::witness",
        "run::follow",
        "run::lineage",
    ];
    match MEMBERS
        .iter()
        .find(|member| module == **member || module.starts_with(&format!("{member}::")))
    {
        Some(member) => &module[member.find("::").map_or(member.len(), |at| at) + 2..],
        None => module,
    }
}

/// Returns the functions that follow `#[test]` or `#[tokio::test…]`.
fn tests_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
        let name = line
            .strip_prefix("async fn ")
            .or_else(|| line.strip_prefix("fn "));
        if let Some(name) = name.filter(|_| is_test) {
            found.push(name.split('(').next().unwrap_or_default().to_owned());
            is_test = false;
        }
    }
    found
}

/// Returns the texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Parses the tables of a page: rows of cells, the first row with the column names.
fn tables(text: &str) -> Vec<Vec<Vec<&str>>> {
    let mut tables: Vec<Vec<Vec<&str>>> = Vec::new();
    let mut is_in_table = false;
    for line in text.lines() {
        if !line.starts_with('|') {
            is_in_table = false;
        } else if !line.starts_with("|---") {
            if !is_in_table {
                tables.push(Vec::new());
            }
            is_in_table = true;
            tables
                .last_mut()
                .unwrap()
                .push(line.trim_matches('|').split('|').map(str::trim).collect());
        }
    }
    tables
}

/// Returns the faults of a page for the given tests, commands and kinds of files.
fn wrong_with(
    page: &str,
    tests: &BTreeSet<String>,
    commands: &[String],
    kinds: &[String],
) -> Vec<String> {
    let mut wrong = Vec::new();
    let is_test = |name: &&str| name.contains("::");
    wrong.extend(
        quoted(page)
            .filter(is_test)
            .filter(|name| !tests.contains(*name))
            .map(|name| format!("there is no test `{name}`")),
    );
    let tables = tables(page);
    let [groups, promises, damages, held, held_damages] = tables.as_slice() else {
        return vec![format!("{} tables instead of 5", tables.len())];
    };
    let grouped: Vec<&str> = groups
        .iter()
        .skip(1)
        .flat_map(|row| quoted(row[1]))
        .collect();
    wrong.extend(
        commands
            .iter()
            .filter(|command| !grouped.contains(&command.as_str()))
            .map(|command| format!("`{command}` is in no group")),
    );
    wrong.extend(
        grouped
            .iter()
            .filter(|name| !commands.iter().any(|command| command == *name))
            .map(|name| format!("there is no command `{name}`")),
    );
    for (promises, held) in [(promises, held), (damages, held_damages)] {
        let names = |table: &[Vec<&str>]| {
            table
                .iter()
                .skip(1)
                .map(|row| row[0].to_owned())
                .collect::<Vec<_>>()
        };
        if names(promises) != names(held) {
            wrong.push(format!(
                "the promises and their tests have other rows: {:?} and {:?}",
                names(promises),
                names(held)
            ));
        }
    }
    for group in groups.iter().skip(1) {
        wrong.extend(
            [promises, held]
                .iter()
                .filter(|table| !table[0].contains(&group[0]))
                .map(|_| format!("the group {} has no column", group[0])),
        );
    }
    for table in &tables {
        let is_whole = |row: &&Vec<&str>| {
            row.len() == table[0].len() && row.iter().all(|cell| !cell.is_empty())
        };
        wrong.extend(table.iter().filter(|row| !is_whole(row)).map(|row| {
            format!(
                "the row of {} has an empty cell, or too few or many",
                row[0]
            )
        }));
    }
    for row in held.iter().skip(1) {
        let is_held = |cell: &&&str| {
            quoted(cell).any(|name| tests.contains(name))
                || cell
                    .strip_prefix(WITHOUT)
                    .is_some_and(|reason| reason.len() > 10)
        };
        wrong.extend(
            row.iter()
                .skip(1)
                .filter(|cell| !is_held(cell))
                .map(|cell| format!("{}: {cell} names no test and no reason", row[0])),
        );
    }
    let unheld = held_damages
        .iter()
        .skip(1)
        .filter(|row| !quoted(row[1]).any(|name| tests.contains(name)));
    wrong.extend(unheld.map(|row| format!("nothing damages {}", row[0])));
    wrong.extend(
        kinds
            .iter()
            .filter(|kind| !damages.iter().any(|row| row[0] == *kind))
            .map(|kind| format!("files of the kind {kind} have no row")),
    );
    wrong
}

/// Returns the commands that a help text lists.
fn listed(ground: &Ground, arguments: &[&str]) -> Vec<String> {
    let help = ground
        .pubdata(&[arguments, &["--help"]].concat())
        .expect(0)
        .stdout;
    let lines = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    // The description of a command may continue on the next line, indented further.
    let names = lines
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn commands(ground: &Ground) -> Vec<String> {
    let mut commands = Vec::new();
    for name in listed(ground, &[]) {
        let below = if matches!(name.as_str(), "releases" | "keys") {
            listed(ground, &[&name])
        } else {
            Vec::new()
        };
        match below.is_empty() {
            true => commands.push(name),
            false => commands.extend(below.iter().map(|below| format!("{name} {below}"))),
        }
    }
    commands
}

fn page() -> String {
    std::fs::read_to_string(project("docs/FAULTS.md")).unwrap()
}

#[test]
fn page_of_faults_names_every_command_and_file_kind_and_existing_tests() {
    let ground = Ground::new();
    let report = ground.pubdata(&["upgrade", "--json"]).expect(0).json();
    let mut kinds: Vec<String> = report["formats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|format| format["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(kinds.len() >= 13, "{kinds:?}");
    kinds.extend(
        super::kinds::kinds()
            .iter()
            .map(|kind| kind.name.to_owned()),
    );
    let commands = commands(&ground);
    assert!(
        commands.len() >= 24 && commands.contains(&"releases diff".to_owned()),
        "{commands:?}"
    );
    assert_eq!(
        wrong_with(&page(), &tests(), &commands, &kinds),
        Vec::<String>::new(),
        "docs/FAULTS.md"
    );
}

/// Breaks each rule once.
#[test]
fn every_gap_of_the_page_is_found() {
    let (page, tests) = (page(), tests());
    let commands: Vec<String> = tables(&page)[0]
        .iter()
        .skip(1)
        .flat_map(|row| quoted(row[1]))
        .map(str::to_owned)
        .collect();
    let kinds: Vec<String> = tables(&page)[2]
        .iter()
        .skip(1)
        .map(|row| row[0].to_owned())
        .collect();
    assert_eq!(
        wrong_with(&page, &tests, &commands, &kinds),
        Vec::<String>::new()
    );
    for (from, to, says) in [
        (
            "`faults::damaged::partial_last_line_is_skipped_and_cut_off`",
            "`faults::damaged::gone`",
            "there is no test `faults::damaged::gone`",
        ),
        (
            "`plan`, `fetch`, `run`, `task`, `commit` |",
            "`fetch`, `run`, `task`, `commit` |",
            "`plan` is in no group",
        ),
        (
            "| `follow` |",
            "| `follow`, `rise` |",
            "there is no command `rise`",
        ),
        (
            "\n| ledger | `ledger.jsonl`",
            "\n| logbook | `ledger.jsonl`",
            "files of the kind ledger have no row",
        ),
        (
            "\n| ledger | `ledger.jsonl`",
            "\n| logbook | `ledger.jsonl`",
            "the promises and their tests have other rows",
        ),
        (
            "| no test: they make no folders |",
            "| no test: none |",
            "names no test and no reason",
        ),
        (
            "| reads nothing of it | reads nothing of it | nothing |",
            "| reads nothing of it |  | nothing |",
            "has an empty cell",
        ),
        (
            "| server | do |",
            "| daemon | do |",
            "the group server has no column",
        ),
    ] {
        let broken = page.replacen(from, to, 1);
        assert_ne!(broken, page, "{from}");
        let wrong = wrong_with(&broken, &tests, &commands, &kinds);
        assert!(
            wrong.iter().any(|wrong| wrong.contains(says)),
            "{says}: {wrong:#?}"
        );
    }
}
