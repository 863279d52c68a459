//! Compares the documents with what they describe: the data dictionary, links, licenses, and
//! coverage.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pubdata_core::contract::data_dictionary;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::{Declarations, LayoutEvidence};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn data_dictionary_matches_the_contracts() {
    let written = std::fs::read_to_string(repository().join("docs/data-dictionary.md")).unwrap();
    let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
    assert!(
        written == data_dictionary(&declarations.contracts),
        "docs/data-dictionary.md is out of date: run `make docs`"
    );
}

#[test]
fn demo_logs_the_fixtures_filings_before_it_serves() {
    let makefile = std::fs::read_to_string(repository().join("Makefile")).unwrap();
    let target = makefile.split("\nrun: build").nth(1).unwrap();
    let position = |text: &str| {
        target
            .find(text)
            .unwrap_or_else(|| panic!("`make run` lacks `{text}`"))
    };
    let source = "fixtures/sec/current_filings/basic/source";
    let day = target[position("--day ")..]
        .split_whitespace()
        .nth(1)
        .unwrap();
    assert!(
        position(&format!("--mirror {source}")) < position("$(PUBDATA) serve"),
        "{target}"
    );
    let (year, index) = (&day[..4], format!("master.{}.idx", day.replace('-', "")));
    assert!(
        repository()
            .join(source)
            .join(format!(
                "www.sec.gov/Archives/edgar/daily-index/{year}/QTR3/{index}"
            ))
            .is_file(),
        "the fixture has the index of {day}"
    );
    assert!(target.contains("/v1/stream'"), "a line opens the socket");
}

#[test]
fn demo_seals_its_release_before_it_serves_and_prints_how_to_sign_in() {
    let makefile = std::fs::read_to_string(repository().join("Makefile")).unwrap();
    let target = makefile.split("\nrun: build").nth(1).unwrap();
    let position = |text: &str| {
        target
            .find(text)
            .unwrap_or_else(|| panic!("`make run` lacks `{text}`"))
    };
    let steps = [
        "$(PUBDATA) run",
        "keys signing --name demo.invalid/samples-only",
        "$(PUBDATA) seal",
        "$(PUBDATA) serve",
        "keys invite",
        "sign in at",
    ];
    assert!(steps.map(position).is_sorted(), "{target}");
    assert!(
        position("/v1/receipts/geo.zcta_metric:2023:90210:population") < position("sign in at"),
        "{target}"
    );
}

/// Returns the Markdown files of the repository's own folders.
fn documents() -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let mut found = vec![
        repository().join("README.md"),
        repository().join("CHANGELOG.md"),
    ];
    for room in ["docs", "fixtures", "integrations", "packaging", "clients"] {
        collect(&repository().join(room), &mut found);
    }
    found
}

