//! Checks that every endpoint has a test and every dataset has records in a case of `fixtures/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_serve::openapi_document;
use serde_json::Value;

use pubdata_testing::{BINARIES, files_below, folders, project};

/// Rows by covered item, with the covering tests or cases and their counts.
type Matrix = BTreeMap<String, BTreeMap<String, usize>>;

/// One endpoint of the OpenAPI document.
pub struct Endpoint {
    /// `GET /v1/zip/{zip}`.
    name: String,
    pub method: String,
    segments: Vec<String>,
}

impl Endpoint {
    /// JSON pointer of the operation in the document.
    pub fn pointer(&self) -> String {
        format!(
            "/paths/~1{}/{}",
            self.segments.join("~1"),
            self.method.to_lowercase()
        )
    }

    /// Number of literal segments if the path matches this endpoint.
    fn fit(&self, segments: &[&str]) -> Option<usize> {
        let is_value = |segment: &str| segment.starts_with('{');
        let fits = self.segments.iter().zip(segments).all(|(own, requested)| {
            if is_value(own) {
                !requested.is_empty()
            } else {
                own == requested
            }
        });
        (self.segments.len() == segments.len() && fits)
            .then(|| self.segments.iter().filter(|own| !is_value(own)).count())
    }
}

fn declarations() -> Declarations {
    Declarations::load(DeclarationFiles::built_in()).unwrap()
}

/// The endpoints of an OpenAPI document.
pub fn endpoints(document: &Value) -> Vec<Endpoint> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        methods
            .as_object()
            .unwrap()
            .keys()
            .map(move |method| (method.to_uppercase(), path))
    });
    let endpoint = |(method, path): (String, &String)| {
        let segments = path
            .trim_start_matches('/')
            .split('/')
            .map(str::to_owned)
            .collect();
        Endpoint {
            name: format!("{method} {path}"),
            method,
            segments,
        }
    };
    operations.map(endpoint).collect()
}

/// Endpoints that a path in a test may refer to: those with the most literal segments in common. A
/// path used only for other purposes (`/v1/nothing`) matches none.
pub fn meant<'a>(endpoints: &'a [Endpoint], path: &str) -> Vec<&'a Endpoint> {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let fits: Vec<(usize, &Endpoint)> = endpoints
        .iter()
        .filter_map(|endpoint| Some((endpoint.fit(&segments)?, endpoint)))
        .collect();
    let most = fits.iter().map(|(words, _)| *words).max();
    fits.into_iter()
        .filter(|(words, _)| Some(*words) == most)
        .map(|(_, endpoint)| endpoint)
        .collect()
}

/// API paths in a test's source: text after a quotation mark that begins with `/v1/`, up to the
/// query. A placeholder (`{number}`) counts as one segment.
fn paths(text: &str) -> Vec<String> {
    let literals = text
        .split("\"/v1/")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    literals
        .map(|literal| {
            format!(
                "/v1/{}",
                literal.split(['?', '#']).next().unwrap_or_default()
            )
        })
        .collect()
}

/// Module of a test file, such as `serve::license`. All files of a folder share one module.
fn module(path: &Path) -> String {
    let below = path.strip_prefix(project("tests")).unwrap();
    let names: Vec<String> = below
        .with_extension("")
        .iter()
        .skip(1)
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name != "mod")
        .collect();
    names.join("::")
}

fn by_endpoint(texts: &[(String, String)]) -> Matrix {
    let endpoints = endpoints(&openapi_document(&declarations().contracts, None));
    let mut matrix: Matrix = endpoints
        .iter()
        .map(|endpoint| (endpoint.name.clone(), BTreeMap::new()))
        .collect();
    for (module, text) in texts {
        for path in paths(text) {
            for endpoint in meant(&endpoints, &path) {
                *matrix
                    .get_mut(&endpoint.name)
                    .unwrap()
                    .entry(module.clone())
                    .or_default() += 1;
            }
        }
    }
    matrix
}

