use std::path::{Path, PathBuf};

use pubdata::contract::data_dictionary;
use pubdata::declared::DeclarationFiles;
use pubdata::pipeline::Declarations;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn data_dictionary_is_that_of_the_contracts() {
    let written = std::fs::read_to_string(repository().join("docs/data-dictionary.md")).unwrap();
    let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
    assert!(written == data_dictionary(&declarations.contracts), "docs/data-dictionary.md is out of date: run `make docs`");
}

/// The Markdown files of the repository's own rooms.
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
    let mut found = vec![repository().join("README.md"), repository().join("CHANGELOG.md")];
    collect(&repository().join("docs"), &mut found);
    collect(&repository().join("fixtures"), &mut found);
    found
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for (number, line) in text.lines().enumerate() {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
                let is_local = !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:");
                if is_local && !document.parent().unwrap().join(target).exists() {
                    broken.push(format!("{}:{}: {target}", document.display(), number + 1));
                }
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}