/// Returns the anchors of headings: lower case, blanks as `-`, without punctuation.
fn anchors(text: &str) -> Vec<String> {
    let headings = text
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let is_kept =
        |character: &char| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_');
    headings
        .map(|heading| {
            heading
                .chars()
                .filter(is_kept)
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for (number, line) in text.lines().enumerate() {
            let targets = line
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next());
            for target in
                targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
            {
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path = if path.is_empty() {
                    document.clone()
                } else {
                    document.parent().unwrap().join(path)
                };
                let is_named = || {
                    std::fs::read_to_string(&path)
                        .is_ok_and(|text| anchors(&text).iter().any(|name| name == anchor))
                };
                if !path.exists() || (!anchor.is_empty() && !is_named()) {
                    broken.push(format!("{}:{}: {target}", document.display(), number + 1));
                }
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// Returns addresses of a text that are read without TLS and are not on the reader's own machine.
fn plain_addresses(text: &str) -> Vec<String> {
    let own = ["127.0.0.1", "localhost", "0.0.0.0", "NAME"];
    let begins = ["http://", "ws://"]
        .iter()
        .flat_map(|scheme| text.split(scheme).skip(1));
    let hosts = begins.map(|rest| {
        rest.chars()
            .take_while(|character| character.is_ascii_alphanumeric() || ".-".contains(*character))
            .collect::<String>()
    });
    hosts
        .filter(|host| !host.is_empty() && !own.contains(&host.as_str()))
        .collect()
}

#[test]
fn public_addresses_in_documents_are_https() {
    let found: Vec<String> = documents()
        .into_iter()
        .flat_map(|path| {
            plain_addresses(&std::fs::read_to_string(&path).unwrap())
                .into_iter()
                .map(move |host| format!("{}: {host}", path.display()))
        })
        .collect();
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(
        plain_addresses(
            "curl http://data.example.org/v1, http://127.0.0.1:8080, ws://data.example.org and `http://`"
        ),
        ["data.example.org"; 2]
    );
    for page in ["README.md", "docs/OPERATIONS.md"] {
        let text = read(page);
        assert!(
            ["--tls-cert", "--behind-proxy", "caddy reverse-proxy"]
                .iter()
                .all(|words| text.contains(words)),
            "{page} shows HTTPS"
        );
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap()
}

/// A user of the data does not see terms that only a declaration states.
#[test]
fn page_of_licences_has_the_row_of_every_pipeline() {
    let page = read("docs/LICENCES.md");
    let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
    let rows = declarations
        .pipelines
        .iter()
        .map(|(pipeline_id, declaration)| {
            format!(
                "| `{pipeline_id}` | {} | {} |",
                declaration.publisher, declaration.licence
            )
        });
    let missing: Vec<String> = rows
        .filter(|row| !page.lines().any(|line| line == row))
        .collect();
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "docs/LICENCES.md lacks these rows"
    );
}

#[test]
fn page_of_licences_lists_every_licence_that_asks_for_credit() {
    let page = read("docs/LICENCES.md");
    let (_, list) = page
        .split_once("Credit, or a notice, is asked for")
        .unwrap();
    let (list, _) = list.split_once("\n## ").unwrap();
    let words = [
        "Attribution",
        "CC BY",
        "ODbL",
        "Open Database License",
        "credit",
        "disclaimer",
        "©",
    ];
    let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
    let asking: Vec<String> = declarations
        .pipelines
        .iter()
        .filter(|(_, declaration)| words.iter().any(|word| declaration.licence.contains(word)))
        .map(|(pipeline_id, _)| format!("`{pipeline_id}`"))
        .collect();
    assert!(asking.len() > 10, "{asking:?}");
    let missing: Vec<&String> = asking
        .iter()
        .filter(|pipeline| !list.contains(*pipeline))
        .collect();
    assert_eq!(
        missing,
        Vec::<&String>::new(),
        "docs/LICENCES.md does not name whom to credit"
    );
}

/// Returns a cell of the row that begins with a label, empty if the row is absent.
fn cell<'t>(text: &'t str, label: &str, column: usize) -> &'t str {
    let rows = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    rows.filter(|cells| cells.get(1) == Some(&label))
        .find_map(|cells| cells.get(column).copied())
        .unwrap_or_default()
}

#[test]
fn readme_counts_lists_that_were_seen_apart_from_documented_ones() {
    let readme = read("README.md")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
    let lists = declarations
        .pipelines
        .values()
        .filter(|declaration| declaration.builds_on.is_empty());
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for declaration in lists {
        let family = declaration.pipeline_id.split('.').next().unwrap();
        counts.entry(family).or_default()
            [usize::from(declaration.layout_evidence() == LayoutEvidence::Documented)] += 1;
    }
    let [permits, licenses, businesses] =
        ["permit", "license", "business"].map(|family| counts[family]);
    let said = format!(
        "Permits: {} lists were checked against records of the publisher, {} are known from documentation alone; licenses: {} and {}; businesses: {} and {}.",
        permits[0], permits[1], licenses[0], licenses[1], businesses[0], businesses[1]
    );
    assert!(readme.contains(&said), "the README lacks: {said}");
}

#[test]
fn readme_names_the_states_and_cities_that_are_covered() {
    let readme = read("README.md");
    let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
    let mut missing = Vec::new();
    // A pipeline that builds on others covers no place by itself.
    for (pipeline_id, declaration) in declarations
        .pipelines
        .iter()
        .filter(|(_, declaration)| declaration.builds_on.is_empty())
    {
        let text = |table: &toml::Table, key: &str| {
            table
                .get(key)
                .and_then(|value| value.as_str())
                .unwrap_or_default()
                .to_owned()
        };
        let state = text(&declaration.settings, "state");
        let is_there = match pipeline_id.split('.').next().unwrap_or_default() {
            "business" => !cell(&readme, &state, 2).is_empty(),
            "license" if !state.is_empty() => !cell(&readme, &state, 3).is_empty(),
            "permit" => {
                let jurisdiction = declaration.settings["jurisdiction"].as_table().unwrap();
                cell(&readme, &text(jurisdiction, "state"), 4).contains(&text(jurisdiction, "name"))
            }
            _ => true,
        };
        if !is_there {
            missing.push(pipeline_id.clone());
        }
    }
    for line in read("pipelines/tax/states.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let label = match (cells[1], cells[2]) {
            ("full", "boundaries") => "by ZIP code or address, with local rates",
            ("full", "places") => "by city or county, with local rates",
            ("full", "counties") => {
                "by county (cities have no rates of their own, except in Westchester, NY)"
            }
            ("full", "statewide") => "one rate for the whole state",
            ("full", "no_tax") => "no sales tax",
            ("state_only", _) => "the state's own rate only",
            _ => "nothing yet",
        };
        if !cell(&readme, label, 2)
            .split(' ')
            .any(|state| state == cells[0])
        {
            missing.push(format!("{} under `{label}`", cells[0]));
        }
    }
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "the README does not name these as covered"
    );
}

/// The page is a manual list of the columns that the permit builder reads, and of our words: both
/// must equal the current declarations and types.
#[test]
fn page_about_adding_a_city_lists_every_column_and_word() {
    let page = read("docs/ADDING-A-DATASET.md");
    let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
    let mut missing = Vec::new();
    for (pipeline_id, declaration) in declarations
        .pipelines
        .iter()
        .filter(|(pipeline_id, _)| pipeline_id.starts_with("permit."))
    {
        let text = read(&format!("pipelines/{}.toml", pipeline_id.replace('.', "/")));
        let settings = text.split("[settings]").nth(1).unwrap_or_default();
        for column in declaration
            .sources
            .iter()
            .flat_map(|source| source.columns.keys())
        {
            // `contact_12_name` is `…_name` of a party, and a setting names each piece of an
            // address.
            let of_a_party = column
                .match_indices('_')
                .any(|(place, _)| page.contains(&format!("`…{}`", &column[place..])));
            if !page.contains(&format!("`{column}`"))
                && !of_a_party
                && !settings.contains(column.as_str())
            {
                missing.push(format!("{pipeline_id}: `{column}`"));
            }
        }
    }
    let types: toml::Table = read("schemas/_types.toml").parse().unwrap();
    for (table, kind) in [
        ("type", "permit_type"),
        ("status", "permit_status"),
        ("work_class", "work_class"),
        ("property_class", "property_class"),
        ("role", "contact_role"),
    ] {
        let words: Vec<String> = types[kind]["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| format!("`{}`", word.as_str().unwrap()))
            .collect();
        let row = format!("| `[settings.{table}]` | {} |", words.join(", "));
        if !page.contains(&row) {
            missing.push(row);
        }
    }
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "docs/ADDING-A-DATASET.md lacks these"
    );
}
