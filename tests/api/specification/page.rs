//! Reads `docs/SPECIFICATION.md`: statements as headings, each followed by requests and the
//! expected answers.

use std::fmt;
use std::io::Read;
use std::path::Path;

use pubdata_testing::project;

const PAGE: &str = "docs/SPECIFICATION.md";

pub struct Statement {
    /// Part and number in the part: `2.4.6`.
    pub number: String,
    pub text: String,
    pub steps: Vec<Step>,
}

impl Statement {
    pub fn is_not_judged(&self) -> bool {
        self.steps
            .iter()
            .all(|step| matches!(step, Step::NotJudged(reason) if !reason.is_empty()))
    }

    /// Reason why a statement cannot be tested as written.
    fn fault(&self) -> Option<&'static str> {
        let mut is_answered = false;
        for step in &self.steps {
            match step {
                Step::Ask(_) => is_answered = true,
                Step::Check(_) if !is_answered => return Some("a check precedes its request"),
                _ => {}
            }
        }
        let asks = self
            .steps
            .iter()
            .any(|step| matches!(step, Step::Check(_) | Step::Test(_)));
        (!asks && (!self.is_not_judged() || self.steps.is_empty()))
            .then_some("it has no check and no reason")
    }
}

pub enum Step {
    Ask(ApiRequest),
    /// A line for `checks.rs`, about the answer before it.
    Check(String),
    /// A fixture file contains a text, byte for byte.
    Bytes {
        file: String,
        text: String,
    },
    /// A function of `named.rs`.
    Test(String),
    NotJudged(String),
}

/// A request.
pub struct ApiRequest {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
}

impl ApiRequest {
    pub fn get(path: &str) -> Self {
        Self {
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
        }
    }
}

impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        self.headers
            .iter()
            .try_for_each(|(name, value)| write!(f, ", {name}: {value}"))?;
        self.body.iter().try_for_each(|body| write!(f, ", {body}"))
    }
}

pub fn read() -> Vec<Statement> {
    let statements = statements(&std::fs::read_to_string(project(PAGE)).unwrap());
    let faults: Vec<String> = statements
        .iter()
        .filter_map(|statement| Some(format!("{}: {}", statement.number, statement.fault()?)))
        .collect();
    assert_eq!(faults, Vec::<String>::new(), "{PAGE}");
    let part = |statement: &Statement| {
        statement
            .number
            .split('.')
            .map(|number| number.parse::<u32>().unwrap())
            .collect::<Vec<_>>()
    };
    let numbers: Vec<Vec<u32>> = statements.iter().map(part).collect();
    assert!(
        numbers.is_sorted_by(|before, after| before < after),
        "{PAGE}: the numbers are not in order"
    );
    statements
}

/// Statements of a page. Only `http` blocks are read as steps.
fn statements(page: &str) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut is_block = false;
    for line in page.lines() {
        match line.strip_prefix("#### ") {
            Some(heading) if !is_block => {
                let (number, text) = heading.split_once(' ').expect("a number and a text");
                statements.push(Statement {
                    number: number.to_owned(),
                    text: text.to_owned(),
                    steps: Vec::new(),
                });
            }
            _ if line.starts_with("```") => is_block = line == "```http",
            _ if is_block && !line.is_empty() => add(
                &mut statements.last_mut().expect("a heading comes first").steps,
                line,
            ),
            _ => {}
        }
    }
    statements
}

fn add(steps: &mut Vec<Step>, line: &str) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match (word, steps.last_mut()) {
        ("GET" | "POST" | "DELETE" | "TRACE", _) => steps.push(Step::Ask(ApiRequest {
            method: word.to_owned(),
            ..ApiRequest::get(rest)
        })),
        (">", Some(Step::Ask(requested))) => {
            let (name, value) = rest.split_once(": ").expect("a header's name and value");
            requested.headers.push((name.to_owned(), value.to_owned()));
        }
        (_, Some(Step::Ask(requested))) if line.starts_with('{') => {
            requested.body = Some(line.to_owned());
        }
        ("fixture", _) => {
            let (file, text) = rest.split_once(" has ").expect("a file and a text");
            steps.push(Step::Bytes {
                file: file.to_owned(),
                text: text.to_owned(),
            });
        }
        ("test", _) => steps.push(Step::Test(rest.to_owned())),
        _ => match line.strip_prefix("not judged: ") {
            Some(reason) => steps.push(Step::NotJudged(reason.to_owned())),
            None => steps.push(Step::Check(line.to_owned())),
        },
    }
}

/// Checks that a file contains a text; for an archive, that one of its members does.
pub fn has_bytes(file: &Path, text: &str) -> Result<(), String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut contents = vec![bytes.clone()];
    if file.extension().is_some_and(|extension| extension == "zip") {
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        contents.clear();
        for index in 0..archive.len() {
            let mut content = Vec::new();
            archive
                .by_index(index)
                .unwrap()
                .read_to_end(&mut content)
                .unwrap();
            contents.push(content);
        }
    }
    let is_there = contents
        .iter()
        .any(|content| memchr::memmem::find(content, text.as_bytes()).is_some());
    if is_there {
        Ok(())
    } else {
        Err(format!("{} does not have {text}", file.display()))
    }
}

#[test]
fn statement_without_a_check_or_a_reason_is_a_fault() {
    let page = "#### 1.1 One\n\n```http\nGET /v1/a\n> Accept: text/html\nstatus 200\n```\n\n#### 1.2 Two\n\ntext\n\n#### 1.3 Three\n\n```http\nnot judged: why\n```\n\n\
                #### 1.4 Four\n\n```http\nGET /v1/a\n```\n\n#### 1.5 Five\n\n```http\nstatus 200\n```\n\n#### 1.6 Six\n\n```http\ntest name\n```\n\n#### 1.7 Seven\n\n```http\nnot judged: \n```\n";
    let found: Vec<(String, Option<&str>)> = statements(page)
        .iter()
        .map(|statement| (statement.number.clone(), statement.fault()))
        .collect();
    let nothing = Some("it has no check and no reason");
    let expected = [
        ("1.1", None),
        ("1.2", nothing),
        ("1.3", None),
        ("1.4", nothing),
        ("1.5", Some("a check precedes its request")),
        ("1.6", None),
        ("1.7", nothing),
    ];
    assert_eq!(
        found
            .iter()
            .map(|(number, fault)| (number.as_str(), *fault))
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn text_that_a_fixture_lacks_is_reported() {
    let file = |name: &str| project("fixtures/sec/financials/basic").join(name);
    let archive = file("source/www.sec.gov/Archives/edgar/daily-index/xbrl/companyfacts.zip");
    assert_eq!(has_bytes(&archive, "\"val\":36537000000"), Ok(()));
    assert!(
        has_bytes(&archive, "\"val\":36537000001")
            .unwrap_err()
            .ends_with("does not have \"val\":36537000001")
    );
    assert!(
        has_bytes(&file("CASE.md"), "no such text").is_err()
            && has_bytes(&file("no_such_file"), "").is_err()
    );
}