fn tests() -> Vec<(String, String)> {
    let files = BINARIES
        .iter()
        .flat_map(|binary| files_below(&project("tests").join(binary)))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    // This file lists paths without requesting them; the examples request each endpoint once and
    // accept any answer. Neither counts as a test.
    let files = files.filter(|path| {
        !["tests/api/coverage.rs", "tests/api/serve/examples.rs"]
            .iter()
            .any(|other| path.ends_with(other))
    });
    files
        .map(|path| (module(&path), std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// Records that each case expects, by dataset.
fn by_dataset() -> Matrix {
    let declared = declarations();
    let datasets = declared
        .contracts
        .keys()
        .map(|dataset_id| (dataset_id.clone(), BTreeMap::new()));
    let mut matrix: Matrix = datasets.collect();
    for case in folders(&project("fixtures"))
        .iter()
        .flat_map(|family| folders(family))
        .flat_map(|pipeline| folders(&pipeline))
    {
        let name = case
            .strip_prefix(project("fixtures"))
            .unwrap()
            .display()
            .to_string();
        let Ok(expected) = std::fs::read_dir(case.join("expected")) else {
            continue;
        };
        for path in expected.map(|entry| entry.unwrap().path()) {
            let dataset_id = path.file_stem().unwrap().to_string_lossy().into_owned();
            let records = std::fs::read_to_string(&path).unwrap().lines().count();
            matrix
                .entry(dataset_id)
                .or_default()
                .insert(name.clone(), records);
        }
    }
    matrix
}

fn uncovered(matrix: &Matrix) -> BTreeSet<&str> {
    matrix
        .iter()
        .filter(|(_, covered)| covered.values().all(|count| *count == 0))
        .map(|(name, _)| name.as_str())
        .collect()
}

#[test]
fn endpoints_have_tests_and_datasets_have_fixtures() {
    let (endpoints, datasets) = (by_endpoint(&tests()), by_dataset());
    assert!(
        endpoints.len() > 20 && datasets.len() > 10,
        "endpoints and datasets are found"
    );
    assert_eq!(
        uncovered(&endpoints),
        BTreeSet::new(),
        "endpoints without a test"
    );
    assert_eq!(
        uncovered(&datasets),
        BTreeSet::new(),
        "datasets without a fixture"
    );
}

#[test]
fn path_matches_the_endpoint_with_the_most_literal_segments() {
    let endpoints = endpoints(&openapi_document(&declarations().contracts, None));
    let names = |path: &str| {
        meant(&endpoints, path)
            .into_iter()
            .map(|endpoint| endpoint.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("/v1/zip/90210"), ["GET /v1/zip/{zip}"]);
    assert_eq!(
        names("/v1/zip/batch"),
        ["POST /v1/zip/batch"],
        "a literal segment, not a value"
    );
    assert_eq!(names("/v1/zip/{zip}/nearby"), ["GET /v1/zip/{zip}/nearby"]);
    assert_eq!(names("/v1/properties"), ["GET /v1/properties"]);
    assert_eq!(names("/v1/nothing/of/this"), Vec::<String>::new());
    assert!(
        endpoints
            .iter()
            .all(|endpoint| ["GET", "POST"].contains(&endpoint.method.as_str()))
    );
    assert_eq!(
        paths("get(\"/v1/zip/90210?fields=city\"); let path = \"/v1/tax/rate\"; // /v1/coverage"),
        ["/v1/zip/90210", "/v1/tax/rate"]
    );
}

#[test]
fn endpoint_without_a_test_is_reported() {
    let texts = [(
        "serve::zip".to_owned(),
        "ask(\"/v1/zip/90210\"); ask(\"/v1/zip/55401\")".to_owned(),
    )];
    let matrix = by_endpoint(&texts);
    assert_eq!(
        matrix["GET /v1/zip/{zip}"],
        BTreeMap::from([("serve::zip".to_owned(), 2)])
    );
    assert!(
        uncovered(&matrix).contains("GET /v1/tax/rate")
            && !uncovered(&matrix).contains("GET /v1/zip/{zip}")
    );
}
